"""Cards: beliefs as objects of their own, found by their evidence."""

from typing import Annotated

from pydantic import Field

from pmm_mcp.server.tools.arguments import Cwd, RequestId
from pmm_mcp.server.visits import Visit
from pmm_mcp.services.cards.linking import LinkResult
from pmm_mcp.services.cards.making import BackfillResult, CardResult
from pmm_mcp.services.cards.retrieving import CardsFound
from pmm_mcp.services.knowledge.distilling import DistillInput
from pmm_mcp.services.knowledge.listing import ListInput

Hint = Annotated[list[str], Field(description="as in distill")]


async def pmm_card_create(
    visit: Visit,
    *,
    from_id: Annotated[str, Field(description="kn:N, or the rest")] = "",
    statement: Annotated[str, Field(description="one sentence")] = "",
    content: Annotated[str, Field(description="why it holds")] = "",
    tier: Annotated[str, Field(description="dao_tian, dao_ren, shu, qi")] = "",
    supporting_refs: Annotated[list[str], Field(description="ev:N")] = [],  # noqa: B006 - never changed
    teaching_refs: Annotated[list[str], Field(description="ev:N")] = [],  # noqa: B006
    counterexample_refs: Annotated[list[str], Field(description="ev:N")] = [],  # noqa: B006
    domain: Annotated[str, Field(description="whom for")] = "project",
    field: Annotated[str, Field(description="subject area")] = "general",
    intent_tags: Hint = [],  # noqa: B006
    workflow_bias: Hint = [],  # noqa: B006
    tool_needs: Hint = [],  # noqa: B006
    cwd: Cwd = "",
    request_id: RequestId = "",
) -> CardResult:
    """Make a card of knowledge, or of evidence; the knowledge tools take its id."""
    app = await visit.app()
    given = DistillInput(
        statement=statement,
        content=content,
        tier=tier,
        supporting_refs=supporting_refs,
        teaching_refs=teaching_refs,
        counterexample_refs=counterexample_refs,
        domain=domain,
        field=field,
        intent_tags=intent_tags,
        workflow_bias=workflow_bias,
        tool_needs=tool_needs,
    )
    call = await visit.call(cwd=cwd, request_id=request_id)
    return await app.cards.create(given, from_id=from_id, call=call)


async def pmm_card_link(
    visit: Visit,
    *,
    id: Annotated[str, Field(description="card:N")],
    evidence_id: Annotated[str, Field(description="ev:N")],
    role: Annotated[str, Field(description="supporting, verification, teaching, counterexample")],
    note: Annotated[str, Field(description="why")] = "",
    unlink: Annotated[bool, Field(description="untie")] = False,
    request_id: RequestId = "",
) -> LinkResult:
    """Tie evidence to a card, or untie it."""
    app = await visit.app()
    return await app.card_links.link(
        id,
        evidence_id=evidence_id,
        role=role,
        note=note,
        unlink=unlink,
        call=await visit.call(request_id=request_id),
    )


async def pmm_card_retrieve(
    visit: Visit,
    *,
    query: Annotated[str, Field(description="what the evidence is about")],
    cwd: Cwd = "",
    domain: Annotated[str, Field(description="whom for")] = "",
    field: Annotated[str, Field(description="subject area")] = "",
    top_k: Annotated[int, Field(description="at most so many")] = 5,
) -> CardsFound:
    """Find active cards through their evidence."""
    app = await visit.app()
    call = await visit.call(cwd=cwd)
    return await app.card_search.retrieve(query, domain=domain, field=field, top_k=top_k, call=call)


async def pmm_card_backfill(
    visit: Visit,
    *,
    tier: Annotated[str, Field(description="dao_tian, dao_ren, shu, qi")] = "",
    status: Annotated[str, Field(description="of the knowledge")] = "",
    domain: Annotated[str, Field(description="whom for")] = "",
    field: Annotated[str, Field(description="subject area")] = "",
    anchor: Annotated[str, Field(description="where it holds")] = "",
    cwd: Cwd = "",
    execute: Annotated[bool, Field(description="false: only show")] = False,
) -> BackfillResult:
    """Make cards of knowledge that has none."""
    app = await visit.app()
    given = ListInput(tier=tier, status=status, domain=domain, field=field, anchor=anchor)
    return await app.cards.backfill(given, execute=execute, call=await visit.call(cwd=cwd))
