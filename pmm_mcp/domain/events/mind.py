"""Events of the mind: what a model promised, claimed, reflected on and named."""

from typing import ClassVar, Literal

from pmm_mcp.domain.events.base import Code, Count, EventBody, Integer, Name, Seq

Origin = Literal["model", "runtime", "importer", "human"]


class CommitmentOpened(EventBody):
    """A promise was made."""

    kind: Literal["commitment_opened"] = "commitment_opened"
    v: Literal[1] = 1
    origin: Origin
    texts: ClassVar = ("commitment",)


class CommitmentClosed(EventBody):
    """A promise was kept, or given up."""

    kind: Literal["commitment_closed"] = "commitment_closed"
    v: Literal[1] = 1
    commitment: Seq
    origin: Origin
    reason: Code | None = None
    texts: ClassVar = ("outcome",)


class ClaimAccepted(EventBody):
    """A claim passed the rules of its type."""

    kind: Literal["claim_accepted"] = "claim_accepted"
    v: Literal[1] = 1
    type: Code
    domain: Name = "project"
    evidence: tuple[Seq, ...] = ()
    contradicts: tuple[Seq, ...] = ()
    texts: ClassVar = ("subject", "payload")


class Reflection(EventBody):
    """A look back, by the model or by the runtime."""

    kind: Literal["reflection"] = "reflection"
    v: Literal[1] = 1
    origin: Origin
    texts: ClassVar = ("reflection",)


class LedgerReferenced(EventBody):
    """An event of a ledger was named; `target_hash` is its hash when it was found."""

    kind: Literal["ledger_referenced"] = "ledger_referenced"
    v: Literal[1] = 1
    target: Seq
    verified: bool
    target_hash: str | None = None
    texts: ClassVar = ("ledger",)


class ConceptDefined(EventBody):
    """A concept got a definition."""

    kind: Literal["concept_defined"] = "concept_defined"
    v: Literal[1] = 1
    token: Name
    concept_kind: Name
    version: Count = 1
    texts: ClassVar = ("definition", "attributes")


class ConceptAliased(EventBody):
    """One token means another."""

    kind: Literal["concept_aliased"] = "concept_aliased"
    v: Literal[1] = 1
    alias: Name
    token: Name
    texts: ClassVar = ("reason",)


class ConceptRelated(EventBody):
    """Two concepts stand in a relation; `weight` in millionths."""

    kind: Literal["concept_related"] = "concept_related"
    v: Literal[1] = 1
    token: Name
    relation: Name
    other: Name
    weight: Integer = 1_000_000


class ConceptBound(EventBody):
    """Concepts were tied to an event or a commitment; `weight` in millionths."""

    kind: Literal["concept_bound"] = "concept_bound"
    v: Literal[1] = 1
    tokens: tuple[Name, ...]
    target: Seq
    relation: Name
    weight: Integer = 1_000_000


class SummaryUpdated(EventBody):
    """A deterministic summary of the state of the mind."""

    kind: Literal["summary_updated"] = "summary_updated"
    v: Literal[1] = 1
    origin: Origin
    texts: ClassVar = ("summary",)


class LifetimeMemory(EventBody):
    """A stretch of the ledger, condensed."""

    kind: Literal["lifetime_memory"] = "lifetime_memory"
    v: Literal[1] = 1
    texts: ClassVar = ("memory",)


MindEvent = (
    CommitmentOpened | CommitmentClosed | ClaimAccepted | Reflection | LedgerReferenced
    | ConceptDefined | ConceptAliased | ConceptRelated | ConceptBound | SummaryUpdated | LifetimeMemory
)  # fmt: skip
