"""What the ledger says about itself before the first event of a write: its birth, a move, a stepped clock."""

import sqlite3
from pathlib import Path
from typing import Final

import orjson

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.events.ledger import ClockStepped, LeaseTakenOver, LedgerMoved, LedgerOpened
from pmm_mcp.domain.lease import Takeover
from pmm_mcp.domain.records import Draft
from pmm_mcp.domain.times import microseconds
from pmm_mcp.ledger.sqlite.transaction import SqliteTransaction
from pmm_mcp.ports import Clock, IdSource

_BACK_US: Final = 1_000_000
_AHEAD_US: Final = 86_400 * 1_000_000


class Prelude:
    """Writes, at the head of a group, what has to be said first; nothing, nearly always."""

    def __init__(self, path: Path, *, clock: Clock, ids: IdSource) -> None:
        """Watch the clocks from now on."""
        self._path = path
        self._clock = clock
        self._ids = ids
        self._is_placed = False
        self._last: tuple[int, float] | None = None
        self._unconfirmed: tuple[int, float] | None = None

    def write(self, db: sqlite3.Connection, tx: SqliteTransaction, taken_over: Takeover | None) -> None:
        """Append `ledger_opened`, `lease_taken_over`, `ledger_moved`, `clock_stepped`: those that are due."""
        if tx.head.seq == 0:
            tx.append(Draft(LedgerOpened(ledger_id=self._ids.token(16).hex())))
        if taken_over is not None:
            tx.append(Draft(LeaseTakenOver(from_token=taken_over.from_token, reason=taken_over.reason)))
        if not self._is_placed:
            self._check_place(db, tx)
        self._check_clock(tx)

    def confirm(self) -> None:
        """Take as said what `write` said: it is committed."""
        self._is_placed = True
        self._last = self._unconfirmed

    def _check_place(self, db: sqlite3.Connection, tx: SqliteTransaction) -> None:
        """Tell a moved or copied file from the one that was open last."""
        now = orjson.dumps({"path": str(self._path), "inode": self._path.stat().st_ino}).decode()
        row = db.execute("SELECT value FROM ledger_meta WHERE name = 'instance'").fetchone()
        if row is not None and row[0] == now:
            return
        if row is not None:
            texts = {
                "from_path": Admitted(orjson.loads(row[0])["path"]),
                "to_path": Admitted(str(self._path)),
            }
            tx.append(Draft(LedgerMoved(), texts))
        write_meta(db, "instance", now)

    def _check_clock(self, tx: SqliteTransaction) -> None:
        """Note a step of the wall clock: against our own monotonic clock, or back behind the last event."""
        monotonic = self._clock.monotonic()
        if self._last is not None:
            expected = self._last[0] + int((monotonic - self._last[1]) * 1_000_000)
        else:
            expected = microseconds(tx.head.ts) if tx.head.ts else tx.now_us
        step = tx.now_us - expected
        if step < -_BACK_US or (self._last is not None and step > _AHEAD_US):
            tx.append(Draft(ClockStepped(by_us=step)))
        self._unconfirmed = (tx.now_us, monotonic)


def write_meta(db: sqlite3.Connection, name: str, value: str) -> None:
    """Store what the ledger knows about itself besides its events."""
    db.execute(
        "INSERT INTO ledger_meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, value),
    )
