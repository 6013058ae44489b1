"""Commitments as they stand, or stood."""

from collections.abc import Sequence
from dataclasses import dataclass

from pmm_mcp.domain.ids import SEQ_MAX
from pmm_mcp.ports import Query, Row, SqlValue
from pmm_mcp.queries.rows import named, scalar

_SELECT = """
SELECT c.commitment, c.cid, c.text, s.status, s.outcome, c.anchor, c.turn, c.opened_at, s.from_seq
FROM commitments AS c CROSS JOIN commitment_states AS s ON s.commitment = c.commitment
"""
_OPEN = """
SELECT c.commitment, c.cid, c.text, s.status, s.outcome, c.anchor, c.turn, c.opened_at, s.from_seq
FROM commitment_states AS s JOIN commitments AS c ON c.commitment = s.commitment
"""


@dataclass(frozen=True, slots=True)
class Commitment:
    """A promise; `since` is the seq from which it has its status."""

    commitment: int
    cid: str | None
    text: str | None
    status: str
    outcome: str | None
    anchor: str
    turn: int | None
    opened_at: str
    since: int


def by_seq(commitment: int) -> Query[Commitment | None]:
    """Ask for one, as it is now."""
    return _one("c.commitment = :commitment", {"commitment": commitment})


def text_of(commitment: int) -> Query[str | None]:
    """Ask what was promised."""
    return Query(
        "SELECT text FROM commitments WHERE commitment = :commitment", {"commitment": commitment}, scalar
    )


def status_at(commitment: int, seq: int) -> Query[str | None]:
    """Ask which status it had when the ledger's head was at a seq."""
    return Query(
        "SELECT status FROM commitment_states WHERE commitment = :commitment "
        "AND from_seq <= :seq AND (to_seq IS NULL OR to_seq > :seq) ORDER BY from_seq DESC LIMIT 1",
        {"commitment": commitment, "seq": seq},
        scalar,
    )


def open_like(identity: str, *, anchor: str) -> Query[Commitment | None]:
    """Ask for the open one of this place with the same normalised text."""
    return _one(
        "c.identity = :identity AND c.anchor = :anchor AND s.status = 'open'",
        {"identity": identity, "anchor": anchor},
    )


def by_cid(cid: str, *, anchor: str) -> Query[Commitment | None]:
    """Ask for the one with PMM's eight-hex id of its text: this place's first, open before closed, newest."""
    order = "(c.anchor = :anchor) DESC, s.status DESC, c.commitment DESC"
    return _one("c.cid = :cid", {"cid": cid, "anchor": anchor}, order=order)


def open_at(anchors: Sequence[str], *, limit: int, before: int = SEQ_MAX) -> Query[tuple[Commitment, ...]]:
    """Ask for the newest ones that were open at these places just before a seq, oldest first."""
    places, params = named(anchors, prefix="a")
    return Query(
        f"{_OPEN} WHERE s.status = 'open' AND s.from_seq < :before "
        f"AND (s.to_seq IS NULL OR s.to_seq >= :before) AND c.anchor IN ({places}) "
        "ORDER BY c.commitment DESC LIMIT :limit",
        {**params, "limit": limit, "before": before},
        lambda rows: tuple(Commitment(*row) for row in reversed(rows)),
    )


def _one(
    condition: str, params: dict[str, SqlValue], *, order: str = "c.commitment DESC"
) -> Query[Commitment | None]:
    return Query(f"{_SELECT} WHERE {condition} AND s.to_seq IS NULL ORDER BY {order} LIMIT 1", params, _first)


def _first(rows: Sequence[Row]) -> Commitment | None:
    return Commitment(*rows[0]) if rows else None
