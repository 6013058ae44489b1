"""Facts with the time they hold."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.options import Cursor, Limit, RequestId, text_or_stdin
from pmm_mcp.cli.terminal import Answer, line
from pmm_mcp.services.facts import AssertResult, CheckResult, FactsResult

Moment = Annotated[str, typer.Option(help="A day, or RFC 3339; empty is now.")]


async def assert_(
    visit: Visit,
    *,
    subject: Annotated[str, typer.Argument(help="What it is about.")],
    predicate: Annotated[str, typer.Argument(help="Which property.")],
    value: Annotated[str, typer.Argument(metavar="OBJECT", help="What it is.")],
    source: Annotated[str, typer.Option(metavar="ev:N", help="The evidence for it.")],
    valid_from: Moment = "",
    many: Annotated[bool, typer.Option("--many", help="Other values may hold at the same time.")] = False,
    confidence: Annotated[int, typer.Option(help="0 to 100 per cent.")] = 100,
    end: Annotated[bool, typer.Option("--end", help="It no longer holds from then on.")] = False,
    request_id: RequestId = "",
) -> Answer:
    """Assert a fact, or end one; what held before stays known."""
    async with visit.app() as app:
        result = await app.facts.assert_fact(
            subject=subject,
            predicate=predicate,
            object=value,
            valid_from=valid_from,
            single_valued=not many,
            confidence_pct=confidence,
            source=source,
            end=end,
            call=await visit.call(app, request_id=request_id),
        )
    return Answer(result, _asserted(result))


async def query(
    visit: Visit,
    *,
    subject: Annotated[str, typer.Option(help="What it is about.")] = "",
    predicate: Annotated[str, typer.Option(help="Which property.")] = "",
    value: Annotated[str, typer.Option("--object", help="What it is.")] = "",
    as_of: Moment = "",
    include_ended: Annotated[bool, typer.Option("--include-ended", help="Also what held once.")] = False,
    limit: Limit = 20,
    cursor: Cursor = "",
) -> Answer:
    """Show which facts hold, or held at a moment."""
    async with visit.app() as app:
        result = await app.facts.query(
            subject=subject,
            predicate=predicate,
            object=value,
            as_of=as_of,
            include_ended=include_ended,
            limit=limit,
            cursor=cursor,
            call=await visit.call(app),
        )
    return Answer(result, _facts(result))


async def check(
    visit: Visit,
    *,
    text: Annotated[str, typer.Argument(help="The text; - reads stdin.", callback=text_or_stdin)],
    now: Moment = "",
) -> Answer:
    """Compare a text with known facts; exits with 1 when something does not go with them."""
    async with visit.app() as app:
        result = await app.facts.check(text, now=now, call=await visit.call(app))
    return Answer(result, _checked(result), exit_code=1 if result.issues else 0)


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    group = typer.Typer(help="Facts with the time they hold.", no_args_is_help=True)
    add(group, assert_, "assert", reads=True)
    add(group, query, reads=True)
    add(group, check, reads=True)
    program.add_typer(group, name="fact")


def _asserted(result: AssertResult) -> Iterator[Text]:
    yield line((result.id, "bold"), "  asserted" if result.created else "")
    for ended in result.ended:
        yield line(f"  {ended} ended")
    if result.notice:
        yield line((result.notice, "yellow"))


def _facts(result: FactsResult) -> Iterator[Text]:
    for fact in result.facts:
        until = f" to {fact.valid_to[:19]}" if fact.valid_to else ""
        yield line(
            (fact.id, "bold"),
            f"  {fact.subject} · {fact.predicate} · {fact.object}",
            (f"  from {fact.valid_from[:19]}{until}, {fact.confidence_pct} %, {fact.source}", "dim"),
        )
    if not result.facts:
        yield line("no such fact")
    if result.next_cursor:
        yield line((f"more with --cursor {result.next_cursor}", "dim"))


def _checked(result: CheckResult) -> Iterator[Text]:
    for issue in result.issues:
        yield line((f"{issue.kind}: ", "yellow"), f"{issue.mentioned} — {issue.known} ({issue.fact})")
    if not result.issues:
        yield line(f"goes with all {result.checked} facts known here")
