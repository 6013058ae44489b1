"""Turns as they stand."""

from collections.abc import Sequence
from dataclasses import dataclass

from pmm_mcp.ports import Query, Row

_COLUMNS = "turn, anchor, conversation, status, holder, deadline_us, model, terminal"


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn: `status` is open, complete, or how it failed; `terminal` the seq of its end."""

    turn: int
    anchor: str
    conversation: str
    status: str
    holder: str | None
    deadline_us: int
    model: str | None
    terminal: int | None


@dataclass(frozen=True, slots=True)
class Pair:
    """A prompt and its reply; a text that was removed is None."""

    turn: int
    terminal: int
    prompt: str | None
    reply: str | None


def by_seq(turn: int) -> Query[Turn | None]:
    """Ask for one turn."""
    return Query(
        f"SELECT {_COLUMNS} FROM turns WHERE turn = :turn",
        {"turn": turn},
        lambda rows: next(iter(_turns(rows)), None),
    )


def perhaps_abandoned(*, now_us: int, limit: int) -> Query[tuple[Turn, ...]]:
    """Ask for open turns that are overdue, or that some process is answering, overdue ones first."""
    return Query(
        f"SELECT {_COLUMNS} FROM turns "
        "WHERE status = 'open' AND (deadline_us <= :now_us OR holder IS NOT NULL) "
        "ORDER BY CASE WHEN deadline_us <= :now_us THEN 0 ELSE 1 END, turn LIMIT :limit",
        {"now_us": now_us, "limit": limit},
        _turns,
    )


def last_pairs(*, anchor: str, conversation: str, before: int, limit: int) -> Query[tuple[Pair, ...]]:
    """Ask for the last answered turns of a conversation at a place, oldest first."""
    return Query(
        """
        SELECT t.turn, t.terminal, p.text, r.text
        FROM turns AS t
        LEFT JOIN event_text AS p ON p.seq = t.turn AND p.field = 'prompt'
        LEFT JOIN event_text AS r ON r.seq = t.terminal AND r.field = 'reply'
        WHERE t.conversation = :conversation AND t.anchor = :anchor AND t.turn < :before
          AND t.status = 'complete'
        ORDER BY t.turn DESC LIMIT :limit
        """,
        {"anchor": anchor, "conversation": conversation, "before": before, "limit": limit},
        lambda rows: tuple(Pair(*row) for row in reversed(rows)),
    )


def last_answered(*, anchor: str, conversation: str, before: int) -> Query[int | None]:
    """Ask for the turn before this one in a conversation at a place, whatever came of it."""
    return Query(
        """
        SELECT turn FROM turns
        WHERE conversation = :conversation AND anchor = :anchor AND turn < :before AND status <> 'open'
        ORDER BY turn DESC LIMIT 1
        """,
        {"anchor": anchor, "conversation": conversation, "before": before},
        lambda rows: rows[0][0] if rows else None,
    )


def _turns(rows: Sequence[Row]) -> tuple[Turn, ...]:
    return tuple(Turn(*row) for row in rows)
