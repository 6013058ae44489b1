"""Governed knowledge written straight to a ledger: a test of what is shown needs no gate."""

from collections.abc import Callable
from typing import Any, Final

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.anchors import Anchor
from pmm_mcp.domain.events.knowledge import (
    KnowledgeDemoted,
    KnowledgeDistilled,
    KnowledgePromoted,
    KnowledgeRetired,
)
from pmm_mcp.domain.events.memory import Domain
from pmm_mcp.domain.records import Draft
from pmm_mcp.domain.tiers import ReasonType, Status, Tier, active_status
from pmm_mcp.ports import Transaction
from tests.apps import HERE, Mind

ACTIVE: Final = "active"
Work = Callable[[Transaction], int]


def belief(
    statement: str,
    content: str = "",
    *,
    tier: Tier = Tier.SHU,
    status: str = ACTIVE,
    anchor: Anchor = HERE.repo,
    domain: Domain = Domain.PROJECT,
    field: str = "general",
    **born: Any,
) -> Work:
    """Work that puts an item where it is said to stand, and answers with its seq."""

    def work(tx: Transaction) -> int:
        distilled = KnowledgeDistilled(tier=tier, domain=domain, field=field, **born)
        texts = {"statement": Admitted(statement), "content": Admitted(content)}
        (record,) = tx.append(Draft(distilled, texts, anchor=anchor))
        now: dict[str, Any] = {"item": record.seq, "tier": tier, "domain": domain, "field": field}
        active = active_status(tier)
        reason = {"reason": Admitted("because")}
        if status != Status.CANDIDATE:
            promoted = KnowledgePromoted(**now, from_status=Status.CANDIDATE, to_status=active, rules=1)
            tx.append(Draft(promoted, reason, anchor=anchor))
        if status == Status.DEMOTED:
            demoted = KnowledgeDemoted(
                **now, from_status=active, to_status=Status.DEMOTED, reason_type=ReasonType.OBSOLETE
            )
            tx.append(Draft(demoted, reason, anchor=anchor))
        if status == Status.RETIRED:
            retired = KnowledgeRetired(
                **now, from_status=active, to_status=Status.RETIRED, reason_type=ReasonType.OBSOLETE
            )
            tx.append(Draft(retired, reason, anchor=anchor))
        return record.seq

    return work


async def believe(mind: Mind, statement: str, content: str = "", **given: Any) -> str:
    """Put an item into the ledger of a mind; return its id."""
    seq = await mind.app.ledger.write(belief(statement, content, **given), call=mind.call)
    return f"kn:{seq}"
