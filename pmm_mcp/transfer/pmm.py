"""Importing a ledger of PMM: verified first, then written in batches that each decide what is left to do.

Rows come in the order of their ids, so one number tells how far an import came: the greatest id that
is here. Every batch asks for it inside its own write. That is why an import that was cut off goes on
where it stopped, one that is repeated writes nothing, and two at once never write a row twice.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from pmm_mcp.domain.admission import SecretsMode, admit
from pmm_mcp.domain.errors import ImportRefusedError
from pmm_mcp.domain.events.ledger import ImportFinished, ImportStarted, SourceEvent
from pmm_mcp.domain.events.turn import GenerationFailure
from pmm_mcp.domain.names import as_name
from pmm_mcp.domain.records import Call, Draft
from pmm_mcp.ports import Ledger, Progress, Reader, Transaction
from pmm_mcp.queries import events, imports
from pmm_mcp.queries.imports import Import
from pmm_mcp.transfer.pmm_links import link
from pmm_mcp.transfer.pmm_mapping import as_code, draft
from pmm_mcp.transfer.pmm_source import PmmSource, SourceRow, hash_in, read_source

SOURCE: Final = "pmm"
EVENTS_A_WRITE: Final = 400
"""Of 500 that a write takes: what comes with every write, such as recovery, needs room too."""
CHARS_A_WRITE: Final = 8_000_000
PROMPT_WAITS_US: Final = 86_400 * 1_000_000
"""Recovery ends what is overdue after every write: not between two batches, but if nobody ever goes on."""
COMPARED_AT_ONCE: Final = 200


class PmmImport(BaseModel):
    """What an import did. The counts are of this call; `repeated` says that there was nothing left to do."""

    model_config = ConfigDict(frozen=True)

    started: int
    name: str
    origin: str
    total: int
    imported: int
    mapped: int
    forks: tuple[int, ...]
    repeated: bool
    kinds: Mapping[str, int]
    """Rows that came in, by PMM's kind."""
    made: Mapping[str, int]
    """Events that were made of them, by our kind."""
    head: int
    source_head: str
    """The hash of the last row of the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """All that a batch needs and no batch changes."""

    source: PmmSource
    links: Mapping[int, int]
    name: str
    conversation: str
    secrets: SecretsMode


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """What one write did, and whether it was the last."""

    started: int
    last_id: int
    kinds: Sequence[str]
    made: Sequence[str]
    wrote: bool
    done: bool


async def import_pmm(
    ledger: Ledger,
    path: Path,
    *,
    call: Call,
    secrets: SecretsMode = SecretsMode.MASK,
    progress: Progress | None = None,
) -> PmmImport:
    """Bring in a ledger of PMM, or what is new in it.

    Raises:
        ImportRefusedError: the file does not verify, or is not what was imported before; nothing was written.
        SecretRefusedError: it holds a credential, and the mode is to refuse; nothing was written.
        LeaseHeldError: another process is writing and did not finish in time.
        FenceLostError: another process took over; importing again goes on from there.

    """
    plan = await asyncio.to_thread(_plan, path, secrets)
    # A request id names one write and its answer; an import is many, and repeats safely by itself.
    call = replace(call, actor=replace(call.actor, kind="importer"), request_id="")
    async with ledger.keep_lease():
        await _compare(ledger.reader, plan.source)
        batches: list[_Batch] = []
        while not batches or not batches[-1].done:
            batch = await ledger.write(partial(_write_batch, plan=plan), call=call)
            batches.append(batch)
            if progress is not None:
                progress(plan.source.count_to(batch.last_id), len(plan.source.rows))
    async with ledger.reader.view() as view:
        head = await view.ask(events.head())
    return _result(plan, batches, head)


def _plan(path: Path, secrets: SecretsMode) -> _Plan:
    source = read_source(path, secrets=secrets)
    return _Plan(
        source=source,
        links=link(source.rows),
        name=path.name,
        conversation=as_name(f"pmm:{path.stem}", otherwise="pmm"),
        secrets=secrets,
    )


def _result(plan: _Plan, batches: Sequence[_Batch], head: int) -> PmmImport:
    kinds = Counter(kind for batch in batches for kind in batch.kinds)
    made = Counter(kind for batch in batches for kind in batch.made)
    return PmmImport(
        started=batches[-1].started,
        name=plan.name,
        origin=plan.source.origin,
        total=len(plan.source.rows),
        imported=kinds.total(),
        mapped=made.total(),
        forks=plan.source.forks,
        repeated=not any(batch.wrote for batch in batches),
        kinds=dict(sorted(kinds.items())),
        made=dict(sorted(made.items())),
        head=head,
        source_head=plan.source.rows[-1].hash,
    )


# ------------------------------------------------------------------------------------ what is here already


async def _compare(reader: Reader, source: PmmSource) -> None:
    """Let what was imported before be found again in the source, row by row.

    Raises:
        ImportRefusedError: a row differs, is missing, or was not there then.

    """
    async with reader.view() as view:
        earlier = await view.ask(imports.of_origin(SOURCE, source.origin))
    seen: set[int] = set()
    for one in earlier:
        after = 0
        while after < one.last_id:
            async with reader.view() as view:
                page = await view.ask(imports.verbatim(one.started, after=after, limit=COMPARED_AT_ONCE))
            await asyncio.to_thread(_check_rows, source, page)
            seen.update(source_id for source_id, _ in page)
            after = page[-1][0]
    last_id = max(seen, default=0)
    for row in source.rows:
        if row.id <= last_id and row.id not in seen:
            raise _differs(row.id)


def _check_rows(source: PmmSource, rows: Iterable[tuple[int, str | None]]) -> None:
    """Compare rows that are here with the source; a source that ends before them is merely older."""
    for source_id, text in rows:
        if source_id > source.last_id:
            return
        row = source.find(source_id)
        if row is None or (text is not None and hash_in(text) not in (row.hash, None)):
            raise _differs(source_id)


def _differs(source_id: int) -> ImportRefusedError:
    return ImportRefusedError(
        f"event {source_id} is not the one that was imported from this ledger before",
        hint="Import an untouched copy of the same ledger, or of another one. Nothing was written.",
    )


# ------------------------------------------------------------------------------------------------ a batch


class _Here:
    """Our own ledger, as the mapping sees it from inside a write."""

    def __init__(self, tx: Transaction, origin: str) -> None:
        self._tx = tx
        self._origin = origin

    @property
    def deadline_us(self) -> int:
        """Until when a prompt may wait for the import to bring its end."""
        return self._tx.now_us + PROMPT_WAITS_US

    def seq_of(self, source_id: int) -> int | None:
        """Return the event that was made of a row."""
        return self._tx.ask(imports.mapped(SOURCE, self._origin, source_id))

    def is_open_turn(self, turn: int) -> bool:
        """Say whether a turn still waits for its end."""
        return self._tx.ask(imports.is_open_turn(turn))

    def is_open_commitment(self, commitment: int) -> bool:
        """Say whether a commitment is open."""
        return self._tx.ask(imports.is_open_commitment(commitment))


def _write_batch(tx: Transaction, *, plan: _Plan) -> _Batch:
    """Write the next rows that are not here yet; with the last of them, finish."""
    source = plan.source
    earlier = tx.ask(imports.of_origin(SOURCE, source.origin))
    last_id = max((one.last_id for one in earlier), default=0)
    _check_last(tx, source, earlier)
    count = source.count_to(last_id)
    left = source.rows[count : count + EVENTS_A_WRITE]
    unfinished = next((one.started for one in earlier if one.finished is None), None)
    # An older copy of the source has nothing to add, and does not know what the end will be.
    if not left and (unfinished is None or source.last_id < last_id):
        started = earlier[-1].started
        return _Batch(started=started, last_id=last_id, kinds=(), made=(), wrote=False, done=True)
    started = unfinished if unfinished is not None else _start(tx, plan)
    kinds, made = _write_rows(tx, plan, started, left)
    last_id = left[len(kinds) - 1].id if kinds else last_id
    done = last_id == source.last_id and _finish(tx, plan, started)
    return _Batch(started=started, last_id=last_id, kinds=kinds, made=made, wrote=True, done=done)


def _check_last(tx: Transaction, source: PmmSource, earlier: Sequence[Import]) -> None:
    """Look once more at the last row, in case another import of this process came between."""
    for one in earlier:
        last = tx.ask(imports.verbatim(one.started, after=one.last_id - 1, limit=1))
        _check_rows(source, last)


def _start(tx: Transaction, plan: _Plan) -> int:
    event = ImportStarted(source="pmm", total=len(plan.source.rows), forks=plan.source.forks)
    texts = {
        "name": admit(plan.name, field="name", secrets=plan.secrets),
        "origin": admit(plan.source.origin, field="origin", secrets=SecretsMode.ALLOW),
    }
    return tx.append(Draft(event, texts))[0].seq


def _write_rows(
    tx: Transaction, plan: _Plan, started: int, rows: Iterable[SourceRow]
) -> tuple[list[str], list[str]]:
    """Write as many rows as one write takes; return their kinds, and the kinds of what was made of them."""
    here = _Here(tx, plan.source.origin)
    kinds: list[str] = []
    made: list[str] = []
    size = 0
    for row in rows:
        size += len(row.verbatim.value)
        if len(tx.appended) + 2 > EVENTS_A_WRITE or (kinds and size > CHARS_A_WRITE):
            break
        mapped = draft(
            row,
            partner_id=plan.links.get(row.id),
            here=here,
            conversation=plan.conversation,
            secrets=plan.secrets,
        )
        event = SourceEvent(
            started=started,
            source_id=row.id,
            source_kind=as_code(row.kind, otherwise="unknown"),
            mapped=tx.next_seq + 1 if mapped is not None else None,
        )
        tx.append(Draft(event, {"event": row.verbatim}))
        kinds.append(row.kind)
        if mapped is not None:
            made.append(tx.append(mapped)[0].kind)
    return kinds, made


def _finish(tx: Transaction, plan: _Plan, started: int) -> bool:
    """End the turns that the source left open, then the import; False when a write takes no more."""
    room = EVENTS_A_WRITE - len(tx.appended) - 1
    if room <= 0:
        return False
    turns = tx.ask(imports.open_turns(SOURCE, plan.source.origin, limit=room))
    event = GenerationFailure(status="interrupted", reason="imported_without_terminal")
    tx.append(*(Draft(event, turn=turn, conversation=plan.conversation) for turn in turns))
    if len(turns) == room:
        return False
    counts = tx.ask(imports.counts(started))
    tx.append(Draft(ImportFinished(started=started, imported=counts.imported, mapped=counts.mapped)))
    return True
