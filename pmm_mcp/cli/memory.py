"""What the memory holds: waking up, recording, searching, looking."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.options import Conversation, Cursor, Limit, RequestId, text_or_stdin
from pmm_mcp.cli.terminal import Answer, line, quoted
from pmm_mcp.cli.turn import turn_lines
from pmm_mcp.config import Settings
from pmm_mcp.services.items import Item, ItemResult
from pmm_mcp.services.record import EvidenceInput, RecordResult
from pmm_mcp.services.search import SearchInput, SearchResult
from pmm_mcp.services.status import StatusResult


async def status(
    visit: Visit,
    *,
    brief: Annotated[bool, typer.Option("--brief", help="Only where you are and what matters most.")] = False,
) -> Answer:
    """Say where you are, what is promised, what matters most, and how the ledger stands."""
    async with visit.app() as app:
        result = await app.status.status(call=await visit.call(app), brief=brief)
    return Answer(result, _status(result, visit.settings))


async def record(
    visit: Visit,
    *,
    content: Annotated[
        str, typer.Argument(help="What was seen or decided, verbatim; - reads stdin.", callback=text_or_stdin)
    ],
    source: Annotated[str, typer.Option(help="Path, path:12-40, URL or id it came from.")] = "",
    domain: Annotated[str, typer.Option(help="project, agent or skill.")] = "project",
    field: Annotated[str, typer.Option(help="Subject area, such as testing.")] = "general",
    provenance: Annotated[str, typer.Option(help="research, or empty.")] = "",
    importance: Annotated[int, typer.Option(help="0 to 5.")] = 0,
    label: Annotated[list[str], typer.Option("--label", "--labels", help="A free tag; repeatable.")] = [],  # noqa: B006
    conversation: Conversation = "",
    speaker: Annotated[str, typer.Option(help="Who said it.")] = "",
    occurred_at: Annotated[str, typer.Option(help="When, as RFC 3339.")] = "",
    evaluator_id: Annotated[str, typer.Option(help="Evaluator whose output this is.")] = "",
    answers: Annotated[str, typer.Option(metavar="ev:N", help="The counterexample this answers.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check only.")] = False,
    request_id: RequestId = "",
) -> Answer:
    """Record evidence: an observation, a decision with its reason, a bug, an answer."""
    given = EvidenceInput(
        content=content,
        source=source,
        domain=domain,
        field=field,
        provenance=provenance,
        importance=importance,
        labels=label,
        speaker=speaker,
        occurred_at=occurred_at,
        evaluator_id=evaluator_id,
        answers=answers,
        dry_run=dry_run,
    )
    async with visit.app() as app:
        call = await visit.call(app, conversation=conversation, request_id=request_id)
        result = await app.records.record(given, call=call)
    return Answer(result, _recorded(result))


async def search(
    visit: Visit,
    *,
    query: Annotated[str, typer.Argument(help='Words, "exact phrase", -not, field:value.')],
    limit: Limit = 10,
    cursor: Cursor = "",
    kind: Annotated[
        list[str],
        typer.Option(
            "--kind",
            "--kinds",
            help="message, evidence, claim, commitment, reflection, knowledge; repeatable.",
        ),
    ] = [],  # noqa: B006 - never changed
    domain: Annotated[str, typer.Option(help="project, agent, skill, global.")] = "",
    field: Annotated[str, typer.Option(help="Subject area.")] = "",
    tier: Annotated[str, typer.Option(help="dao_tian principle, dao_ren law, shu method, qi tool.")] = "",
    status: Annotated[str, typer.Option(help="Status of knowledge.")] = "",
    anchor: Annotated[str, typer.Option(help="worktree, repo, global, * or a URI.")] = "",
    provenance: Annotated[str, typer.Option(help="runtime, research, human, import.")] = "",
    source: Annotated[str, typer.Option(help="Exact source.")] = "",
    since: Annotated[str, typer.Option(help="A day, or RFC 3339.")] = "",
    until: Annotated[str, typer.Option(help="A day, or RFC 3339; exclusive.")] = "",
    label: Annotated[str, typer.Option(help="One tag.")] = "",
    conversation: Conversation = "",
    include_inactive: Annotated[
        bool, typer.Option("--include-inactive", help="Demoted and retired too.")
    ] = False,
) -> Answer:
    """Search all that was recorded here."""
    given = SearchInput(
        query=query,
        limit=limit,
        cursor=cursor,
        kinds=kind,
        domain=domain,
        field=field,
        tier=tier,
        status=status,
        anchor=anchor,
        provenance=provenance,
        source=source,
        since=since,
        until=until,
        label=label,
        conversation=conversation,
        include_inactive=include_inactive,
    )
    async with visit.app() as app:
        result = await app.search.search(given, call=await visit.call(app))
    return Answer(result, _found(result))


async def get(
    visit: Visit,
    *,
    item_id: Annotated[str, typer.Argument(metavar="ID", help="ev:N, msg:N, turn:N, co:N, cl:N, rf:N.")],
    as_of: Annotated[int, typer.Option(help="As it was at this seq; 0 is now.")] = 0,
) -> Answer:
    """Show one thing: its text, what it cites, what cites it, its history, what came of it."""
    async with visit.app() as app:
        result = await app.items.get(item_id, as_of=as_of)
    return Answer(result, _item(result))


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    add(program, status, reads=True)
    add(program, record)
    add(program, search, reads=True)
    add(program, get, reads=True)


def _status(result: StatusResult, settings: Settings) -> Iterator[Text]:
    yield line(("pmm-mcp ", "bold"), result.version)
    yield from _facts(place=result.place.worktree or result.place.repo, repo=result.place.repo)
    if result.ledger is not None:
        yield from _facts(
            ledger=result.ledger.path,
            id=result.ledger.id,
            size=f"{result.ledger.size_bytes:,} bytes",
            events=f"{result.head}, verified to {result.ledger.verified_to}",
            model=result.model or "none",
            embedder=result.embedder or "none",
            toolsets=", ".join(result.toolsets or ()),
            writing=result.ledger.writer or "",
            log=str(settings.log_dir / "pmm-mcp.log"),
            degraded=result.degraded or "",
        )
        for kind, count in sorted((result.counts or {}).items()):
            yield line((f"{count:>8}  ", "dim"), kind)
    yield line()
    for text in result.wake_up.split("\n"):
        yield line(text)
    yield from _notice(result.notice)


def _recorded(result: RecordResult) -> Iterator[Text]:
    known = "was here already" if result.duplicate else "repeated" if result.repeated else "recorded"
    yield line((result.id or "-", "bold"), f"  {known}" if result.id else "", (f"  {result.anchor}", "dim"))
    if result.masked:
        yield line(f"masked: {', '.join(result.masked)}")
    for near in result.near:
        yield line(("much like ", "dim"), near.id, f"  {near.text}")
    yield from _notice(result.notice)


def _found(result: SearchResult) -> Iterator[Text]:
    for one in result.results:
        yield line(
            (one.id, "bold"),
            f"  {' '.join(filter(None, (one.status, one.tier, one.kind)))}",
            (f"  {one.score:.2f}  {one.ts[:10]}  {one.anchor}", "dim"),
        )
        for text in quoted(one.text):
            yield line(text)
    if not result.results:
        yield line(
            f"nothing found among {result.scope.documents} documents of {', '.join(result.scope.anchors)}"
        )
    if result.next_cursor:
        yield line((f"more with --cursor {result.next_cursor}", "dim"))
    yield from _notice(result.notice)


def _item(result: ItemResult) -> Iterator[Text]:
    item = result.item
    yield line((item.id, "bold"), f"  {item.kind}", f"  {item.status}" if item.status else "")
    yield from _facts(
        recorded=item.ts,
        by=f"{item.actor.kind} {item.actor.name} ({item.actor.session})",
        anchor=item.anchor,
        conversation=item.conversation or "",
        turn=item.turn or "",
        hash=item.hash,
        **{name: _plain(value) for name, value in item.details.items()},
    )
    yield from _texts(item)
    if result.turn is not None:
        yield from turn_lines(result.turn)
    for title, related in (("cites", result.references), ("cited by", result.dependants)):
        for one in related:
            yield line((f"{title:>12}  ", "dim"), one.id, f"  {one.kind} as {one.role}")
    for change in result.history[1:]:
        yield line((f"{change.ts[:10]:>12}  ", "dim"), f"{change.kind}  {change.summary}")


def _texts(item: Item) -> Iterator[Text]:
    for name, text in item.texts.items():
        whole = (item.texts_cut or {}).get(name)
        yield line((f"{name}, the first {len(text)} of {whole} characters" if whole else name, "dim"))
        for one in quoted(text):
            yield line(one)


def _facts(**facts: str) -> Iterator[Text]:
    return (line((f"{name:>12}  ", "dim"), value) for name, value in facts.items() if value)


def _notice(notice: str | None) -> Iterator[Text]:
    if notice:
        yield line((notice, "yellow"))


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
