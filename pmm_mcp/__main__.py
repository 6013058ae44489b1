"""`python -m pmm_mcp` and `pmm-mcp`: the server at once, everything else through the command line."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pmm_mcp.config import Settings


def main() -> None:
    """Run the command named by the arguments; without any, serve over stdio."""
    arguments = sys.argv[1:]
    if arguments in ([], ["serve"]):
        # What clients launch: nothing of the command line is imported before the handshake.
        from pmm_mcp.server.stdio import serve_stdio

        serve_stdio()
    else:
        from pmm_mcp.cli import run

        run(arguments, serve=_serve)


def _serve(
    settings: "Settings", *, http: str, sse: str, token_file: Path | None, allowed_hosts: Sequence[str]
) -> None:
    """Serve as the command line says."""
    if http or sse:
        from pmm_mcp.server.http import serve_http

        serve_http(
            settings, address=http or sse, sse=bool(sse), token_file=token_file, allowed_hosts=allowed_hosts
        )
        return
    from pmm_mcp.server.stdio import serve_stdio

    # It reads its settings by itself, as when a client launches it; what was said here goes first.
    os.environ |= {
        "PMM_MCP_DB": str(settings.db),
        "PMM_MCP_TOOLSETS": settings.toolsets,
        "PMM_MCP_READ_ONLY": str(settings.read_only),
    }
    serve_stdio()


if __name__ == "__main__":
    main()
