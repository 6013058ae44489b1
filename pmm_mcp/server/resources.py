"""What can be read without calling a tool."""

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError

from pmm_mcp.server.desk import Desk
from pmm_mcp.server.instructions import LONG_FORM
from pmm_mcp.server.registry import visit_of

_SEQ_DIGITS = 16


def add_resources(server: MCPServer, desk: Desk) -> None:
    """Offer the wake-up text, the protocol, and single events."""

    @server.resource("pmm://wake-up", mime_type="text/markdown", title="Wake-up")
    async def wake_up(ctx: Context) -> str:
        """Where you are, what is promised, what matters most; at most 800 tokens."""
        visit = visit_of(desk, ctx)
        app = await visit.app()
        return (await app.status.status(call=await visit.call())).wake_up

    @server.resource("pmm://protocol", mime_type="text/markdown", title="Protocol")
    async def protocol() -> str:
        """How to work with this memory, at length."""
        return LONG_FORM

    @server.resource("pmm://events/{seq}", mime_type="application/json", title="Event")
    async def event(seq: str, ctx: Context) -> str:
        """One event as it was recorded."""
        app = await visit_of(desk, ctx).app()
        number = int(seq) if seq.isdecimal() and len(seq) <= _SEQ_DIGITS else 0
        found = await app.log.event(number)
        if found is None:
            raise ResourceNotFoundError(f"the ledger has no event {seq[:20]}")
        return found.model_dump_json(exclude_none=True)
