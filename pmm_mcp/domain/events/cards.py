"""Events of cards: a belief as its own object. They say what the events of knowledge say, of a card.

A card lives by the same rules, so each of its moves is the same shape under a name of its own, and whoever
follows knowledge follows cards.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, TypeVar

from pmm_mcp.domain.events.base import EventBody, Seq
from pmm_mcp.domain.events.knowledge import (
    Candidate,
    KnowledgeDemoted,
    KnowledgePromoted,
    KnowledgePublished,
    KnowledgeRaised,
    KnowledgeRestored,
    KnowledgeRetired,
    Moved,
)
from pmm_mcp.domain.tiers import Role

M = TypeVar("M", bound=Moved)


class CardCreated(Candidate):
    """A card was made: of evidence, or of the knowledge whose belief it carries."""

    kind: Literal["card_created"] = "card_created"
    v: Literal[1] = 1
    from_item: Seq | None = None


class CardRaised(KnowledgeRaised):
    """A card one tier higher was proposed from an active one."""

    kind: Literal["card_raised"] = "card_raised"  # type: ignore[assignment]  # the same, of a card


class CardLinked(EventBody):
    """A piece of evidence was tied to a card, and to the knowledge that says the same."""

    kind: Literal["card_linked"] = "card_linked"
    v: Literal[1] = 1
    item: Seq
    twin: Seq | None = None
    evidence: Seq
    role: Role
    texts: ClassVar = ("note",)


class CardUnlinked(EventBody):
    """A piece of evidence is no longer tied to a card; a counterexample never is."""

    kind: Literal["card_unlinked"] = "card_unlinked"
    v: Literal[1] = 1
    item: Seq
    twin: Seq | None = None
    evidence: Seq
    role: Role
    texts: ClassVar = ("note",)


class CardPromoted(KnowledgePromoted):
    """The gate held: the card is active."""

    kind: Literal["card_promoted"] = "card_promoted"  # type: ignore[assignment]


class CardDemoted(KnowledgeDemoted):
    """The card is no longer believed."""

    kind: Literal["card_demoted"] = "card_demoted"  # type: ignore[assignment]


class CardRetired(KnowledgeRetired):
    """The card is set aside for good."""

    kind: Literal["card_retired"] = "card_retired"  # type: ignore[assignment]


class CardRestored(KnowledgeRestored):
    """A retired card is a candidate again, or a superseded one is back."""

    kind: Literal["card_restored"] = "card_restored"  # type: ignore[assignment]


class CardPublished(KnowledgePublished):
    """The card holds in a wider place."""

    kind: Literal["card_published"] = "card_published"  # type: ignore[assignment]


CardEvent = (
    CardCreated | CardRaised | CardLinked | CardUnlinked | CardPromoted | CardDemoted | CardRetired
    | CardRestored | CardPublished
)  # fmt: skip

_OF_CARDS: Final[Mapping[type[Moved], type[Moved]]] = {
    KnowledgePromoted: CardPromoted,
    KnowledgeDemoted: CardDemoted,
    KnowledgeRetired: CardRetired,
    KnowledgeRestored: CardRestored,
    KnowledgePublished: CardPublished,
}


def of_card(event: M, **changes: Any) -> M:
    """Return the same move, of a card."""
    said = event.model_dump(exclude={"kind"}) | changes
    return _OF_CARDS[type(event)](**said)  # type: ignore[return-value]  # a subclass of the same move
