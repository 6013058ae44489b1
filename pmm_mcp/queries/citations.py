"""Who names whom."""

from collections.abc import Sequence
from dataclasses import dataclass

from pmm_mcp.ports import Query
from pmm_mcp.queries.rows import named


@dataclass(frozen=True, slots=True)
class Citation:
    """One event naming another; `kind` is that of the other end."""

    seq: int
    kind: str
    role: str


def made_by(seq: int, *, limit: int) -> Query[tuple[Citation, ...]]:
    """Ask which events this one names."""
    return Query(
        "SELECT c.cited, e.kind, c.role FROM citations AS c JOIN events AS e ON e.seq = c.cited "
        "WHERE c.citing = :seq ORDER BY c.cited, c.role LIMIT :limit",
        {"seq": seq, "limit": limit},
        lambda rows: tuple(Citation(*row) for row in rows),
    )


def made_of(seq: int, *, until: int, limit: int, roles: Sequence[str] = ()) -> Query[tuple[Citation, ...]]:
    """Ask which events up to the seq `until` name this one; with `roles`, only as one of these."""
    places, params = named(roles, prefix="r")
    condition = f"AND c.role IN ({places}) " if roles else ""
    return Query(
        "SELECT c.citing, e.kind, c.role FROM citations AS c JOIN events AS e ON e.seq = c.citing "
        f"WHERE c.cited = :seq AND c.citing <= :until {condition}ORDER BY c.citing, c.role LIMIT :limit",
        {"seq": seq, "until": until, "limit": limit, **params},
        lambda rows: tuple(Citation(*row) for row in rows),
    )
