"""Asking the gate, and going through it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.errors import InvalidArgumentError, MoveNotAllowedError, RequestIdConflictError
from pmm_mcp.domain.events.knowledge import (
    Elicited,
    KnowledgeDemoted,
    KnowledgePromoted,
    PromotionRefused,
)
from pmm_mcp.domain.gate import RULES_VERSION, Reason, Verdict, judge
from pmm_mcp.domain.knowledge import Item
from pmm_mcp.domain.records import Actor, Call, Recorded
from pmm_mcp.domain.tiers import ReasonType, Role, Status, active_status
from pmm_mcp.ports import Clock, Ledger, Signatures, Transaction
from pmm_mcp.queries import events, knowledge
from pmm_mcp.queries.plans import carry_out
from pmm_mcp.services.boundary import Boundary
from pmm_mcp.services.knowledge.dossier import (
    Dossier,
    Proposal,
    dossier_of,
    item_at,
    parse_item,
    parse_refs,
    twin_of,
)
from pmm_mcp.services.knowledge.gating import Counted, Gate, Needs, shown
from pmm_mcp.services.knowledge.refusing import came_of, refuse
from pmm_mcp.services.knowledge.twins import move
from pmm_mcp.services.results import Ref, Result


class GateResult(Result):
    """What the gate says of an item now; nothing is written."""

    id: str
    tier: str
    status: str
    target_status: str
    allowed: bool
    reasons: list[str] = []
    missing: list[str] = []
    requirements: Needs
    counts: dict[str, Counted] = {}
    awaits_person: bool | None = None


class PromoteResult(Result):
    """Whether the item is active now; when not, `gate` lists every reason and what is missing."""

    id: str
    promoted: bool
    old_status: str
    new_status: str
    gate: Gate
    superseded: str | None = None
    moved_with: list[str] = []
    refs: list[Ref] = []


@dataclass(frozen=True, slots=True)
class PromoteService:
    """Lets knowledge become active, and nothing that the gate does not let through."""

    ledger: Ledger
    boundary: Boundary
    signatures: Signatures
    clock: Clock

    async def gate(self, item_id: str, *, target_status: str, verification_refs: Sequence[str]) -> GateResult:
        """Return what the gate would say to a promotion with these verifications.

        Raises:
            InvalidArgumentError: an id or the target is malformed.
            NotFoundError: the item or a piece of evidence is not there.

        """
        proposal = _proposal(item_id, verification_refs)
        async with self.ledger.reader.view() as view:
            plan = dossier_of(proposal, now_us=self.clock.now_us(), signatures=self.signatures)
            dossier = await view.carry_out(plan)
            head = await view.ask(events.head())
        target = _target(dossier.item, target_status)
        verdict = judge(dossier.case)
        gate = shown(verdict, dossier.roles)
        return GateResult(
            id=dossier.item.id,
            tier=dossier.item.tier,
            status=dossier.item.status,
            target_status=target,
            allowed=gate.allowed,
            reasons=gate.reasons,
            missing=gate.missing,
            requirements=gate.requirements,
            counts=gate.counts,
            awaits_person=verdict.awaits_person or None,
            head=head,
        )

    async def promote(
        self,
        item_id: str,
        *,
        verification_refs: Sequence[str],
        reason: str,
        target_status: str,
        call: Call,
        elicited: Elicited = "",
    ) -> PromoteResult:
        """Make an item active if the gate holds; a refusal is recorded, and lists what is missing.

        `elicited` is what someone answered in the client: it is recorded, and satisfies nothing.

        Raises:
            InvalidArgumentError: an argument is malformed, or the reason is empty.
            MoveNotAllowedError: it is active already.
            NotFoundError: the item or a piece of evidence is not there.

        """
        promotion = _Promotion(
            proposal=_proposal(item_id, verification_refs),
            target=target_status,
            reason=await self.boundary.reason(reason, hint="Say why it should be believed."),
            actor=call.actor,
            signatures=self.signatures,
            elicited=elicited,
        )
        return await self.ledger.write(promotion.write, call=call, again=promotion.again)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Promotion:
    proposal: Proposal
    target: str
    reason: Admitted
    actor: Actor
    signatures: Signatures
    elicited: Elicited = ""

    def write(self, tx: Transaction) -> PromoteResult:
        dossier = self.dossier(tx)
        item = dossier.item
        _target(item, self.target)
        if item.is_active:
            return self.no_op(tx, dossier)
        verdict = judge(dossier.case)
        if verdict.allowed:
            verdict = replace(verdict, reasons=self.twins(tx, item))
        if not verdict.allowed:
            return self.refused(tx, dossier, verdict)
        known = _verifications(tx, item)
        event = KnowledgePromoted(
            item=item.item,
            from_status=item.status,
            to_status=active_status(item.tier),
            tier=item.tier,
            domain=item.domain,
            field=item.field,
            review=dossier.review,
            signed=dossier.review is not None,
            rules=RULES_VERSION,
            policy=dossier.policy,
            supporting=verdict.counted[Role.SUPPORTING],
            verification=verdict.counted[Role.VERIFICATION],
            teaching=verdict.counted[Role.TEACHING],
            answered=tuple(seq for seq in verdict.answered if seq not in dossier.case.answered),
            linked=tuple(seq for seq in self.proposal.verification if seq not in known),
        )
        moved = move(tx, item, event, self.reason, anchor=item.anchor)
        superseded = self.supersede(tx, item)
        return self.result(dossier, verdict, new=event.to_status, head=tx.next_seq - 1).model_copy(
            update={"superseded": superseded, "moved_with": moved}
        )

    def twins(self, tx: Transaction, item: Item) -> tuple[Reason, ...]:
        """Return why what carries the same belief may not move along; then neither may move."""
        twin = carry_out(tx, twin_of(item))
        if twin is None or twin.status not in (Status.CANDIDATE, Status.DEMOTED):
            return ()
        proposal = replace(self.proposal, item=twin.item, form=twin.form)
        case = carry_out(tx, dossier_of(proposal, now_us=tx.now_us, signatures=self.signatures)).case
        # A signature for one of them is one for the belief.
        reasons = judge(replace(case, is_reviewed=True)).reasons
        return tuple(replace(reason, detail=f"of {twin.id}, {reason.detail}") for reason in reasons)

    def supersede(self, tx: Transaction, item: Item) -> str | None:
        """Of an item and the one raised from it, one is believed."""
        if not item.origin:
            return None
        origin = carry_out(tx, item_at(item.origin, item.form))
        if not origin.is_active:
            return None
        event = KnowledgeDemoted(
            item=origin.item,
            from_status=origin.status,
            to_status=Status.DEMOTED,
            tier=origin.tier,
            domain=origin.domain,
            field=origin.field,
            signed=origin.is_signed,
            reason_type=ReasonType.SUPERSEDED,
            superseded_by=item.item,
        )
        move(tx, origin, event, Admitted(f"{item.id} was raised from it"), anchor=origin.anchor)
        return origin.id

    def refused(self, tx: Transaction, dossier: Dossier, verdict: Verdict) -> PromoteResult:
        refusal = refuse(
            tx,
            dossier,
            move="promote",
            to=active_status(dossier.item.tier),
            reasons=[reason.code for reason in verdict.reasons],
            needs_review=verdict.awaits_person,
            reason=self.reason,
            session=self.actor.session,
            elicited=self.elicited,
        )
        result = self.result(dossier, verdict, new=dossier.item.status, head=tx.next_seq - 1)
        return result.model_copy(update={"notice": refusal.notice})

    def no_op(self, tx: Transaction, dossier: Dossier) -> PromoteResult:
        """Repeat the result of the same promotion by the same caller; anything else is an error."""
        item = dossier.item
        last = tx.ask(events.by_seqs([item.since]))[item.since]
        event = last.event
        if (
            not isinstance(event, KnowledgePromoted)
            or last.actor != self.actor
            or not set(event.linked) <= set(self.proposal.verification) <= _verifications(tx, item)
        ):
            raise MoveNotAllowedError(
                f"{item.id} is {item.status} already",
                hint="Nothing is to be done; pmm_get shows its history.",
            )
        return self.repeated(dossier, event, head=tx.next_seq - 1)

    def again(self, tx: Transaction, recorded: Recorded) -> PromoteResult:
        event, asked = recorded.event, set(self.proposal.verification)
        if not came_of(recorded, KnowledgePromoted, "promote", self.proposal.item, self.reason):
            raise RequestIdConflictError(recorded.request_id)
        dossier = self.dossier(tx)
        if isinstance(event, KnowledgePromoted):
            before = {link.evidence for link in tx.ask(knowledge.links([event.item], as_of=recorded.seq - 1))}
            if not set(event.linked) <= asked <= {*event.linked, *before}:
                raise RequestIdConflictError(recorded.request_id)
            return self.repeated(dossier, event, head=tx.next_seq - 1)
        if not isinstance(event, PromotionRefused) or not asked <= set(event.verification):
            raise RequestIdConflictError(recorded.request_id)
        verdict = judge(dossier.case)
        if {reason.code for reason in verdict.reasons} != set(event.reasons):
            # What is missing may have come since; what was answered then stays the answer.
            then = f"as event {recorded.seq} says; pmm_knowledge_gate says what holds now"
            verdict = replace(verdict, reasons=tuple(Reason(code, then) for code in event.reasons))
        result = self.result(dossier, verdict, new=dossier.item.status, head=tx.next_seq - 1)
        return result.model_copy(update={"promoted": False, "repeated": True})

    def repeated(self, dossier: Dossier, event: KnowledgePromoted, *, head: int) -> PromoteResult:
        counted = {
            Role.SUPPORTING: event.supporting,
            Role.VERIFICATION: event.verification,
            Role.TEACHING: event.teaching,
        }
        verdict = Verdict(requirements=dossier.case.requirements, counted=counted)
        result = self.result(dossier, verdict, new=event.to_status, head=head)
        return result.model_copy(update={"old_status": event.from_status, "repeated": True})

    def result(self, dossier: Dossier, verdict: Verdict, *, new: Status, head: int) -> PromoteResult:
        return PromoteResult(
            id=dossier.item.id,
            promoted=verdict.allowed,
            old_status=dossier.item.status,
            new_status=new,
            gate=shown(verdict, dossier.roles),
            refs=dossier.refs,
            head=head,
        )

    def dossier(self, tx: Transaction) -> Dossier:
        return carry_out(tx, dossier_of(self.proposal, now_us=tx.now_us, signatures=self.signatures))


def _verifications(tx: Transaction, item: Item) -> set[int]:
    links = tx.ask(knowledge.links([item.item]))
    return {link.evidence for link in links if link.role is Role.VERIFICATION}


def _proposal(item_id: str, verification_refs: Sequence[str]) -> Proposal:
    form, item = parse_item(item_id)
    return Proposal(
        item=item, form=form, verification=parse_refs(verification_refs, argument="verification_refs")
    )


def _target(item: Item, said: str) -> Status:
    """Return what an item becomes; a caller may say it, and may not say anything else."""
    target = active_status(item.tier)
    if said.strip() and said.strip().lower() != target:
        raise InvalidArgumentError(
            f"target_status: a {item.tier} becomes {target}, not {said[:40]!r}",
            hint=f"Leave it out, or say {target}; pmm_knowledge_demote leads the other way.",
        )
    return target
