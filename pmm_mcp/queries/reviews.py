"""Reviewers, their decisions, and the policies they signed."""

from collections.abc import Mapping
from dataclasses import dataclass

from pmm_mcp.domain.case import Requirements
from pmm_mcp.domain.tiers import Tier
from pmm_mcp.ports import Query, SqlValue
from pmm_mcp.queries.rows import column, number

_REVIEWERS = (
    "SELECT registered, key_id, name, public_key, signed_by, ts, revoked_at FROM reviewers "
    "ORDER BY registered"
)
_REVIEWS = (
    "SELECT review, item, move, to_state, decision, digest, key_id, expires_us, ts, used_by FROM reviews"
)


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A key that proves a person."""

    registered: int
    key: str
    name: str
    public_key: str
    signed_by: str
    ts: str
    revoked_at: int | None

    @property
    def is_first(self) -> bool:
        """Whether it signed for itself."""
        return self.signed_by == self.key

    def held_at(self, seq: int) -> bool:
        """Say whether it proved a person when the event after this one was recorded."""
        return self.registered <= seq and (self.revoked_at is None or self.revoked_at > seq)


@dataclass(frozen=True, slots=True)
class Review:
    """A signed decision about a proposal; `used_by` is the move that used it up."""

    review: int
    item: int
    move: str
    to: str
    decision: str
    digest: str
    key: str
    expires_us: int
    ts: str
    used_by: int | None


@dataclass(frozen=True, slots=True)
class Policy:
    """What a reviewer asks of a tier, above the floor."""

    seq: int
    requirements: Requirements


def reviewers() -> Query[tuple[Reviewer, ...]]:
    """Ask for every key there ever was, oldest first."""
    return Query(_REVIEWERS, {}, lambda rows: tuple(Reviewer(*row) for row in rows))


def of_item(item: int) -> Query[tuple[Review, ...]]:
    """Ask for every decision about an item, oldest first."""
    return _reviews("item = :item", {"item": item})


def approvals(*, item: int, move: str, to: str, digest: str, now_us: int) -> Query[tuple[Review, ...]]:
    """Ask for the approvals of exactly this that are neither used nor expired."""
    return _reviews(
        "item = :item AND move = :move AND to_state = :to AND digest = :digest "
        "AND decision = 'approve' AND used_by IS NULL AND expires_us > :now",
        {"item": item, "move": move, "to": to, "digest": digest, "now": now_us},
    )


def decided_since(item: int, *, move: str, to: str, seq: int) -> Query[int]:
    """Ask whether a person decided about a move of an item after a seq (1) or not (0)."""
    return Query(
        "SELECT COUNT(*) FROM reviews "
        "WHERE item = :item AND move = :move AND to_state = :to AND review > :seq",
        {"item": item, "move": move, "to": to, "seq": seq},
        lambda rows: int(number(rows) > 0),
    )


def policies() -> Query[Mapping[Tier, Policy]]:
    """Ask for the policy of each tier that has one; a later one is never looser."""
    return Query(
        "SELECT tier, policy, supporting, verification, teaching, review FROM policies ORDER BY policy",
        {},
        lambda rows: {
            Tier(tier): Policy(seq, Requirements(supporting, verification, teaching, bool(review)))
            for tier, seq, supporting, verification, teaching, review in rows
        },
    )


def said_to_be_signed() -> Query[tuple[int, ...]]:
    """Ask which pieces of evidence say that a person signed them: of the events, whatever tables say."""
    return Query(
        "SELECT seq FROM events WHERE kind = 'evidence_recorded' AND instr(record, :origin) ORDER BY seq",
        {"origin": b'"origin":"signed"'},
        column,
    )


def _reviews(condition: str, params: Mapping[str, SqlValue]) -> Query[tuple[Review, ...]]:
    return Query(
        f"{_REVIEWS} WHERE {condition} ORDER BY review",
        params,
        lambda rows: tuple(Review(*row) for row in rows),
    )
