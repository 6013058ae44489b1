"""Events of human review: the keys that prove a person, and what was signed with them.

A signature is Ed25519 over the bytes that `domain/reviews.py` makes of the event, so anyone can check it
offline. Keys, signatures and digests are lower-case hex.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import StringConstraints

from pmm_mcp.domain.events.base import Count, EventBody, Name, Seq
from pmm_mcp.domain.events.knowledge import Refs
from pmm_mcp.domain.tiers import Tier

KeyId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
"""The beginning of the SHA-256 of a public key."""
PublicKey = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Signature = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$")]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

ReviewedMove = Literal["promote", "retire", "restore", "publish", "uphold"]
"""`uphold` keeps contested knowledge as it is."""
Decision = Literal["approve", "reject"]


class ReviewerRegistered(EventBody):
    """A key that proves a person. The first one signs itself, a later one is signed by an earlier one."""

    kind: Literal["reviewer_registered"] = "reviewer_registered"
    v: Literal[1] = 1
    name: Name
    key: KeyId
    public_key: PublicKey
    by: KeyId
    signature: Signature


class ReviewerRevoked(EventBody):
    """A key proves nothing from here on; what it signed before stays signed."""

    kind: Literal["reviewer_revoked"] = "reviewer_revoked"
    v: Literal[1] = 1
    key: KeyId
    by: KeyId
    signature: Signature
    texts: ClassVar = ("reason",)


class ReviewRecorded(EventBody):
    """A person looked at a proposal and signed a decision. It is used once, for exactly what was signed."""

    kind: Literal["review_recorded"] = "review_recorded"
    v: Literal[1] = 1
    item: Seq
    move: ReviewedMove
    to: Name
    """The status or the anchor word that was proposed."""
    decision: Decision
    digest: Digest
    """Of the item, where it stands, and all its evidence by role; see `domain/reviews.py`."""
    answered: Refs = ()
    """Counterexamples that the reviewer saw and names as answered."""
    since_seq: Seq
    """The head of the ledger that the reviewer looked at, and its hash: a signed head."""
    head_hash: Digest
    expires_us: Count
    key: KeyId
    signature: Signature
    texts: ClassVar = ("note",)


class TeachingSigned(EventBody):
    """A person taught this: the evidence recorded just before, by its record's hash."""

    kind: Literal["teaching_signed"] = "teaching_signed"
    v: Literal[1] = 1
    evidence: Seq
    digest: Digest
    key: KeyId
    signature: Signature


class PolicyUpdated(EventBody):
    """A reviewer made the gate of a tier stricter."""

    kind: Literal["policy_updated"] = "policy_updated"
    v: Literal[1] = 1
    tier: Tier
    supporting: Count
    verification: Count
    teaching: Count
    review: bool = False
    key: KeyId
    signature: Signature
    texts: ClassVar = ("reason",)


ReviewEvent = ReviewerRegistered | ReviewerRevoked | ReviewRecorded | TeachingSigned | PolicyUpdated
