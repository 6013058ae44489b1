"""Events of adoption: whether what was remembered helped."""

from enum import StrEnum
from typing import ClassVar, Literal

from pmm_mcp.domain.events.base import EventBody, Name, Seq
from pmm_mcp.domain.events.review import KeyId, Signature


class Track(StrEnum):
    """What a signal is about."""

    RUNTIME_ADOPTION = "runtime_adoption"
    CARD_CONTEXT = "card_context"
    CARD_EMBEDDING = "card_embedding"
    EVALUATOR = "evaluator"
    RESEARCH_ADAPTER = "research_adapter"


class Signal(StrEnum):
    """What happened."""

    USED = "used"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    MISS = "miss"
    ROLLBACK = "rollback"
    CONTRADICTION = "contradiction"
    NEUTRAL = "neutral"


class AdoptionRecorded(EventBody):
    """Someone, or a turn, said what became of something that was remembered."""

    kind: Literal["adoption_recorded"] = "adoption_recorded"
    v: Literal[1] = 1
    track: Track
    signal: Signal
    feature: Name = "context"
    item: Seq | None = None
    context: Name | None = None
    is_ours: bool = False
    """Whether this server had handed out a context of that id."""
    evaluator: Name | None = None
    report: Name | None = None
    texts: ClassVar = ("query", "note", "metadata")


class RollbackResolved(EventBody):
    """A reviewer looked at a rollback: it no longer stands in the way. Signed."""

    kind: Literal["rollback_resolved"] = "rollback_resolved"
    v: Literal[1] = 1
    rollback: Seq
    key: KeyId
    signature: Signature
    texts: ClassVar = ("reason",)


AdoptionEvent = AdoptionRecorded | RollbackResolved
