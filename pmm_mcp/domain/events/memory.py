"""Events of memory: what was seen."""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from pmm_mcp.domain.events.base import Count, EventBody, Integer, Name, Seq

Commit = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})?$")]
"""A git object by its whole name; empty where there is none."""


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


class Origin(StrEnum):
    """What the source of a piece of evidence is, as the server found it when it was recorded."""

    CITED = "cited"
    """Only named: a URL, a file that could not be read, nothing at all. Not resolved."""
    FILE = "file"
    """A file of the checkout, read then."""
    MESSAGE = "message"
    """What a user said in a turn."""
    MODEL = "model"
    """A claim, a reply, or anything else a model or an agent wrote."""
    IMPORT = "import"
    """An event of another system."""
    SIGNED = "signed"
    """A person's signature."""


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
    origin: Origin = Origin.CITED
    blob: Commit = ""
    """What git calls the content of the file that was read."""
    first_line: Count = 0
    last_line: Count = 0
    commit: Commit = ""
    """What was checked out where it was recorded."""
    texts: ClassVar = ("content", "source", "path")
    """`path` is the file that was read, relative to its checkout."""


class EvidenceWithdrawn(EventBody):
    """A piece of evidence no longer shows in searches and contexts, nor counts; it stays citable."""

    kind: Literal["evidence_withdrawn"] = "evidence_withdrawn"
    v: Literal[1] = 1
    evidence: Seq
    documents: Count = 0
    """How many searchable documents went with it."""
    texts: ClassVar = ("reason",)


class FactAsserted(EventBody):
    """A fact holds from a moment on, `from_us`. Its words are texts, its source is evidence."""

    kind: Literal["fact_asserted"] = "fact_asserted"
    v: Literal[1] = 1
    from_us: Integer
    single_valued: bool = True
    confidence_pct: int = Field(default=100, ge=0, le=100)
    source: Seq
    texts: ClassVar = ("subject", "predicate", "object")


class FactEnded(EventBody):
    """A fact no longer holds from a moment on; before it, it did."""

    kind: Literal["fact_ended"] = "fact_ended"
    v: Literal[1] = 1
    fact: Seq
    to_us: Integer
    source: Seq
    replaced_by: Seq | None = None


MemoryEvent = EvidenceRecorded | EvidenceWithdrawn | FactAsserted | FactEnded
