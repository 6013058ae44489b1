"""Memory: the documents that can be searched, and the evidence among them."""

from collections.abc import Iterator
from hashlib import sha256

from pmm_mcp.domain.events.knowledge import (
    Candidate,
    KnowledgeDemoted,
    KnowledgePromoted,
    KnowledgePublished,
    KnowledgeRestored,
    KnowledgeRetired,
)
from pmm_mcp.domain.events.ledger import TextRedacted
from pmm_mcp.domain.events.memory import EvidenceRecorded, EvidenceWithdrawn, Origin
from pmm_mcp.domain.events.mind import (
    ClaimAccepted,
    CommitmentOpened,
    LifetimeMemory,
    Reflection,
    SummaryUpdated,
)
from pmm_mcp.domain.events.turn import AssistantMessage, UserMessage
from pmm_mcp.domain.headings import day_of, heading_terms, source_terms
from pmm_mcp.domain.records import Recorded
from pmm_mcp.domain.tiers import Status
from pmm_mcp.domain.words import PASSAGES_MAX, passages
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

VERSION = 4

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
        "day": TEXT,
    },
    indexes=(("anchor", "conversation", "doc"),),
)
HEADINGS = Table(
    name="headings",
    key=("term", "anchor", "conversation", "day", "doc"),
    columns={
        "term": TEXT,
        "anchor": TEXT,
        "conversation": TEXT,
        "day": TEXT,
        "doc": INTEGER,
        "total": INTEGER,
    },
    indexes=(("doc",),),
)
"""What may be asked for around a text. `doc` is 0 for what a conversation's day has in common."""
SPEAKERS = Table(
    name="speakers",
    key=("anchor", "speaker"),
    columns={"anchor": TEXT, "speaker": TEXT, "total": INTEGER},
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
        "provenance": TEXT,
        "origin": TEXT,
        "source_key": TEXT,
        "blob": TEXT,
        "session": TEXT,
        "commit_id": TEXT,
        "answers": INTEGER,
        "ts": TEXT,
        "withdrawn_at": INTEGER,
        "redacted_at": INTEGER,
    },
    indexes=(("content_hash",), ("anchor", "importance", "evidence")),
)
"""`source_key` says which source it is when it was resolved: `file:PATH`, `turn:N`, `event:N`, `signed:N`."""
DOCUMENT_COUNTS = Table(name="document_counts", key=("anchor",), columns={"anchor": TEXT, "total": INTEGER})

TABLES = (DOCUMENTS, HEADINGS, SPEAKERS, LABELS, EVIDENCE, DOCUMENT_COUNTS)


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
        case Candidate() as event:
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
            if isinstance(event, KnowledgePublished) and not _is_of_card(record):
                yield Increment(DOCUMENT_COUNTS, {"anchor": event.from_anchor}, "total", -1)
                yield Increment(DOCUMENT_COUNTS, {"anchor": record.anchor}, "total")
        case TextRedacted() as event:
            yield from _redaction(record, event)
        case EvidenceWithdrawn() as event:
            yield from _withdrawal(record, event)
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
    occurred_at: str | None = None,
) -> Iterator[Change]:
    yield Increment(DOCUMENT_COUNTS, {"anchor": record.anchor}, "total")
    day = day_of(occurred_at or record.ts)
    yield from _headings(record, day=day)
    if speaker is not None:
        yield Increment(SPEAKERS, {"anchor": record.anchor, "speaker": speaker}, "total")
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
            "day": day,
        },
    )
    yield Document(record.seq, passages(words))


def _headings(record: Recorded, *, day: str) -> Iterator[Change]:
    """Note what a document may be asked by besides its text."""
    place = {"anchor": record.anchor, "conversation": record.conversation or "", "day": day}
    for term in heading_terms(day=day, conversation=record.conversation or ""):
        yield Increment(HEADINGS, {"term": term, **place, "doc": 0}, "total")
    nowhere = {"anchor": record.anchor, "conversation": "", "day": ""}
    for term in source_terms(record.texts.get("source") or ""):
        yield Increment(HEADINGS, {"term": term, **nowhere, "doc": record.seq}, "total")


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
            "provenance": event.provenance,
            "origin": event.origin,
            "source_key": _source_key(record, event),
            "blob": event.blob or None,
            "session": record.actor.session,
            "commit_id": event.commit or None,
            "answers": event.answers,
            "ts": record.ts,
            "withdrawn_at": None,
            "redacted_at": None,
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
        occurred_at=event.occurred_at,
    )
    if content is not None:
        for label in event.labels:
            yield Insert(LABELS, {"doc": record.seq, "label": label})


def _source_key(record: Recorded, event: EvidenceRecorded) -> str | None:
    match event.origin:
        case Origin.FILE:
            path = record.texts.get("path")
            return None if path is None else f"file:{path}"
        case Origin.MESSAGE:
            return f"turn:{event.source_event}"
        case Origin.MODEL | Origin.IMPORT:
            return f"event:{event.source_event}"
        case Origin.SIGNED:
            return f"signed:{record.seq}"
        case Origin.CITED:
            return None


def _withdrawal(record: Recorded, event: EvidenceWithdrawn) -> Iterator[Change]:
    yield Update(EVIDENCE, {"evidence": event.evidence}, {"withdrawn_at": record.seq, "content_hash": None})
    if event.documents:
        yield from _gone(event.evidence)
        yield Increment(DOCUMENT_COUNTS, {"anchor": record.anchor}, "total", -event.documents)


def _gone(doc: int) -> Iterator[Change]:
    yield Delete(DOCUMENTS, {"doc": doc})
    yield Delete(LABELS, {"doc": doc})
    yield Delete(HEADINGS, {"doc": doc})
    yield Unindex(doc)


def _is_of_card(record: Recorded) -> bool:
    """Say whether an event is about a card: a context may show it, a search never does."""
    return record.kind.startswith("card_")


def _knowledge(record: Recorded, event: Candidate) -> Iterator[Change]:
    if not _is_of_card(record):
        yield Increment(DOCUMENT_COUNTS, {"anchor": record.anchor}, "total")
    statement, content = record.texts["statement"], record.texts["content"]
    yield Insert(
        DOCUMENTS,
        {
            "doc": record.seq,
            "kind": "card" if _is_of_card(record) else "knowledge",
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
            "day": day_of(record.ts),
        },
    )
    # The statement is the first passage, whole: a context asks how much of it a query is about.
    parts = passages(content or "")
    if len(parts) >= PASSAGES_MAX:  # A document has so many passages, and the statement is one of them.
        parts = (*parts[: PASSAGES_MAX - 2], "\n".join(parts[PASSAGES_MAX - 2 :]))
    yield Document(record.seq, (statement or "", *parts), governed=True)


def _redaction(record: Recorded, event: TextRedacted) -> Iterator[Change]:
    match event.field:
        case "source":
            yield Update(DOCUMENTS, {"doc": event.target}, {"source": None})
            yield Delete(HEADINGS, {"doc": event.target})
            yield Update(EVIDENCE, {"evidence": event.target}, {"source": None})
        case "path":
            yield Update(EVIDENCE, {"evidence": event.target}, {"source_key": None})
        case "content":
            gone = {"content_hash": None, "redacted_at": record.seq}
            yield Update(EVIDENCE, {"evidence": event.target}, gone)
        case _:
            pass
    if event.documents:
        yield from _gone(event.target)
        yield Increment(DOCUMENT_COUNTS, {"anchor": event.anchor}, "total", -event.documents)
