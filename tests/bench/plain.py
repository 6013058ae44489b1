"""The floor under the ledger: SQLite with nothing of ours around it."""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path


class PlainLog:
    """A table of bytes, as durable as the ledger."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def insert(self, data: bytes) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("INSERT INTO log (data) VALUES (?)", (data,))
        self._db.execute("COMMIT")


@contextmanager
def plain_log(path: Path) -> Generator[PlainLog]:
    """Open a log in WAL mode with `synchronous = FULL`."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("CREATE TABLE log (id INTEGER PRIMARY KEY, data BLOB NOT NULL)")
        yield PlainLog(db)


def read_and_hash(path: Path) -> int:
    """Read every record and text of a ledger in order, and hash their bytes; return how many events."""
    with closing(sqlite3.connect(path)) as db:
        db.text_factory = bytes
        count = 0
        for (record,) in db.execute("SELECT record FROM events NOT INDEXED ORDER BY seq"):
            sha256(record).digest()
            count += 1
        for (text,) in db.execute("SELECT text FROM event_text ORDER BY seq, field"):
            sha256(text).digest()
        return count


def content_bytes(path: Path) -> int:
    """Return how many bytes the records, hashes, texts and salts of a ledger have by themselves."""
    with closing(sqlite3.connect(path)) as db:
        (records,) = db.execute("SELECT SUM(LENGTH(record) + LENGTH(hash)) FROM events").fetchone()
        (texts,) = db.execute(
            "SELECT SUM(LENGTH(CAST(text AS BLOB)) + LENGTH(salt)) FROM event_text"
        ).fetchone()
        return int(records) + int(texts)


def bytes_of(path: Path) -> int:
    """Return the size a file will have when its write-ahead log is folded in."""
    with closing(sqlite3.connect(path)) as db:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        (page_bytes,) = db.execute("PRAGMA page_size").fetchone()
        return int(pages) * int(page_bytes)
