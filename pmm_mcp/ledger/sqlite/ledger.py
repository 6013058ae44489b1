"""The ledger in a SQLite file, opened and closed as one thing."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import orjson

from pmm_mcp.domain.errors import LedgerBusyError, ProgramTooOldError
from pmm_mcp.domain.lease import Holder
from pmm_mcp.domain.records import Call, Recorded
from pmm_mcp.ledger.sqlite.catchup import CatchUp
from pmm_mcp.ledger.sqlite.connection import connect_reader
from pmm_mcp.ledger.sqlite.faults import coded
from pmm_mcp.ledger.sqlite.filesystem import check_path
from pmm_mcp.ledger.sqlite.genesis import write_meta
from pmm_mcp.ledger.sqlite.groups import runtime_call
from pmm_mcp.ledger.sqlite.jobs import Chore, Job
from pmm_mcp.ledger.sqlite.lease import read_lease
from pmm_mcp.ledger.sqlite.liveness import this_process
from pmm_mcp.ledger.sqlite.program import Program
from pmm_mcp.ledger.sqlite.reader import SqliteReader
from pmm_mcp.ledger.sqlite.schema import INDEX
from pmm_mcp.ledger.sqlite.verify import verify_file
from pmm_mcp.ledger.sqlite.writer import Writer, WriterSettings
from pmm_mcp.ports import (
    Clock,
    Housekeeping,
    IdSource,
    LedgerState,
    Problem,
    Progress,
    Transaction,
    Verification,
)

T = TypeVar("T")


class SqliteLedger:
    """A `Ledger` in one file. Use `open_ledger`."""

    def __init__(
        self, path: Path, *, writer: Writer, reader: SqliteReader, program: Program, holder: Holder
    ) -> None:
        """Join the parts; `open` makes them ready."""
        self._path = path
        self._writer = writer
        self._reader = reader
        self._program = program
        self._holder = holder
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
        return await asyncio.to_thread(self._state)

    async def verify(
        self, *, from_seq: int = 1, projections: bool = False, progress: Progress | None = None
    ) -> Verification:
        """Recompute every hash from the stored bytes and report what does not hold."""
        found = await asyncio.to_thread(
            verify_file,
            self._path,
            from_seq=from_seq,
            projections=self._program.projections if projections else None,
            progress=progress,
        )
        with suppress(LedgerBusyError, ProgramTooOldError):
            if projections:
                found = await self._chore(lambda db: self._check_index(db, found))
            if found.ok:
                await self._chore(lambda db: self._note_verified(db, from_seq=from_seq, head=found.head))
        return found

    async def rebuild(self, *, progress: Progress | None = None) -> int:
        """Compute every read table anew; return how many events were replayed."""
        return await self._catch_up.rebuild(tuple(self._program.projections), progress=progress)

    async def open(self) -> None:
        """Open the file, bring it up to date, and say what changed since it was open last."""
        await self._writer.start()
        if await self._catch_up.start():
            return
        with suppress(LedgerBusyError, ProgramTooOldError):
            await self.write(lambda _tx: None, call=runtime_call(self._holder.id))

    async def aclose(self) -> None:
        """Stop the background work, then the readers, then the writer."""
        closing_writer = asyncio.to_thread(self._writer.stop)
        await self._catch_up.aclose(closing_writer)
        await self._reader.aclose()

    async def _chore(self, run: Callable[[sqlite3.Connection], T]) -> T:
        chore = Chore(run)
        self._writer.submit(chore)
        answer: T = await chore.answer
        return answer

    async def _unkeep(self, keeping: "asyncio.Future[None]") -> None:
        with suppress(Exception):
            await keeping
            await self._chore(lambda _db: self._writer.tenure.unkeep())

    def _state(self) -> LedgerState:
        try:
            with closing(connect_reader(self._path)) as db:
                db.execute("BEGIN")
                meta: dict[str, Any] = dict(db.execute("SELECT name, value FROM ledger_meta").fetchall())
                first = db.execute("SELECT record FROM events WHERE seq = 1").fetchone()
                lease, _ = read_lease(db)
        except sqlite3.Error as error:
            raise coded(error) from error
        return LedgerState(
            ledger_id=str(orjson.loads(first[0])["body"]["ledger_id"]) if first else "",
            path=str(self._path),
            size_bytes=self._path.stat().st_size,
            verified_to=int(meta.get("verified_to", 0)),
            lease=lease,
            degraded=self._catch_up.degraded,
        )

    def _check_index(self, db: sqlite3.Connection, found: Verification) -> Verification:
        """Compare the search index with its passages; it needs the writing connection, and writes nothing."""
        self._writer.tenure.lock()
        try:
            db.execute(f"INSERT INTO {INDEX} ({INDEX}, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError as error:
            if isinstance(coded(error), LedgerBusyError):
                raise
            problem = Problem(0, "projection", f"the search index is not what the passages say: {error}")
            return replace(found, problems=(*found.problems, problem))
        finally:
            self._writer.tenure.abandon()
        return found

    def _note_verified(self, db: sqlite3.Connection, *, from_seq: int, head: int) -> None:
        """Remember how far everything holds; a later stretch alone says nothing about the ones before."""
        self._writer.tenure.lock()
        try:
            row = db.execute("SELECT value FROM ledger_meta WHERE name = 'verified_to'").fetchone()
            verified_to = int(row[0]) if row else 0
            if from_seq <= verified_to + 1 and head > verified_to:
                write_meta(db, "verified_to", str(head))
                db.execute("COMMIT")
        finally:
            self._writer.tenure.abandon()


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
        real, writer=writer, reader=SqliteReader(real, clock), program=program, holder=holder
    )
    try:
        await ledger.open()
        yield ledger
    finally:
        await asyncio.shield(ledger.aclose())
