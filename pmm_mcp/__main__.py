"""`python -m pmm_mcp` and `pmm-mcp`: the server at once, everything else through the command line."""

import sys


def main() -> None:
    """Run the command named by the arguments; without any, serve over stdio."""
    arguments = sys.argv[1:]
    if arguments in ([], ["serve"]):
        # What clients launch: nothing of the command line is imported before the handshake.
        from pmm_mcp.server.stdio import serve_stdio

        serve_stdio()
    else:
        from pmm_mcp.cli import run

        run(arguments)


if __name__ == "__main__":
    main()
