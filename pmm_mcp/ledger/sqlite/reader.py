"""Readers: a few read-only connections, each view one consistent snapshot of the ledger."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

import aiosqlite

from pmm_mcp.domain.errors import LedgerBusyError, RebuildingError
from pmm_mcp.ledger.sqlite.connection import reader_uri
from pmm_mcp.ledger.sqlite.faults import in_our_words
from pmm_mcp.ports import Clock, Query

T = TypeVar("T")

READERS_MAX: Final = 4
VIEW_S: Final = 5.0
"""How long a view may live; a longer one would keep the write-ahead log from being folded in."""


class SqliteView:
    """A `View` on one connection."""

    def __init__(self, db: aiosqlite.Connection, clock: Clock) -> None:
        """Stand in the snapshot that is open on the connection."""
        self._db = db
        self._clock = clock
        self._until = clock.monotonic() + VIEW_S

    async def ask(self, query: Query[T]) -> T:
        """Answer a query.

        Raises:
            LedgerBusyError: the view has been open for too long.
            RebuildingError: the read tables are still those of another version of the program.

        """
        if self._clock.monotonic() > self._until:
            raise LedgerBusyError("reading took too long", hint="Ask for less at once.")
        try:
            rows = await self._db.execute_fetchall(query.sql, query.params)
        except sqlite3.Error as error:
            raise _of_another_version(error) or in_our_words(error) from error
        return query.read([*map(tuple, rows)])


class SqliteReader:
    """Opens views on up to four connections; more callers wait their turn."""

    def __init__(self, path: Path, clock: Clock) -> None:
        """Prepare; connections are opened when they are needed."""
        self._path = path
        self._clock = clock
        self._idle: list[aiosqlite.Connection] = []
        self._free = asyncio.Semaphore(READERS_MAX)
        self._is_closed = False

    @asynccontextmanager
    async def view(self) -> AsyncGenerator[SqliteView, None]:
        """Open a snapshot for the block."""
        async with self._free:
            db = self._idle.pop() if self._idle else await self._connect()
            try:
                await db.execute("BEGIN")
                yield SqliteView(db, self._clock)
                await db.execute("ROLLBACK")
            except BaseException:
                # A statement may still be running for a cancelled caller: this connection is not used again.
                await asyncio.shield(_discard(db))
                raise
            if self._is_closed:
                await asyncio.shield(db.close())
            else:
                self._idle.append(db)

    async def aclose(self) -> None:
        """Close the connections; one that is in use is closed when its view ends."""
        self._is_closed = True
        while self._idle:
            await self._idle.pop().close()

    async def _connect(self) -> aiosqlite.Connection:
        try:
            return await aiosqlite.connect(
                reader_uri(self._path), uri=True, isolation_level=None, timeout=5, cached_statements=256
            )
        except sqlite3.Error as error:
            raise in_our_words(error) from error


def _of_another_version(error: sqlite3.Error) -> RebuildingError | None:
    """Say what it means that a table, or a column of one, is not there: it is yet to be computed."""
    if not str(error).startswith(("no such column", "no such table")):
        return None
    return RebuildingError(
        "the read tables are those of another version of the program",
        hint="They are brought up to date when the ledger is open for writing. Try again in a moment.",
    )


async def _discard(db: aiosqlite.Connection) -> None:
    with suppress(sqlite3.Error, ValueError):
        await db.interrupt()
        await db.close()
