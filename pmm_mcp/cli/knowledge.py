"""Governed knowledge: proposing it, asking its gate, moving it, listing it."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.options import Cursor, Limit, RequestId
from pmm_mcp.cli.terminal import Answer, line, quoted
from pmm_mcp.domain.tiers import GLOSSES, Tier
from pmm_mcp.services.knowledge.distilling import DistillInput, DistillResult, RaiseResult
from pmm_mcp.services.knowledge.gating import Counted
from pmm_mcp.services.knowledge.giving_up import DemoteResult
from pmm_mcp.services.knowledge.listing import ListInput, ListResult, PolicyResult
from pmm_mcp.services.knowledge.promoting import GateResult, PromoteResult
from pmm_mcp.services.knowledge.publishing import PublishResult

ItemId = Annotated[str, typer.Argument(metavar="ID", help="kn:N.")]
Reason = Annotated[str, typer.Option(help="Why.")]
Verification = Annotated[
    list[str], typer.Option("--verification", metavar="ev:N", help="Recorded after it; repeatable.")
]
Target = Annotated[str, typer.Option("--target-status", help="promoted, or canonical for a principle.")]


async def distill(
    visit: Visit,
    *,
    statement: Annotated[str, typer.Argument(help="One sentence, at most 280 characters.")],
    content: Annotated[str, typer.Option(help="Why it holds, and where it ends.")],
    tier: Annotated[str, typer.Option(help="dao_tian principle, dao_ren law, shu method, qi tool.")],
    supporting: Annotated[list[str], typer.Option(metavar="ev:N", help="What it rests on; repeatable.")],
    teaching: Annotated[list[str], typer.Option(metavar="ev:N", help="Signed by a person.")] = [],  # noqa: B006
    counterexample: Annotated[list[str], typer.Option(metavar="ev:N", help="Against it.")] = [],  # noqa: B006
    domain: Annotated[str, typer.Option(help="project, agent or skill.")] = "project",
    field: Annotated[str, typer.Option(help="Subject area.")] = "general",
    scope_constraints: Annotated[str, typer.Option(help="Where it does not hold.")] = "",
    intent_tag: Annotated[list[str], typer.Option(help="What one is about to do.")] = [],  # noqa: B006
    workflow_bias: Annotated[list[str], typer.Option(help="Ways of working it favours.")] = [],  # noqa: B006
    tool_need: Annotated[list[str], typer.Option(help="Tools it needs.")] = [],  # noqa: B006
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check only.")] = False,
    request_id: RequestId = "",
) -> Answer:
    """Propose knowledge from recorded evidence; it is born a candidate."""
    given = DistillInput(
        statement=statement,
        content=content,
        tier=tier,
        supporting_refs=supporting,
        teaching_refs=teaching,
        counterexample_refs=counterexample,
        domain=domain,
        field=field,
        scope_constraints=scope_constraints,
        intent_tags=intent_tag,
        workflow_bias=workflow_bias,
        tool_needs=tool_need,
        dry_run=dry_run,
    )
    async with visit.app() as app:
        result = await app.distilling.distill(given, call=await visit.call(app, request_id=request_id))
    return Answer(result, _distilled(result))


async def gate(
    visit: Visit,
    *,
    item_id: ItemId,
    verification: Verification = [],  # noqa: B006 - never changed
    target_status: Target = "",
) -> Answer:
    """Ask what a promotion still lacks; nothing is written."""
    async with visit.app() as app:
        result = await app.promoting.gate(
            item_id, target_status=target_status, verification_refs=verification
        )
    return Answer(result, _gate(result), exit_code=0 if result.allowed else 1)


async def promote(
    visit: Visit,
    *,
    item_id: ItemId,
    reason: Reason,
    verification: Verification = [],  # noqa: B006 - never changed
    target_status: Target = "",
    request_id: RequestId = "",
) -> Answer:
    """Make a candidate believed, if its gate holds."""
    async with visit.app() as app:
        result = await app.promoting.promote(
            item_id,
            verification_refs=verification,
            reason=reason,
            target_status=target_status,
            call=await visit.call(app, request_id=request_id),
        )
    return Answer(result, _promoted(result), exit_code=0 if result.promoted else 1)


async def demote(
    visit: Visit,
    *,
    item_id: ItemId,
    reason: Reason,
    reason_type: Annotated[
        str, typer.Option(help="contradicted, obsolete, superseded, out_of_scope or unsafe.")
    ],
    evidence: Annotated[list[str], typer.Option(metavar="ev:N", help="Against it; repeatable.")] = [],  # noqa: B006
    status: Annotated[str, typer.Option(help="demoted, or retired for good.")] = "demoted",
    request_id: RequestId = "",
) -> Answer:
    """Stop believing something, with the evidence that speaks against it."""
    async with visit.app() as app:
        result = await app.demoting.demote(
            item_id,
            status=status,
            evidence_refs=evidence,
            reason=reason,
            reason_type=reason_type,
            call=await visit.call(app, request_id=request_id),
        )
    return Answer(result, _given_up(result), exit_code=0 if not result.missing else 1)


async def restore(visit: Visit, *, item_id: ItemId, reason: Reason, request_id: RequestId = "") -> Answer:
    """Make a retired item a candidate again; takes a reviewer's signature."""
    async with visit.app() as app:
        call = await visit.call(app, request_id=request_id)
        result = await app.demoting.restore(item_id, reason=reason, call=call)
    return Answer(result, _given_up(result), exit_code=0 if not result.missing else 1)


async def raise_(
    visit: Visit,
    *,
    item_id: ItemId,
    reason: Reason,
    statement: Annotated[str, typer.Option(help="Empty: as it is.")] = "",
    content: Annotated[str, typer.Option(help="Empty: as it is.")] = "",
    request_id: RequestId = "",
) -> Answer:
    """Propose active knowledge for the tier above, as a new candidate."""
    async with visit.app() as app:
        result = await app.distilling.raise_tier(
            item_id,
            statement=statement,
            content=content,
            reason=reason,
            call=await visit.call(app, request_id=request_id),
        )
    return Answer(result, _raised(result))


async def publish(
    visit: Visit,
    *,
    item_id: ItemId,
    to: Annotated[str, typer.Option(help="repo, then global.")],
    reason: Reason,
    request_id: RequestId = "",
) -> Answer:
    """Let active knowledge hold one step more widely: worktree, repo, global."""
    async with visit.app() as app:
        call = await visit.call(app, request_id=request_id)
        result = await app.publishing.publish(item_id, to=to, reason=reason, call=call)
    return Answer(result, _published(result), exit_code=0 if result.published else 1)


async def policy(visit: Visit) -> Answer:
    """Show tiers, gates, fields and reasons."""
    async with visit.app() as app:
        result = await app.knowledge.policy()
    return Answer(result, _policy(result))


async def list_(
    visit: Visit,
    *,
    tier: Annotated[str, typer.Option(help="dao_tian, dao_ren, shu, qi.")] = "",
    status: Annotated[str, typer.Option(help="candidate, promoted, canonical, demoted, retired.")] = "",
    domain: Annotated[str, typer.Option(help="project, agent, skill, global.")] = "",
    field: Annotated[str, typer.Option(help="Subject area.")] = "",
    anchor: Annotated[str, typer.Option(help="worktree, repo, global, * or a URI.")] = "",
    awaiting: Annotated[str, typer.Option(help="promotion, review or verification.")] = "",
    limit: Limit = 20,
    cursor: Cursor = "",
) -> Answer:
    """List governed knowledge, newest first."""
    given = ListInput(
        tier=tier,
        status=status,
        domain=domain,
        field=field,
        anchor=anchor,
        awaiting=awaiting,
        limit=limit,
        cursor=cursor,
    )
    async with visit.app() as app:
        result = await app.knowledge.list(given, call=await visit.call(app))
    return Answer(result, _listed(result))


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    group = typer.Typer(
        help="Governed knowledge: what is believed, and how it comes to be.", no_args_is_help=True
    )
    add(group, distill)
    add(group, gate, reads=True)
    add(group, promote, reads=True)
    add(group, demote, reads=True)
    add(group, restore, reads=True)
    add(group, raise_, "raise", reads=True)
    add(group, publish, reads=True)
    add(group, policy, reads=True)
    add(group, list_, "list", reads=True)
    program.add_typer(group, name="knowledge")


def _distilled(result: DistillResult) -> Iterator[Text]:
    known = "new candidate" if result.created else result.status or "would be a candidate"
    yield line(
        (result.id or "-", "bold"), f"  {known}", (f"  {_glossed(result.tier)}  {result.anchor}", "dim")
    )
    for near in result.similar:
        yield line(("much like ", "dim"), near.id, f"  {near.text}")
    yield from _notice(result.notice)


def _gate(result: GateResult) -> Iterator[Text]:
    verdict = ("open", "bold green") if result.allowed else ("closed", "bold red")
    yield line(
        (result.id, "bold"), f"  {_glossed(result.tier)}  {result.status} → {result.target_status}  ", verdict
    )
    yield from _reasons(result.reasons, result.missing, result.counts)


def _promoted(result: PromoteResult) -> Iterator[Text]:
    yield line((result.id, "bold"), f"  {result.old_status} → {result.new_status}")
    if result.superseded:
        yield line(f"{result.superseded} is superseded by it")
    if not result.promoted:
        yield from _reasons(result.gate.reasons, result.gate.missing, result.gate.counts)
    yield from _notice(result.notice)


def _given_up(result: DemoteResult) -> Iterator[Text]:
    yield line((result.id, "bold"), f"  {result.old_status} → {result.new_status}")
    for moved in result.moved_with:
        yield line(f"with it: {moved}")
    yield from _reasons(result.reasons, result.missing, {})
    yield from _notice(result.notice)


def _raised(result: RaiseResult) -> Iterator[Text]:
    yield line(
        (result.id, "bold"), f"  {_glossed(result.tier)}, {result.status}, raised from {result.from_id}"
    )
    yield from _notice(result.notice)


def _published(result: PublishResult) -> Iterator[Text]:
    yield line((result.id, "bold"), f"  {result.old_anchor} → {result.new_anchor}")
    yield from _reasons(result.reasons, result.missing, {})
    yield from _notice(result.notice)


def _policy(result: PolicyResult) -> Iterator[Text]:
    yield line("supporting · verification · teaching · reviewer")
    for gate in result.gates:
        person = "a person's signature" if gate.reviewer else "-"
        numbers = f"{gate.supporting} · {gate.verification} · {gate.teaching} · {person}"
        yield line((f"{_glossed(gate.tier):<34}", "bold"), numbers)
    for name, text in result.source_policy.items():
        yield line((f"{name:<20}", "dim"), text)
    yield line((f"{'fields':<20}", "dim"), ", ".join(result.fields))


def _listed(result: ListResult) -> Iterator[Text]:
    for item in result.items:
        flags = [
            word for word, is_so in (("contested", item.contested), ("for review", item.for_review)) if is_so
        ]
        yield line(
            (item.id, "bold"),
            f"  {item.status}, {_glossed(item.tier)}",
            (f"  {', '.join([item.field, *flags])}  {item.anchor}", "dim"),
        )
        for text in quoted(item.statement):
            yield line(text)
    if not result.items:
        yield line("nothing here")
    if result.next_cursor:
        yield line((f"more with --cursor {result.next_cursor}", "dim"))
    yield from _notice(result.notice)


def _reasons(reasons: list[str], missing: list[str], counts: dict[str, Counted]) -> Iterator[Text]:
    for reason in reasons:
        yield line(("no: ", "red"), reason)
    for text in missing:
        yield line(("missing: ", "yellow"), text)
    if counts:
        numbers = (f"{role} {count.counted} of {count.have}" for role, count in counts.items())
        yield line(("counted: " + ", ".join(numbers), "dim"))


def _glossed(tier: str) -> str:
    return f"{tier} ({GLOSSES[Tier(tier)]})" if tier else ""


def _notice(notice: str | None) -> Iterator[Text]:
    if notice:
        yield line((notice, "yellow"))
