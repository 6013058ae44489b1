"""Demoting, retiring and restoring: what is no longer believed, and what comes back as a candidate."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.errors import InvalidArgumentError, MoveNotAllowedError, RequestIdConflictError
from pmm_mcp.domain.events import Event
from pmm_mcp.domain.events.knowledge import (
    KnowledgeDemoted,
    KnowledgeRestored,
    KnowledgeRetired,
    Move,
    Moved,
    PromotionRefused,
)
from pmm_mcp.domain.gate import REVIEW_MISSING
from pmm_mcp.domain.knowledge import Form, Item, statement_key
from pmm_mcp.domain.records import Actor, Call, Recorded
from pmm_mcp.domain.tiers import ReasonType, Status
from pmm_mcp.ports import Ledger, Signatures, Transaction
from pmm_mcp.queries import events, knowledge
from pmm_mcp.queries.plans import carry_out
from pmm_mcp.services.boundary import Boundary
from pmm_mcp.services.knowledge.dossier import (
    Proposal,
    dossier_of,
    existing,
    item_at,
    parse_item,
    parse_refs,
    refs_of,
)
from pmm_mcp.services.knowledge.refusing import came_of, refuse
from pmm_mcp.services.knowledge.sameness import said_here
from pmm_mcp.services.knowledge.twins import move as move_together
from pmm_mcp.services.results import Ref, Result

_NO_COUNTEREXAMPLE: Final = frozenset({ReasonType.OBSOLETE, ReasonType.SUPERSEDED})
"""Reasons that speak against its use, and not against its truth."""
_REVIEW: Final = "a person's signature: pmm-mcp review; then call again"


class DemoteResult(Result):
    """Where the item stands now; `moved_with` are items that moved with it, in the same write."""

    id: str
    old_status: str
    new_status: str
    moved_with: list[str] = []
    reasons: list[str] = []
    missing: list[str] = []
    refs: list[Ref] = []


@dataclass(frozen=True, slots=True)
class DemoteService:
    """Takes belief away, which anyone may, and sets aside for good, which for the believed takes a person."""

    ledger: Ledger
    boundary: Boundary
    signatures: Signatures

    async def demote(
        self,
        item_id: str,
        *,
        status: str,
        evidence_refs: Sequence[str],
        reason: str,
        reason_type: str,
        call: Call,
    ) -> DemoteResult:
        """Demote or retire an item; its evidence becomes a counterexample unless it is out of use only.

        Raises:
            InvalidArgumentError: an argument is malformed, the reason is empty, or no evidence is given.
            MoveNotAllowedError: it does not stand where this move begins.
            NotFoundError: the item or a piece of evidence is not there.

        """
        moves: dict[str, type[_GivingUp]] = {"demoted": _Demotion, "retired": _Retirement}
        if status.strip().lower() not in moves:
            raise InvalidArgumentError(
                f"status: {status[:40]!r} is not one", hint="Use demoted, or retired for good."
            )
        form, seq = parse_item(item_id)
        giving_up = moves[status.strip().lower()](
            item=seq,
            form=form,
            evidence=parse_refs(evidence_refs, argument="evidence_refs"),
            reason=await self.boundary.reason(reason, hint="Say what happened."),
            reason_type=_reason_type(reason_type),
            actor=call.actor,
            signatures=self.signatures,
        )
        return await self.ledger.write(giving_up.write, call=call, again=giving_up.again)

    async def restore(self, item_id: str, *, reason: str, call: Call) -> DemoteResult:
        """Make a retired item a candidate again, which takes a reviewer's signature.

        Raises:
            InvalidArgumentError: the reason is empty.
            MoveNotAllowedError: it is not retired, or another item says the same now.
            NotFoundError: there is no such item.

        """
        form, seq = parse_item(item_id)
        restoring = _Restoring(
            item=seq,
            form=form,
            reason=await self.boundary.reason(reason, hint="Say what happened."),
            actor=call.actor,
            signatures=self.signatures,
        )
        return await self.ledger.write(restoring.write, call=call, again=restoring.again)


@dataclass(frozen=True, slots=True, kw_only=True)
class _GivingUp(ABC):
    becomes: ClassVar[type[Moved]]
    """The event that it is recorded as."""
    asks: ClassVar[Move] = "retire"
    """What a person may be asked for."""

    item: int
    form: Form
    reason: Admitted
    actor: Actor
    signatures: Signatures
    evidence: tuple[int, ...] = ()
    reason_type: ReasonType = ReasonType.CONTRADICTED

    @property
    def counterexample(self) -> tuple[int, ...]:
        return () if self.reason_type in _NO_COUNTEREXAMPLE else self.evidence

    @abstractmethod
    def write(self, tx: Transaction) -> DemoteResult:
        """Record the move, or why not."""

    def check_evidence(self, tx: Transaction) -> list[Ref]:
        records = carry_out(tx, existing(self.evidence))
        return refs_of(records, self.evidence)

    def repeats(self, tx: Transaction, item: Item) -> bool:
        """Say whether the last thing that happened to an item is just this, by the same caller."""
        last = tx.ask(events.by_seqs([item.since]))[item.since]
        return last.actor == self.actor and self.cited(last.event)

    def cited(self, event: Event) -> bool:
        """Say whether an event names this evidence, as far as it names any, and this kind of reason."""
        evidence = getattr(event, "evidence", self.evidence)
        reason_type = getattr(event, "reason_type", None)
        return evidence == self.evidence and reason_type in (self.reason_type, None)

    def ask_a_person(self, tx: Transaction, item: Item, *, move: Move, to: Status) -> int | DemoteResult:
        """Return the signature that approves a move, or the refusal."""
        proposal = Proposal(item=item.item, form=item.form, move=move, to=to)
        dossier = carry_out(tx, dossier_of(proposal, now_us=tx.now_us, signatures=self.signatures))
        if dossier.review is not None:
            return dossier.review
        refusal = refuse(
            tx,
            dossier,
            move=move,
            to=to,
            reasons=[REVIEW_MISSING],
            needs_review=True,
            reason=self.reason,
            session=self.actor.session,
            reason_type=self.reason_type,
        )
        result = _result(item, new=item.status, head=tx.next_seq - 1)
        return result.model_copy(
            update={
                "reasons": [f"{REVIEW_MISSING}: it was believed once, and a person has not approved this"],
                "missing": [_REVIEW],
                "notice": refusal.notice,
            }
        )

    def again(self, tx: Transaction, recorded: Recorded) -> DemoteResult:
        event = recorded.event
        if not came_of(recorded, self.becomes, self.asks, self.item, self.reason) or not self.cited(event):
            raise RequestIdConflictError(recorded.request_id)
        item = carry_out(tx, item_at(self.item, self.form))
        result = _result(item, new=item.status, head=tx.next_seq - 1)
        if isinstance(event, PromotionRefused):
            return result.model_copy(update={"missing": [_REVIEW], "repeated": True})
        moved = {
            "old_status": getattr(event, "from_status", ""),
            "new_status": getattr(event, "to_status", ""),
        }
        return result.model_copy(update={**moved, "repeated": True})


class _Demotion(_GivingUp):
    """Active knowledge is no longer believed."""

    becomes = KnowledgeDemoted

    def write(self, tx: Transaction) -> DemoteResult:
        item = carry_out(tx, item_at(self.item, self.form))
        refs = self.check_evidence(tx)
        if not self.evidence:
            raise InvalidArgumentError(
                "evidence_refs is empty", hint="Record what was seen with pmm_record, and cite it."
            )
        if item.status is Status.DEMOTED and self.repeats(tx, item):
            return _result(item, new=item.status, head=tx.next_seq - 1).model_copy(update={"repeated": True})
        if not item.is_active:
            raise MoveNotAllowedError(
                f"{item.id} is {item.status}; only active knowledge is demoted",
                hint="A candidate can be retired with pmm_knowledge_demote and status retired."
                if item.status is Status.CANDIDATE
                else "Nothing is to be done.",
            )
        event = KnowledgeDemoted(
            item=item.item,
            from_status=item.status,
            to_status=Status.DEMOTED,
            tier=item.tier,
            domain=item.domain,
            field=item.field,
            reason_type=self.reason_type,
            evidence=self.evidence,
            counterexample=self.counterexample,
            for_review=item.is_signed,
        )
        moved = move_together(tx, item, event, self.reason, anchor=item.anchor)
        moved += self.bring_back(tx, item)
        result = _result(item, new=Status.DEMOTED, head=tx.next_seq - 1)
        notice = "a person signed for it, so a reviewer will look at this" if item.is_signed else None
        return result.model_copy(update={"moved_with": moved, "refs": refs, "notice": notice})

    def bring_back(self, tx: Transaction, item: Item) -> list[str]:
        """Let what this one superseded be believed again, unless another item says the same by now.

        If both say the same, it is back with what spoke against it, and so contested.
        """
        if not item.origin:
            return []
        origin = carry_out(tx, item_at(item.origin, item.form))
        last = tx.ask(events.by_seqs([origin.since]))[origin.since].event
        if not isinstance(last, KnowledgeDemoted) or last.superseded_by != item.item:
            return []
        others = said_here(origin.statement or "", anchor=origin.anchor, besides=origin)
        if any(other.is_active for other in carry_out(tx, others)):
            return []
        says_the_same = statement_key(origin.statement or "") == statement_key(item.statement or "")
        event = KnowledgeRestored(
            item=origin.item,
            from_status=Status.DEMOTED,
            to_status=last.from_status,
            tier=origin.tier,
            domain=origin.domain,
            field=origin.field,
            signed=last.signed,
            cause=item.item,
            counterexample=self.counterexample if says_the_same else (),
        )
        text = Admitted(f"{item.id}, raised from it, was demoted")
        return [origin.id, *move_together(tx, origin, event, text, anchor=origin.anchor)]


class _Retirement(_GivingUp):
    """An item is set aside for good."""

    becomes = KnowledgeRetired

    def write(self, tx: Transaction) -> DemoteResult:
        item = carry_out(tx, item_at(self.item, self.form))
        refs = self.check_evidence(tx)
        if item.status is Status.RETIRED:
            if self.repeats(tx, item):
                return _result(item, new=item.status, head=tx.next_seq - 1).model_copy(
                    update={"repeated": True}
                )
            raise MoveNotAllowedError(f"{item.id} is retired already", hint="Nothing is to be done.")
        was_believed = bool(tx.ask(knowledge.was_active(item.item)))
        if not self.evidence and (was_believed or self.reason_type is not ReasonType.OUT_OF_SCOPE):
            raise InvalidArgumentError(
                "evidence_refs is empty",
                hint="Cite what speaks against it; only a candidate that is out_of_scope needs none.",
            )
        review: int | None = None
        if was_believed:
            answer = self.ask_a_person(tx, item, move="retire", to=Status.RETIRED)
            if isinstance(answer, DemoteResult):
                return answer.model_copy(update={"refs": refs})
            review = answer
        event = KnowledgeRetired(
            item=item.item,
            from_status=item.status,
            to_status=Status.RETIRED,
            tier=item.tier,
            domain=item.domain,
            field=item.field,
            review=review,
            signed=review is not None,
            reason_type=self.reason_type,
            evidence=self.evidence,
            counterexample=self.counterexample,
        )
        moved = move_together(tx, item, event, self.reason, anchor=item.anchor)
        result = _result(item, new=Status.RETIRED, head=tx.next_seq - 1)
        return result.model_copy(update={"refs": refs, "moved_with": moved})


class _Restoring(_GivingUp):
    """A retired item is a candidate again."""

    becomes = KnowledgeRestored
    asks = "restore"

    def write(self, tx: Transaction) -> DemoteResult:
        item = carry_out(tx, item_at(self.item, self.form))
        if item.status is not Status.RETIRED:
            raise MoveNotAllowedError(
                f"{item.id} is {item.status}; only what is retired is restored",
                hint="A demoted item comes back through the gate: pmm_knowledge_promote.",
            )
        if live := carry_out(tx, said_here(item.statement or "", anchor=item.anchor, besides=item)):
            raise MoveNotAllowedError(f"{live[0].id} says the same here", hint="Use that one.")
        answer = self.ask_a_person(tx, item, move="restore", to=Status.CANDIDATE)
        if isinstance(answer, DemoteResult):
            return answer
        event = KnowledgeRestored(
            item=item.item,
            from_status=item.status,
            to_status=Status.CANDIDATE,
            tier=item.tier,
            domain=item.domain,
            field=item.field,
            review=answer,
        )
        moved = move_together(tx, item, event, self.reason, anchor=item.anchor)
        result = _result(item, new=Status.CANDIDATE, head=tx.next_seq - 1)
        return result.model_copy(update={"moved_with": moved})


def _result(item: Item, *, new: Status, head: int) -> DemoteResult:
    return DemoteResult(id=item.id, old_status=item.status, new_status=new, head=head)


def _reason_type(text: str) -> ReasonType:
    try:
        return ReasonType(text.strip().lower())
    except ValueError:
        raise InvalidArgumentError(
            f"reason_type: {text[:40]!r} is not one", hint="Use " + ", ".join(ReasonType) + "."
        ) from None
