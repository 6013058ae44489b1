"""Facts with the time they hold: asserting and ending them, asking for them, checking a text against them."""

import re
from dataclasses import dataclass
from typing import Final

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.errors import InvalidArgumentError, MoveNotAllowedError, RequestIdConflictError
from pmm_mcp.domain.events.memory import FactAsserted, FactEnded
from pmm_mcp.domain.facts import Fact, check_text, fact_key
from pmm_mcp.domain.ids import SEQ_MAX, parse_id, public_id
from pmm_mcp.domain.records import Call, Draft, Recorded
from pmm_mcp.domain.sizes import cut, fitting
from pmm_mcp.domain.times import instant, microseconds, timestamp
from pmm_mcp.ports import Clock, Ledger, Transaction
from pmm_mcp.queries import events, facts
from pmm_mcp.queries.plans import carry_out
from pmm_mcp.services.boundary import Boundary
from pmm_mcp.services.knowledge.dossier import existing, refs_of
from pmm_mcp.services.results import Part, Ref, Result

WORD_CHARS_MAX: Final = 200
LIMIT_MAX: Final = 50
SAME_MAX: Final = 200
CHECKED_MAX: Final = 500
WORD_BYTES: Final = 400
LIST_BYTES: Final = 7_600
_CURSOR: Final = re.compile(r"[1-9][0-9]{0,14}")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")


class AssertResult(Result):
    """The fact, and which ones it ended."""

    id: str
    created: bool = True
    ended: list[str] = []
    refs: list[Ref] = []


class FactShown(Part):
    """A fact; it holds from `valid_from` up to, but not at, `valid_to`."""

    id: str
    subject: str
    predicate: str
    object: str
    valid_from: str
    valid_to: str | None = None
    confidence_pct: int
    source: str
    anchor: str


class FactsResult(Result):
    """Facts, newest first."""

    facts: list[FactShown]
    next_cursor: str | None = None


class IssueShown(Part):
    """Something in a text that does not go with a fact: contradiction, ended, or look_alike."""

    kind: str
    mentioned: str
    known: str
    fact: str


class CheckResult(Result):
    """What does not go with known facts; `checked` are the facts that were looked at."""

    issues: list[IssueShown]
    checked: int


@dataclass(frozen=True, slots=True)
class FactService:
    """Keeps facts; re-asserting never erases what was."""

    ledger: Ledger
    boundary: Boundary
    clock: Clock

    async def assert_fact(
        self,
        *,
        subject: str,
        predicate: str,
        object: str,
        valid_from: str,
        single_valued: bool,
        confidence_pct: int,
        source: str,
        end: bool,
        call: Call,
    ) -> AssertResult:
        """Assert a fact, or end it. A new value of a single-valued predicate ends the old one.

        Raises:
            InvalidArgumentError: an argument is malformed.
            MoveNotAllowedError: what is to be ended does not hold, or would end before it began.
            NotFoundError: the source is not there.

        """
        if not 0 <= confidence_pct <= 100:  # noqa: PLR2004 - per cent
            raise InvalidArgumentError(f"confidence_pct: {confidence_pct} is not allowed", hint="0 to 100.")
        words = {
            name: await self.boundary.admit(_word(text, argument=name), field=name)
            for name, text in (("subject", subject), ("predicate", predicate), ("object", object))
        }
        when = microseconds(_moment(valid_from, argument="valid_from")) if valid_from.strip() else None
        asserting = _Asserting(
            words=words,
            from_us=when,
            single_valued=single_valued,
            confidence_pct=confidence_pct,
            source=parse_id(source, "ev")[1],
            call=call,
        )
        work = asserting.end if end else asserting.write
        return await self.ledger.write(work, call=call, again=asserting.again)

    async def query(
        self,
        *,
        subject: str,
        predicate: str,
        object: str,
        as_of: str,
        include_ended: bool,
        limit: int,
        cursor: str,
        call: Call,
    ) -> FactsResult:
        """Return facts of this place that hold at a moment, by default now.

        Raises:
            InvalidArgumentError: an argument is malformed.

        """
        if not 1 <= limit <= LIMIT_MAX:
            raise InvalidArgumentError(f"limit: {limit} is not allowed", hint=f"1 to {LIMIT_MAX}.")
        if cursor and not _CURSOR.fullmatch(cursor):
            raise InvalidArgumentError(
                f"cursor: {cursor[:40]!r} is not one", hint="Pass next_cursor as it came."
            )
        at_us = microseconds(_moment(as_of, argument="as_of")) if as_of.strip() else self.clock.now_us()
        query = facts.about(
            anchors=call.place.visible,
            subject=subject,
            predicate=predicate,
            object=object,
            at_us=None if include_ended else at_us,
            before=int(cursor or SEQ_MAX),
            limit=limit + 1,
        )
        async with self.ledger.reader.view() as view:
            found = await view.ask(query)
            head = await view.ask(events.head())
        shown = fitting([_shown(fact) for fact in found[:limit]], bytes_max=LIST_BYTES, least=1)
        more = len(found) > len(shown)
        return FactsResult(
            facts=shown, next_cursor=shown[-1].id.partition(":")[2] if more and shown else None, head=head
        )

    async def check(self, text: str, *, now: str, call: Call) -> CheckResult:
        """Compare a text with the facts of this place; ordinary prose raises nothing.

        Raises:
            InvalidArgumentError: `now` is no moment.

        """
        now_us = microseconds(_moment(now, argument="now")) if now.strip() else self.clock.now_us()
        async with self.ledger.reader.view() as view:
            known = await view.ask(facts.about(anchors=call.place.visible, limit=CHECKED_MAX))
            head = await view.ask(events.head())
        issues = [
            IssueShown(
                kind=issue.kind,
                mentioned=cut(issue.mentioned, bytes_max=WORD_BYTES),
                known=cut(issue.known, bytes_max=WORD_BYTES),
                fact=public_id("fa", issue.fact),
            )
            for issue in check_text(text, known, now_us=now_us)
        ]
        return CheckResult(issues=fitting(issues, bytes_max=LIST_BYTES), checked=len(known), head=head)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asserting:
    words: dict[str, Admitted]
    from_us: int | None
    single_valued: bool
    confidence_pct: int
    source: int
    call: Call

    def write(self, tx: Transaction) -> AssertResult:
        refs = self.check_source(tx)
        from_us = tx.now_us if self.from_us is None else self.from_us
        same = self.holding(tx, with_object=True)
        if same and same[0].holds_at(from_us):
            return AssertResult(
                id=public_id("fa", same[0].fact),
                created=False,
                refs=refs,
                notice="this holds already",
                head=tx.next_seq - 1,
            )
        event = FactAsserted(
            from_us=from_us,
            single_valued=self.single_valued,
            confidence_pct=self.confidence_pct,
            source=self.source,
        )
        before = [fact for fact in self.holding(tx, with_object=False) if fact.holds_at(from_us)]
        later = [fact.from_us for fact in self.holding(tx, with_object=False) if fact.from_us > from_us]
        (record,) = tx.append(Draft(event, self.words))
        ended: list[str] = []
        if self.single_valued:
            for fact in before:
                self.append_end(tx, fact.fact, from_us, replaced_by=record.seq)
                ended.append(public_id("fa", fact.fact))
            if later:
                # Another value is known to hold from then on: history is put in order, not overwritten.
                self.append_end(tx, record.seq, min(later), replaced_by=None)
        return AssertResult(id=public_id("fa", record.seq), ended=ended, refs=refs, head=tx.next_seq - 1)

    def end(self, tx: Transaction) -> AssertResult:
        refs = self.check_source(tx)
        to_us = tx.now_us if self.from_us is None else self.from_us
        holding = [fact for fact in self.holding(tx, with_object=True) if fact.holds_at(to_us)]
        if not holding:
            raise MoveNotAllowedError(
                "no such fact holds then",
                hint="pmm_fact_query shows what holds; valid_from says when it ends.",
            )
        fact = holding[0]
        if to_us <= fact.from_us:
            raise MoveNotAllowedError("it would end before it began", hint="Say a later valid_from.")
        self.append_end(tx, fact.fact, to_us, replaced_by=None)
        ended = public_id("fa", fact.fact)
        return AssertResult(id=ended, created=False, ended=[ended], refs=refs, head=tx.next_seq - 1)

    def append_end(self, tx: Transaction, fact: int, to_us: int, *, replaced_by: int | None) -> None:
        tx.append(Draft(FactEnded(fact=fact, to_us=to_us, source=self.source, replaced_by=replaced_by)))

    def holding(self, tx: Transaction, *, with_object: bool) -> tuple[Fact, ...]:
        """Return what is known of the subject and predicate at this place, with this object or another."""
        words = {name: text.value for name, text in self.words.items()}
        found = tx.ask(
            facts.about(
                anchors=(self.call.place.home,),
                subject=words["subject"],
                predicate=words["predicate"],
                limit=SAME_MAX,
            )
        )
        key = fact_key(words["object"])
        return tuple(fact for fact in found if (fact_key(fact.object or "") == key) is with_object)

    def check_source(self, tx: Transaction) -> list[Ref]:
        return refs_of(carry_out(tx, existing([self.source])), [self.source])

    def again(self, tx: Transaction, recorded: Recorded) -> AssertResult:
        event = recorded.event
        match event:
            case FactAsserted() if all(
                recorded.texts.get(name) in (text.value, None) for name, text in self.words.items()
            ):
                return AssertResult(id=public_id("fa", recorded.seq), head=tx.next_seq - 1, repeated=True)
            case FactEnded(fact=fact):
                ended = public_id("fa", fact)
                return AssertResult(
                    id=ended, created=False, ended=[ended], head=tx.next_seq - 1, repeated=True
                )
            case _:
                raise RequestIdConflictError(recorded.request_id)


def _word(text: str, *, argument: str) -> str:
    word = " ".join(text.split())
    if not 1 <= len(word) <= WORD_CHARS_MAX:
        raise InvalidArgumentError(
            f"{argument} has {len(word)} characters", hint=f"It has 1 to {WORD_CHARS_MAX}, on one line."
        )
    return word


def _moment(text: str, *, argument: str) -> str:
    text = text.strip()
    return instant(f"{text}T00:00:00Z" if _DAY.fullmatch(text) else text, argument=argument)


def _shown(fact: Fact) -> FactShown:
    return FactShown(
        id=public_id("fa", fact.fact),
        subject=fact.subject or "",
        predicate=fact.predicate or "",
        object=fact.object or "",
        valid_from=timestamp(fact.from_us),
        valid_to=None if fact.to_us is None else timestamp(fact.to_us),
        confidence_pct=fact.confidence_pct,
        source=public_id("ev", fact.source),
        anchor=fact.anchor,
    )
