"""Readers: a few read-only connections, each in a thread of its own; a view is one snapshot of the ledger."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from pmm_mcp.domain.errors import LedgerBusyError, RebuildingError
from pmm_mcp.ledger.sqlite.connection import connect_reader
from pmm_mcp.ledger.sqlite.faults import in_our_words
from pmm_mcp.ports import Clock, Plan, Query
from pmm_mcp.queries.plans import carry_out

T = TypeVar("T")

READERS_MAX: Final = 4
VIEW_S: Final = 5.0
"""How long a view may live; a longer one would keep the write-ahead log from being folded in."""
PROGRESS_STEPS: Final = 100_000
"""After how many steps of its virtual machine, about a millisecond, SQLite asks whether to go on."""


class SqliteView:
    """A `View` on one connection."""

    def __init__(self, thread: "_ReadingThread", snapshot: "_Snapshot") -> None:
        """Stand in the snapshot that is open on the connection."""
        self._thread = thread
        self._snapshot = snapshot

    async def ask(self, query: Query[T]) -> T:
        """Answer a query.

        Raises:
            LedgerBusyError: the view has been open for too long.
            RebuildingError: the read tables are still those of another version of the program.

        """
        return await self._thread.run(partial(self._snapshot.ask, query))

    async def carry_out(self, plan: Plan[T]) -> T:
        """Answer a plan, with one change of threads however much it asks; raises what `ask` does."""
        return await self._thread.run(partial(carry_out, self._snapshot, plan))


class SqliteReader:
    """Opens views on up to four connections; more callers wait their turn."""

    def __init__(self, path: Path, clock: Clock) -> None:
        """Prepare; connections are opened when they are needed."""
        self._path = path
        self._clock = clock
        self._idle: list[_ReadingThread] = []
        self._free = asyncio.Semaphore(READERS_MAX)
        self._is_closed = False

    @asynccontextmanager
    async def view(self) -> AsyncGenerator[SqliteView, None]:
        """Open a snapshot for the block."""
        async with self._free:
            thread = self._idle.pop() if self._idle else _ReadingThread(self._path)
            snapshot = _Snapshot(thread, self._clock)
            try:
                await thread.run(snapshot.begin)
                yield SqliteView(thread, snapshot)
                await thread.run(snapshot.end)
            except BaseException:
                # A statement may still be running for a cancelled caller: this connection is not used again.
                snapshot.abandon()
                await asyncio.shield(thread.aclose())
                raise
            if self._is_closed:
                await asyncio.shield(thread.aclose())
            else:
                self._idle.append(thread)

    async def aclose(self) -> None:
        """Close the connections; one that is in use is closed when its view ends."""
        self._is_closed = True
        while self._idle:
            await self._idle.pop().aclose()


class _Snapshot:
    """What a connection sees from `begin` to `end`; all but `abandon` runs in its thread."""

    def __init__(self, thread: "_ReadingThread", clock: Clock) -> None:
        self._thread = thread
        self._clock = clock
        self._until = clock.monotonic() + VIEW_S

    def begin(self) -> None:
        self._thread.db.execute("BEGIN")

    def end(self) -> None:
        self._thread.db.execute("ROLLBACK")

    def ask(self, query: Query[T]) -> T:
        if self._clock.monotonic() > self._until:
            raise LedgerBusyError("reading took too long", hint="Ask for less at once.")
        try:
            rows = self._thread.db.execute(query.sql, query.params).fetchall()
        except sqlite3.Error as error:
            raise _of_another_version(error) or in_our_words(error) from error
        return query.read(rows)

    def abandon(self) -> None:
        """Let what still runs end soon: the statement now, and a plan before its next one."""
        self._until = float("-inf")
        self._thread.abandon()


class _ReadingThread:
    """A read-only connection and the thread it lives in."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pmm-reader")
        self._db: sqlite3.Connection | None = None
        self._is_abandoned = False

    @property
    def db(self) -> sqlite3.Connection:
        """The connection, for whoever runs in its thread."""
        if self._db is None:
            try:
                self._db = connect_reader(self._path)
            except sqlite3.Error as error:
                raise in_our_words(error) from error
            # An interrupt stops what runs; this also stops what began the moment after it.
            self._db.set_progress_handler(lambda: self._is_abandoned, PROGRESS_STEPS)
        return self._db

    async def run(self, work: Callable[[], T]) -> T:
        """Run something in the thread; a cancelled caller does not stop it."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def abandon(self) -> None:
        """Stop the statement that runs, and any that would, from outside."""
        self._is_abandoned = True
        with suppress(sqlite3.Error):
            if self._db is not None:
                self._db.interrupt()

    async def aclose(self) -> None:
        """Close the connection after what still runs, and end the thread."""
        with suppress(sqlite3.Error):
            if self._db is not None:
                await self.run(self._db.close)
        self._thread.shutdown(wait=False)


def _of_another_version(error: sqlite3.Error) -> RebuildingError | None:
    """Say what it means that a table, or a column of one, is not there: it is yet to be computed."""
    if not str(error).startswith(("no such column", "no such table")):
        return None
    return RebuildingError(
        "the read tables are those of another version of the program",
        hint="They are brought up to date when the ledger is open for writing. Try again in a moment.",
    )
