"""Files that hold a PMM ledger: its SQLite database, or its events exported as JSON. Never written."""

import json
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from pmm_mcp.domain.errors import ImportRefusedError

SOURCE_BYTES_MAX: Final = 2 * 1024**3
COLUMNS: Final = ("id", "ts", "kind", "content", "meta", "prev_hash", "hash")

_SQLITE_MAGIC: Final = b"SQLite format 3\x00"
_HEADER_BYTES: Final = 20
_WAL_FORMAT: Final = b"\x02\x02"
_HAS_EVENTS: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'events'"
_BUSY_S: Final = 5.0
_KNOWN: Final = "PMM's SQLite file or a JSON list of its events"
_USE_PMM: Final = "End the PMM that uses it, open and close it with PMM once, or export it as JSON."


def read_events(path: Path) -> list[Any]:
    """Return the events of a file as they stand there, unchecked.

    Raises:
        ImportRefusedError: it is too large, cannot be read, or is not a file of PMM.

    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise ImportRefusedError(f"{path} is not a file", hint=f"Name {_KNOWN}.")
        if about.st_size > SOURCE_BYTES_MAX:
            raise ImportRefusedError(
                f"{path.name} has {about.st_size} bytes, the limit is {SOURCE_BYTES_MAX}",
                hint="A ledger of this size cannot be imported at once.",
            )
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
        if header.startswith(_SQLITE_MAGIC):
            return _from_sqlite(path, in_wal_mode=header[18:20] == _WAL_FORMAT)
        return _from_json(path.read_bytes(), name=path.name)
    except (OSError, ValueError) as error:
        # A ValueError here is a path with a NUL in it.
        raise ImportRefusedError(f"{path.name} cannot be read: {error}", hint=f"Name {_KNOWN}.") from error


def _from_json(data: bytes, *, name: str) -> list[Any]:
    try:
        document = json.loads(data)
    except RecursionError as error:
        raise ImportRefusedError(
            f"{name} is nested too deeply", hint="No export of PMM looks like this."
        ) from error
    except ValueError as error:
        message = f"{name} is neither SQLite nor JSON: {error}"
        raise ImportRefusedError(message, hint=f"Name {_KNOWN}.") from error
    events = document.get("events") if isinstance(document, dict) else document
    if not isinstance(events, list):
        raise ImportRefusedError(
            f"{name} is JSON, but not a ledger", hint='Expected a list of events, or {"events": [...]}.'
        )
    return events


def _from_sqlite(path: Path, *, in_wal_mode: bool) -> list[Any]:
    if _holds_something(path, "-wal"):
        raise ImportRefusedError(f"{path.name} has a write-ahead log that is not folded in", hint=_USE_PMM)
    # Even reading would create files beside a database in WAL mode; without a log it holds everything itself.
    uri = path.absolute().as_uri() + "?mode=ro" + ("&immutable=1" if in_wal_mode else "")
    try:
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_BUSY_S)) as db:
            db.execute("PRAGMA trusted_schema = OFF")
            db.execute("BEGIN")
            if not db.execute(_HAS_EVENTS).fetchone():
                raise ImportRefusedError(f"{path.name} has no table of events", hint=f"Name {_KNOWN}.")
            rows = db.execute(f"SELECT {', '.join(COLUMNS)} FROM events ORDER BY id").fetchall()  # noqa: S608
    except sqlite3.Error as error:
        if _holds_something(path, "-journal"):
            message = f"{path.name} was cut off in the middle of a write: its journal is not rolled back"
            raise ImportRefusedError(message, hint=_USE_PMM) from error
        raise ImportRefusedError(f"{path.name} cannot be read: {error}", hint=_USE_PMM) from error
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def _holds_something(path: Path, suffix: str) -> bool:
    beside = path.with_name(path.name + suffix)
    return beside.exists() and beside.stat().st_size > 0
