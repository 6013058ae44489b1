"""Governed knowledge: each item, the intervals of what it was, and its evidence by role."""

from collections.abc import Iterator

from pmm_mcp.domain.events.cards import CardCreated, CardLinked, CardUnlinked
from pmm_mcp.domain.events.knowledge import (
    Candidate,
    KnowledgeDemoted,
    KnowledgeDistilled,
    KnowledgePromoted,
    KnowledgePublished,
    KnowledgeRaised,
    KnowledgeRestored,
    KnowledgeRetired,
    Moved,
    PromotionRefused,
)
from pmm_mcp.domain.events.ledger import TextRedacted
from pmm_mcp.domain.events.review import ReviewRecorded
from pmm_mcp.domain.knowledge import Form, statement_key
from pmm_mcp.domain.records import Recorded
from pmm_mcp.domain.tiers import Role, Status
from pmm_mcp.domain.words import is_content_word, query_terms
from pmm_mcp.projections.changes import INTEGER, TEXT, Change, Insert, Table, Update, Value

VERSION = 3

KNOWLEDGE = Table(
    name="knowledge",
    key=("item",),
    columns={
        "item": INTEGER,
        "statement": TEXT,
        "statement_key": TEXT,
        "statement_terms": INTEGER,
        "form": TEXT,
        "made_from": INTEGER,
        "origin": INTEGER,
        "session": TEXT,
        "worktree": TEXT,
        "commit_id": TEXT,
    },
    indexes=(("statement_key",), ("origin",), ("made_from",)),
)
KNOWLEDGE_STATES = Table(
    name="knowledge_states",
    key=("item", "from_seq"),
    columns={
        "item": INTEGER,
        "from_seq": INTEGER,
        "to_seq": INTEGER,
        "status": TEXT,
        "form": TEXT,
        "tier": TEXT,
        "domain": TEXT,
        "field": TEXT,
        "anchor": TEXT,
        "signed": INTEGER,
        "for_review": INTEGER,
    },
    indexes=(("to_seq", "status", "anchor", "item"),),
)
"""A row holds from `from_seq` up to, but not at, `to_seq`; a null `to_seq` is now."""

KNOWLEDGE_LINKS = Table(
    name="knowledge_links",
    key=("item", "evidence", "role", "from_seq"),
    columns={
        "item": INTEGER,
        "evidence": INTEGER,
        "role": TEXT,
        "from_seq": INTEGER,
        "to_seq": INTEGER,
        "answered_at": INTEGER,
    },
    indexes=(("evidence", "item"),),
)
"""`answered_at` is when a counterexample was answered."""

KNOWLEDGE_REFUSALS = Table(
    name="knowledge_refusals",
    key=("refused",),
    columns={
        "refused": INTEGER,
        "item": INTEGER,
        "move": TEXT,
        "to_state": TEXT,
        "session": TEXT,
        "proposal": TEXT,
        "needs_review": INTEGER,
    },
    indexes=(("item", "refused"), ("needs_review", "refused")),
)
"""`proposal` is everything of a refusal but its reason in words: two that are equal were the same."""

TABLES = (KNOWLEDGE, KNOWLEDGE_STATES, KNOWLEDGE_LINKS, KNOWLEDGE_REFUSALS)


def project(record: Recorded) -> Iterator[Change]:
    """Follow each item from its birth through every decision about it."""
    match record.event:
        case KnowledgeDistilled() as event:
            yield from _born(record, event)
        case KnowledgeRaised() as event:
            yield from _born(record, event, origin=event.origin)
        case CardCreated() as event:
            yield from _born(record, event, made_from=event.from_item)
        case CardLinked() as event:
            for item in filter(None, (event.item, event.twin)):
                yield _link(item, event.evidence, event.role, record.seq)
        case CardUnlinked() as event:
            for item in filter(None, (event.item, event.twin)):
                current: dict[str, Value] = {
                    "item": item,
                    "evidence": event.evidence,
                    "role": event.role,
                    "to_seq": None,
                }
                yield Update(KNOWLEDGE_LINKS, current, {"to_seq": record.seq})
        case KnowledgePromoted() as event:
            yield from _moved(record, event)
            for evidence in event.linked:
                yield _link(event.item, evidence, Role.VERIFICATION, record.seq)
            for evidence in event.answered:
                yield from _answered(event.item, evidence, record.seq)
        case KnowledgeDemoted() | KnowledgeRetired() as event:
            for_review = isinstance(event, KnowledgeDemoted) and event.for_review
            yield from _moved(record, event, for_review=for_review)
            for evidence in event.counterexample:
                yield from _against(event.item, evidence, record.seq)
        case KnowledgeRestored() as event:
            yield from _moved(record, event)
            for evidence in event.counterexample:
                yield from _against(event.item, evidence, record.seq)
        case KnowledgePublished() as event:
            yield from _moved(record, event)
        case PromotionRefused() as event:
            yield Insert(
                KNOWLEDGE_REFUSALS,
                {
                    "refused": record.seq,
                    "item": event.item,
                    "move": event.move,
                    "to_state": event.to,
                    "session": record.actor.session,
                    "proposal": event.proposal,
                    "needs_review": int(event.needs_review),
                },
            )
        case ReviewRecorded(decision="approve") as event:
            for evidence in event.answered:
                yield from _answered(event.item, evidence, record.seq)
        case TextRedacted(target=target, field="statement"):
            gone = {"statement": None, "statement_key": None, "statement_terms": 0}
            yield Update(KNOWLEDGE, {"item": target}, gone)
        case _:
            return


def _born(
    record: Recorded, event: Candidate, *, origin: int | None = None, made_from: int | None = None
) -> Iterator[Change]:
    statement = record.texts["statement"]
    yield Insert(
        KNOWLEDGE,
        {
            "item": record.seq,
            "statement": statement,
            "statement_key": None if statement is None else statement_key(statement),
            "statement_terms": len([term for term in query_terms(statement or "") if is_content_word(term)]),
            "form": _form(record),
            "made_from": made_from,
            "origin": origin,
            "session": record.actor.session,
            "worktree": event.worktree,
            "commit_id": event.commit,
        },
    )
    yield Insert(
        KNOWLEDGE_STATES,
        {
            "item": record.seq,
            "from_seq": record.seq,
            "to_seq": None,
            "status": Status.CANDIDATE,
            "form": _form(record),
            "tier": event.tier,
            "domain": event.domain,
            "field": event.field,
            "anchor": record.anchor,
            "signed": 0,
            "for_review": 0,
        },
    )
    for role in Role:
        for evidence in getattr(event, role):
            yield _link(record.seq, evidence, role, record.seq)


def _form(record: Recorded) -> Form:
    return "card" if record.kind.startswith("card_") else "kn"


def _moved(record: Recorded, event: Moved, *, for_review: bool = False) -> Iterator[Change]:
    yield Update(KNOWLEDGE_STATES, {"item": event.item, "to_seq": None}, {"to_seq": record.seq})
    yield Insert(
        KNOWLEDGE_STATES,
        {
            "item": event.item,
            "from_seq": record.seq,
            "to_seq": None,
            "status": event.to_status,
            "form": _form(record),
            "tier": event.tier,
            "domain": event.domain,
            "field": event.field,
            "anchor": record.anchor,
            "signed": int(event.signed),
            "for_review": int(for_review),
        },
    )


def _link(item: int, evidence: int, role: Role, seq: int) -> Insert:
    return Insert(
        KNOWLEDGE_LINKS,
        {
            "item": item,
            "evidence": evidence,
            "role": role,
            "from_seq": seq,
            "to_seq": None,
            "answered_at": None,
        },
    )


def _against(item: int, evidence: int, seq: int) -> Iterator[Change]:
    """Link a counterexample, anew when an earlier link of it was answered already."""
    current: dict[str, Value] = {
        "item": item,
        "evidence": evidence,
        "role": Role.COUNTEREXAMPLE,
        "to_seq": None,
    }
    yield Update(KNOWLEDGE_LINKS, current, {"to_seq": seq})
    yield _link(item, evidence, Role.COUNTEREXAMPLE, seq)


def _answered(item: int, evidence: int, seq: int) -> Iterator[Change]:
    """Note an answer, on a new link: what spoke against the same sentence elsewhere had none here."""
    yield from _against(item, evidence, seq)
    current: dict[str, Value] = {
        "item": item,
        "evidence": evidence,
        "role": Role.COUNTEREXAMPLE,
        "to_seq": None,
        "answered_at": None,
    }
    yield Update(KNOWLEDGE_LINKS, current, {"answered_at": seq})
