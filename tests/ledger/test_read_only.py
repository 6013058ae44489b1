"""A ledger opened for reading alone: nothing is written, not even on opening."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from pmm_mcp.domain.errors import LedgerUnavailableError, ProgramTooOldError, ReadOnlyError
from pmm_mcp.ledger.sqlite.program import Program
from pmm_mcp.ledger.sqlite.read_only import OUTDATED, ReadOnlyLedger, open_read_only
from pmm_mcp.ledger.sqlite.schema import MIGRATIONS
from tests.clocks import ManualClock, SeededIds
from tests.ledger.conftest import Open
from tests.ledger.test_rebuilding import newer, with_counters
from tests.ledgers import AGENT, note, notes


def do_nothing(_db: sqlite3.Connection) -> None:
    """A step of the schema."""


@pytest.fixture
async def path(open_one: Open, tmp_path: Path) -> Path:
    """A ledger that nobody has open, and that was moved since."""
    ledger = await open_one("old.db")
    await ledger.write(note("a"), call=AGENT)
    await ledger.aclose()
    return (tmp_path / "old.db").rename(tmp_path / "new.db")


@pytest.fixture
async def read(path: Path) -> AsyncGenerator[Callable[..., Any], None]:
    async with AsyncExitStack() as stack:

        async def open_it(at: Path = path, **options: Any) -> ReadOnlyLedger:
            given: dict[str, Any] = {"clock": ManualClock(), "ids": SeededIds("reader")}
            return await stack.enter_async_context(open_read_only(at, **(given | options)))

        yield open_it


async def test_reading_changes_no_byte(read: Callable[..., Any], path: Path) -> None:
    before = await asyncio.to_thread(path.read_bytes)
    ledger = await read()

    assert await notes(ledger) == ["a"]
    assert (await ledger.state()).degraded == ""
    found = await ledger.verify(projections=True)
    await ledger.aclose()

    assert (found.ok, found.head) == (True, 2)
    assert [note.code for note in found.notes] == ["not_checked"]
    assert await asyncio.to_thread(path.read_bytes) == before
    assert not path.with_name("new.db.live").exists(), "it takes no part among those who write"


async def test_every_write_is_refused(read: Callable[..., Any]) -> None:
    ledger = await read()

    with pytest.raises(ReadOnlyError):
        await ledger.write(note("b"), call=AGENT)
    with pytest.raises(ReadOnlyError):
        async with ledger.keep_lease():
            pass
    with pytest.raises(ReadOnlyError):
        await ledger.rebuild()
    assert await notes(ledger) == ["a"]


async def test_no_ledger_is_made_by_reading(read: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailableError, match="there is no ledger"):
        await read(tmp_path / "none.db")

    assert not (tmp_path / "none.db").exists()


async def test_what_is_not_of_this_version_is_said(read: Callable[..., Any]) -> None:
    with pytest.raises(LedgerUnavailableError, match="without changing it"):
        await read(program=Program(migrations=(*MIGRATIONS, do_nothing)))
    with pytest.raises(ProgramTooOldError):
        await read(program=Program(migrations=MIGRATIONS[:-1]))

    outdated = await read(program=with_counters(newer()))
    assert (await outdated.state()).degraded == OUTDATED
    assert await notes(outdated) == ["a"]
