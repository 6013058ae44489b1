"""Looking into the ledger itself: its events, and whether they hold."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from pmm_mcp.domain.errors import InvalidArgumentError, LedgerDamagedError
from pmm_mcp.domain.event_names import kinds_named
from pmm_mcp.domain.events.ledger import LedgerOpened
from pmm_mcp.domain.events.review import TeachingSigned
from pmm_mcp.domain.ids import SEQ_MAX, parse_id
from pmm_mcp.domain.records import Recorded
from pmm_mcp.domain.reviews import REVIEW_KINDS, Reviewers, looked_at
from pmm_mcp.domain.sizes import cut, fitting, lean
from pmm_mcp.ports import Ledger, Problem, Progress, Signatures, Verification
from pmm_mcp.queries import events, reviews
from pmm_mcp.services.items import ActorShown
from pmm_mcp.services.results import Part, Result

LIMIT_MAX: Final = 200
PAGE_BYTES: Final = 7_600
TEXT_BYTES: Final = 900
BODY_BYTES: Final = 2_000
PROBLEMS_BYTES: Final = 3_600
NOTES_BYTES: Final = 1_800
DETAIL_BYTES: Final = 400
EXPORTED_AT_ONCE: Final = 200
REVIEWS_AT_ONCE: Final = 200
PROBLEMS_MAX: Final = 50
VERIFY_S: Final = 30.0
"""How long an agent's call may verify; clients give up on a call after a minute."""
REPLAYED_MAX: Final = 100_000
"""How many events are replayed at most within a budget."""


class EventShown(Part):
    """An event as recorded; long texts are shortened, removed ones absent."""

    seq: int
    ts: str
    kind: str
    actor: ActorShown
    anchor: str
    fence: int
    body: dict[str, Any]
    texts: dict[str, str]
    turn: int | None = None
    conversation: str | None = None
    request_id: str | None = None
    hash: str


class EventsResult(Result):
    """A page of events, in order."""

    events: list[EventShown]
    next_cursor: str | None = None


class EventExported(Part):
    """An event with all it takes to verify it elsewhere; `removed` names the texts that were redacted.

    `record` is what is hashed: encode it as UTF-8. `salts` are in hex.
    """

    seq: int
    ts: str
    kind: str
    actor: ActorShown
    anchor: str
    body: dict[str, Any]
    texts: dict[str, str]
    salts: dict[str, str]
    hash: str
    record: str
    turn: int | None = None
    conversation: str | None = None
    removed: list[str] | None = None


class ProblemShown(Part):
    """Something that does not hold, or is unusual; `seq` 0 has no position."""

    seq: int
    code: str
    detail: str


class VerifyResult(Result):
    """What verifying found. `first_bad` is the lowest seq that does not hold.

    `head_hash` is the hash of the last event that was checked.
    """

    ok: bool
    checked: int
    head_hash: str
    first_bad: int | None = None
    problems: list[ProblemShown] = []
    notes: list[ProblemShown] = []
    redacted: list[int] = []
    checkpoint: str | None = None


@dataclass(frozen=True, slots=True)
class LedgerService:
    """Reads and verifies the ledger."""

    ledger: Ledger
    signatures: Signatures

    async def events(
        self,
        *,
        after: int = 0,
        limit: int = 20,
        kinds: Sequence[str] = (),
        turn: str = "",
        cursor: str = "",
        tail: bool = False,
        bytes_max: int = PAGE_BYTES,
    ) -> EventsResult:
        """Return events after a seq, at most `limit`, as fit into an answer; PMM's names of kinds work too.

        With `tail` they are the last ones.

        Raises:
            InvalidArgumentError: an argument has a value that is not allowed.

        """
        if not 1 <= limit <= LIMIT_MAX:
            raise InvalidArgumentError(
                f"limit: {limit} is not allowed", hint=f"It is a number from 1 to {LIMIT_MAX}."
            )
        if cursor and not cursor.isdecimal():
            raise InvalidArgumentError(
                f"cursor: {cursor[:40]!r} is not one", hint="Pass next_cursor as it came."
            )
        if not 0 <= after <= SEQ_MAX:
            raise InvalidArgumentError(
                f"after: {after} is not allowed", hint="It is a seq; 0 begins at the first."
            )
        after = int(cursor[:16]) if cursor else after
        query = (
            events.tail(limit)
            if tail
            else events.page(
                after=after,
                limit=limit,
                kinds=kinds_named(kinds),
                turn=parse_id(turn, "turn")[1] if turn.strip() else None,
            )
        )
        async with self.ledger.reader.view() as view:
            records = await view.ask(query)
            head = await view.ask(events.head())
        shown = _fitting([_event(record) for record in records], bytes_max=bytes_max, from_end=tail)
        more = bool(shown) and not tail and (len(shown) < len(records) or len(records) == limit)
        return EventsResult(
            events=shown,
            next_cursor=str(shown[-1].seq) if more and shown[-1].seq < head else None,
            head=head,
        )

    async def event(self, seq: int) -> EventShown | None:
        """Return one event, or None."""
        async with self.ledger.reader.view() as view:
            record = await view.ask(events.by_seq(seq))
        return None if record is None else _event(record)

    async def export(self, *, progress: Progress | None = None) -> AsyncGenerator[Sequence[EventExported]]:
        """Return every event there is now, in pages, none shortened.

        Raises:
            LedgerDamagedError: a stored event cannot be read.

        """
        async with self.ledger.reader.view() as view:
            head = await view.ask(events.head())
        done = 0
        while done < head:
            async with self.ledger.reader.view() as view:
                page = await view.ask(events.stored(after=done, until=head, limit=EXPORTED_AT_ONCE))
            yield [_exported(stored) for stored in page]
            done = page[-1].seq
            if progress is not None:
                progress(done, head)

    async def verify(
        self,
        *,
        from_seq: int = 0,
        projections: bool = False,
        since_last: bool = False,
        budget_s: float | None = None,
        progress: Progress | None = None,
    ) -> VerifyResult:
        """Recompute every hash from the stored bytes, from a seq or from where it was last done.

        With a budget it stops when the time is up; the notice says where to go on.

        Raises:
            InvalidArgumentError: there is more to replay than the budget can be enough for.

        """
        if projections and budget_s is not None:
            await self._check_replayable()
        if since_last:
            # Where the file ends before that, verifying says so, and begins no later than at its end.
            from_seq = (await self.ledger.state()).verified_to + 1
        found = await self.ledger.verify(
            from_seq=max(1, from_seq), projections=projections, budget_s=budget_s, progress=progress
        )
        if found.ok:
            found = replace(found, problems=await self._unsigned())
        return VerifyResult(
            ok=found.ok,
            checked=found.checked,
            head=found.last,
            notice=_going_on(found),
            head_hash=found.head_hash,
            first_bad=found.first_bad,
            problems=_problems(found.problems, bytes_max=PROBLEMS_BYTES),
            notes=_problems(found.notes, bytes_max=NOTES_BYTES),
            redacted=list(found.redacted[:LIMIT_MAX]),
        )

    async def rebuild(self, *, progress: Progress | None = None) -> int:
        """Compute every read table anew; return how many events were replayed."""
        return await self.ledger.rebuild(progress=progress)

    async def _unsigned(self) -> tuple[Problem, ...]:
        """Check every signature of a person, from the first reviewer on; they are few."""
        problems: list[Problem] = []
        async with self.ledger.reader.view() as view:
            opened = await view.ask(events.by_seq(1))
            ledger_id = opened.event.ledger_id if opened and isinstance(opened.event, LedgerOpened) else ""
            known = Reviewers(ledger_id=ledger_id, holds=self.signatures.holds)
            taught = await view.ask(reviews.said_to_be_signed())
            unsigned = dict.fromkeys(taught, "nobody signed it")
            after = 0
            while page := await view.ask(events.page(after=after, kinds=REVIEW_KINDS, limit=REVIEWS_AT_ONCE)):
                seen = await view.ask(events.by_seqs(sorted({seq for one in page for seq in looked_at(one)})))
                hashes = {seq: record.hash.hex() for seq, record in seen.items()}
                problems += [
                    Problem(record.seq, "signature_invalid", detail)
                    for record in page
                    for detail in known.problems(record, hash_of=hashes.get)
                ]
                for one in page:
                    if isinstance(one.event, TeachingSigned):
                        unsigned.pop(one.event.evidence, None)
                after = page[-1].seq
        problems += [Problem(seq, "signature_invalid", detail) for seq, detail in unsigned.items()]
        return tuple(problems[:PROBLEMS_MAX])

    async def _check_replayable(self) -> None:
        async with self.ledger.reader.view() as view:
            head = await view.ask(events.head())
        if head > REPLAYED_MAX:
            raise InvalidArgumentError(
                f"projections: replaying {head} events takes longer than a call may",
                hint="Run `pmm-mcp verify --projections` on the command line, or leave projections out.",
            )


def _event(record: Recorded) -> EventShown:
    texts = {name: text for name, text in record.texts.items() if text is not None}
    return EventShown(
        seq=record.seq,
        ts=record.ts,
        kind=record.kind,
        actor=ActorShown(kind=record.actor.kind, name=record.actor.name, session=record.actor.session),
        anchor=record.anchor,
        fence=record.fence,
        body=lean(record.event.body(), bytes_max=BODY_BYTES)[0],
        texts={name: cut(text, bytes_max=TEXT_BYTES) for name, text in texts.items()},
        turn=record.turn,
        conversation=record.conversation or None,
        request_id=record.request_id or None,
        hash=record.hash.hex(),
    )


def _exported(stored: events.Stored) -> EventExported:
    try:
        data = orjson.loads(stored.record)
        return EventExported(
            seq=stored.seq,
            ts=data["ts"],
            kind=data["kind"],
            actor=ActorShown(**data["actor"]),
            anchor=data["anchor"],
            body=data["body"],
            texts={field: text for field, (_, text) in stored.texts.items()},
            salts={field: salt.hex() for field, (salt, _) in stored.texts.items()},
            hash=stored.hash.hex(),
            record=stored.record.decode(),
            turn=data.get("turn"),
            conversation=data.get("conversation"),
            removed=sorted(set(data.get("texts", ())) - set(stored.texts)) or None,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LedgerDamagedError(
            f"event {stored.seq} cannot be read", hint="`pmm-mcp verify` says what does not hold."
        ) from error


def _going_on(found: Verification) -> str | None:
    if found.next_seq is None:
        return None
    return (
        f"the time was up at event {found.head} of {found.last}: what was checked is judged above; "
        f"call again with from_seq {found.next_seq}, or run `pmm-mcp verify` on the command line"
    )


def _fitting(shown: list[EventShown], *, bytes_max: int, from_end: bool) -> list[EventShown]:
    """Return as many events as fit into an answer, at least one, in their order."""
    kept = fitting(shown[::-1] if from_end else shown, bytes_max=bytes_max, least=1)
    return kept[::-1] if from_end else kept


def _problems(problems: Sequence[Problem], *, bytes_max: int) -> list[ProblemShown]:
    shown = [
        ProblemShown(seq=one.seq, code=one.code, detail=cut(one.detail, bytes_max=DETAIL_BYTES))
        for one in problems[:50]
    ]
    return fitting(shown, bytes_max=bytes_max, least=1)
