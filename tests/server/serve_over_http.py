"""Serve over HTTP as asked: `serve_over_http.py sse|http [TOKEN_FILE]`, on a free port of loopback."""

import sys
from pathlib import Path

from pmm_mcp.config import load_settings
from pmm_mcp.server.http import serve_http

if __name__ == "__main__":
    _, kind, *token_file = sys.argv
    serve_http(
        load_settings(),
        address="127.0.0.1:0",
        sse=kind == "sse",
        token_file=Path(token_file[0]) if token_file else None,
        allowed_hosts=["memory.test"],
    )
