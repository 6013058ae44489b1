"""Connections to a ledger's file."""

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from pmm_mcp.domain.errors import LedgerUnavailableError
from pmm_mcp.ledger.sqlite.faults import in_our_words, is_busy
from pmm_mcp.ledger.sqlite.schema import APPLICATION_ID

_OLDEST_SQLITE: Final = (3, 40, 0)
_WAL_BYTES_MAX: Final = 64 * 1024 * 1024
_CACHE_KIB: Final = 16 * 1024


def reader_uri(path: Path) -> str:
    """Return the URI that opens the file for reading only, whatever characters its path has."""
    return f"{path.as_uri()}?mode=ro"


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open the file for reading only, in the calling thread."""
    return sqlite3.connect(reader_uri(path), uri=True, isolation_level=None, timeout=5, cached_statements=256)


def connect_present(path: Path) -> sqlite3.Connection:
    """Open a file that exists for a short look that may need to write; opening changes nothing in it."""
    return sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=5)


def connect_writer(path: Path, *, wait_s: float = 5, max_page_count: int = 0) -> sqlite3.Connection:
    """Open the file for writing, durable and in WAL mode; create it, readable by its owner only.

    `wait_s` bounds the waiting for others who create it; `max_page_count` its size, for tests of a full disk.
    """
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise LedgerUnavailableError(
            f"SQLite {sqlite3.sqlite_version} is too old", hint="Use a Python with SQLite 3.40 or newer."
        )
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    db = sqlite3.connect(path, isolation_level=None, timeout=5, cached_statements=512)
    try:
        _check_it_is_ours(db, path)
        _enter_wal_mode(db, wait_s=wait_s)
        for pragma in (
            "synchronous = FULL",
            # A savepoint's journal would be a file made for every write.
            "temp_store = MEMORY",
            f"cache_size = {-_CACHE_KIB}",
            "secure_delete = ON",
            "foreign_keys = ON",
            f"journal_size_limit = {_WAL_BYTES_MAX}",
            "recursive_triggers = ON",
        ):
            db.execute(f"PRAGMA {pragma}")
        if max_page_count:
            db.execute(f"PRAGMA max_page_count = {max_page_count}")
        # From here on we wait by ourselves: SQLite's own waiting is not fair.
        db.execute("PRAGMA busy_timeout = 0")
    except BaseException:
        db.close()
        raise
    return db


def _enter_wal_mode(db: sqlite3.Connection, *, wait_s: float) -> None:
    """Change the journal mode, which SQLite refuses at once while another process is doing the same."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() >= deadline:
                raise
            time.sleep(0.002)


def _check_it_is_ours(db: sqlite3.Connection, path: Path) -> None:
    try:
        # In this order: another process may create the ledger in between, both in one commit.
        with closing(db.execute("SELECT 1 FROM sqlite_schema LIMIT 1")) as cursor:
            empty = cursor.fetchone() is None
        application = db.execute("PRAGMA application_id").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise in_our_words(error) from error
    if application != APPLICATION_ID and not empty:
        raise LedgerUnavailableError(
            f"{path} is a database, but not a ledger of this program",
            hint="Choose another path. A PMM ledger is brought in with `pmm-mcp import pmm FILE`.",
        )
