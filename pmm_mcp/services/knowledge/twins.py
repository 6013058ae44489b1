"""Moving an item, and what carries the same belief along with it, in one write: they never disagree."""

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.anchors import Anchor
from pmm_mcp.domain.events.cards import of_card
from pmm_mcp.domain.events.knowledge import (
    KnowledgeDemoted,
    KnowledgePromoted,
    KnowledgePublished,
    KnowledgeRestored,
    KnowledgeRetired,
)
from pmm_mcp.domain.knowledge import Item
from pmm_mcp.domain.records import Draft
from pmm_mcp.domain.tiers import Role, Status
from pmm_mcp.ports import Transaction
from pmm_mcp.queries import knowledge
from pmm_mcp.queries.plans import carry_out
from pmm_mcp.services.knowledge.dossier import twin_of

Move = KnowledgePromoted | KnowledgeDemoted | KnowledgeRetired | KnowledgeRestored | KnowledgePublished


def move(tx: Transaction, item: Item, event: Move, reason: Admitted, *, anchor: Anchor) -> list[str]:
    """Record a move, and the same of the item that carries the same belief; return what moved along."""
    texts = {"reason": reason}
    tx.append(Draft(event if item.form == "kn" else of_card(event), texts, anchor=anchor))
    twin = carry_out(tx, twin_of(item))
    if twin is None or not follows(twin, event):
        return []
    changes: dict[str, object] = {"item": twin.item, "from_status": twin.status, "review": None}
    if isinstance(event, KnowledgePromoted):
        links = tx.ask(knowledge.links([twin.item]))
        known = {link.evidence for link in links if link.role is Role.VERIFICATION}
        changes["linked"] = tuple(seq for seq in event.linked if seq not in known)
    same = event.model_copy(update=changes)
    tx.append(Draft(same if twin.form == "kn" else of_card(same), texts, anchor=anchor))
    return [twin.id]


def follows(twin: Item, event: Move) -> bool:
    """Say whether a twin stands where a move can take it along."""
    match event:
        case KnowledgePromoted():
            return twin.status in {Status.CANDIDATE, Status.DEMOTED}
        case KnowledgeDemoted():
            return twin.is_active
        case KnowledgeRetired():
            return twin.status is not Status.RETIRED
        case KnowledgeRestored():
            return twin.status is event.from_status
        case KnowledgePublished():
            return twin.is_active and twin.anchor == event.from_anchor
