"""Checking a person's signature where it is used: a read table proves nothing."""

from collections.abc import Mapping

from pmm_mcp.domain.events.ledger import LedgerOpened
from pmm_mcp.domain.events.memory import Origin
from pmm_mcp.domain.events.review import ReviewRecorded, TeachingSigned
from pmm_mcp.domain.records import Recorded
from pmm_mcp.domain.reviews import YOUNG_US, signed_bytes
from pmm_mcp.domain.times import microseconds
from pmm_mcp.ports import Plan, Signatures
from pmm_mcp.queries import events, reviews
from pmm_mcp.queries.memory import EvidenceRow


def is_genuine(review: reviews.Review, *, signatures: Signatures) -> Plan[bool]:
    """Say whether an approval is what its event says, and whether someone who may approve signed it."""
    records: Mapping[int, Recorded] = yield events.by_seqs([1, review.review])
    keys: tuple[reviews.Reviewer, ...] = yield reviews.reviewers()
    signer = next((key for key in keys if key.key == review.key), None)
    event = records[review.review].event
    if signer is None or not isinstance(event, ReviewRecorded):
        return False
    said = (event.item, event.move, event.to, event.decision, event.digest, event.key, event.expires_us)
    if said != (
        review.item, review.move, review.to, review.decision, review.digest, review.key, review.expires_us
    ):  # fmt: skip
        return False
    was_revoked = signer.revoked_at is not None
    is_young = not signer.is_first and microseconds(review.ts) - microseconds(signer.ts) < YOUNG_US
    if was_revoked or is_young:
        return False
    message = signed_bytes(event, ledger_id=_ledger_id(records))
    return signatures.holds(signer.public_key, message, event.signature)


def taught(
    records: Mapping[int, Recorded], rows: Mapping[int, EvidenceRow], *, signatures: Signatures
) -> Plan[frozenset[int]]:
    """Find which of the pieces that are said to be signed were: the event after each signs its record."""
    said = [seq for seq, row in rows.items() if row.origin is Origin.SIGNED]
    if not said:
        return frozenset()
    found: Mapping[int, Recorded] = yield events.by_seqs([1, *(seq + 1 for seq in said)])
    keys: tuple[reviews.Reviewer, ...] = yield reviews.reviewers()
    genuine: set[int] = set()
    for seq in said:
        event = found[seq + 1].event if seq + 1 in found else None
        if not isinstance(event, TeachingSigned) or event.evidence != seq:
            continue
        # What a key signed before it was revoked stays signed.
        signer = next((key for key in keys if key.key == event.key and key.held_at(seq)), None)
        message = signed_bytes(event, ledger_id=_ledger_id(found))
        if (
            signer is not None
            and event.digest == records[seq].hash.hex()
            and signatures.holds(signer.public_key, message, event.signature)
        ):
            genuine.add(seq)
    return frozenset(genuine)


def _ledger_id(records: Mapping[int, Recorded]) -> str:
    opened = records[1].event
    return opened.ledger_id if isinstance(opened, LedgerOpened) else ""
