"""A ledger whose read tables an older version of the program computed."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pmm_mcp.domain.errors import RebuildingError
from pmm_mcp.ledger.sqlite.reader import SqliteReader
from pmm_mcp.queries import memory
from tests.apps import mind_of
from tests.clocks import ManualClock


def make_older(path: Path) -> None:
    """Take away what a newer version added to the tables of one read model."""
    with closing(sqlite3.connect(path)) as db:
        for column in ("tier", "status"):
            db.execute(f"ALTER TABLE documents DROP COLUMN {column}")
        for column in ("origin", "source_key", "withdrawn_at"):
            db.execute(f"ALTER TABLE evidence DROP COLUMN {column}")
        db.execute("UPDATE projection_state SET version = 1 WHERE name = 'memory'")
        db.commit()


async def test_it_is_read_and_written_as_soon_as_it_is_open(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.record("The otter swims.")
    await asyncio.to_thread(make_older, tmp_path / "l.db")
    async with mind_of(tmp_path) as mind:
        found = await mind.search("otter")
        again = await mind.record("The otter swims.")
        assert await mind.is_sound()
    assert [one.id for one in found.results] == [again.id]
    assert again.duplicate


async def test_until_then_a_read_is_refused_with_a_code_that_says_to_try_again(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.record("The otter swims.")
    await asyncio.to_thread(make_older, tmp_path / "l.db")
    reader = SqliteReader(tmp_path / "l.db", ManualClock())
    with pytest.raises(RebuildingError) as caught:
        async with reader.view() as view:
            await view.ask(memory.evidence_by([2]))
    await reader.aclose()
    assert caught.value.retryable
