"""Keeping what a gate refused: once a session, with all its reasons."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.events.knowledge import Elicited, Move, Moved, PromotionRefused
from pmm_mcp.domain.gate import RULES_VERSION
from pmm_mcp.domain.records import Draft, Recorded
from pmm_mcp.domain.tiers import ReasonType, Role
from pmm_mcp.ports import Transaction
from pmm_mcp.queries import knowledge
from pmm_mcp.services.knowledge.dossier import Dossier

REFUSALS_MAX: Final = 50
"""How many refusals of one item are recorded in one session, of those a person can decide, and of others."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal on record, and what its caller should know."""

    seq: int | None
    """None when this session was refused so often that no more is recorded."""
    is_repeated: bool
    needs_review: bool

    @property
    def notice(self) -> str:
        """What to do about it, in a line."""
        if self.seq is None:
            return "refused, and not recorded any more in this session: find out first what is missing"
        known = "refused before, for the same reasons" if self.is_repeated else "refused"
        person = "; a person can decide it with `pmm-mcp review`" if self.needs_review else ""
        return f"{known} (event {self.seq}){person}"


def came_of(recorded: Recorded, shape: type[Moved], move: Move, item: int, reason: Admitted) -> bool:
    """Say whether an event is what this move became, for this reason: the move itself, or its refusal."""
    event = recorded.event
    is_this = event.move == move if isinstance(event, PromotionRefused) else isinstance(event, shape)
    return (
        is_this and getattr(event, "item", 0) == item and recorded.texts.get("reason") in (reason.value, None)
    )


def refuse(
    tx: Transaction,
    dossier: Dossier,
    *,
    move: Move,
    to: str,
    reasons: Sequence[str],
    needs_review: bool,
    reason: Admitted,
    session: str,
    reason_type: ReasonType | None = None,
    elicited: Elicited = "",
) -> Refusal:
    """Record that a gate said no, unless it said exactly this to this session before."""
    item, roles = dossier.item, dossier.roles
    event = PromotionRefused(
        item=item.item,
        move=move,
        to=to,
        supporting=roles[Role.SUPPORTING],
        verification=roles[Role.VERIFICATION],
        teaching=roles[Role.TEACHING],
        counterexample=roles[Role.COUNTEREXAMPLE],
        reasons=tuple(sorted(set(reasons))),
        needs_review=needs_review,
        rules=RULES_VERSION,
        policy=dossier.policy,
        reason_type=reason_type,
        elicited=elicited,
    )
    first = tx.ask(
        knowledge.same_refusal(item.item, session=session, proposal=event.proposal, since=item.since)
    )
    if first is not None:
        return Refusal(first, is_repeated=True, needs_review=needs_review)
    refused = tx.ask(knowledge.refusals(item.item, session=session, needs_review=needs_review))
    if refused >= REFUSALS_MAX:
        return Refusal(None, is_repeated=False, needs_review=needs_review)
    (record,) = tx.append(Draft(event, {"reason": reason}, anchor=item.anchor))
    return Refusal(record.seq, is_repeated=False, needs_review=needs_review)
