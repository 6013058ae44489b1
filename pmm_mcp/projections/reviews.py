"""Reviewers, what they decided and whether it was used, and where they made the gate stricter."""

from collections.abc import Iterator

from pmm_mcp.domain.events.knowledge import Moved
from pmm_mcp.domain.events.review import PolicyUpdated, ReviewerRegistered, ReviewerRevoked, ReviewRecorded
from pmm_mcp.domain.records import Recorded
from pmm_mcp.projections.changes import INTEGER, TEXT, Change, Insert, Table, Update

VERSION = 1

REVIEWERS = Table(
    name="reviewers",
    key=("registered",),
    columns={
        "registered": INTEGER,
        "key_id": TEXT,
        "name": TEXT,
        "public_key": TEXT,
        "signed_by": TEXT,
        "ts": TEXT,
        "revoked_at": INTEGER,
    },
    indexes=(("key_id",),),
)
REVIEWS = Table(
    name="reviews",
    key=("review",),
    columns={
        "review": INTEGER,
        "item": INTEGER,
        "move": TEXT,
        "to_state": TEXT,
        "decision": TEXT,
        "digest": TEXT,
        "key_id": TEXT,
        "expires_us": INTEGER,
        "ts": TEXT,
        "used_by": INTEGER,
    },
    indexes=(("item", "review"),),
)
POLICIES = Table(
    name="policies",
    key=("policy",),
    columns={
        "policy": INTEGER,
        "tier": TEXT,
        "supporting": INTEGER,
        "verification": INTEGER,
        "teaching": INTEGER,
        "review": INTEGER,
    },
    indexes=(("tier", "policy"),),
)

TABLES = (REVIEWERS, REVIEWS, POLICIES)


def project(record: Recorded) -> Iterator[Change]:
    """Follow keys, decisions and policies; a move that names a review uses it up."""
    match record.event:
        case ReviewerRegistered() as event:
            yield Insert(
                REVIEWERS,
                {
                    "registered": record.seq,
                    "key_id": event.key,
                    "name": event.name,
                    "public_key": event.public_key,
                    "signed_by": event.by,
                    "ts": record.ts,
                    "revoked_at": None,
                },
            )
        case ReviewerRevoked(key=key):
            yield Update(REVIEWERS, {"key_id": key, "revoked_at": None}, {"revoked_at": record.seq})
        case ReviewRecorded() as event:
            yield Insert(
                REVIEWS,
                {
                    "review": record.seq,
                    "item": event.item,
                    "move": event.move,
                    "to_state": event.to,
                    "decision": event.decision,
                    "digest": event.digest,
                    "key_id": event.key,
                    "expires_us": event.expires_us,
                    "ts": record.ts,
                    "used_by": None,
                },
            )
        case Moved(review=int(review)):
            yield Update(REVIEWS, {"review": review}, {"used_by": record.seq})
        case PolicyUpdated() as event:
            yield Insert(
                POLICIES,
                {
                    "policy": record.seq,
                    "tier": event.tier,
                    "supporting": event.supporting,
                    "verification": event.verification,
                    "teaching": event.teaching,
                    "review": int(event.review),
                },
            )
        case _:
            return
