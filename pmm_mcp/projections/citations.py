"""Citations: which event names which other, and as what."""

from collections.abc import Iterator

from pmm_mcp.domain.events.cards import CardCreated, CardLinked, CardUnlinked
from pmm_mcp.domain.events.knowledge import (
    Candidate,
    KnowledgeDemoted,
    KnowledgePromoted,
    KnowledgePublished,
    KnowledgeRaised,
    KnowledgeRestored,
    KnowledgeRetired,
    Moved,
    PromotionRefused,
)
from pmm_mcp.domain.events.ledger import SourceEvent, TextRedacted
from pmm_mcp.domain.events.memory import EvidenceRecorded, EvidenceWithdrawn
from pmm_mcp.domain.events.mind import ClaimAccepted, CommitmentClosed, ConceptBound
from pmm_mcp.domain.events.review import ReviewRecorded, TeachingSigned
from pmm_mcp.domain.records import Recorded
from pmm_mcp.domain.tiers import Role
from pmm_mcp.projections.changes import INTEGER, TEXT, Change, Insert, Table

VERSION = 3

CITATIONS = Table(
    name="citations",
    key=("citing", "cited", "role"),
    columns={"citing": INTEGER, "cited": INTEGER, "role": TEXT},
    indexes=(("cited", "citing"),),
)

TABLES = (CITATIONS,)


def project(record: Recorded) -> Iterator[Change]:
    """Add a row for each event that this one names."""
    for role, cited in sorted(set(_citations(record))):
        yield Insert(CITATIONS, {"citing": record.seq, "cited": cited, "role": role})


def _citations(record: Recorded) -> Iterator[tuple[str, int]]:
    match record.event:
        case ClaimAccepted() as event:
            yield from (("evidence", seq) for seq in event.evidence)
            yield from (("contradicts", seq) for seq in event.contradicts)
        case CommitmentClosed(commitment=commitment):
            yield "closes", commitment
        case EvidenceRecorded(answers=answers, source_event=source):
            if answers is not None:
                yield "answers", answers
            if source:
                yield "source", source
        case EvidenceWithdrawn(evidence=evidence):
            yield "withdraws", evidence
        case ConceptBound(target=target):
            yield "binds", target
        case Candidate() | Moved() | PromotionRefused() | CardLinked() | CardUnlinked() as event:
            yield from _of_knowledge(event)
        case ReviewRecorded(item=item):
            yield "reviews", item
        case TeachingSigned(evidence=evidence):
            yield "signs", evidence
        case SourceEvent(mapped=mapped) if mapped is not None:
            yield "source_of", mapped
        case TextRedacted(target=target):
            yield "redacts", target
        case _:
            return


def _of_knowledge(
    event: Candidate | Moved | PromotionRefused | CardLinked | CardUnlinked,
) -> Iterator[tuple[str, int]]:
    match event:
        case Candidate() as event:
            yield from ((role, seq) for role in Role for seq in getattr(event, role))
            if isinstance(event, KnowledgeRaised):
                yield "raised_from", event.origin
            if isinstance(event, CardCreated) and event.from_item is not None:
                yield "made_from", event.from_item
        case CardLinked(item=item, evidence=evidence, role=role):
            yield "links", item
            yield role, evidence
        case CardUnlinked(item=item, evidence=evidence):
            yield "unlinks", item
            yield "unlinked", evidence
        case KnowledgePromoted(item=item, linked=linked):
            yield "promotes", item
            yield from (("verification", seq) for seq in linked)
        case KnowledgeDemoted(item=item, counterexample=against):
            yield "demotes", item
            yield from (("counterexample", seq) for seq in against)
        case KnowledgeRetired(item=item, counterexample=against):
            yield "retires", item
            yield from (("counterexample", seq) for seq in against)
        case KnowledgeRestored(item=item, counterexample=against):
            yield "restores", item
            yield from (("counterexample", seq) for seq in against)
        case KnowledgePublished(item=item):
            yield "publishes", item
        case PromotionRefused(item=item):
            yield "refuses", item
        case _:
            return
