"""Cards: made of knowledge or evidence, found by their evidence."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.options import RequestId
from pmm_mcp.cli.terminal import Answer, line, quoted
from pmm_mcp.services.cards.linking import LinkResult
from pmm_mcp.services.cards.making import BackfillResult, CardResult
from pmm_mcp.services.cards.retrieving import CardsFound
from pmm_mcp.services.knowledge.distilling import DistillInput
from pmm_mcp.services.knowledge.listing import ListInput

Tier = Annotated[str, typer.Option(help="dao_tian, dao_ren, shu, qi.")]
Domain = Annotated[str, typer.Option(help="project, agent, skill, global.")]
Field = Annotated[str, typer.Option(help="Subject area.")]


async def create(
    visit: Visit,
    *,
    from_id: Annotated[str, typer.Option("--from", metavar="kn:N", help="The knowledge it carries.")] = "",
    statement: Annotated[str, typer.Option(help="One sentence, when it is not made of knowledge.")] = "",
    content: Annotated[str, typer.Option(help="Why it holds.")] = "",
    tier: Tier = "",
    supporting: Annotated[list[str], typer.Option(metavar="ev:N", help="Repeatable.")] = [],  # noqa: B006
    field: Field = "general",
    request_id: RequestId = "",
) -> Answer:
    """Make a card of knowledge, or of evidence."""
    given = DistillInput(
        statement=statement, content=content, tier=tier, supporting_refs=supporting, field=field
    )
    async with visit.app() as app:
        call = await visit.call(app, request_id=request_id)
        result = await app.cards.create(given, from_id=from_id, call=call)
    return Answer(result, _made(result))


async def link(
    visit: Visit,
    *,
    card: Annotated[str, typer.Argument(metavar="ID", help="card:N.")],
    evidence: Annotated[str, typer.Argument(metavar="EVIDENCE", help="ev:N.")],
    role: Annotated[str, typer.Option(help="supporting, verification, teaching or counterexample.")],
    note: Annotated[str, typer.Option(help="Why.")] = "",
    unlink: Annotated[bool, typer.Option("--unlink", help="Untie it.")] = False,
) -> Answer:
    """Tie evidence to a card, or untie it."""
    async with visit.app() as app:
        result = await app.card_links.link(
            card,
            evidence_id=evidence,
            role=role,
            note=note,
            unlink=unlink,
            call=await visit.call(app),
        )
    return Answer(result, _linked(result))


async def retrieve(
    visit: Visit,
    *,
    query: Annotated[str, typer.Argument(help="What the evidence is about.")],
    top_k: Annotated[int, typer.Option(help="At most so many.")] = 5,
    domain: Domain = "",
    field: Field = "",
) -> Answer:
    """Find active cards through their evidence."""
    async with visit.app() as app:
        call = await visit.call(app)
        result = await app.card_search.retrieve(query, domain=domain, field=field, top_k=top_k, call=call)
    return Answer(result, _found(result))


async def backfill(
    visit: Visit,
    *,
    execute: Annotated[bool, typer.Option("--execute", help="Make them; without it they are shown.")] = False,
    tier: Tier = "",
    status: Annotated[str, typer.Option(help="Of the knowledge.")] = "",
    domain: Domain = "",
    field: Field = "",
    anchor: Annotated[str, typer.Option(help="worktree, repo, global, * or a URI.")] = "",
) -> Answer:
    """Make cards of knowledge that has none."""
    given = ListInput(tier=tier, status=status, domain=domain, field=field, anchor=anchor)
    async with visit.app() as app:
        result = await app.cards.backfill(given, execute=execute, call=await visit.call(app))
    return Answer(result, _backfilled(result))


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file; promoting and the like are `knowledge` commands, for cards too."""
    group = typer.Typer(help="Cards: beliefs with their evidence attached.", no_args_is_help=True)
    add(group, create)
    add(group, link, reads=True)
    add(group, retrieve, reads=True)
    add(group, backfill, reads=True)
    program.add_typer(group, name="card")


def _made(result: CardResult) -> Iterator[Text]:
    known = "made" if result.created else "there already"
    yield line((result.id, "bold"), f"  {known}, {result.status}", (f"  {result.anchor}", "dim"))
    for reason in result.reasons:
        yield line(("not active yet: ", "yellow"), reason)
    if result.notice:
        yield line((result.notice, "yellow"))


def _linked(result: LinkResult) -> Iterator[Text]:
    yield line((result.id, "bold"), "" if result.changed else "  nothing changed")
    for one in result.links:
        yield line(f"  {one.evidence_id}  {one.role}{'  answered' if one.answered else ''}")


def _found(result: CardsFound) -> Iterator[Text]:
    for card in result.cards:
        yield line(
            (card.id, "bold"),
            f"  {card.status}, {card.tier} ({card.gloss}){', contested' if card.contested else ''}",
            (f"  {card.score:.2f}  {card.anchor}", "dim"),
        )
        yield from map(line, quoted(card.statement))
        for one in card.citations:
            style = "red" if one.role == "counterexample" else "dim"
            yield line((f"  {one.id}  {one.role}  {one.source or ''}", style))
    if result.notice:
        yield line((result.notice, "yellow"))


def _backfilled(result: BackfillResult) -> Iterator[Text]:
    for name in ("ready", "existing", "created"):
        yield line((f"{name:>9}  ", "dim"), ", ".join(getattr(result, name)) or "-")
    for skip in result.skipped:
        yield line((f"{'skipped':>9}  ", "dim"), f"{skip.id}: {'; '.join(skip.reasons)}")
    if result.notice:
        yield line((result.notice, "yellow"))
