"""Who names whom."""

from dataclasses import dataclass

from pmm_mcp.ports import Query


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


def made_of(seq: int, *, limit: int) -> Query[tuple[Citation, ...]]:
    """Ask which events name this one."""
    return Query(
        "SELECT c.citing, e.kind, c.role FROM citations AS c JOIN events AS e ON e.seq = c.citing "
        "WHERE c.cited = :seq ORDER BY c.citing, c.role LIMIT :limit",
        {"seq": seq, "limit": limit},
        lambda rows: tuple(Citation(*row) for row in rows),
    )
