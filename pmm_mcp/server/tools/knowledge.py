"""Governed knowledge: what is believed, and how it comes to be."""

from typing import Annotated

from pydantic import Field

from pmm_mcp.domain.events.knowledge import Elicited
from pmm_mcp.server.tools.arguments import Cursor, Cwd, Limit, RequestId
from pmm_mcp.server.visits import Visit
from pmm_mcp.services.knowledge.distilling import DistillInput, DistillResult, RaiseResult
from pmm_mcp.services.knowledge.giving_up import DemoteResult
from pmm_mcp.services.knowledge.listing import ListInput, ListResult, PolicyResult
from pmm_mcp.services.knowledge.promoting import GateResult, PromoteResult
from pmm_mcp.services.knowledge.publishing import PublishResult

ItemId = Annotated[str, Field(description="kn:N")]
Verifications = Annotated[list[str], Field(description="ev:N recorded after the candidate")]


async def pmm_knowledge_distill(
    visit: Visit,
    *,
    statement: Annotated[str, Field(description="one sentence, up to 280 characters")],
    content: Annotated[str, Field(description="why it holds, and where it ends")],
    tier: Annotated[str, Field(description="dao_tian principle, dao_ren law, shu method, qi tool")],
    supporting_refs: Annotated[list[str], Field(description="ev:N it rests on")],
    teaching_refs: Annotated[list[str], Field(description="ev:N, signed")] = [],  # noqa: B006
    counterexample_refs: Annotated[list[str], Field(description="ev:N against it")] = [],  # noqa: B006
    domain: Annotated[str, Field(description="project, agent or skill")] = "project",
    field: Annotated[str, Field(description="subject area")] = "general",
    scope_constraints: Annotated[str, Field(description="where not")] = "",
    intent_tags: Annotated[list[str], Field(description="intents it fits")] = [],  # noqa: B006
    workflow_bias: Annotated[list[str], Field(description="ways it favours")] = [],  # noqa: B006
    tool_needs: Annotated[list[str], Field(description="tools")] = [],  # noqa: B006
    cwd: Cwd = "",
    dry_run: Annotated[bool, Field(description="check only")] = False,
    request_id: RequestId = "",
) -> DistillResult:
    """Propose knowledge from evidence. It is born a candidate."""
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
        scope_constraints=scope_constraints,
        intent_tags=intent_tags,
        workflow_bias=workflow_bias,
        tool_needs=tool_needs,
        dry_run=dry_run,
    )
    call = await visit.call(cwd=cwd, request_id=request_id)
    return await app.distilling.distill(given, call=call)


async def pmm_knowledge_gate(
    visit: Visit,
    *,
    id: ItemId,
    target_status: Annotated[str, Field(description="may be left out")] = "",
    verification_refs: Verifications = [],  # noqa: B006 - never changed
) -> GateResult:
    """Ask what a promotion still lacks; nothing is written."""
    app = await visit.app()
    return await app.promoting.gate(id, target_status=target_status, verification_refs=verification_refs)


async def pmm_knowledge_promote(
    visit: Visit,
    *,
    id: ItemId,
    verification_refs: Verifications,
    reason: Annotated[str, Field(description="why to believe it")],
    target_status: Annotated[str, Field(description="may be left out")] = "",
    request_id: RequestId = "",
) -> PromoteResult:
    """Make a candidate believed if its gate holds; a refusal lists what is missing."""
    app = await visit.app()
    elicited: Elicited = ""
    if visit.ask is not None:
        gate = await app.promoting.gate(id, target_status=target_status, verification_refs=verification_refs)
        if gate.awaits_person:
            elicited = await visit.ask(
                f"{gate.id} would become {gate.target_status}, which takes a person's signature: run "
                f"`pmm-mcp review show {gate.id}` on a terminal. Is that in your sense?"
            )
    return await app.promoting.promote(
        id,
        verification_refs=verification_refs,
        reason=reason,
        target_status=target_status,
        call=await visit.call(request_id=request_id),
        elicited=elicited,
    )


async def pmm_knowledge_demote(
    visit: Visit,
    *,
    id: ItemId,
    status: Annotated[str, Field(description="demoted, or retired for good")],
    evidence_refs: Annotated[list[str], Field(description="ev:N against it")],
    reason: Annotated[str, Field(description="what happened")],
    reason_type: Annotated[
        str, Field(description="contradicted, obsolete, superseded, out_of_scope, unsafe")
    ],
    request_id: RequestId = "",
) -> DemoteResult:
    """Stop believing something, with the evidence that speaks against it."""
    app = await visit.app()
    return await app.demoting.demote(
        id,
        status=status,
        evidence_refs=evidence_refs,
        reason=reason,
        reason_type=reason_type,
        call=await visit.call(request_id=request_id),
    )


async def pmm_knowledge_raise(
    visit: Visit,
    *,
    id: ItemId,
    reason: Annotated[str, Field(description="why it holds more widely")],
    statement: Annotated[str, Field(description="empty: as it is")] = "",
    content: Annotated[str, Field(description="empty: as it is")] = "",
    cwd: Cwd = "",
    request_id: RequestId = "",
) -> RaiseResult:
    """Propose active knowledge for the tier above: qi, shu, dao_ren, dao_tian. It is a new candidate."""
    app = await visit.app()
    return await app.distilling.raise_tier(
        id,
        statement=statement,
        content=content,
        reason=reason,
        call=await visit.call(cwd=cwd, request_id=request_id),
    )


async def pmm_knowledge_publish(
    visit: Visit,
    *,
    id: ItemId,
    to: Annotated[str, Field(description="repo, then global (a person signs)")],
    reason: Annotated[str, Field(description="why it holds there")],
    cwd: Cwd = "",
    request_id: RequestId = "",
) -> PublishResult:
    """Let active knowledge hold more widely, by a step."""
    app = await visit.app()
    call = await visit.call(cwd=cwd, request_id=request_id)
    return await app.publishing.publish(id, to=to, reason=reason, call=call)


async def pmm_knowledge_policy(visit: Visit) -> PolicyResult:
    """Show tiers, gates, fields and reasons as data."""
    app = await visit.app()
    return await app.knowledge.policy()


async def pmm_knowledge_list(
    visit: Visit,
    *,
    kind: Annotated[str, Field(description="knowledge, card, all")] = "all",
    tier: Annotated[str, Field(description="only this tier")] = "",
    status: Annotated[str, Field(description="only this status")] = "",
    domain: Annotated[str, Field(description="whom for")] = "",
    field: Annotated[str, Field(description="subject area")] = "",
    anchor: Annotated[str, Field(description="where; * is everywhere")] = "",
    awaiting: Annotated[str, Field(description="promotion, review, verification")] = "",
    limit: Limit = 20,
    cursor: Cursor = "",
    cwd: Cwd = "",
) -> ListResult:
    """List knowledge, newest first; with awaiting, what someone should look at."""
    app = await visit.app()
    given = ListInput(
        kind=kind,
        tier=tier,
        status=status,
        domain=domain,
        field=field,
        anchor=anchor,
        awaiting=awaiting,
        limit=limit,
        cursor=cursor,
    )
    return await app.knowledge.list(given, call=await visit.call(cwd=cwd))
