"""The ledger in a SQLite file, opened and closed as one thing."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

from pmm_mcp.domain.errors import LedgerBusyError, PmmError, ProgramTooOldError
from pmm_mcp.domain.lease import Holder
from pmm_mcp.domain.records import Call, Recorded
from pmm_mcp.ledger.sqlite.catchup import CatchUp
from pmm_mcp.ledger.sqlite.filesystem import check_path
from pmm_mcp.ledger.sqlite.groups import runtime_call
from pmm_mcp.ledger.sqlite.jobs import Chore, Job
from pmm_mcp.ledger.sqlite.liveness import this_process
from pmm_mcp.ledger.sqlite.program import Program
from pmm_mcp.ledger.sqlite.reader import SqliteReader
from pmm_mcp.ledger.sqlite.replayed import replayed_until
from pmm_mcp.ledger.sqlite.state import read_state
from pmm_mcp.ledger.sqlite.verified import INDEX_UNCHECKED, compare_index, not_checked, note_verified
from pmm_mcp.ledger.sqlite.verify import IsOver, time_limit, verify_file
from pmm_mcp.ledger.sqlite.writer import Writer, WriterSettings
from pmm_mcp.ports import (
    Clock,
    Housekeeping,
    IdSource,
    LedgerState,
    Progress,
    Transaction,
    Verification,
)

T = TypeVar("T")

CATCH_UP_S: Final = 2.0
"""How long opening waits for read tables that an older program computed."""


class SqliteLedger:
    """A `Ledger` in one file. Use `open_ledger`."""

    def __init__(
        self,
        path: Path,
        *,
        writer: Writer,
        reader: SqliteReader,
        program: Program,
        holder: Holder,
        clock: Clock,
    ) -> None:
        """Join the parts; `open` makes them ready."""
        self._path = path
        self._writer = writer
        self._reader = reader
        self._program = program
        self._holder = holder
        self._clock = clock
        self._catch_up = CatchUp(program, self._writer, self._chore)

    @property
    def reader(self) -> SqliteReader:
        """Where views come from."""
        return self._reader

    @property
    def holder(self) -> Holder:
        """This process, as the lease names it."""
        return self._holder

    async def write(
        self,
        work: Callable[[Transaction], T],
        *,
        call: Call,
        again: Callable[[Transaction, Recorded], T] | None = None,
    ) -> T:
        """Run `work` alone and commit what it appended; answer after the commit."""
        await self._catch_up.wait()
        job = Job(work, call, again)
        self._writer.submit(job)
        answer: T = await job.answer
        return answer

    @asynccontextmanager
    async def keep_lease(self) -> AsyncGenerator[None, None]:
        """Hold the right to write across several writes."""
        await self._catch_up.wait()
        keeping = asyncio.ensure_future(self._chore(self._writer.keep))
        try:
            await asyncio.shield(keeping)
            yield
        finally:
            # Also when the waiting was cancelled: what has been asked for will be carried out.
            await asyncio.shield(self._unkeep(keeping))

    async def state(self) -> LedgerState:
        """Return what the ledger knows about itself."""
        return await asyncio.to_thread(read_state, self._path, degraded=self._catch_up.degraded)

    async def verify(
        self,
        *,
        from_seq: int = 1,
        projections: bool = False,
        budget_s: float | None = None,
        progress: Progress | None = None,
    ) -> Verification:
        """Recompute every hash from the stored bytes and report what does not hold."""
        is_over = time_limit(self._clock, budget_s)
        found = await asyncio.to_thread(
            verify_file,
            self._path,
            from_seq=from_seq,
            projections=self._program.projections if projections else None,
            is_over=is_over,
            progress=progress,
        )
        if projections:
            found = await self._with_index(found, is_over)
        if found.ok:
            with suppress(LedgerBusyError, ProgramTooOldError):
                await self._locked(lambda db: note_verified(db, from_seq=from_seq, head=found.head))
        return found

    async def rebuild(self, *, progress: Progress | None = None) -> int:
        """Compute every read table anew; return how many events were replayed."""
        return await self._catch_up.rebuild(tuple(self._program.projections), progress=progress)

    def replayed(
        self, until: int, *, progress: Progress | None = None
    ) -> AbstractAsyncContextManager[SqliteReader]:
        """Open views of what the read tables said when the head was at a seq, from a replay of the events."""
        return replayed_until(self._path, until, program=self._program, clock=self._clock, progress=progress)

    async def open(self) -> None:
        """Open the file, bring it up to date, and say what changed since it was open last."""
        await self._writer.start()
        if await self._catch_up.start():
            # A short history is soon replayed; of a long one the old tables are read meanwhile, as far as
            # they can be.
            with suppress(TimeoutError, PmmError):
                await asyncio.wait_for(self._catch_up.wait(), CATCH_UP_S)
            return
        with suppress(LedgerBusyError, ProgramTooOldError):
            await self.write(lambda _tx: None, call=runtime_call(self._holder.id))

    async def aclose(self) -> None:
        """Stop the readers, then the background work and the writer.

        The writer is the last to close: only it can fold the write-ahead log into the file.
        """
        await self._reader.aclose()
        await self._catch_up.aclose(asyncio.to_thread(self._writer.stop))

    async def _chore(self, run: Callable[[sqlite3.Connection], T]) -> T:
        chore = Chore(run)
        self._writer.submit(chore)
        answer: T = await chore.answer
        return answer

    async def _locked(self, run: Callable[[sqlite3.Connection], T]) -> T:
        """Run something in a transaction that may write, outside any lease."""

        def locked(db: sqlite3.Connection) -> T:
            self._writer.tenure.lock()
            try:
                return run(db)
            finally:
                self._writer.tenure.abandon()

        return await self._chore(locked)

    async def _with_index(self, found: Verification, is_over: IsOver) -> Verification:
        if is_over():
            return not_checked(found, f"{INDEX_UNCHECKED}: the time was up")
        try:
            return await self._locked(lambda db: compare_index(db, found))
        except LedgerBusyError as error:
            return not_checked(found, f"{INDEX_UNCHECKED}: {error}")

    async def _unkeep(self, keeping: "asyncio.Future[None]") -> None:
        with suppress(Exception):
            await keeping
            await self._chore(lambda _db: self._writer.tenure.unkeep())


@asynccontextmanager
async def open_ledger(
    path: Path,
    *,
    clock: Clock,
    ids: IdSource,
    role: str = "",
    housekeeping: Sequence[Housekeeping] = (),
    settings: WriterSettings | None = None,
    program: Program | None = None,
) -> AsyncGenerator[SqliteLedger, None]:
    """Open a ledger, creating it at first use; close it at the end of the block.

    Raises:
        LedgerUnavailableError: the path cannot hold a ledger, or holds something else.

    """
    program = program or Program()
    real = await asyncio.to_thread(check_path, path)
    holder = await asyncio.to_thread(this_process, ids, role=role)
    writer = Writer(
        real,
        program=program,
        clock=clock,
        ids=ids,
        holder=holder,
        housekeeping=housekeeping,
        settings=settings or WriterSettings(),
    )
    ledger = SqliteLedger(
        real,
        writer=writer,
        reader=SqliteReader(real, clock),
        program=program,
        holder=holder,
        clock=clock,
    )
    try:
        await ledger.open()
        yield ledger
    finally:
        await asyncio.shield(ledger.aclose())
