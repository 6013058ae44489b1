"""The searchable texts: passages, and the index over them."""

import sqlite3
from collections.abc import Sequence
from typing import Final

from pmm_mcp.domain.words import GOVERNED_TERM, extra_terms

PASSAGES_PER_DOCUMENT: Final = 1_000
"""A passage's id is its document's seq times this, plus its place in the document."""

Passage = tuple[int, str, str]


class Documents:
    """Writes passages and their index rows, as late as nobody can notice.

    FTS5 flushes all it holds in memory at every savepoint and at most statements, each time as a segment
    to be merged later. So passages wait until someone asks for them, or the transaction ends.
    """

    def __init__(self, db: sqlite3.Connection, *, prefix: str = "") -> None:
        """Write to the tables with this prefix, on the connection of whoever owns the transaction."""
        self._db = db
        self._prefix = prefix
        self._waiting: list[Passage] = []

    def mark(self) -> tuple[Passage, ...]:
        """Return what waits now, to be put back by `back_to` when a savepoint set now is rolled back to."""
        return tuple(self._waiting)

    def back_to(self, mark: tuple[Passage, ...]) -> None:
        """Wait with this again: what was written since the mark is gone from the file."""
        self._waiting = list(mark)

    def add(self, key: int, passages: Sequence[str], *, governed: bool = False) -> None:
        """Make a text searchable, passage by passage."""
        first = key * PASSAGES_PER_DOCUMENT
        mark = f" {GOVERNED_TERM}" if governed else ""
        self._waiting += [
            (first + n, passage, extra_terms(passage) + mark) for n, passage in enumerate(passages)
        ]

    def remove(self, key: int) -> None:
        """Take a text out of the search."""
        self.flush()
        span = (key * PASSAGES_PER_DOCUMENT, (key + 1) * PASSAGES_PER_DOCUMENT)
        of_document = f"FROM {self._prefix}passages WHERE id >= ? AND id < ?"
        fts = f"{self._prefix}passages_fts"
        # External content: the index forgets only what it is told it once held.
        self._db.execute(
            f"INSERT INTO {fts} ({fts}, rowid, body, extra) SELECT 'delete', id, body, extra {of_document}",
            span,
        )
        self._db.execute(f"DELETE {of_document}", span)

    def flush(self) -> None:
        """Write what waits."""
        if not self._waiting:
            return
        rows, self._waiting = self._waiting, []
        for table, columns in (("passages", "id, body, extra"), ("passages_fts", "rowid, body, extra")):
            self._db.executemany(f"INSERT INTO {self._prefix}{table} ({columns}) VALUES (?, ?, ?)", rows)
