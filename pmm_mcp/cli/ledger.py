"""The ledger itself: making it, reading along, and whether it holds."""

import asyncio
import os
from collections.abc import Iterator
from typing import Annotated, Final

import typer
from pydantic import BaseModel, ConfigDict
from rich.text import Text

from pmm_mcp.bootstrap import log_of
from pmm_mcp.cli.commands import ROLE, Visit, add
from pmm_mcp.cli.options import Cursor, Limit
from pmm_mcp.cli.terminal import Answer, gist, line, quoted
from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.services.beliefs import Beliefs
from pmm_mcp.services.ledger import EventShown, EventsResult, VerifyResult

PAGE_BYTES: Final = 4_000_000
"""A person's page is as long as asked for; an agent's is cut sooner."""
TEXT_CHARS: Final = 100
_SECONDS: Final = 19


class InitResult(BaseModel):
    """Where the ledger is, and whether it is new."""

    model_config = ConfigDict(frozen=True)

    path: str
    ledger_id: str
    created: bool
    head: int


class RebuildResult(BaseModel):
    """How many events the read tables were computed from."""

    model_config = ConfigDict(frozen=True)

    replayed: int


async def init(visit: Visit) -> Answer:
    """Create the ledger, unless it is there already, and say where."""
    settings = visit.settings
    existed = await asyncio.to_thread(os.path.exists, visit.settings.db)
    async with visit.app(settings) as app:
        status = await app.status.status(call=await visit.call(app), brief=False)
        state = await app.ledger.state()
    result = InitResult(path=state.path, ledger_id=state.ledger_id, created=not existed, head=status.head)
    verb = "created" if result.created else "there already"
    return Answer(result, [line(result.path), line((f"{verb}, ledger {result.ledger_id}", "dim"))])


async def log(
    visit: Visit,
    *,
    limit: Annotated[int, typer.Option("-n", "--limit", help="How many of the last events.")] = 20,
) -> Answer:
    """Show the last events, a line each."""
    async with visit.app() as app:
        result = await app.log.events(limit=limit, tail=True, bytes_max=PAGE_BYTES)
    return Answer(result, _lines(result))


async def events(
    visit: Visit,
    *,
    after: Annotated[int, typer.Option(help="Only events after this seq.")] = 0,
    limit: Limit = 20,
    kind: Annotated[list[str], typer.Option(help="Only this kind, ours or PMM's; repeatable.")] = [],  # noqa: B006
    turn: Annotated[str, typer.Option(metavar="turn:N", help="Only the events of a turn.")] = "",
    cursor: Cursor = "",
) -> Answer:
    """Page through the events as they were recorded."""
    async with visit.app() as app:
        result = await app.log.events(
            after=after, limit=limit, kinds=kind, turn=turn, cursor=cursor, bytes_max=PAGE_BYTES
        )
    return Answer(result, _lines(result))


async def verify(
    visit: Visit,
    *,
    since_last: Annotated[bool, typer.Option("--since-last", help="Go on where it was last done.")] = False,
    projections: Annotated[
        bool, typer.Option("--projections", help="Also replay the read tables and compare.")
    ] = False,
    from_seq: Annotated[int, typer.Option(help="Begin with this event.")] = 0,
) -> Answer:
    """Recompute every hash from the stored bytes; exits with 1 naming the first event that does not hold.

    The file is looked at as it lies there: nothing is brought up to date, and no event is written.
    """
    if since_last and from_seq:
        raise InvalidArgumentError("--since-last and --from-seq at once", hint="Say where to begin once.")
    async with log_of(visit.settings, role=ROLE) as log:
        with visit.terminal.progress("verify") as told:
            result = await log.verify(
                from_seq=from_seq, projections=projections, since_last=since_last, progress=told
            )
    return Answer(result, _verified(result), exit_code=0 if result.ok else 1)


async def rebuild(visit: Visit) -> Answer:
    """Compute every read table anew from the events."""
    async with visit.app() as app:
        with visit.terminal.progress("rebuild") as told:
            replayed = await app.log.rebuild(progress=told)
    return Answer(RebuildResult(replayed=replayed), [line(f"replayed {replayed} events")])


async def replay(
    visit: Visit, *, to: Annotated[int, typer.Option(help="The last event to replay; 0 is all.")] = 0
) -> Answer:
    """Show what was believed and promised here when the ledger ended at an event, replayed from the first."""
    async with visit.app() as app:
        call = await visit.call(app)
        until = to or (await app.log.events(limit=1)).head
        with visit.terminal.progress("replay") as told:
            result = await app.beliefs.replay(until, call=call, progress=told)
    return Answer(result, _believed(result))


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    add(program, init)
    add(program, log, reads=True)
    add(program, events, reads=True)
    add(program, verify, reads=True)
    add(program, rebuild, reads=True)
    add(program, replay, reads=True)


def _lines(result: EventsResult) -> Iterator[Text]:
    for event in result.events:
        yield _event(event)
    if result.next_cursor:
        yield line((f"more with --cursor {result.next_cursor}", "dim"))


def _believed(result: Beliefs) -> Iterator[Text]:
    yield line((f"as of event {result.as_of}, at {', '.join(result.anchors)}", "dim"))
    for one in result.beliefs:
        contested = ", contested" if one.contested else ""
        yield line((one.id, "bold"), f"  {one.status}, {one.tier} ({one.gloss}){contested}")
        for text in quoted(one.statement or "(removed)"):
            yield line(text)
        cited = ", ".join(f"{evidence.id} {evidence.role}" for evidence in one.evidence)
        yield line((f"  {cited}", "dim"))
    for promise in result.commitments:
        yield line((promise.id, "bold"), "  open commitment")
        for text in quoted(promise.text or "(removed)"):
            yield line(text)
    if not result.beliefs and not result.commitments:
        yield line("nothing was believed or promised here")


def _event(event: EventShown) -> Text:
    text = next((text for text in event.texts.values() if text), "")
    return line(
        (f"{event.seq:>6}  {event.ts[:_SECONDS]}  ", "dim"),
        (f"{event.kind:<20}  ", "cyan"),
        f"{event.actor.kind}:{event.actor.name}  ",
        gist(text, chars_max=TEXT_CHARS),
    )


def _verified(result: VerifyResult) -> Iterator[Text]:
    if result.ok:
        yield line(("ok", "bold green"), f": {result.checked} events checked, head {result.head}")
        yield line((result.head_hash, "dim"))
    else:
        where = f"; the first bad event is {result.first_bad}" if result.first_bad else ""
        yield line(("damaged", "bold red"), f": {result.checked} events checked{where}")
    for problem in result.problems:
        yield line(f"{problem.seq or '-':>6}  {problem.code}: {problem.detail}")
    for note in result.notes:
        yield line((f"{note.seq or '-':>6}  {note.code}: {note.detail}", "dim"))
    if result.redacted:
        yield line((f"texts were redacted in {', '.join(map(str, result.redacted))}", "dim"))
