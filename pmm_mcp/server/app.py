"""The server: the SDK's, with one place where answers are made compact and errors become answers."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult

from pmm_mcp import __version__
from pmm_mcp.domain.errors import InvalidArgumentError, PmmError
from pmm_mcp.server.desk import Desk
from pmm_mcp.server.instructions import INSTRUCTIONS
from pmm_mcp.server.refusals import answered, refusal
from pmm_mcp.server.registry import tools_of
from pmm_mcp.server.resources import add_resources
from pmm_mcp.server.schemas import coerced, without_nulls
from pmm_mcp.server.tools import FAMILIES


class Server(MCPServer):
    """The SDK's server, answering in our words."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Answer a call; a refusal carries its code, hint and structure, never a traceback."""
        tool = self._tool_manager.get_tool(name)
        if tool is None:
            known = ", ".join(sorted(tool.name for tool in self._tool_manager.list_tools()))
            return refusal(InvalidArgumentError(f"there is no tool {name[:60]!r}", hint=f"There are {known}."))
        try:
            result = await super().call_tool(name, coerced(arguments, tool.parameters), context)
        except PmmError as error:
            return refusal(error)
        except ToolError as error:
            return refusal(error.__cause__ or error)
        return _compact(result) if isinstance(result, CallToolResult) else result


def build_server(desk: Desk, *, toolsets: tuple[str, ...], read_only: bool, **options: Any) -> Server:
    """Return the server with the tools of these toolsets; it opens the app once it is running."""
    families = [family for family in FAMILIES if family.toolset in toolsets]

    @asynccontextmanager
    async def lifespan(_server: MCPServer) -> AsyncGenerator[Mapping[str, Any], None]:
        warming = asyncio.create_task(desk.warm_up())
        try:
            yield {}
        finally:
            await warming
            await desk.aclose()

    server = Server(
        "pmm",
        title="Governed memory",
        version=__version__,
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        log_level="WARNING",
        tools=tools_of(families, desk, read_only=read_only),
        **options,
    )
    add_resources(server, desk)
    return server


def _compact(result: CallToolResult) -> CallToolResult:
    if not isinstance(result.structured_content, dict):
        return result
    return answered(without_nulls(result.structured_content), is_error=bool(result.is_error))
