"""The MCP surface: tools, resources, transports. Only here is the SDK imported."""
