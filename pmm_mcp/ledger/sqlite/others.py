"""Ledgers that lie beside ours, looked into and never written."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import orjson

from pmm_mcp.domain.names import is_name
from pmm_mcp.ledger.sqlite.connection import connect_reader

LEDGERS_MAX = 50
_SIDE_FILES = ("-wal", "-shm", "-journal")
"""Opening one of ours as a ledger, and closing it, would drop the locks that SQLite holds on it."""


class NeighbouringLedgers:
    """The ledgers in one directory, named by file or by id; a path is never followed."""

    def __init__(self, directory: Path) -> None:
        """Look in this directory only."""
        self._directory = directory

    async def hash_of(self, ledger: str, seq: int) -> str | None:
        """Return the hash of an event of the ledger with this file name or id; None when there is none."""
        return await asyncio.to_thread(self._hash_of, ledger, seq)

    def _hash_of(self, ledger: str, seq: int) -> str | None:
        if not is_name(ledger) or "/" in ledger or "\\" in ledger or ledger.startswith("."):
            return None
        if ledger.lower().endswith(_SIDE_FILES):
            return None
        named = (self._directory / ledger, self._directory / f"{ledger}.db")
        for path in (*named, *sorted(self._directory.glob("*.db"))[:LEDGERS_MAX]):
            # A link could lead anywhere.
            if path.is_symlink() or not path.is_file():
                continue
            if found := _look(path, ledger=None if path in named else ledger, seq=seq):
                return found
        return None


def _look(path: Path, *, ledger: str | None, seq: int) -> str | None:
    try:
        with closing(connect_reader(path)) as db:
            if ledger is not None:
                first = db.execute("SELECT record FROM events WHERE seq = 1").fetchone()
                if first is None or orjson.loads(first[0])["body"]["ledger_id"] != ledger:
                    return None
            row = db.execute("SELECT hash FROM events WHERE seq = ?", (seq,)).fetchone()
    except (sqlite3.Error, KeyError, ValueError, TypeError):
        return None
    return row[0].hex() if row and isinstance(row[0], bytes) else None
