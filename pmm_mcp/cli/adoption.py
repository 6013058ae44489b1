"""Adoption signals: recording them, looking at them, and what the readiness gates say."""

from collections.abc import Iterator
from typing import Annotated, Final

import typer
from rich.text import Text

from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.options import Cursor, Limit, RequestId
from pmm_mcp.cli.reviewer import KeyName, unlocked
from pmm_mcp.cli.terminal import Answer, line
from pmm_mcp.keys import KeyRing
from pmm_mcp.services.adoption import AdoptionResult, ReportResult, SignalInput

BAR_CHARS: Final = 40
"""How long the longest bar is."""


async def record(
    visit: Visit,
    *,
    signal: Annotated[
        str,
        typer.Argument(help="used, accepted, rejected, miss, rollback, contradiction or neutral."),
    ],
    item: Annotated[str, typer.Option(help="What it is about.")] = "",
    context_id: Annotated[str, typer.Option("--context", help="The context_id of the pack, ci:….")] = "",
    track: Annotated[
        str,
        typer.Option(help="runtime_adoption, card_context, card_embedding, evaluator or research_adapter."),
    ] = "runtime_adoption",
    note: Annotated[str, typer.Option(help="Why.")] = "",
    request_id: RequestId = "",
) -> Answer:
    """Say what became of something that was remembered; from here it is shown apart, and opens no gate."""
    given = SignalInput(signal=signal, item_id=item, context_id=context_id, track=track, note=note)
    async with visit.app() as app:
        result = await app.adoption.record(given, call=await visit.call(app, request_id=request_id))
    return Answer(result, _recorded(result))


async def report(
    visit: Visit,
    *,
    track: Annotated[str, typer.Option(help="Only this track.")] = "",
    item: Annotated[str, typer.Option(help="Only about this.")] = "",
    gate: Annotated[
        str,
        typer.Option(help="card-context-default, card-embeddings, evaluator-api or research-adapter."),
    ] = "",
    limit: Limit = 20,
    cursor: Cursor = "",
) -> Answer:
    """Count signals, draw them, and say what a readiness gate makes of them."""
    async with visit.app() as app:
        result = await app.adoption.report(
            track=track, feature="", item_id=item, candidate=gate, limit=limit, cursor=cursor
        )
    is_closed = result.gate is not None and not result.gate.ready
    return Answer(result, _report(result), exit_code=1 if is_closed else 0)


async def resolve(
    visit: Visit,
    *,
    signal: Annotated[str, typer.Argument(metavar="ID", help="ad:N, a rollback or a contradiction.")],
    reason: Annotated[str, typer.Option(help="What was done about it.")],
    key: KeyName = "",
) -> Answer:
    """Sign that a rollback no longer stands in the way."""
    async with visit.app() as app:
        by, sign = await unlocked(app, KeyRing(visit.settings.keys_dir), key)
        result = await app.adoption.resolve(
            signal, reason=reason, key=by, sign=sign, call=await visit.call(app)
        )
    return Answer(result, [line((signal, "bold"), "  resolved")])


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    group = typer.Typer(help="Whether what was remembered helped.", no_args_is_help=True)
    add(group, record, reads=True)
    add(group, report, reads=True)
    add(group, resolve, reads=True)
    program.add_typer(group, name="adoption")


def _recorded(result: AdoptionResult) -> Iterator[Text]:
    yield line((result.id, "bold"), "  recorded")
    yield from _bars(result.totals)
    if result.notice:
        yield line((result.notice, "yellow"))


def _report(result: ReportResult) -> Iterator[Text]:
    yield from _bars(result.totals)
    yield line(
        (
            f"distinct: {result.distinct['sessions']} sessions, {result.distinct['contexts']} contexts; "
            f"{result.from_command_line} from the command line",
            "dim",
        )
    )
    if result.gate is not None:
        state = ("open", "bold green") if result.gate.ready else ("closed", "bold red")
        yield line((result.gate.candidate, "bold"), "  ", state)
        for reason in result.gate.reasons:
            yield line(("no: ", "red"), reason)
        for missing in result.gate.missing:
            yield line(("missing: ", "yellow"), missing)
    for one in result.events:
        counts = "" if one.counts else "  does not count"
        yield line((f"{one.id:>8}  ", "dim"), f"{one.signal:<14}", (f"{one.session}{counts}", "dim"))
    if result.next_cursor:
        yield line((f"more with --cursor {result.next_cursor}", "dim"))


def _bars(totals: dict[str, int]) -> Iterator[Text]:
    most = max(1, *totals.values())
    for signal, total in totals.items():
        bar = "█" * round(BAR_CHARS * total / most)
        yield line(f"{signal:>14} {total:>5}  ", (bar, "red" if signal in _BAD else "green"))


_BAD: Final = frozenset({"rejected", "rollback", "contradiction", "miss"})
