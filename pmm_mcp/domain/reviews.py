"""What a person signs: the exact bytes, so that anyone can check a signature offline.

Each is a line that names the scheme, then canonical JSON. What a review covers is a digest over record
hashes, which cover the salted digests of the texts: no digest of a plain text enters the ledger.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from pmm_mcp.domain.canonical import canonical
from pmm_mcp.domain.case import FLOOR, Requirements
from pmm_mcp.domain.events.adoption import RollbackResolved
from pmm_mcp.domain.events.base import EventBody
from pmm_mcp.domain.events.review import (
    PolicyUpdated,
    ReviewerRegistered,
    ReviewerRevoked,
    ReviewRecorded,
    TeachingSigned,
)
from pmm_mcp.domain.records import Recorded
from pmm_mcp.domain.tiers import Tier
from pmm_mcp.domain.times import microseconds

KEY_CHARS: Final = 16
YOUNG_US: Final = 24 * 3_600 * 1_000_000
"""How long a key that is not the first approves nothing."""
REVIEW_KINDS: Final = (
    "reviewer_registered",
    "reviewer_revoked",
    "review_recorded",
    "teaching_signed",
    "policy_updated",
    "rollback_resolved",
)

Holds = Callable[[str, bytes, str], bool]
"""Whether a public key has made this signature of these bytes."""

_SCHEMES: Final[Mapping[str, bytes]] = {
    "reviewer_registered": b"pmm.reviewer.v1\n",
    "reviewer_revoked": b"pmm.revocation.v1\n",
    "review_recorded": b"pmm.review.v1\n",
    "teaching_signed": b"pmm.teaching.v1\n",
    "policy_updated": b"pmm.policy.v1\n",
    "rollback_resolved": b"pmm.resolution.v1\n",
}
_NOT_SIGNED: Final = frozenset({"signature", "changed"})


def key_id(public_key: bytes) -> str:
    """Return the name of a key: the beginning of the SHA-256 of its public half, in hex."""
    return sha256(public_key).hexdigest()[:KEY_CHARS]


def signed_bytes(event: EventBody, *, ledger_id: str) -> bytes:
    """Return what is signed for a review event: everything in its body, and which ledger it is for."""
    said = {name: value for name, value in event.body().items() if name not in _NOT_SIGNED}
    return _SCHEMES[event.kind] + canonical({"ledger_id": ledger_id, **said})


def proposal_digest(
    *,
    item: Recorded,
    status: str,
    anchor: str,
    domain: str,
    move: str,
    to: str,
    evidence: Mapping[str, Sequence[Recorded]],
) -> str:
    """Return the SHA-256, in hex, of a proposal: an item as it stands, the move, its evidence by role."""
    proposal: dict[str, Any] = {
        "item": item.seq,
        "record": item.hash.hex(),
        "status": str(status),
        "anchor": str(anchor),
        "domain": str(domain),
        "move": str(move),
        "to": str(to),
        "evidence": {
            str(role): sorted([record.seq, record.hash.hex()] for record in records)
            for role, records in evidence.items()
        },
    }
    return sha256(b"pmm.proposal.v1\n" + canonical(proposal)).hexdigest()


class Reviewers:
    """The keys of a ledger, as its events made them known one by one; says what of an event does not hold."""

    def __init__(self, *, ledger_id: str, holds: Holds) -> None:
        """Know nobody yet."""
        self._ledger_id = ledger_id
        self._holds = holds
        self._keys: dict[str, tuple[str, int, bool]] = {}  # public key, since, whether it was the first
        self._revoked: set[str] = set()
        self._policy: dict[Tier, Requirements] = dict(FLOOR)

    def problems(self, record: Recorded, *, hash_of: Callable[[int], str | None]) -> Iterator[str]:
        """Yield what does not hold of a review event, and learn from it."""
        event = record.event
        match event:
            case ReviewerRegistered():
                yield from self._registered(record, event)
            case ReviewerRevoked():
                yield from self._signed_by(event, event.by)
                self._revoked.add(event.key)
            case ReviewRecorded():
                yield from self._signed_by(event, event.key)
                if event.decision == "approve" and self._is_young(event.key, record):
                    yield "the key was younger than a day"
                if hash_of(event.since_seq) != event.head_hash:
                    yield f"it looked at another event {event.since_seq}"
            case TeachingSigned():
                yield from self._signed_by(event, event.key)
                if hash_of(event.evidence) != event.digest:
                    yield f"it signs another ev:{event.evidence}"
            case RollbackResolved():
                yield from self._signed_by(event, event.key)
            case PolicyUpdated():
                yield from self._signed_by(event, event.key)
                said = requirements_of(event)
                if self._policy[event.tier].at_least(said) != said:
                    yield "it makes the gate looser"
                self._policy[event.tier] = self._policy[event.tier].at_least(said)
            case _:
                return

    def _registered(self, record: Recorded, event: ReviewerRegistered) -> Iterator[str]:
        if key_id(bytes.fromhex(event.public_key)) != event.key:
            yield "the key is named after another one"
        if event.key in self._keys:
            yield "the key is registered already"
            return
        is_first = not self._keys
        if is_first and event.by != event.key:
            yield "the first reviewer does not sign for itself"
        self._keys[event.key] = (event.public_key, microseconds(record.ts), is_first)
        if not is_first and event.by == event.key:
            yield "no earlier reviewer signed for it"
        yield from self._signed_by(event, event.by)

    def _signed_by(self, event: EventBody, key: str) -> Iterator[str]:
        known = self._keys.get(key)
        if known is None:
            yield f"nobody registered the key {key}"
        elif key in self._revoked:
            yield f"the key {key} was revoked"
        elif not self._holds(
            known[0], signed_bytes(event, ledger_id=self._ledger_id), getattr(event, "signature", "")
        ):
            yield "the signature is not of this key"

    def _is_young(self, key: str, record: Recorded) -> bool:
        known = self._keys.get(key)
        return known is not None and not known[2] and microseconds(record.ts) - known[1] < YOUNG_US


def looked_at(record: Recorded) -> tuple[int, ...]:
    """Return the events whose hashes a review event says it saw."""
    match record.event:
        case ReviewRecorded(since_seq=seq):
            return (seq,)
        case TeachingSigned(evidence=seq):
            return (seq,)
        case _:
            return ()


def requirements_of(event: PolicyUpdated) -> Requirements:
    """Return what a policy asks for."""
    return Requirements(event.supporting, event.verification, event.teaching, event.review)
