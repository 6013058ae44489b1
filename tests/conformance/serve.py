"""The server as the conformance suites meet it: over HTTP on a free port, with a ledger of its own."""

from pmm_mcp.config import load_settings
from pmm_mcp.server.http import serve_http

if __name__ == "__main__":
    serve_http(load_settings(), address="127.0.0.1:0", sse=False, token_file=None, allowed_hosts=())
