"""Withdrawing evidence: it no longer shows or counts, and whoever leaned on it is named."""

from dataclasses import dataclass
from typing import Final

from pmm_mcp.context.quoting import one_line
from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.anchors import Anchor
from pmm_mcp.domain.errors import RequestIdConflictError
from pmm_mcp.domain.events.memory import EvidenceWithdrawn
from pmm_mcp.domain.ids import parse_id, public_id
from pmm_mcp.domain.knowledge import Item
from pmm_mcp.domain.records import Call, Draft, Recorded
from pmm_mcp.domain.sizes import fitting
from pmm_mcp.ports import Ledger, Transaction
from pmm_mcp.queries import knowledge, memory
from pmm_mcp.queries.plans import carry_out
from pmm_mcp.services.boundary import Boundary
from pmm_mcp.services.knowledge.dossier import existing
from pmm_mcp.services.results import Part, Result

DEPENDANTS_BYTES: Final = 6_000


class Dependant(Part):
    """Knowledge that cites a piece of evidence."""

    id: str
    statement: str
    tier: str
    status: str


class WithdrawResult(Result):
    """What was withdrawn, and the knowledge that cites it."""

    id: str
    dependants: list[Dependant] = []


@dataclass(frozen=True, slots=True)
class WithdrawService:
    """Takes evidence out of use; it stays citable, and its event stays for good."""

    ledger: Ledger
    boundary: Boundary

    async def withdraw(self, item_id: str, *, reason: str, call: Call) -> WithdrawResult:
        """Withdraw a piece of evidence. Withdrawing it makes no gate easier: a counterexample still blocks.

        Raises:
            InvalidArgumentError: the id names something else, or the reason is empty.
            NotFoundError: there is no such evidence.

        """
        said = await self.boundary.reason(reason, hint="Say why it should no longer be used.")
        withdrawal = _Withdrawal(parse_id(item_id, "ev")[1], said)
        return await self.ledger.write(withdrawal.write, call=call, again=withdrawal.again)


@dataclass(frozen=True, slots=True)
class _Withdrawal:
    evidence: int
    reason: Admitted

    def write(self, tx: Transaction) -> WithdrawResult:
        record = carry_out(tx, existing([self.evidence]))[self.evidence]
        row = tx.ask(memory.evidence_by([self.evidence]))[self.evidence]
        if row.withdrawn_at is not None:
            result = self.result(tx)
            notice = "; ".join(filter(None, ("withdrawn before", result.notice)))
            return result.model_copy(update={"repeated": True, "notice": notice})
        is_searchable = row.redacted_at is None
        tx.append(
            Draft(
                EvidenceWithdrawn(evidence=self.evidence, documents=int(is_searchable)),
                {"reason": self.reason},
                anchor=Anchor(record.anchor),
            )
        )
        return self.result(tx)

    def again(self, tx: Transaction, recorded: Recorded) -> WithdrawResult:
        event = recorded.event
        if (
            not isinstance(event, EvidenceWithdrawn)
            or event.evidence != self.evidence
            or recorded.texts.get("reason") not in (self.reason.value, None)
        ):
            raise RequestIdConflictError(recorded.request_id)
        return self.result(tx).model_copy(update={"repeated": True})

    def result(self, tx: Transaction) -> WithdrawResult:
        items = tx.ask(knowledge.citing(self.evidence))
        active = [item.id for item in items if item.is_active]
        notice = f"active knowledge leaned on it, and is contested now: {', '.join(active[:20])}"
        return WithdrawResult(
            id=public_id("ev", self.evidence),
            dependants=fitting([_dependant(item) for item in items], bytes_max=DEPENDANTS_BYTES),
            notice=notice if active else None,
            head=tx.next_seq - 1,
        )


def _dependant(item: Item) -> Dependant:
    return Dependant(
        id=item.id,
        statement=one_line(item.statement or "(removed)", chars_max=120),
        tier=item.tier,
        status=item.status,
    )
