"""Adoption: what became of what was remembered, and whether that is enough to give it more power."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pmm_mcp.context.pack import is_context_of
from pmm_mcp.domain.adoption import NEWEST_MAX, READINESS, Said, distinct, judge_readiness
from pmm_mcp.domain.errors import InvalidArgumentError, NotFoundError, RequestIdConflictError, TooLargeError
from pmm_mcp.domain.events.adoption import AdoptionRecorded, RollbackResolved, Signal, Track
from pmm_mcp.domain.ids import KINDS, SEQ_MAX, parse_id, public_id
from pmm_mcp.domain.names import name
from pmm_mcp.domain.records import Call, Draft, Recorded
from pmm_mcp.domain.sizes import fitting
from pmm_mcp.ports import Ledger, Transaction
from pmm_mcp.queries import adoption, events, reviews
from pmm_mcp.queries.adoption import Signals
from pmm_mcp.queries.plans import carry_out
from pmm_mcp.services.boundary import Boundary
from pmm_mcp.services.results import Part, Result
from pmm_mcp.services.reviewers import UNSIGNED, Sign, SignedResult, check_signer, signed

METADATA_BYTES_MAX: Final = 8_192
LIMIT_MAX: Final = 50
EVENTS_BYTES: Final = 5_000
_CURSOR: Final = re.compile(r"[1-9][0-9]{0,14}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalInput:
    """What a caller says became of something; empty strings are absent."""

    signal: str
    item_id: str = ""
    context_id: str = ""
    track: str = Track.RUNTIME_ADOPTION
    feature: str = "context"
    query: str = ""
    evaluator_id: str = ""
    research_report_id: str = ""
    note: str = ""
    metadata: Mapping[str, Any] | None = None


class AdoptionResult(Result):
    """The signal, and all that was said about the same item or on the same track."""

    id: str
    totals: dict[str, int]


class SignalShown(Part):
    """A signal."""

    id: str
    signal: str
    session: str
    context_id: str | None = None
    counts: bool
    resolved: bool | None = None


class GateShown(Part):
    """Whether a readiness gate opens. It only reports."""

    candidate: str
    ready: bool
    track: str
    reasons: list[str] = []
    missing: list[str] = []


class ReportResult(Result):
    """Totals, how many of them are distinct, a gate when one was asked for, and the newest signals."""

    totals: dict[str, int]
    distinct: dict[str, int]
    from_command_line: int = 0
    gate: GateShown | None = None
    events: list[SignalShown] = []
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class AdoptionService:
    """Records signals, and counts them so that nobody certifies itself."""

    ledger: Ledger
    boundary: Boundary

    async def record(self, given: SignalInput, *, call: Call) -> AdoptionResult:
        """Record a signal. Who says it, and in which session, is the server's to know.

        Raises:
            InvalidArgumentError: an argument is malformed, or neither an item nor a context is named.
            NotFoundError: the item is not there.

        """
        recording = _Recording(
            event=_event(given),
            item_id=given.item_id.strip(),
            texts={
                field: await self.boundary.admit(text, field=field)
                for field, text in (
                    ("query", given.query.strip()),
                    ("note", given.note.strip()),
                    ("metadata", _json(given.metadata)),
                )
                if text
            },
        )
        return await self.ledger.write(recording.write, call=call, again=recording.again)

    async def report(
        self, *, track: str, feature: str, item_id: str, candidate: str, limit: int, cursor: str
    ) -> ReportResult:
        """Return what was said, and what a readiness gate makes of it.

        Raises:
            InvalidArgumentError: an argument has a value that is not allowed.

        """
        if not 1 <= limit <= LIMIT_MAX:
            raise InvalidArgumentError(f"limit: {limit} is not allowed", hint=f"1 to {LIMIT_MAX}.")
        if cursor and not _CURSOR.fullmatch(cursor):
            raise InvalidArgumentError(
                f"cursor: {cursor[:40]!r} is not one", hint="Pass next_cursor as it came."
            )
        rule = READINESS.get(candidate.strip())
        if candidate.strip() and rule is None:
            raise InvalidArgumentError(
                f"candidate: {candidate[:40]!r} is not one", hint="Use " + ", ".join(READINESS) + "."
            )
        item = parse_id(item_id)[1] if item_id.strip() else 0
        wanted = rule.track if rule is not None else Track(track) if _is_track(track) else ""
        signals = Signals(track=wanted, feature=name(feature, argument="feature"), item=item)
        async with self.ledger.reader.view() as view:
            said = await view.ask(adoption.newest(signals, limit=NEWEST_MAX))
            counts = await view.ask(adoption.totals(signals))
            before = Signals(track=wanted, feature=signals.feature, item=item, before=int(cursor or SEQ_MAX))
            page = await view.ask(adoption.newest(before, limit=limit + 1))
            head = await view.ask(events.head())
        newest = [_signal(one) for one in reversed(page)][:limit]
        shown = fitting(newest, bytes_max=EVENTS_BYTES, least=1)
        pairs = frozenset[tuple[str, str]]().union(*(distinct(said, signal) for signal in Signal))
        return ReportResult(
            totals=_totals(counts),
            distinct={
                "sessions": len({session for session, _ in pairs}),
                "contexts": len({context for _, context in pairs}),
            },
            from_command_line=sum(one.is_from_command_line for one in said),
            gate=None
            if rule is None
            else GateShown(
                candidate=candidate.strip(),
                track=rule.track,
                ready=(verdict := judge_readiness(rule, said)).ready,
                reasons=list(verdict.reasons),
                missing=list(verdict.missing),
            ),
            events=shown,
            next_cursor=shown[-1].id.partition(":")[2] if len(page) > len(shown) and shown else None,
            head=head,
        )

    async def resolve(self, signal_id: str, *, reason: str, key: str, sign: Sign, call: Call) -> SignedResult:
        """Let a reviewer say that a rollback or a contradiction no longer stands in the way.

        Raises:
            InvalidArgumentError: the reason is empty, or the signal is no such thing.
            NotFoundError: there is no such signal.
            ReviewRefusedError: the key proves nobody here.

        """
        _, rollback = parse_id(signal_id, "ad")
        said = await self.boundary.reason(reason, hint="Say what was done about it.")

        def work(tx: Transaction) -> SignedResult:
            record = tx.ask(events.by_seq(rollback))
            if record is None or not isinstance(record.event, AdoptionRecorded):
                raise NotFoundError(f"the ledger holds no {signal_id.strip()}", hint="See `adoption report`.")
            if record.event.signal not in (Signal.ROLLBACK, Signal.CONTRADICTION):
                raise InvalidArgumentError(
                    f"{signal_id.strip()} is {record.event.signal}", hint="It stands in nobody's way."
                )
            check_signer(tx.ask(reviews.reviewers()), key)
            event = RollbackResolved(rollback=rollback, key=key, signature=UNSIGNED)
            (resolved,) = tx.append(Draft(carry_out(tx, signed(event, sign)), {"reason": said}))
            return SignedResult(id=f"event:{resolved.seq}", key=key, head=resolved.seq)

        return await self.ledger.write(work, call=call)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recording:
    event: AdoptionRecorded
    item_id: str
    texts: Mapping[str, Any]

    def write(self, tx: Transaction) -> AdoptionResult:
        event = self.event
        if self.item_id:
            prefix, seq = parse_id(self.item_id)
            record = tx.ask(events.by_seq(seq))
            if record is None or record.kind not in KINDS.get(prefix, ()):
                raise NotFoundError(f"the ledger holds no {self.item_id}", hint="Check the id.")
            event = event.model_copy(update={"item": seq})
        if event.context is not None:
            is_ours = is_context_of(event.context, secret=tx.ask(adoption.secret()))
            event = event.model_copy(update={"is_ours": is_ours})
        (record,) = tx.append(Draft(event, self.texts))
        notice = None
        if event.context is not None and not event.is_ours:
            notice = "this context_id is none of ours, so the signal is kept and does not count"
        return self.result(tx, record.seq, event).model_copy(update={"notice": notice})

    def again(self, tx: Transaction, recorded: Recorded) -> AdoptionResult:
        event = recorded.event
        if not isinstance(event, AdoptionRecorded) or event.signal is not self.event.signal:
            raise RequestIdConflictError(recorded.request_id)
        return self.result(tx, recorded.seq, event).model_copy(update={"repeated": True})

    def result(self, tx: Transaction, seq: int, event: AdoptionRecorded) -> AdoptionResult:
        about = Signals(item=event.item) if event.item else Signals(track=event.track)
        return AdoptionResult(
            id=public_id("ad", seq), totals=_totals(tx.ask(adoption.totals(about))), head=tx.next_seq - 1
        )


def _event(given: SignalInput) -> AdoptionRecorded:
    signal = given.signal.strip().lower()
    if signal not in tuple(Signal):
        raise InvalidArgumentError(
            f"signal: {given.signal[:40]!r} is not one", hint="Use " + ", ".join(Signal) + "."
        )
    if not given.item_id.strip() and not given.context_id.strip():
        raise InvalidArgumentError(
            "neither item_id nor context_id", hint="Name what it is about: an id, or the pack's context_id."
        )
    evaluator = name(given.evaluator_id, argument="evaluator_id")
    track = Track(given.track.strip().lower()) if _is_track(given.track) else Track.RUNTIME_ADOPTION
    if evaluator and track is not Track.EVALUATOR:
        raise InvalidArgumentError(
            "an evaluator's signals have a track of their own", hint='Pass track: "evaluator".'
        )
    return AdoptionRecorded(
        track=track,
        signal=Signal(signal),
        feature=name(given.feature, argument="feature") or "context",
        context=name(given.context_id, argument="context_id") or None,
        evaluator=evaluator or None,
        report=name(given.research_report_id, argument="research_report_id") or None,
    )


def _is_track(text: str) -> bool:
    said = text.strip().lower()
    if said and said not in tuple(Track):
        raise InvalidArgumentError(f"track: {text[:40]!r} is not one", hint="Use " + ", ".join(Track) + ".")
    return bool(said)


def _json(metadata: Mapping[str, Any] | None) -> str:
    if not metadata:
        return ""
    text = json.dumps(metadata, ensure_ascii=False, sort_keys=True, default=str)
    if len(text.encode("utf-8", "replace")) > METADATA_BYTES_MAX:
        raise TooLargeError(
            f"metadata is over {METADATA_BYTES_MAX} bytes", hint="Record it as evidence, and name that."
        )
    return text


def _totals(counts: Mapping[str, int]) -> dict[str, int]:
    return {signal: counts.get(signal, 0) for signal in Signal if signal is not Signal.NEUTRAL}


def _signal(said: Said) -> SignalShown:
    return SignalShown(
        id=public_id("ad", said.seq),
        signal=said.signal,
        session=said.session,
        context_id=said.context,
        counts=said.pair is not None,
        resolved=said.is_resolved or None,
    )
