"""The one writer: a thread that owns the writing connection, from opening the file to closing it."""

import queue
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pmm_mcp.domain.errors import LedgerBusyError, LedgerUnavailableError, PmmError
from pmm_mcp.domain.lease import Holder
from pmm_mcp.ledger.sqlite.connection import connect_writer
from pmm_mcp.ledger.sqlite.faults import coded
from pmm_mcp.ledger.sqlite.genesis import Prelude
from pmm_mcp.ledger.sqlite.groups import Groups
from pmm_mcp.ledger.sqlite.jobs import Chore, Job, Outcome, deliver, is_wanted
from pmm_mcp.ledger.sqlite.liveness import Liveness
from pmm_mcp.ledger.sqlite.program import Program
from pmm_mcp.ledger.sqlite.tenure import Tenure
from pmm_mcp.ledger.sqlite.upgrade import bring_up_to_date
from pmm_mcp.ports import Clock, Housekeeping, IdSource

JOBS_MAX: Final = 64
LOG_BYTES_MAX: Final = 16 * 1024 * 1024
"""How large the write-ahead log may be when there is nothing to do."""

_CLOSING: Final = "the ledger is being closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterSettings:
    """How long to wait, how long to live. `max_page_count` bounds the file, for tests."""

    lease_wait_s: float = 5.0
    lease_ttl_s: float = 30.0
    max_page_count: int = 0


class Writer:
    """The thread. `start` it, `submit` to it, `stop` it."""

    def __init__(
        self,
        path: Path,
        *,
        program: Program,
        clock: Clock,
        ids: IdSource,
        holder: Holder,
        housekeeping: Sequence[Housekeeping],
        settings: WriterSettings,
    ) -> None:
        """Prepare; nothing is opened yet."""
        self._path = path
        self._program = program
        self._clock = clock
        self._ids = ids
        self._holder = holder
        self._housekeeping = housekeeping
        self._settings = settings
        self._liveness = Liveness(path, holder.id)
        self._log = path.with_name(f"{path.name}-wal")
        self._queue: queue.SimpleQueue[Job | Chore | None] = queue.SimpleQueue()
        self._jobs: deque[Job] = deque()
        self._door = threading.Lock()
        self._closing = False
        self._thread = threading.Thread(target=self._main, name="pmm-ledger-writer", daemon=True)

    async def start(self) -> None:
        """Open the file in the thread; return when it is ready for writing.

        Raises:
            LedgerUnavailableError: it cannot be opened.

        """
        opened = Chore(lambda _db: None)
        self._queue.put(opened)
        self._thread.start()
        await opened.answer

    def submit(self, item: Job | Chore) -> None:
        """Queue it; it is answered after the commit.

        Raises:
            LedgerBusyError: the ledger is being closed.

        """
        with self._door:
            if self._closing:
                raise LedgerBusyError(_CLOSING)
            self._queue.put(item)

    def stop(self) -> None:
        """Finish what is queued, release the lease, close the file, and wait for the thread."""
        with self._door:
            self._closing = True
            self._queue.put(None)
        if self._thread.ident is not None:
            self._thread.join()

    # ------------------------------------------------------- what a chore may do, in the thread

    @property
    def tenure(self) -> Tenure:
        """The right to write."""
        return self._tenure

    def keep(self, _db: sqlite3.Connection) -> None:
        """Hold on to the lease from now on.

        Raises:
            LeaseHeldError: another process is writing and did not finish in time.

        """
        self._groups.keep()

    def step(self, work: Callable[[], None]) -> None:
        """Do a part of a long operation, unless the ledger is being closed."""
        if self._closing:
            raise LedgerBusyError(_CLOSING)
        self._tenure.step(work)

    # ------------------------------------------------------------------------------- the thread

    def _main(self) -> None:
        try:
            with self._liveness.present(), closing(self._open()) as db:
                self._serve(db)
        except BaseException as error:  # noqa: BLE001 - it is handed to whoever opens the ledger
            self._refuse(_as_unavailable(error))
        else:
            self._refuse(LedgerBusyError(_CLOSING))

    def _open(self) -> sqlite3.Connection:
        db = connect_writer(
            self._path, wait_s=self._settings.lease_wait_s, max_page_count=self._settings.max_page_count
        )
        try:
            self._tenure = Tenure(
                db,
                self._path,
                program=self._program,
                holder=self._holder,
                clock=self._clock,
                ids=self._ids,
                liveness=self._liveness,
                lease_wait_s=self._settings.lease_wait_s,
                lease_ttl_s=self._settings.lease_ttl_s,
            )
            bring_up_to_date(db, self._path, program=self._program, tenure=self._tenure)
            self._groups = Groups(
                db,
                tenure=self._tenure,
                prelude=Prelude(self._path, clock=self._clock, ids=self._ids),
                projections=self._program.projections,
                housekeeping=self._housekeeping,
                holder=self._holder.id,
                clock=self._clock,
                ids=self._ids,
                is_dead=self._liveness.is_dead,
            )
        except BaseException:
            db.close()
            raise
        return db

    def _serve(self, db: sqlite3.Connection) -> None:
        """Carry out what is queued until there is nothing left and it is time to stop."""
        while True:
            item = self._next(db)
            if isinstance(item, Job):
                self._jobs.append(item)
                if len(self._jobs) < JOBS_MAX and not self._queue.empty():
                    continue
            while self._jobs:
                self._groups.run(self._jobs, is_more=self._is_more)
                self._tenure.breathe()
            if isinstance(item, Chore):
                self._do(db, item)
            elif item is None:
                self._let_go()
                return

    def _next(self, db: sqlite3.Connection) -> Job | Chore | None:
        """Wait for something to do; an idle process holds no lease, or shows that it lives."""
        if self._queue.empty():
            self._let_go()
            self._fold(db)
        while True:
            try:
                return self._queue.get(
                    timeout=self._settings.lease_ttl_s / 3 if self._tenure.is_kept else None
                )
            except queue.Empty:
                # A failure is told to the next write of the long operation.
                with suppress(PmmError, sqlite3.Error):
                    self._tenure.step(lambda: None)

    def _is_more(self) -> bool:
        return bool(self._jobs) or not self._queue.empty()

    def _let_go(self) -> None:
        # When it fails, others find out by our silence, or by our death.
        with suppress(PmmError, sqlite3.Error):
            self._tenure.let_go()

    def _fold(self, db: sqlite3.Connection) -> None:
        """After a flood, fold the write-ahead log into the file, as soon as no reader needs it."""
        with suppress(OSError, sqlite3.Error):
            if self._log.stat().st_size > LOG_BYTES_MAX:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _do(self, db: sqlite3.Connection, chore: Chore) -> None:
        if not is_wanted(chore):
            return
        self._let_go()
        try:
            outcome = Outcome(chore, chore.run(db))
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            self._groups.abandon()
            outcome = Outcome(chore, error=coded(error))
        deliver([outcome])

    def _refuse(self, error: BaseException) -> None:
        """Answer everyone who is left; nobody waits for a thread that has ended."""
        with self._door:
            self._closing = True
            left: list[Job | Chore] = list(self._jobs)
            while not self._queue.empty():
                if (item := self._queue.get_nowait()) is not None:
                    left.append(item)
        deliver([Outcome(item, error=error) for item in left])


def _as_unavailable(error: BaseException) -> BaseException:
    known = coded(error)
    if isinstance(known, sqlite3.Error | OSError):
        return LedgerUnavailableError(
            f"the ledger cannot be opened: {known}",
            hint="Look at the file and its directory: their owner, their permissions, the space on the disk.",
        )
    return known
