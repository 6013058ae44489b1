"""A ledger that is only read: nothing is brought up to date, said, or locked when it is opened."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Final, NoReturn, TypeVar

from pmm_mcp.domain.errors import (
    LedgerBusyError,
    LedgerUnavailableError,
    PmmError,
    ProgramTooOldError,
    ReadOnlyError,
)
from pmm_mcp.domain.lease import Holder
from pmm_mcp.domain.records import Call, Recorded
from pmm_mcp.ledger.sqlite.connection import connect_present, connect_reader
from pmm_mcp.ledger.sqlite.faults import coded
from pmm_mcp.ledger.sqlite.filesystem import check_path
from pmm_mcp.ledger.sqlite.liveness import this_process
from pmm_mcp.ledger.sqlite.program import Program
from pmm_mcp.ledger.sqlite.reader import SqliteReader
from pmm_mcp.ledger.sqlite.replayed import replayed_until
from pmm_mcp.ledger.sqlite.state import read_state
from pmm_mcp.ledger.sqlite.tenure import roll_back
from pmm_mcp.ledger.sqlite.upgrade import schema_version, stale_projections
from pmm_mcp.ledger.sqlite.verified import INDEX_UNCHECKED, compare_index, not_checked, note_verified
from pmm_mcp.ledger.sqlite.verify import IsOver, time_limit, verify_file
from pmm_mcp.ports import Clock, IdSource, LedgerState, Progress, Transaction, Verification

T = TypeVar("T")

OUTDATED: Final = "outdated"
"""Why read tables may be wrong: an older program computed them, and this one may not rebuild them."""


class ReadOnlyLedger:
    """A `Ledger` that takes no writes. Use `open_read_only`, or `lying_at` for a file in any condition.

    With `may_note`, verifying notes how far everything holds, as it does in a ledger that is open for
    writing; no event is written in either case.
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock,
        holder: Holder,
        program: Program,
        degraded: str = "",
        may_note: bool = False,
    ) -> None:
        """Stand before the file; connections are opened when they are needed."""
        self._path = path
        self._clock = clock
        self._holder = holder
        self._program = program
        self._degraded = degraded
        self._may_note = may_note
        self._reader = SqliteReader(path, clock)

    @property
    def reader(self) -> SqliteReader:
        """Where views come from."""
        return self._reader

    @property
    def holder(self) -> Holder:
        """This process, which never holds the lease."""
        return self._holder

    async def write(
        self,
        work: Callable[[Transaction], T],
        *,
        call: Call,
        again: Callable[[Transaction, Recorded], T] | None = None,
    ) -> T:
        """Refuse.

        Raises:
            ReadOnlyError: always.

        """
        _refuse()

    def keep_lease(self) -> AbstractAsyncContextManager[None]:
        """Refuse, as `write` does."""
        _refuse()

    async def state(self) -> LedgerState:
        """Return what the ledger knows about itself."""
        return await asyncio.to_thread(read_state, self._path, degraded=self._degraded)

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
            found = await asyncio.to_thread(self._with_index, found, is_over)
        if found.ok and self._may_note:
            with suppress(LedgerBusyError):
                await asyncio.to_thread(
                    self._locked, lambda db: note_verified(db, from_seq=from_seq, head=found.head)
                )
        return found

    async def rebuild(self, *, progress: Progress | None = None) -> int:
        """Refuse, as `write` does."""
        _refuse()

    def replayed(
        self, until: int, *, progress: Progress | None = None
    ) -> AbstractAsyncContextManager[SqliteReader]:
        """Open views of what the read tables said when the head was at a seq, from a replay of the events."""
        return replayed_until(self._path, until, program=self._program, clock=self._clock, progress=progress)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._reader.aclose()

    def _with_index(self, found: Verification, is_over: IsOver) -> Verification:
        if is_over():
            return not_checked(found, f"{INDEX_UNCHECKED}: the time was up")
        if not self._may_note:
            return not_checked(found, f"{INDEX_UNCHECKED}: that takes a connection that may write")
        try:
            return self._locked(lambda db: compare_index(db, found))
        except LedgerBusyError as error:
            return not_checked(found, f"{INDEX_UNCHECKED}: {error}")

    def _locked(self, run: Callable[[sqlite3.Connection], T]) -> T:
        """Run something in a transaction that may write, on a connection of its own."""
        try:
            with closing(connect_present(self._path)) as db:
                db.execute("BEGIN IMMEDIATE")
                try:
                    return run(db)
                finally:
                    roll_back(db)
        except sqlite3.Error as error:
            raise coded(error) from error


async def lying_at(
    path: Path, *, clock: Clock, ids: IdSource, role: str = "", may_note: bool = True
) -> ReadOnlyLedger:
    """Return the ledger of a file as it lies there, damaged or outdated as it may be: for verifying.

    Raises:
        LedgerUnavailableError: there is no file, or no ledger can be there.

    """
    real = await asyncio.to_thread(_existing, path)
    holder = await asyncio.to_thread(this_process, ids, role=role)
    return ReadOnlyLedger(real, clock=clock, holder=holder, program=Program(), may_note=may_note)


@asynccontextmanager
async def open_read_only(
    path: Path, *, clock: Clock, ids: IdSource, role: str = "", program: Program | None = None
) -> AsyncGenerator[ReadOnlyLedger, None]:
    """Open a ledger that exists, for reading alone; close it at the end of the block.

    Raises:
        LedgerUnavailableError: there is none, or it has to be brought up to date first.

    """
    program = program or Program()
    real = await asyncio.to_thread(_existing, path)
    degraded = await asyncio.to_thread(_check_versions, real, program)
    holder = await asyncio.to_thread(this_process, ids, role=role)
    ledger = ReadOnlyLedger(real, clock=clock, holder=holder, program=program, degraded=degraded)
    try:
        yield ledger
    finally:
        await asyncio.shield(ledger.aclose())


def _refuse() -> NoReturn:
    raise ReadOnlyError(
        "the ledger is open for reading alone", hint="Take PMM_MCP_READ_ONLY away where this shall write."
    )


def _existing(path: Path) -> Path:
    real = check_path(path, for_writing=False)
    if not real.exists():
        raise LedgerUnavailableError(
            f"there is no ledger at {real}", hint="`pmm-mcp init` creates it; PMM_MCP_DB names another."
        )
    return real


def _check_versions(path: Path, program: Program) -> str:
    """Return why the read tables may be wrong, if they may.

    Raises:
        LedgerUnavailableError: this program cannot read the file as it is.

    """
    try:
        with closing(connect_reader(path)) as db:
            version = schema_version(db)
            if version > program.schema_version:
                raise ProgramTooOldError(
                    f"the ledger has schema {version}, this program knows {program.schema_version}",
                    hint="Update pmm-mcp.",
                )
            if version < program.schema_version:
                raise LedgerUnavailableError(
                    f"{path} has no ledger in it that this version can read without changing it",
                    hint="Open it once without PMM_MCP_READ_ONLY, which brings it up to date.",
                )
            return OUTDATED if stale_projections(db, program) else ""
    except sqlite3.Error as error:
        known = coded(error)
        if isinstance(known, PmmError):
            raise known from error
        raise LedgerUnavailableError(
            f"the ledger cannot be read: {error}", hint="Run `pmm-mcp verify`."
        ) from error
