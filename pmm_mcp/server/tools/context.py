"""Guidance before an approach is chosen."""

from typing import Annotated

from pydantic import Field

from pmm_mcp.server.tools.arguments import Cwd
from pmm_mcp.server.visits import Visit
from pmm_mcp.services.context import ContextInput, ContextResult


async def pmm_context(
    visit: Visit,
    *,
    query: Annotated[str, Field(description="what you want to do")],
    cwd: Cwd = "",
    domain: Annotated[str, Field(description="empty: any")] = "",
    field: Annotated[str, Field(description="preferred")] = "",
    max_items: Annotated[int, Field(description="1 to 50")] = 12,
    token_budget: Annotated[int, Field(description="of rendered")] = 1_500,
    dao_tian_limit: Annotated[int, Field(description="principles")] = 1,
    include_evidence: Annotated[bool, Field(description="evidence too")] = False,
    include_cards: Annotated[bool, Field(description="cards too")] = False,
    include_candidates: Annotated[bool, Field(description="unproven too")] = False,
    as_of: Annotated[int, Field(description="seq; 0: now")] = 0,
) -> ContextResult:
    """Say what is believed here about a task; ask before you choose an approach."""
    app = await visit.app()
    given = ContextInput(
        query=query,
        domain=domain,
        field=field,
        max_items=max_items,
        token_budget=token_budget,
        dao_tian_limit=dao_tian_limit,
        include_evidence=include_evidence,
        include_cards=include_cards,
        include_candidates=include_candidates,
        as_of=as_of,
    )
    return await app.context.context(given, call=await visit.call(cwd=cwd))
