"""Schemas have numbers: an older file is backed up and brought up to date, a newer one is left alone."""

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pmm_mcp.domain.errors import LeaseHeldError, LedgerUnavailableError, ProgramTooOldError
from pmm_mcp.ledger.sqlite.program import Program
from pmm_mcp.ledger.sqlite.schema import MIGRATIONS
from pmm_mcp.ledger.sqlite.writer import WriterSettings
from tests.ledger.conftest import Open
from tests.ledgers import AGENT, note, notes


def add_a_table(db: sqlite3.Connection) -> None:
    db.execute("CREATE TABLE bookmarks (seq INTEGER PRIMARY KEY) STRICT")


def fail_half_way(db: sqlite3.Connection) -> None:
    add_a_table(db)
    db.execute("INSERT INTO nowhere VALUES (1)")


NOW = len(MIGRATIONS)
NEXT = Program(migrations=(*MIGRATIONS, add_a_table))
FAILING = Program(migrations=(*MIGRATIONS, fail_half_way))


async def ask(path: Path, sql: str) -> Any:
    def work() -> Any:
        with closing(sqlite3.connect(path)) as db:
            return db.execute(sql).fetchall()

    return await asyncio.to_thread(work)


async def test_an_older_file_is_backed_up_and_migrated(open_one: Open, tmp_path: Path) -> None:
    old = await open_one()
    await old.write(note("a"), call=AGENT)
    await old.aclose()

    new = await open_one(program=NEXT)
    await new.write(note("b"), call=AGENT)

    assert await notes(new) == ["a", "b"]
    assert (await new.verify(projections=True)).ok
    assert await ask(tmp_path / "l.db", "SELECT schema_version FROM writer_lease") == [(NOW + 1,)]
    backup = tmp_path / f"l.db.schema{NOW}.backup"
    assert await ask(backup, "SELECT COUNT(*) FROM events") == [(2,)]
    assert backup.stat().st_mode & 0o077 == 0


async def test_a_running_older_program_stops_writing_and_goes_on_reading(open_one: Open) -> None:
    old = await open_one()
    await old.write(note("a"), call=AGENT)
    await open_one(program=NEXT)

    with pytest.raises(ProgramTooOldError):
        await old.write(note("b"), call=AGENT)
    assert await notes(old) == ["a"]


async def test_a_newer_file_is_refused(open_one: Open) -> None:
    await (await open_one(program=NEXT)).aclose()

    with pytest.raises(ProgramTooOldError, match=f"schema {NOW + 1}, this program knows {NOW}"):
        await open_one()


async def test_a_migration_that_fails_changes_nothing(open_one: Open, tmp_path: Path) -> None:
    old = await open_one()
    await old.write(note("a"), call=AGENT)

    with pytest.raises(LedgerUnavailableError, match="nowhere"):
        await open_one(program=FAILING)

    assert await ask(tmp_path / "l.db", "SELECT schema_version FROM writer_lease") == [(NOW,)]
    await old.write(note("b"), call=AGENT)
    new = await open_one(program=NEXT)
    assert await notes(new) == ["a", "b"]
    assert await ask(tmp_path / f"l.db.schema{NOW}.backup", "SELECT COUNT(*) FROM events") == [(3,)]


async def test_a_migration_waits_for_whoever_writes(open_one: Open) -> None:
    old = await open_one()
    async with old.keep_lease():
        with pytest.raises(LeaseHeldError):
            await open_one(program=NEXT, settings=WriterSettings(lease_wait_s=0.05))
    await open_one(program=NEXT)


async def test_a_fresh_file_gets_the_newest_schema_at_once(open_one: Open, tmp_path: Path) -> None:
    await open_one(program=NEXT)

    assert await ask(tmp_path / "l.db", "SELECT schema_version FROM writer_lease") == [(NOW + 1,)]
    assert [name for name in os.listdir(tmp_path) if "backup" in name] == []
