"""The server: the SDK's, with one place where answers are made compact and errors become answers."""

from collections.abc import Callable, Iterable
from typing import Any

from mcp.server import MCPServer
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedResourceError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool, ToolManager
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, InputRequiredResult
from pydantic import AnyUrl, ValidationError

from pmm_mcp import __version__
from pmm_mcp.domain.errors import InvalidInputError, NotFoundError, PmmError
from pmm_mcp.server.completions import add_completions
from pmm_mcp.server.desk import Desk
from pmm_mcp.server.instructions import instructions
from pmm_mcp.server.logs import rich_left_out
from pmm_mcp.server.prompts import add_prompts
from pmm_mcp.server.refusals import answered, bad_arguments, refusal, told, unknown_tool
from pmm_mcp.server.registry import names_of, tools_of
from pmm_mcp.server.resources import add_resources
from pmm_mcp.server.schemas import coerced, without_nulls
from pmm_mcp.server.toolsets import FAMILIES
from pmm_mcp.server.visits import visit_of


class Server(MCPServer):
    """The SDK's server, answering in our words."""

    def __init__(self, desk: Desk, *, tools: Callable[[], list[Tool]], instructions: str) -> None:
        """Serve at this desk; the tools are made when a client first asks for them, after the handshake."""
        self._make_tools = tools
        self._made: ToolManager | None = None
        with rich_left_out():
            super().__init__(
                "pmm",
                title="Governed memory",
                version=__version__,
                instructions=instructions,
                log_level="WARNING",
            )
        self._desk = desk

    @property
    def _tool_manager(self) -> ToolManager:
        if self._made is None:
            self._made = ToolManager(tools=self._make_tools())
        return self._made

    @_tool_manager.setter
    def _tool_manager(self, empty: ToolManager) -> None:
        """Leave out the one the SDK makes for itself: it holds nothing."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Answer a call; a refusal carries its code, hint and structure, never a traceback."""
        tool = self._tool_manager.get_tool(name)
        if tool is None:
            return refusal(unknown_tool(name, known=(one.name for one in self._tool_manager.list_tools())))
        try:
            await self._admit(context, writes=tool.annotations is None or not tool.annotations.read_only_hint)
            result = await super().call_tool(name, coerced(arguments, tool.parameters), context)
        except PmmError as error:
            return refusal(error)
        except UnexpectedToolError as error:
            return refusal(error.__cause__ or error)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                return refusal(bad_arguments(error.__cause__, takes=tool.parameters["properties"]))
            return refusal(error.__cause__ or error)
        return _compact(result) if isinstance(result, CallToolResult) else result

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Read a resource; an error carries the same words as a tool's, as the data of a protocol error."""
        try:
            await self._admit(context, writes=False)
            return await super().read_resource(uri, context)
        except (PmmError, UnexpectedResourceError) as error:
            cause = error if isinstance(error, PmmError) else error.__cause__ or error
            theirs = isinstance(cause, InvalidInputError | NotFoundError)
            data = told(cause)
            raise MCPError(INVALID_PARAMS if theirs else INTERNAL_ERROR, data["message"], data) from error

    async def _admit(self, context: Context[Any, Any] | None, *, writes: bool) -> None:
        if context is not None:
            await visit_of(self._desk, context).admit(writes=writes)


def build_server(desk: Desk, *, toolsets: tuple[str, ...], read_only: bool) -> Server:
    """Return the server with the tools of these toolsets; whoever runs it also enters the desk."""
    families = [family for family in FAMILIES if family.toolset in toolsets]
    listed = set(names_of(families, read_only=read_only))

    def tools() -> list[Tool]:
        desk.begin()
        return tools_of(families, desk, read_only=read_only)

    server = Server(desk, tools=tools, instructions=instructions(listed))
    add_resources(server, desk, listed=listed)
    add_prompts(server, desk, listed=listed)
    add_completions(server, desk)
    return server


def _compact(result: CallToolResult) -> CallToolResult:
    if not isinstance(result.structured_content, dict):
        return result
    return answered(without_nulls(result.structured_content), is_error=bool(result.is_error))
