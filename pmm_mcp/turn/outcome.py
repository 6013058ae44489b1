"""The result of a turn, read from its events: the same for the first answer and for every later one."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, TypeVar

from pydantic import BaseModel, ConfigDict

from pmm_mcp.context.pack import context_id
from pmm_mcp.context.quoting import one_line
from pmm_mcp.domain.commitments import short_id
from pmm_mcp.domain.events.mind import ClaimAccepted, CommitmentClosed, CommitmentOpened
from pmm_mcp.domain.events.turn import (
    AssistantMessage,
    GenerationFailure,
    RetrievalSelection,
    ValidationFailure,
)
from pmm_mcp.domain.ids import event_id, public_id
from pmm_mcp.domain.records import Recorded
from pmm_mcp.domain.sizes import cut, fitting, part_bytes
from pmm_mcp.turn.parse import parse

P = TypeVar("P", bound=BaseModel)
E = TypeVar("E")

TURN_BYTES_MAX: Final = 7_400
"""What a result stays below before notices are added; the reply gets what the rest leaves."""
RAW_BYTES: Final = 1_500
VISIBLE_CHARS: Final = 65_536
"""How much of a reply is looked through for what a person sees of it: more would not fit anyway."""
LIST_BYTES: Final = 800
EVENTS_BYTES: Final = 1_400
LIST_MAX: Final = 12


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Span(_Part):
    """The first and the last event of something."""

    first: int
    last: int


class Failed(_Part):
    """How a turn ended without a complete reply."""

    status: str
    reason: str
    category: str | None = None
    partial: str | None = None


class Promise(_Part):
    """A commitment that was opened or closed; `cid` is PMM's short id."""

    id: str
    cid: str | None = None
    text: str | None = None
    outcome: str | None = None


class ClaimMade(_Part):
    """A claim that was accepted, and the earlier ones it contradicts."""

    id: str
    type: str
    subject: str | None = None
    evidence: list[str] = []
    contradicts: list[str] | None = None


class LineFailed(_Part):
    """A line of the reply without an effect, and why."""

    line: int
    reason: str
    detail: str | None = None
    text: str | None = None


class ContextUsed(_Part):
    """What the model was shown."""

    context_id: str
    items: list[str]
    tokens: int


class EventShown(_Part):
    """An event, shortened."""

    seq: int
    kind: str
    texts: dict[str, str] = {}


class TurnResult(_Part):
    """What came of a turn. `assistant` is the reply without its control lines.

    `generation_status` is complete, truncated, empty, indeterminate, transport_error, interrupted, or
    running; of a running turn the result is asked for later, with `pmm_get("turn:N")`.
    """

    turn: str
    generation_status: str
    assistant: str = ""
    assistant_raw: str = ""
    assistant_raw_truncated: bool | None = None
    generation_failure: Failed | None = None
    event_range: Span
    opened: list[Promise] = []
    closed: list[Promise] = []
    claims: list[ClaimMade] = []
    validation_failures: list[LineFailed] = []
    identity_updates: list[str] = []
    context: ContextUsed | None = None
    model: str | None = None
    latency_ms: int = 0
    adoption: dict[str, int] = {}
    events: list[EventShown] | None = None
    head: int = 0
    notice: str | None = None
    repeated: bool | None = None


def result_of(
    records: Sequence[Recorded],
    *,
    kinds: Mapping[int, str],
    promises: Mapping[int, str | None],
    secret: bytes | None,
    adoption: Mapping[str, int],
    include_events: bool = False,
) -> TurnResult:
    """Read a turn's events: its prompt first, then all that came of it.

    `kinds` says of which kind the cited events are, `promises` the texts of closed commitments.
    """
    first = records[0]
    replies, failures = _of(records, AssistantMessage), _of(records, GenerationFailure)
    ends: list[AssistantMessage | GenerationFailure] = [reply for _, reply in replies]
    ends += [failure for _, failure in failures]
    raw = (replies[0][0].texts["reply"] or "") if replies else ""
    raw_shown = cut(raw, bytes_max=RAW_BYTES)
    opened = _fitting(_opened(*found) for found in _of(records, CommitmentOpened))
    closed = _fitting(_closed(*found, promises) for found in _of(records, CommitmentClosed))
    claims = _fitting(_claimed(*found, kinds) for found in _of(records, ClaimAccepted))
    failed = _fitting(_line(*found) for found in _of(records, ValidationFailure))
    counts = [
        f"{found} {what}"
        for what, kind, shown in (
            ("commitments opened", CommitmentOpened, opened),
            ("commitments closed", CommitmentClosed, closed),
            ("claims", ClaimAccepted, claims),
            ("lines failed", ValidationFailure, failed),
        )
        if (found := len(_of(records, kind))) > len(shown)
    ]
    result = TurnResult(
        turn=public_id("turn", first.seq),
        generation_status="complete" if replies else failures[0][1].status if failures else "running",
        assistant_raw=raw_shown,
        assistant_raw_truncated=raw_shown != raw or None,
        generation_failure=_failed(*failures[0]) if failures else None,
        event_range=Span(first=first.seq, last=records[-1].seq),
        opened=opened,
        closed=closed,
        claims=claims,
        validation_failures=failed,
        context=_context(records, kinds, secret),
        adoption=dict(adoption),
        model=next(filter(None, (getattr(event, "model", None) for event in (*ends, first.event))), None),
        latency_ms=ends[0].latency_ms if ends else 0,
        events=_fitting((_event(record) for record in records), bytes_max=EVENTS_BYTES)
        if include_events
        else None,
        notice=f"not all is shown: {', '.join(counts)}; see pmm_ledger_events" if counts else None,
    )
    room = TURN_BYTES_MAX - part_bytes(result)
    return result.model_copy(update={"assistant": cut(parse(raw[:VISIBLE_CHARS]).visible, bytes_max=room)})


def _fitting(parts: Iterable[P], *, bytes_max: int = LIST_BYTES) -> list[P]:
    return fitting(list(islice(parts, LIST_MAX)), bytes_max=bytes_max, least=1)


def _of(records: Sequence[Recorded], kind: type[E]) -> list[tuple[Recorded, E]]:
    return [(record, record.event) for record in records if isinstance(record.event, kind)]


def _failed(record: Recorded, event: GenerationFailure) -> Failed:
    partial = record.texts.get("partial")
    return Failed(
        status=event.status,
        reason=event.reason,
        category=event.category,
        partial=cut(partial, bytes_max=RAW_BYTES) if partial else None,
    )


def _opened(record: Recorded, _event: CommitmentOpened) -> Promise:
    text = record.texts["commitment"]
    return Promise(
        id=public_id("co", record.seq),
        cid=None if text is None else short_id(text),
        text=None if text is None else one_line(text, chars_max=200),
    )


def _closed(record: Recorded, event: CommitmentClosed, promises: Mapping[int, str | None]) -> Promise:
    text, outcome = promises.get(event.commitment), record.texts.get("outcome")
    return Promise(
        id=public_id("co", event.commitment),
        cid=None if text is None else short_id(text),
        text=None if text is None else one_line(text, chars_max=200),
        outcome=None if outcome is None else one_line(outcome, chars_max=200),
    )


def _claimed(record: Recorded, event: ClaimAccepted, kinds: Mapping[int, str]) -> ClaimMade:
    subject = record.texts.get("subject")
    return ClaimMade(
        id=public_id("cl", record.seq),
        type=event.type,
        subject=None if subject is None else one_line(subject, chars_max=100),
        evidence=[event_id(kinds[seq], seq) for seq in event.evidence[:LIST_MAX] if seq in kinds],
        contradicts=[public_id("cl", seq) for seq in event.contradicts] or None,
    )


def _line(record: Recorded, event: ValidationFailure) -> LineFailed:
    return LineFailed(
        line=event.line,
        reason=event.reason,
        detail=one_line(record.texts.get("detail") or "", chars_max=120) or None,
        text=one_line(record.texts.get("line") or "", chars_max=120) or None,
    )


def _context(
    records: Sequence[Recorded], kinds: Mapping[int, str], secret: bytes | None
) -> ContextUsed | None:
    for _, event in _of(records, RetrievalSelection):
        seqs = (*event.guidance, *(hit.doc for hit in event.selected))
        ids = [event_id(kinds[seq], seq) for seq in seqs if seq in kinds]
        return ContextUsed(
            context_id=context_id(head=event.watermark, item_ids=ids, secret=secret),
            items=ids,
            tokens=event.tokens,
        )
    return None


def _event(record: Recorded) -> EventShown:
    texts = {name: one_line(text, chars_max=120) for name, text in record.texts.items() if text is not None}
    return EventShown(seq=record.seq, kind=record.kind, texts=texts)


def cited_events(records: Sequence[Recorded]) -> tuple[int, ...]:
    """Return the events that the turn's context showed as items, and those its claims cite."""
    shown = (
        seq
        for _, event in _of(records, RetrievalSelection)
        for seq in (*event.guidance, *(hit.doc for hit in event.selected))
    )
    claimed = (seq for _, event in _of(records, ClaimAccepted) for seq in event.evidence)
    return tuple(dict.fromkeys((*shown, *claimed)))


def guiding_items(records: Sequence[Recorded]) -> tuple[int, ...]:
    """Return the governed items that the turn's context showed."""
    return tuple(seq for _, event in _of(records, RetrievalSelection) for seq in event.guidance)


def closed_commitments(records: Sequence[Recorded]) -> tuple[int, ...]:
    """Return the commitments that the turn closed."""
    return tuple(event.commitment for _, event in _of(records, CommitmentClosed))


def citable(records: Sequence[Recorded]) -> frozenset[int]:
    """Return the events that the turn's context showed."""
    return frozenset(
        seq
        for _, event in _of(records, RetrievalSelection)
        for seq in (*event.guidance, *(hit.doc for hit in event.selected), *event.pairs, *event.commitments)
    )
