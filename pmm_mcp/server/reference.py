"""The tools as clients see them, without a server: for the documentation."""

from collections.abc import Iterator
from contextlib import nullcontext

from mcp.server.mcpserver.tools import Tool

from pmm_mcp.server.desk import Desk
from pmm_mcp.server.registry import tools_of
from pmm_mcp.server.toolsets import FAMILIES


def listed_tools() -> Iterator[tuple[str, Tool]]:
    """Return every tool with its toolset, in the order they are listed."""
    desk = Desk(nullcontext)  # type: ignore[arg-type]  # never opened
    for family in FAMILIES:
        for tool in tools_of((family,), desk, read_only=False):
            yield family.toolset, tool
