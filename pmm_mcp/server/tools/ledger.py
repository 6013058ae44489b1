"""The ledger toolset."""

from typing import Annotated

from pydantic import Field

from pmm_mcp.server.tools.arguments import Cursor, Limit
from pmm_mcp.server.visits import Visit
from pmm_mcp.services.ledger import VERIFY_S, EventsResult, VerifyResult


async def pmm_ledger_events(
    visit: Visit,
    *,
    after: Annotated[int, Field(description="only events after this seq")] = 0,
    limit: Limit = 20,
    kinds: Annotated[list[str], Field(description="kinds of event, ours or PMM's")] = [],  # noqa: B006
    turn: Annotated[str, Field(description="turn:N, only its events")] = "",
    cursor: Cursor = "",
) -> EventsResult:
    """Page through the ledger's events as they were recorded."""
    app = await visit.app()
    return await app.log.events(after=after, limit=limit, kinds=kinds, turn=turn, cursor=cursor)


async def pmm_ledger_verify(
    visit: Visit,
    *,
    from_seq: Annotated[int, Field(description="begin here; 0: everything")] = 0,
    projections: Annotated[bool, Field(description="also replay the read models")] = False,
) -> VerifyResult:
    """Recompute every hash of the ledger from its stored bytes and name the first that does not hold."""
    app = await visit.app()
    return await app.log.verify(from_seq=from_seq, projections=projections, budget_s=VERIFY_S)
