"""What SQLite says went wrong, in our words."""

import sqlite3
from typing import Final

from pmm_mcp.domain.errors import LedgerBusyError, LedgerDamagedError, LedgerIoError, PmmError

_IO: Final = (
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_READONLY",
    "SQLITE_NOMEM",
    "SQLITE_INTERRUPT",
    "SQLITE_CANTOPEN",
)
_BUSY: Final = ("SQLITE_BUSY", "SQLITE_LOCKED")
_DAMAGE: Final = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


def is_busy(error: sqlite3.Error) -> bool:
    """Say whether another connection is in the way, and trying again can help."""
    return _name(error).startswith(_BUSY)


def in_our_words(error: sqlite3.Error) -> PmmError | sqlite3.Error:
    """Return the coded error for a fault of the disk, the file or the moment; a defect stays as it is."""
    name = _name(error)
    if name.startswith(_IO):
        return LedgerIoError(
            f"the disk did not take the write ({name.removeprefix('SQLITE_').lower()}: {error})",
            hint="Free some space or mend the disk, then call again; nothing of this call was kept.",
        )
    if name.startswith(_BUSY):
        return LedgerBusyError("another process is writing to the ledger", hint="Try again shortly.")
    if name.startswith(_DAMAGE):
        return LedgerDamagedError(
            f"the file is damaged: {error}", hint="Run `pmm-mcp verify` and restore from a backup."
        )
    return error


def coded(error: BaseException) -> BaseException:
    """Return any error as it may be shown to whoever waits: faults in our words, the rest as it is."""
    return in_our_words(error) if isinstance(error, sqlite3.Error) else error


def _name(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", None) or ""
