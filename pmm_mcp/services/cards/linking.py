"""Tying evidence to a card, and untying it; what carries the same belief gets the same links."""

from dataclasses import dataclass

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.errors import InvalidArgumentError, MoveNotAllowedError, RequestIdConflictError
from pmm_mcp.domain.events.cards import CardLinked, CardUnlinked
from pmm_mcp.domain.ids import parse_id, public_id
from pmm_mcp.domain.records import Call, Draft, Recorded
from pmm_mcp.domain.sizes import fitting
from pmm_mcp.domain.tiers import Role
from pmm_mcp.ports import Ledger, Transaction
from pmm_mcp.queries import knowledge
from pmm_mcp.queries.plans import carry_out
from pmm_mcp.services.boundary import Boundary
from pmm_mcp.services.knowledge.dossier import existing, item_at, twin_of
from pmm_mcp.services.results import Part, Result

LINKS_BYTES = 6_000
LINKS_MAX = 100


class LinkShown(Part):
    """A piece of evidence, and as what it is tied to a card."""

    evidence_id: str
    role: str
    answered: bool | None = None


class LinkResult(Result):
    """The card's links as they are now."""

    id: str
    links: list[LinkShown]
    changed: bool = True


@dataclass(frozen=True, slots=True)
class LinkService:
    """Ties evidence to cards."""

    ledger: Ledger
    boundary: Boundary

    async def link(
        self, item_id: str, *, evidence_id: str, role: str, note: str, unlink: bool, call: Call
    ) -> LinkResult:
        """Tie a piece of evidence to a card, or untie it; doing it twice changes nothing.

        Raises:
            InvalidArgumentError: an argument is malformed, or the piece has another role already.
            MoveNotAllowedError: a counterexample would be untied, or anything of what is believed.
            NotFoundError: the card or the evidence is not there.

        """
        linking = _Linking(
            card=parse_id(item_id, "card")[1],
            evidence=parse_id(evidence_id, "ev")[1],
            role=_role(role),
            note=await self.boundary.admit(note.strip(), field="note"),
            unlink=unlink,
        )
        return await self.ledger.write(linking.write, call=call, again=linking.again)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Linking:
    card: int
    evidence: int
    role: Role
    note: Admitted
    unlink: bool

    def write(self, tx: Transaction) -> LinkResult:
        item = carry_out(tx, item_at(self.card, "card"))
        carry_out(tx, existing([self.evidence]))
        links = tx.ask(knowledge.links([self.card]))
        roles = {link.role for link in links if link.evidence == self.evidence}
        if (self.role in roles) is not self.unlink:
            return self.result(tx).model_copy(update={"changed": False})
        twin = carry_out(tx, twin_of(item))
        believed = next((one for one in (item, twin) if one is not None and one.is_active), None)
        if self.unlink and believed is not None:
            raise MoveNotAllowedError(
                f"{believed.id} is {believed.status}, and rests on its evidence",
                hint="Demote it first, or withdraw the evidence: the item is then contested.",
            )
        if self.unlink and self.role is Role.COUNTEREXAMPLE:
            raise MoveNotAllowedError(
                "a counterexample is never untied",
                hint="It is answered: by a later verification, or a reviewer.",
            )
        if not self.unlink and roles and self.role is not Role.COUNTEREXAMPLE:
            raise InvalidArgumentError(
                f"ev:{self.evidence} is its {min(roles)} already", hint="A piece of evidence has one role."
            )
        if not self.unlink and len(links) >= LINKS_MAX:
            raise InvalidArgumentError(f"{item.id} has {LINKS_MAX} links", hint="Untie some first.")
        shape = CardUnlinked if self.unlink else CardLinked
        event = shape(
            item=self.card,
            twin=None if twin is None else twin.item,
            evidence=self.evidence,
            role=self.role,
        )
        tx.append(Draft(event, {"note": self.note} if self.note.value else {}, anchor=item.anchor))
        return self.result(tx)

    def again(self, tx: Transaction, recorded: Recorded) -> LinkResult:
        event = recorded.event
        shape = CardUnlinked if self.unlink else CardLinked
        said = (getattr(event, "item", 0), getattr(event, "evidence", 0), getattr(event, "role", ""))
        is_same_note = recorded.texts.get("note", "") in (self.note.value, None)
        if not isinstance(event, shape) or said != (self.card, self.evidence, self.role) or not is_same_note:
            raise RequestIdConflictError(recorded.request_id)
        return self.result(tx).model_copy(update={"repeated": True})

    def result(self, tx: Transaction) -> LinkResult:
        links = tx.ask(knowledge.links([self.card]))
        shown = [
            LinkShown(
                evidence_id=public_id("ev", link.evidence),
                role=link.role,
                answered=bool(link.answered_at) if link.role is Role.COUNTEREXAMPLE else None,
            )
            for link in links
        ]
        return LinkResult(
            id=public_id("card", self.card),
            links=fitting(shown, bytes_max=LINKS_BYTES),
            head=tx.next_seq - 1,
        )


def _role(text: str) -> Role:
    try:
        return Role(text.strip().lower())
    except ValueError:
        raise InvalidArgumentError(
            f"role: {text[:40]!r} is not one", hint="Use " + ", ".join(Role) + "."
        ) from None
