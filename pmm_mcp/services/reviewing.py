"""What waits for a person, shown whole, and what the person decides about it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.errors import NotFoundError, ReviewRefusedError
from pmm_mcp.domain.events.knowledge import Candidate, PromotionRefused
from pmm_mcp.domain.events.review import Decision, ReviewedMove, ReviewRecorded
from pmm_mcp.domain.gate import judge
from pmm_mcp.domain.ids import public_id
from pmm_mcp.domain.knowledge import Item
from pmm_mcp.domain.records import Call, Draft, Recorded
from pmm_mcp.domain.tiers import GLOSSES, Role
from pmm_mcp.ports import Clock, Ledger, Plan, Signatures, Transaction, View
from pmm_mcp.queries import citations, events, knowledge, memory, reviews
from pmm_mcp.queries.citations import Citation
from pmm_mcp.queries.knowledge import Listing
from pmm_mcp.queries.memory import EvidenceRow
from pmm_mcp.queries.plans import carry_out
from pmm_mcp.services.boundary import Boundary
from pmm_mcp.services.items import HISTORY, Change, change_of
from pmm_mcp.services.knowledge.dossier import Dossier, Proposal, dossier_of, item_at, parse_item
from pmm_mcp.services.results import Part, Result
from pmm_mcp.services.reviewers import UNSIGNED, Sign, check_signer, is_young, signed

WAITING_MAX: Final = 50
VALID_US: Final = 30 * 24 * 3_600 * 1_000_000
"""How long a signature may be used."""
HISTORY_MAX: Final = 20
CITATIONS_MAX: Final = 1_000
"""How far the history of an item is looked through for its end."""
_ORDER: Final = (Role.COUNTEREXAMPLE, Role.SUPPORTING, Role.VERIFICATION, Role.TEACHING)
"""What speaks against it comes first."""


class Waiting(Part):
    """A proposal, or an item that should be looked at."""

    id: str
    statement: str | None
    tier: str
    gloss: str
    status: str
    move: str
    to: str
    why: str
    asked_at: int = 0


class WaitingResult(Result):
    """What waits for a person, newest first."""

    waiting: list[Waiting]


class Exhibit(Part):
    """A piece of evidence, whole."""

    id: str
    role: str
    content: str | None
    source: str | None
    resolved: bool
    provenance: str
    session: str
    recorded_at: str
    answered: bool = False
    withdrawn: bool = False


class CaseResult(Result):
    """Everything a person looks at before signing; `digest` is what the signature covers."""

    id: str
    move: str
    to: str
    statement: str | None
    content: str | None
    scope_constraints: str | None = None
    tier: str
    gloss: str
    status: str
    domain: str
    field: str
    anchor: str
    hints: dict[str, list[str]] = {}
    why: str
    reason: str | None = None
    evidence: list[Exhibit] = []
    gate: list[str] = []
    history: list[Change] = []
    digest: str


class DecisionResult(Result):
    """A decision that was signed and recorded; an approval is used by the next move that fits it."""

    id: str
    item: str
    move: str
    to: str
    decision: str
    key: str


@dataclass(frozen=True, slots=True)
class ReviewService:
    """Shows persons what waits, and records what they sign."""

    ledger: Ledger
    boundary: Boundary
    signatures: Signatures
    clock: Clock

    async def waiting(self) -> WaitingResult:
        """Return what waits for a person, wherever it holds."""
        async with self.ledger.reader.view() as view:
            items = await view.ask(knowledge.page(Listing(awaiting_review=True), limit=WAITING_MAX))
            contested = await view.ask(knowledge.contested([item.item for item in items]))
            found: list[Waiting] = []
            for item in items:
                asked = await self._asked(view, item.item)
                found += [_proposed(item, record) for record in asked]
                if await self._is_to_uphold(view, item, contested):
                    decided = await view.ask(reviews.of_item(item.item))
                    found.append(_to_uphold(item, decided))
            head = await view.ask(events.head())
        return WaitingResult(waiting=found, head=head)

    async def show(self, item_id: str, *, move: str = "") -> CaseResult:
        """Return a proposal whole, counterexamples first.

        Raises:
            NotFoundError: there is no such item, or nothing of it waits.

        """
        form, seq = parse_item(item_id)
        async with self.ledger.reader.view() as view:
            item = await view.carry_out(item_at(seq, form))
            asked = await self._asked(view, seq, move=move)
            record = asked[0] if asked else None
            if record is None:
                contested = await view.ask(knowledge.contested([seq]))
                if move not in ("", "uphold") or not await self._is_to_uphold(view, item, contested):
                    raise NotFoundError(
                        f"nothing{f' to {move}' if move else ''} of {item.id} waits",
                        hint="`pmm-mcp review list` shows what does.",
                    )
            plan = dossier_of(_proposal(item, record), now_us=self.clock.now_us(), signatures=self.signatures)
            dossier = await view.carry_out(plan)
            return await view.carry_out(_case(dossier, record))

    async def decide(
        self,
        case: CaseResult,
        *,
        decision: Decision,
        note: str,
        key: str,
        sign: Sign,
        call: Call,
    ) -> DecisionResult:
        """Record a signed decision about exactly the case that was shown.

        Raises:
            NotFoundError: nothing of the item waits any more.
            ReviewRefusedError: the case has changed since, or the key may not decide.

        """
        said = await self.boundary.admit(note.strip(), field="note")

        def work(tx: Transaction) -> DecisionResult:
            return self._decide(tx, case, decision=decision, note=said, key=key, sign=sign)

        return await self.ledger.write(work, call=call)

    def _decide(
        self, tx: Transaction, case: CaseResult, *, decision: Decision, note: Admitted, key: str, sign: Sign
    ) -> DecisionResult:
        signer = check_signer(tx.ask(reviews.reviewers()), key)
        if decision == "approve" and is_young(signer, tx.now_us):
            raise ReviewRefusedError(
                f"the key {key} is younger than a day", hint="Until then the first reviewer's key approves."
            )
        form, seq = parse_item(case.id)
        item = carry_out(tx, item_at(seq, form))
        asked = tx.ask(knowledge.proposals(item=seq, limit=WAITING_MAX))
        records = tx.ask(events.by_seqs(asked))
        record = next((records[one] for one in asked if _is_of(records[one], case.move, case.to)), None)
        if record is None and case.move != "uphold":
            raise NotFoundError(f"that move of {case.id} no longer waits", hint="`pmm-mcp review list`")
        proposal = _proposal(item, record)
        dossier = carry_out(tx, dossier_of(proposal, now_us=tx.now_us, signatures=self.signatures))
        seen = tx.ask(events.by_seqs([case.head])).get(case.head)
        if dossier.digest != case.digest or _lost(dossier) != _lost_when_shown(case) or seen is None:
            raise ReviewRefusedError(
                f"{case.id} or its evidence has changed since it was shown", hint="Look at it again."
            )
        if decision == "approve" and case.move == "promote" and not judge(dossier.case).awaits_person:
            raise ReviewRefusedError(
                f"the gate of {case.id} lacks more than a person", hint="`pmm-mcp review show` says what."
            )
        event = ReviewRecorded(
            item=seq,
            move=_reviewed(case.move),
            to=case.to,
            decision=decision,
            digest=dossier.digest,
            answered=_unanswered(dossier) if decision == "approve" and _believes(case, item) else (),
            since_seq=seen.seq,
            head_hash=seen.hash.hex(),
            expires_us=tx.now_us + VALID_US,
            key=key,
            signature=UNSIGNED,
        )
        texts = {"note": note} if note.value else {}
        (recorded,) = tx.append(Draft(carry_out(tx, signed(event, sign)), texts, anchor=item.anchor))
        return DecisionResult(
            id=public_id("rv", recorded.seq),
            item=case.id,
            move=case.move,
            to=case.to,
            decision=decision,
            key=key,
            head=recorded.seq,
        )

    async def _asked(self, view: View, item: int, *, move: str = "") -> Sequence[Recorded]:
        """Return the refusals of an item that only a person can lift, newest first."""
        asked = await view.ask(knowledge.proposals(item=item, limit=WAITING_MAX))
        records = await view.ask(events.by_seqs(asked))
        return [records[seq] for seq in asked if not move or _is_of(records[seq], move, "")]

    async def _is_to_uphold(self, view: View, item: Item, contested: Collection[int]) -> bool:
        """Say whether a person should look at an item as it stands."""
        if item.is_active:
            return item.item in contested
        decided = reviews.decided_since(item.item, move="uphold", to=item.status, seq=item.since)
        return item.for_review and not await view.ask(decided)


def _proposal(item: Item, record: Recorded | None) -> Proposal:
    """Return what a person is asked: what was refused, or to let an item stand as it is."""
    if record is None or not isinstance(record.event, PromotionRefused):
        return Proposal(item=item.item, form=item.form, move="uphold", to=item.status)
    event = record.event
    verification = event.verification if event.move == "promote" else ()
    return Proposal(item=item.item, form=item.form, move=event.move, to=event.to, verification=verification)


def _is_of(record: Recorded, move: str, to: str) -> bool:
    event = record.event
    return isinstance(event, PromotionRefused) and event.move == move and to in ("", event.to)


def _reviewed(move: str) -> ReviewedMove:
    match move:
        case "promote" | "retire" | "restore" | "publish" | "uphold":
            return move
        case _:
            raise NotFoundError(f"{move!r} is no move", hint="`pmm-mcp review list` shows what waits.")


def _unanswered(dossier: Dossier) -> tuple[int, ...]:
    against = dossier.roles[Role.COUNTEREXAMPLE]
    return tuple(seq for seq in against if seq not in dossier.case.answered)


def _believes(case: CaseResult, item: Item) -> bool:
    """Say whether who approves this believes the item, whatever speaks against it."""
    return case.move in ("promote", "publish") or (case.move == "uphold" and item.is_active)


def _lost(dossier: Dossier) -> set[str]:
    """Return what no longer counts, of the evidence of an item: no digest covers it."""
    pieces = dossier.case.pieces
    return {f"{one.id} {one.is_withdrawn} {one.is_redacted}" for one in pieces}


def _lost_when_shown(case: CaseResult) -> set[str]:
    return {f"{one.id} {one.withdrawn} {one.content is None}" for one in case.evidence}


def _proposed(item: Item, record: Recorded) -> Waiting:
    event = record.event
    move, to = (event.move, event.to) if isinstance(event, PromotionRefused) else ("", "")
    return _waiting(item, move=move, to=to, why=f"{record.actor.name} asked for it", asked_at=record.seq)


def _to_uphold(item: Item, decided: Sequence[reviews.Review]) -> Waiting:
    why = "it was signed, and an agent demoted it"
    if item.is_active:
        why = "evidence it rests on is gone or contradicted"
        last = next((one for one in reversed(decided) if one.move == "uphold"), None)
        if last is not None and last.decision == "reject" and last.review > item.since:
            why += "; a reviewer rejected it, so an agent should demote it"
    return _waiting(item, move="uphold", to=item.status, why=why, asked_at=item.since)


def _waiting(item: Item, *, move: str, to: str, why: str, asked_at: int) -> Waiting:
    return Waiting(
        id=item.id,
        statement=item.statement,
        tier=item.tier,
        gloss=GLOSSES[item.tier],
        status=item.status,
        move=move,
        to=to,
        why=why,
        asked_at=asked_at,
    )


def _case(dossier: Dossier, record: Recorded | None) -> Plan[CaseResult]:
    item = dossier.item
    seqs = [seq for role in _ORDER for seq in dossier.roles[role]]
    births: Mapping[int, Recorded] = yield events.by_seqs([item.item])
    records: Mapping[int, Recorded] = yield events.by_seqs(seqs)
    rows: Mapping[int, EvidenceRow] = yield memory.evidence_by(seqs)
    head: int = yield events.head()
    later: tuple[Citation, ...] = yield citations.made_of(
        item.item, until=head, limit=CITATIONS_MAX, roles=HISTORY
    )
    told: Mapping[int, Recorded] = yield events.by_seqs(
        [item.since, *(one.seq for one in later[-HISTORY_MAX:])]
    )
    birth, proposal = births[item.item], _proposal(item, record)
    cause = told[item.since] if record is None else record
    hints = {
        field: list(getattr(birth.event, field))
        for field in ("intent_tags", "workflow_bias", "tool_needs")
        if isinstance(birth.event, Candidate) and getattr(birth.event, field)
    }
    resolved = {piece.seq for piece in dossier.case.pieces if dossier.case.is_resolved(piece)}
    return CaseResult(
        id=item.id,
        move=proposal.move,
        to=proposal.to,
        statement=item.statement,
        content=birth.texts.get("content"),
        scope_constraints=birth.texts.get("scope_constraints"),
        tier=item.tier,
        gloss=GLOSSES[item.tier],
        status=item.status,
        domain=item.domain,
        field=item.field,
        anchor=item.anchor,
        hints=hints,
        why=f"{item.status if record is None else 'asked for'} by {cause.actor.kind} {cause.actor.name}",
        reason=cause.texts.get("reason"),
        evidence=[
            Exhibit(
                id=public_id("ev", seq),
                role=role,
                content=records[seq].texts.get("content"),
                source=rows[seq].source,
                resolved=seq in resolved,
                provenance=rows[seq].provenance,
                session=rows[seq].session,
                recorded_at=rows[seq].ts,
                answered=seq in dossier.case.answered,
                withdrawn=rows[seq].withdrawn_at is not None,
            )
            for role in _ORDER
            for seq in dossier.roles[role]
        ],
        gate=[str(reason) for reason in judge(dossier.case).reasons] if proposal.move == "promote" else [],
        history=[change_of(told[seq]) for seq in sorted(told)],
        digest=dossier.digest,
        head=head,
    )
