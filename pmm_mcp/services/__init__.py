"""The use cases, one file a tool family: load, decide, write."""
