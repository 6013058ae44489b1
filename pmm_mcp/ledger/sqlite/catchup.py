"""Rebuilding read models, and how writes wait for it."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

from pmm_mcp.domain.errors import LedgerBusyError, PmmError, RebuildingError
from pmm_mcp.ledger.sqlite.program import Program
from pmm_mcp.ledger.sqlite.replay import rebuild
from pmm_mcp.ledger.sqlite.upgrade import stale_projections
from pmm_mcp.ledger.sqlite.writer import Writer
from pmm_mcp.ports import Progress

T = TypeVar("T")

REBUILD_WAIT_S: Final = 20.0
"""How long a write waits for a rebuild before it is refused."""


class Chores(Protocol):
    """Runs something on the writer's connection."""

    async def __call__(self, run: Callable[[sqlite3.Connection], T], /) -> T:
        """Return what it returned."""
        ...


class CatchUp:
    """Rebuilds what an older version of the program computed, in the background, and anything on demand."""

    def __init__(self, program: Program, writer: Writer, chore: Chores) -> None:
        """Do nothing yet."""
        self._program = program
        self._writer = writer
        self._chore = chore
        self._running: asyncio.Task[int] | None = None
        self._broken: PmmError | None = None
        self._done, self._total = 0, 0

    @property
    def degraded(self) -> str:
        """Why read tables may lag behind the events; empty when they do not."""
        if self._broken is not None:
            return self._broken.code
        return "rebuilding" if self._running is not None and not self._running.done() else ""

    async def start(self) -> bool:
        """Begin to rebuild in the background what is out of date, if anything is."""
        if not await self._chore(lambda db: stale_projections(db, self._program)):
            return False
        if self._running is None:  # Another who waited may have begun meanwhile.
            self._begin(None, None)
        return True

    async def rebuild(self, names: Sequence[str], *, progress: Progress | None) -> int:
        """Rebuild these read models; writes wait as for any rebuild."""
        await self.wait()
        return await asyncio.shield(self._begin(names, progress))

    async def wait(self) -> None:
        """Return when there is nothing to wait for any more.

        Raises:
            RebuildingError: it takes longer than a write may wait.
            ProjectionError: a read model cannot follow the events; nothing is written before that is mended.

        """
        if self._broken is not None:
            raise self._broken
        running = self._running
        if running is None:
            return
        await asyncio.wait({running}, timeout=REBUILD_WAIT_S)
        if not running.done():
            raise RebuildingError(
                f"read models are being rebuilt: {100 * self._done // max(1, self._total)} % done",
                hint="Reading works meanwhile. Try again in a moment.",
            )
        if self._running is running:
            self._running = None
        if self._broken is not None:
            raise self._broken
        failure = _failure_of(running)
        if failure is not None and await self.start():
            raise failure

    async def aclose(self, closing: Awaitable[None]) -> None:
        """Let the writer close; a rebuild stops at its next step, and begins anew at the next open."""
        await closing
        if self._running is not None:
            await asyncio.wait({self._running})

    def _begin(self, names: Sequence[str] | None, progress: Progress | None) -> "asyncio.Task[int]":
        self._done = self._total = 0
        self._running = asyncio.create_task(self._run(names, progress))
        self._running.add_done_callback(_look_at)
        return self._running

    async def _run(self, names: Sequence[str] | None, progress: Progress | None) -> int:
        try:
            return await self._chore(lambda db: self._rebuild(db, names, progress))
        except PmmError as error:
            if not isinstance(error, LedgerBusyError):
                self._broken = error
            raise

    def _rebuild(self, db: sqlite3.Connection, names: Sequence[str] | None, progress: Progress | None) -> int:
        """Rebuild under a lease that is kept; in the writer's thread."""

        def note(done: int, total: int) -> None:
            self._done, self._total = done, total
            if progress is not None:
                progress(done, total)

        tenure = self._writer.tenure
        tenure.begin(stale_too=True)
        tenure.keep()
        try:
            # Asked again under the lease: another process may have been faster.
            wanted = stale_projections(db, self._program) if names is None else names
            if not wanted:
                return 0
            return rebuild(db, wanted, program=self._program, step=self._writer.step, progress=note)
        finally:
            tenure.abandon()
            tenure.unkeep()


def _failure_of(task: "asyncio.Task[Any]") -> BaseException | None:
    if task.cancelled():
        return RebuildingError("a rebuild of the read models was cancelled", hint="Try again in a moment.")
    return task.exception()


def _look_at(task: "asyncio.Task[Any]") -> None:
    """Take the error of a task that nobody waits for; the next write meets what caused it."""
    if not task.cancelled():
        task.exception()
