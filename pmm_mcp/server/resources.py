"""What can be read without calling a tool."""

from collections.abc import Set

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError

from pmm_mcp.server.desk import Desk
from pmm_mcp.server.instructions import long_form
from pmm_mcp.server.visits import Visit, visit_of

_SEQ_DIGITS = 15


def add_resources(server: MCPServer, desk: Desk, *, listed: Set[str]) -> None:
    """Offer the wake-up text, the protocol, guidance, single things and single events."""

    @server.resource("pmm://wake-up", mime_type="text/markdown", title="Wake-up")
    async def wake_up() -> str:
        """Where you are, what is promised, what matters most; at most 800 tokens."""
        visit = Visit(desk)  # The SDK tells a resource without parameters nothing about its caller.
        app = await visit.app()
        return (await app.status.status(call=await visit.call())).wake_up

    @server.resource("pmm://protocol", mime_type="text/markdown", title="Protocol")
    async def protocol() -> str:
        """How to work with this memory, at length."""
        return long_form(listed)

    @server.resource("pmm://context/{query}", mime_type="text/markdown", title="Context")
    async def context(query: str, ctx: Context) -> str:
        """What is believed here about a query, as pmm_context renders it."""
        from pmm_mcp.services.context import ContextInput

        visit = visit_of(desk, ctx)
        app = await visit.app()
        result = await app.context.context(ContextInput(query=query), call=await visit.call())
        return result.rendered or result.notice or ""

    @server.resource("pmm://policy", mime_type="application/json", title="Policy")
    async def policy() -> str:
        """Tiers, gates, fields and reasons: the rules by which knowledge is earned."""
        app = await Visit(desk).app()
        return (await app.knowledge.policy()).model_dump_json(exclude_none=True)

    @server.resource("pmm://item/{id}", mime_type="application/json", title="Item")
    async def item(id: str, ctx: Context) -> str:
        """One thing by its id, such as ev:12, with what it cites, what cites it, and its history."""
        app = await visit_of(desk, ctx).app()
        return (await app.items.get(id)).model_dump_json(exclude_none=True)

    @server.resource("pmm://events/{seq}", mime_type="application/json", title="Event")
    async def event(seq: str, ctx: Context) -> str:
        """One event as it was recorded."""
        app = await visit_of(desk, ctx).app()
        number = int(seq) if seq.isascii() and seq.isdecimal() and len(seq) <= _SEQ_DIGITS else 0
        found = await app.log.event(number)
        if found is None:
            raise ResourceNotFoundError(f"the ledger has no event {seq[:20]}")
        return found.model_dump_json(exclude_none=True)
