"""Events of memory: what was seen."""

from enum import StrEnum
from typing import ClassVar, Literal

from pydantic import Field

from pmm_mcp.domain.events.base import Count, EventBody, Name, Seq


class Domain(StrEnum):
    """Who a piece of memory is for."""

    PROJECT = "project"
    AGENT = "agent"
    SKILL = "skill"
    GLOBAL = "global"


class Provenance(StrEnum):
    """Where a piece of memory came from. Set by the server, never by the caller."""

    RUNTIME = "runtime"
    RESEARCH = "research"
    HUMAN = "human"
    IMPORT = "import"


class EvidenceRecorded(EventBody):
    """A piece of raw evidence was recorded, verbatim."""

    kind: Literal["evidence_recorded"] = "evidence_recorded"
    v: Literal[1] = 1
    domain: Domain = Domain.PROJECT
    field: Name = "general"
    provenance: Provenance = Provenance.RUNTIME
    importance: int = Field(default=0, ge=0, le=5)
    labels: tuple[Name, ...] = ()
    speaker: Name | None = None
    occurred_at: str | None = None
    evaluator: Name | None = None
    answers: Seq | None = None
    source_event: Count = 0
    """The event of this ledger that `source` names, when it does."""
    texts: ClassVar = ("content", "source")


MemoryEvent = EvidenceRecorded
