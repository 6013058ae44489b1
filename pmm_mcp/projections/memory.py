"""Memory: the documents that can be searched, and the evidence among them."""

from collections.abc import Iterator
from hashlib import sha256

from pmm_mcp.domain.events.knowledge import (
    KnowledgeDemoted,
    KnowledgeDistilled,
    KnowledgePromoted,
    KnowledgePublished,
    KnowledgeRaised,
    KnowledgeRestored,
    KnowledgeRetired,
)
from pmm_mcp.domain.events.ledger import TextRedacted
from pmm_mcp.domain.events.memory import EvidenceRecorded
from pmm_mcp.domain.events.mind import (
    ClaimAccepted,
    CommitmentOpened,
    LifetimeMemory,
    Reflection,
    SummaryUpdated,
)
from pmm_mcp.domain.events.turn import AssistantMessage, UserMessage
from pmm_mcp.domain.records import Recorded
from pmm_mcp.domain.tiers import Status
from pmm_mcp.domain.words import passages
from pmm_mcp.projections.changes import (
    INTEGER,
    TEXT,
    Change,
    Delete,
    Document,
    Increment,
    Insert,
    Table,
    Unindex,
    Update,
)

VERSION = 1

DOCUMENTS = Table(
    name="documents",
    key=("doc",),
    columns={
        "doc": INTEGER,
        "kind": TEXT,
        "anchor": TEXT,
        "conversation": TEXT,
        "speaker": TEXT,
        "ts": TEXT,
        "domain": TEXT,
        "field": TEXT,
        "provenance": TEXT,
        "source": TEXT,
        "tier": TEXT,
        "status": TEXT,
    },
)
LABELS = Table(
    name="labels",
    key=("doc", "label"),
    columns={"doc": INTEGER, "label": TEXT},
    indexes=(("label", "doc"),),
)
EVIDENCE = Table(
    name="evidence",
    key=("evidence",),
    columns={
        "evidence": INTEGER,
        "anchor": TEXT,
        "domain": TEXT,
        "field": TEXT,
        "source": TEXT,
        "content_hash": TEXT,
        "importance": INTEGER,
    },
    indexes=(("content_hash",), ("anchor", "importance", "evidence")),
)
DOCUMENT_COUNTS = Table(name="document_counts", key=("anchor",), columns={"anchor": TEXT, "total": INTEGER})

TABLES = (DOCUMENTS, LABELS, EVIDENCE, DOCUMENT_COUNTS)


def content_hash(content: str) -> str:
    """Return the digest by which exact repeats are known; it lives and dies with the text."""
    return sha256(content.encode()).hexdigest()


def project(record: Recorded) -> Iterator[Change]:
    """Index what was said, recorded, promised, claimed and reflected on."""
    match record.event:
        case UserMessage():
            yield from _document(record, kind="message", text="prompt", speaker="user")
        case AssistantMessage(quotation=False):
            yield from _document(record, kind="message", text="reply", speaker="assistant")
        case EvidenceRecorded() as event:
            yield from _evidence(record, event)
        case ClaimAccepted() as event:
            yield from _document(record, kind="claim", text="payload", domain=event.domain)
        case CommitmentOpened():
            yield from _document(record, kind="commitment", text="commitment")
        case Reflection():
            yield from _document(record, kind="reflection", text="reflection")
        case SummaryUpdated():
            yield from _document(record, kind="reflection", text="summary")
        case LifetimeMemory():
            yield from _document(record, kind="reflection", text="memory")
        case KnowledgeDistilled() | KnowledgeRaised() as event:
            yield from _knowledge(record, event)
        case (
            KnowledgePromoted()
            | KnowledgeDemoted()
            | KnowledgeRetired()
            | KnowledgeRestored()
            | KnowledgePublished() as event
        ):
            now = {"status": event.to_status, "anchor": record.anchor, "domain": event.domain}
            yield Update(DOCUMENTS, {"doc": event.item}, now)
            if isinstance(event, KnowledgePublished):
                yield Increment(DOCUMENT_COUNTS, {"anchor": event.from_anchor}, "total", -1)
                yield Increment(DOCUMENT_COUNTS, {"anchor": record.anchor}, "total")
        case TextRedacted() as event:
            yield from _redaction(event)
        case _:
            return


def _document(
    record: Recorded,
    *,
    kind: str,
    text: str,
    speaker: str | None = None,
    domain: str | None = None,
    field: str | None = None,
    provenance: str | None = None,
) -> Iterator[Change]:
    yield Increment(DOCUMENT_COUNTS, {"anchor": record.anchor}, "total")
    words = record.texts[text]
    if words is None:
        return
    yield Insert(
        DOCUMENTS,
        {
            "doc": record.seq,
            "kind": kind,
            "anchor": record.anchor,
            "conversation": record.conversation,
            "speaker": speaker,
            "ts": record.ts,
            "domain": domain,
            "field": field,
            "provenance": provenance,
            "source": record.texts.get("source"),
            "tier": None,
            "status": None,
        },
    )
    yield Document(record.seq, passages(words))


def _evidence(record: Recorded, event: EvidenceRecorded) -> Iterator[Change]:
    content = record.texts["content"]
    yield Insert(
        EVIDENCE,
        {
            "evidence": record.seq,
            "anchor": record.anchor,
            "domain": event.domain,
            "field": event.field,
            "source": record.texts.get("source"),
            "content_hash": content_hash(content) if content is not None else None,
            "importance": event.importance,
        },
    )
    yield from _document(
        record,
        kind="evidence",
        text="content",
        speaker=event.speaker,
        domain=event.domain,
        field=event.field,
        provenance=event.provenance,
    )
    if content is not None:
        for label in event.labels:
            yield Insert(LABELS, {"doc": record.seq, "label": label})


def _knowledge(record: Recorded, event: KnowledgeDistilled | KnowledgeRaised) -> Iterator[Change]:
    yield Increment(DOCUMENT_COUNTS, {"anchor": record.anchor}, "total")
    statement, content = record.texts["statement"], record.texts["content"]
    yield Insert(
        DOCUMENTS,
        {
            "doc": record.seq,
            "kind": "knowledge",
            "anchor": record.anchor,
            "conversation": record.conversation,
            "speaker": None,
            "ts": record.ts,
            "domain": event.domain,
            "field": event.field,
            "provenance": None,
            "source": None,
            "tier": event.tier,
            "status": Status.CANDIDATE,
        },
    )
    # The statement is the first passage, whole: a context asks how much of it a query is about.
    yield Document(record.seq, (statement or "", *passages(content or "")), governed=True)


def _redaction(event: TextRedacted) -> Iterator[Change]:
    if event.field == "source":
        yield Update(DOCUMENTS, {"doc": event.target}, {"source": None})
        yield Update(EVIDENCE, {"evidence": event.target}, {"source": None})
    elif event.documents:
        yield Delete(DOCUMENTS, {"doc": event.target})
        yield Delete(LABELS, {"doc": event.target})
        yield Unindex(event.target)
        yield Update(EVIDENCE, {"evidence": event.target}, {"content_hash": None})
        yield Increment(DOCUMENT_COUNTS, {"anchor": event.anchor}, "total", -event.documents)
