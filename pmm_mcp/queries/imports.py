"""Imports: what is here of another system's ledger, and as what."""

from collections.abc import Sequence
from dataclasses import dataclass

from pmm_mcp.ports import Query, Row
from pmm_mcp.queries.rows import column, scalar


@dataclass(frozen=True, slots=True)
class Import:
    """One import of a source: where it began, where it was finished if it was, and how far it came."""

    started: int
    finished: int | None
    last_id: int
    """The greatest id of the source that is here; rows come in the order of their ids."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How much one import brought in."""

    imported: int
    mapped: int


def of_origin(source: str, origin: str) -> Query[tuple[Import, ...]]:
    """Ask for every import of one source ledger, oldest first."""
    sql = """
    SELECT s.started, s.finished,
      (SELECT i.source_id FROM imported AS i WHERE i.started = s.started ORDER BY i.source_id DESC LIMIT 1)
    FROM imports AS s WHERE s.origin = :origin AND s.source = :source ORDER BY s.started
    """
    return Query(sql, {"source": source, "origin": origin}, _imports)


def counts(started: int) -> Query[Counts]:
    """Ask how much an import has brought in."""
    sql = "SELECT COUNT(*), COUNT(mapped) FROM imported WHERE started = :started"
    return Query(sql, {"started": started}, lambda rows: Counts(*rows[0]))


def verbatim(started: int, *, after: int, limit: int) -> Query[tuple[tuple[int, str | None], ...]]:
    """Ask for rows of an import as (source id, text), in order; a text that was removed is None."""
    sql = """
    SELECT i.source_id, t.text
    FROM imported AS i LEFT JOIN event_text AS t ON t.seq = i.seq AND t.field = 'event'
    WHERE i.started = :started AND i.source_id > :after ORDER BY i.source_id LIMIT :limit
    """
    params = {"started": started, "after": after, "limit": limit}
    return Query(sql, params, lambda rows: tuple((row[0], row[1]) for row in rows))


def mapped(source: str, origin: str, source_id: int) -> Query[int | None]:
    """Ask which event of ours was made of a row of the source."""
    sql = """
    SELECT i.mapped FROM imports AS s JOIN imported AS i ON i.started = s.started
    WHERE s.origin = :origin AND s.source = :source AND i.source_id = :source_id
      AND i.mapped IS NOT NULL ORDER BY i.started LIMIT 1
    """
    return Query(sql, {"source": source, "origin": origin, "source_id": source_id}, scalar)


def open_turns(source: str, origin: str, *, limit: int) -> Query[tuple[int, ...]]:
    """Ask for imported turns that nothing has ended."""
    sql = """
    SELECT t.turn FROM turns AS t
      JOIN imported AS i ON i.mapped = t.turn
      JOIN imports AS s ON s.started = i.started
    WHERE t.status = 'open' AND s.origin = :origin AND s.source = :source ORDER BY t.turn LIMIT :limit
    """
    return Query(sql, {"source": source, "origin": origin, "limit": limit}, column)


def is_open_turn(turn: int) -> Query[bool]:
    """Ask whether a turn still waits for its end."""
    return Query("SELECT 1 FROM turns WHERE turn = :turn AND status = 'open'", {"turn": turn}, bool)


def is_open_commitment(commitment: int) -> Query[bool]:
    """Ask whether a commitment is open now."""
    sql = """
    SELECT 1 FROM commitment_states
    WHERE commitment = :commitment AND to_seq IS NULL AND status = 'open'
    """
    return Query(sql, {"commitment": commitment}, bool)


def _imports(rows: Sequence[Row]) -> tuple[Import, ...]:
    return tuple(Import(started, finished, last or 0) for started, finished, last in rows)
