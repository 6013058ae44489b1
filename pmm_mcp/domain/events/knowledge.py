"""Events of governed knowledge: what is believed, and every decision about it.

An item is named by the event that created it, and its anchor is that event's. Every later event is fat:
it carries what the item is from then on, so that a read model needs no older state.
"""

from typing import ClassVar, Literal

from pmm_mcp.domain.canonical import canonical
from pmm_mcp.domain.events.base import Code, Count, EventBody, Name, Seq
from pmm_mcp.domain.events.memory import Commit, Domain
from pmm_mcp.domain.tiers import ReasonType, Status, Tier

Refs = tuple[Seq, ...]
"""Pieces of evidence, ascending, each once."""

Move = Literal["promote", "retire", "restore", "publish"]
"""What a gate can refuse, and a reviewer approve."""

Elicited = Literal["", "accept", "decline", "cancel"]
"""What someone answered when a client asked."""


class Candidate(EventBody):
    """What the two births of an item have in common."""

    tier: Tier
    domain: Domain = Domain.PROJECT
    field: Name = "general"
    supporting: Refs = ()
    verification: Refs = ()
    teaching: Refs = ()
    counterexample: Refs = ()
    intent_tags: tuple[Name, ...] = ()
    workflow_bias: tuple[Name, ...] = ()
    tool_needs: tuple[Name, ...] = ()
    worktree: str = ""
    """The checkout it was proposed in; empty outside of one."""
    commit: Commit = ""
    """What was checked out there."""
    inherited_from: Refs = ()
    """Demoted or retired items that say the same, whose counterexamples it inherits."""
    texts: ClassVar[tuple[str, ...]] = ("statement", "content", "scope_constraints")


class KnowledgeDistilled(Candidate):
    """A candidate was distilled from evidence."""

    kind: Literal["knowledge_distilled"] = "knowledge_distilled"
    v: Literal[1] = 1


class KnowledgeRaised(Candidate):
    """A candidate one tier higher was proposed from active knowledge, with its references."""

    kind: Literal["knowledge_raised"] = "knowledge_raised"
    v: Literal[1] = 1
    origin: Seq
    texts: ClassVar[tuple[str, ...]] = ("statement", "content", "scope_constraints", "reason")


class Moved(EventBody):
    """What every move of an item says: which, from what to what, and what it is from then on."""

    item: Seq
    from_status: Status
    to_status: Status
    tier: Tier
    domain: Domain = Domain.PROJECT
    field: Name = "general"
    review: Seq | None = None
    """The signed review it used up."""
    signed: bool = False
    """Whether a reviewer's signature, of this move or an earlier one, stands behind what it is now."""
    texts: ClassVar = ("reason",)


class KnowledgePromoted(Moved):
    """The gate held: the item is active. It lists what counted, by role."""

    kind: Literal["knowledge_promoted"] = "knowledge_promoted"
    v: Literal[1] = 1
    rules: Count
    """The version of the rules that decided."""
    policy: Count = 0
    """The event that made them stricter; 0 for the floor in code."""
    supporting: Refs = ()
    verification: Refs = ()
    teaching: Refs = ()
    answered: Refs = ()
    """Counterexamples that were answered."""
    linked: Refs = ()
    """Verifications that are new references of the item."""


class KnowledgeDemoted(Moved):
    """The item is no longer believed."""

    kind: Literal["knowledge_demoted"] = "knowledge_demoted"
    v: Literal[1] = 1
    reason_type: ReasonType
    evidence: Refs = ()
    counterexample: Refs = ()
    """Those of `evidence` that became counterexamples of it."""
    superseded_by: Seq | None = None
    for_review: bool = False
    """It had a reviewer's signature, so a reviewer should look at this."""


class KnowledgeRetired(Moved):
    """The item is set aside for good."""

    kind: Literal["knowledge_retired"] = "knowledge_retired"
    v: Literal[1] = 1
    reason_type: ReasonType
    evidence: Refs = ()
    counterexample: Refs = ()


class KnowledgeRestored(Moved):
    """A retired item is a candidate again, or a superseded one is back because its successor fell."""

    kind: Literal["knowledge_restored"] = "knowledge_restored"
    v: Literal[1] = 1
    cause: Seq | None = None
    """The successor that was demoted."""
    counterexample: Refs = ()
    """What spoke against the successor, if both say the same: it speaks against this one too."""


class KnowledgePublished(Moved):
    """The item holds in a wider place; its new anchor is this event's."""

    kind: Literal["knowledge_published"] = "knowledge_published"
    v: Literal[1] = 1
    from_anchor: str


class PromotionRefused(EventBody):
    """A gate said no. What would satisfy it is computed anew when someone asks."""

    kind: Literal["promotion_refused"] = "promotion_refused"
    v: Literal[1] = 1
    item: Seq
    move: Move
    to: Name
    """The status or the anchor word that was asked for."""
    supporting: Refs = ()
    verification: Refs = ()
    teaching: Refs = ()
    counterexample: Refs = ()
    reasons: tuple[Code, ...]
    needs_review: bool = False
    """A reviewer's signature is all that is missing: `pmm-mcp review` shows it."""
    rules: Count
    policy: Count = 0
    reason_type: ReasonType | None = None
    elicited: Elicited = ""
    """What someone answered when the client asked about it: a label, which satisfies nothing."""
    texts: ClassVar = ("reason",)

    @property
    def proposal(self) -> str:
        """Everything but what people said about it: two refusals that are equal here were the same."""
        said = {"changed", "elicited"}
        return canonical({name: value for name, value in self.body().items() if name not in said}).decode()


KnowledgeEvent = (
    KnowledgeDistilled | KnowledgeRaised | KnowledgePromoted | KnowledgeDemoted | KnowledgeRetired
    | KnowledgeRestored | KnowledgePublished | PromotionRefused
)  # fmt: skip
