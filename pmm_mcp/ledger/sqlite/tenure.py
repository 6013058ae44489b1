"""This process's right to write: taken with a transaction, kept over several, let go in a commit."""

import os
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pmm_mcp.domain.errors import FenceLostError, LeaseHeldError, LedgerBusyError, LedgerUnavailableError
from pmm_mcp.domain.lease import Holder, Lease, Takeover, TakeoverReason, acquire
from pmm_mcp.ledger.sqlite.blocker import writing_pid
from pmm_mcp.ledger.sqlite.faults import is_busy
from pmm_mcp.ledger.sqlite.lease import Patience, check_versions, read_lease, write_lease
from pmm_mcp.ledger.sqlite.liveness import Liveness
from pmm_mcp.ledger.sqlite.program import Program
from pmm_mcp.ledger.sqlite.transaction import Head
from pmm_mcp.ports import Clock, IdSource

BUSY_S: Final = 0.2
"""How long a busy holder keeps others waiting before it lets go for a moment."""
_ADMIT_S: Final = 0.025


@dataclass(slots=True)
class _Known:
    """What the file said when it was last looked at, true as long as nobody else has written."""

    version: int
    lease: Lease
    waiter: str
    head: Head
    is_current: bool
    """Whether the read models were found to be of this program's versions, too."""


class Tenure:
    """Opens and ends the transactions of the writer, each under the lease and its fencing token."""

    def __init__(
        self,
        db: sqlite3.Connection,
        path: Path,
        *,
        program: Program,
        holder: Holder,
        clock: Clock,
        ids: IdSource,
        liveness: Liveness,
        lease_wait_s: float,
        lease_ttl_s: float,
    ) -> None:
        """Hold nothing yet."""
        self._db = db
        self._path = path
        opened = os.stat(path)
        self._file = (opened.st_dev, opened.st_ino)
        self._program = program
        self._holder = holder
        self._clock = clock
        self._ids = ids
        self._liveness = liveness
        self._lease_wait_s = lease_wait_s
        self._patience = Patience(clock, ttl_s=lease_ttl_s)
        self._known: _Known | None = None
        self._lease = Lease(holder=holder, fence=0, held=False)
        self._holds = False
        self._unsaid: Takeover | None = None
        self._kept: list[int] = []
        self._busy_since: float | None = None
        self._let_in = False
        self.head = Head()
        """The end of the chain, as the open transaction sees it."""

    @property
    def fence(self) -> int:
        """The token under which the open transaction writes."""
        return self._lease.fence

    @property
    def taken_over(self) -> Takeover | None:
        """Who was pushed aside, and not yet said to be: the first event under a new token says so."""
        return self._unsaid

    @property
    def is_kept(self) -> bool:
        """Whether a long operation holds on to the lease."""
        return bool(self._kept)

    # ------------------------------------------------------------------------------ transactions

    def begin(self, *, stale_too: bool = False) -> None:
        """Open a transaction in which the lease is ours.

        Raises:
            LeaseHeldError: another process is writing and did not finish in time.
            FenceLostError: we kept the lease, and another process has become the writer.
            ProgramTooOldError: a newer program has written this ledger.
            RebuildingError: an older one has, and its read models are not rebuilt yet.

        """
        deadline = self._clock.monotonic() + self._lease_wait_s
        self._busy_since = self._clock.monotonic() if self._busy_since is None else self._busy_since
        while True:
            self.lock(deadline=deadline)
            try:
                self._check_file()
                known = self._look(stale_too=stale_too)
                if self._kept and (known.lease.fence, known.lease.holder.id) != (
                    self._kept[0],
                    self._holder.id,
                ):
                    raise FenceLostError(ours=self._kept[0], current=known.lease.fence)
                self._acquire(known.lease)
                self.head = known.head
                return
            except LeaseHeldError:
                self._wait_in_line()
                if self._clock.monotonic() >= deadline:
                    raise
            except BaseException:
                self.abandon()
                raise
            self._pause(0.002, 0.020)

    def commit(self, *, more: bool = False, wrote: bool = True) -> None:
        """Commit, and let the lease go in the same commit unless it is kept or more is to come.

        A transaction that wrote nothing is not committed, when the lease row may stay as it is.
        """
        # Nobody else can have written since `begin` looked.
        known = self._known or self._look(stale_too=True)
        tired = self._clock.monotonic() - (self._busy_since or 0) > BUSY_S
        held = self.is_kept or (more and not (tired and known.waiter))
        if not (wrote or held or self._holds):
            roll_back(self._db)
            return
        lease = replace(self._lease, held=held, heartbeat=self._lease.heartbeat + held)
        waiter = known.waiter if held else ""
        if (lease, waiter) != (known.lease, known.waiter):
            write_lease(self._db, lease, waiter=waiter)
        self._db.execute("COMMIT")
        self._let_in = bool(known.waiter) and not held
        known.lease = self._lease = lease
        known.waiter = waiter
        self._holds = held
        if not more:
            self._busy_since = None

    def abandon(self) -> None:
        """Roll back, and take nothing for known: it is read anew."""
        self._known = None
        roll_back(self._db)

    def said(self) -> None:
        """Note that the event about a holder that was pushed aside is committed."""
        self._unsaid = None

    def lock(self, *, deadline: float | None = None) -> None:
        """Open a transaction that may write, waiting for SQLite's own lock; its waiting is not fair.

        Raises:
            LedgerBusyError: another process kept the file locked.

        """
        if deadline is None:
            deadline = self._clock.monotonic() + self._lease_wait_s
        while True:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if not is_busy(error):
                    raise
                if self._clock.monotonic() >= deadline:
                    raise self._locked() from error
                self._pause(0.001, 0.003)

    # --------------------------------------------------------------------------- long operations

    def keep(self) -> None:
        """Commit the open transaction, and hold on to the lease from then on."""
        self._kept.append(self._kept[0] if self._kept else self._lease.fence)
        try:
            self.commit()
        except BaseException:
            self._kept.pop()
            raise

    def unkeep(self) -> None:
        """Hold on no longer, and let the lease go."""
        self._kept.pop()
        self.let_go()

    def step(self, work: Callable[[], None]) -> None:
        """Do a part of a long operation in a transaction of its own; the commit shows that we live."""
        self.begin(stale_too=True)
        try:
            work()
            self.commit()
        except BaseException:
            self.abandon()
            raise

    def let_go(self) -> None:
        """Release the lease, if we hold and do not keep it: nobody shall wait for an idle process."""
        if self._kept or not self._holds:
            return
        self.lock()
        try:
            lease = self._look(stale_too=True).lease
            if self._is_ours(lease):
                self._lease = lease
                self.commit(wrote=False)
            self._holds = False
        finally:
            roll_back(self._db)

    def breathe(self) -> None:
        """After a long run of groups, step back from SQLite's lock so that others get it."""
        if self._busy_since is None or self._clock.monotonic() - self._busy_since <= BUSY_S:
            return
        self._busy_since = None
        known = self._known
        if not self._let_in or known is None:
            self._pause(0.001, 0.005)
            return
        end = time.monotonic() + _ADMIT_S
        while time.monotonic() < end and self._version() == known.version:
            self._pause(0.001, 0.002)

    # ---------------------------------------------------------------------------------- the rest

    def _check_file(self) -> None:
        """Refuse to write to a file that nobody will find again: removed, or another put in its place."""
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != self._file:
            raise LedgerUnavailableError(
                f"{self._path} was removed or replaced while it was open",
                hint="Restart this program; if the file was moved, put it back first.",
            )

    def _look(self, *, stale_too: bool = False) -> _Known:
        """Return what the file says, reading it only when another connection has written since."""
        version = self._version()
        if self._known is None or self._known.version != version:
            lease, waiter = read_lease(self._db)
            self._known = _Known(version, lease, waiter, Head.read(self._db), is_current=False)
        if not self._known.is_current:
            check_versions(self._db, self._program, stale_too=stale_too)
            self._known.is_current = not stale_too
        return self._known

    def _acquire(self, current: Lease) -> None:
        ours = self._is_ours(current)
        left_s = 0.0 if ours else self._patience.left_s(current)
        lost: TakeoverReason | None = None
        if current.held and not ours:
            dead = self._liveness.is_dead(current.holder.id)
            lost = "dead" if dead else None if left_s else "expired"
        self._lease, pushed = acquire(current, holder=self._holder, lost=lost, left_s=left_s)
        if not ours:
            self._unsaid = pushed

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def _is_ours(self, lease: Lease) -> bool:
        return lease.holder.id == self._holder.id

    def _wait_in_line(self) -> None:
        """Leave our name once, so that a busy holder sees that someone waits."""
        try:
            known = self._look(stale_too=True)
            if not known.waiter:
                write_lease(self._db, known.lease, waiter=self._holder.id)
                self._db.execute("COMMIT")
                known.waiter = self._holder.id
        finally:
            roll_back(self._db)

    def _locked(self) -> LedgerBusyError:
        holder = read_lease(self._db)[0].holder
        pid = writing_pid(self._path) or holder.pid
        who = str(holder) if pid == holder.pid else f"another process (pid {pid} on this machine)"
        return LedgerBusyError(
            f"the ledger's file is locked by {who}",
            hint="It is in the middle of a write or was stopped there; let it go on, or end it.",
        )

    def _pause(self, shortest_s: float, longest_s: float) -> None:
        """Sleep for a moment of random length, so that two who wait do not meet again and again."""
        time.sleep(shortest_s + self._ids.token(1)[0] / 255 * (longest_s - shortest_s))


def roll_back(db: sqlite3.Connection) -> None:
    """End the open transaction, if there still is one."""
    if db.in_transaction:
        db.execute("ROLLBACK")
