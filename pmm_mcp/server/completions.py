"""Completing what a person types into a client: ids of what there is, and the words of the rules."""

from typing import Any, Final

from mcp.server.mcpserver import MCPServer
from mcp.types import Completion

from pmm_mcp.server.desk import Desk
from pmm_mcp.server.visits import Visit

VALUES_MAX: Final = 50


def add_completions(server: MCPServer, desk: Desk) -> None:
    """Complete ids of knowledge, fields and tiers."""

    @server.completion()  # type: ignore[no-untyped-call,untyped-decorator]  # the SDK says no types here
    async def complete(_ref: Any, argument: Any, _context: Any) -> Completion:
        values = await _values(desk, argument.name)
        begun = [value for value in values if value.startswith(argument.value)]
        return Completion(values=begun[:VALUES_MAX], total=len(begun), has_more=len(begun) > VALUES_MAX)


async def _values(desk: Desk, name: str) -> list[str]:
    from pmm_mcp.domain.tiers import Tier
    from pmm_mcp.services.knowledge.listing import FIELDS, ListInput

    match name:
        case "tier":
            return list(Tier)
        case "field":
            return list(FIELDS)
        case "id":
            visit = Visit(desk)
            app = await visit.app()
            found = await app.knowledge.list(ListInput(limit=VALUES_MAX), call=await visit.call())
            return [item.id for item in found.items]
        case _:
            return []
