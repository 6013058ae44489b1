"""The command line, one file a command group."""

from pmm_mcp.cli.main import main, run

__all__ = ["main", "run"]
