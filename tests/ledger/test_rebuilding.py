"""Read models: rebuilt in place, in the background after an update, and never half."""

import asyncio
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from pmm_mcp.domain.errors import ProgramTooOldError, ProjectionError, RebuildingError
from pmm_mcp.domain.records import Recorded
from pmm_mcp.ledger.sqlite import catchup
from pmm_mcp.ledger.sqlite.program import Program
from pmm_mcp.ports import Query
from pmm_mcp.projections import PROJECTIONS, counters
from pmm_mcp.projections.changes import Change, Increment
from pmm_mcp.queries.rows import number
from tests.ledger.conftest import Open
from tests.ledgers import AGENT, HUMAN, kinds, note, notes, outcomes, redact


class Broken:
    """The counters, but some texts are too much for them."""

    VERSION = counters.VERSION
    TABLES = counters.TABLES

    def project(self, record: Recorded) -> Iterator[Change]:
        if "poison" in (record.texts.get("content") or ""):
            raise ZeroDivisionError("on purpose")
        return counters.project(record)


def with_counters(projection: Any) -> Program:
    return Program(projections={**PROJECTIONS, "counters": projection})


def newer(**changes: Any) -> Any:
    """The counters of the next version, which count double."""

    def project(record: Recorded) -> Iterator[Change]:
        yield Increment(counters.KIND_COUNTS, {"kind": record.kind}, "total", 2)

    return SimpleNamespace(VERSION=counters.VERSION + 1, TABLES=counters.TABLES, project=project, **changes)


COUNTED = Query("SELECT SUM(total) FROM kind_counts", {}, number)


async def counted(ledger: Any) -> int:
    async with ledger.reader.view() as view:
        return int(await view.ask(COUNTED))


async def test_rebuilt_equals_live_and_search_goes_on(open_one: Open) -> None:
    ledger = await open_one()
    seqs = [await ledger.write(note(f"text {n}"), call=AGENT) for n in range(20)]
    await ledger.write(redact(seqs[3]), call=HUMAN)

    assert await ledger.rebuild() == 22
    await ledger.write(redact(seqs[4]), call=HUMAN)
    await ledger.write(note("after"), call=AGENT)

    assert (await ledger.verify(projections=True)).problems == ()
    assert not (await ledger.state()).lease.held


async def test_a_projection_that_raises_fails_its_write_alone_and_is_named(open_one: Open) -> None:
    ledger = await open_one(program=with_counters(Broken()))

    answers = await outcomes(ledger.write(note(text), call=AGENT) for text in ("a", "poison", "b"))

    assert [answer.ok for answer in answers] == [True, False, True]
    assert isinstance(answers[1].error, ProjectionError)
    assert "'counters' cannot follow event 3 (evidence_recorded)" in str(answers[1].error)
    assert await notes(ledger) == ["a", "b"]
    assert (await ledger.verify()).ok


async def test_a_projection_that_raises_in_a_rebuild_stops_writes_and_is_named(open_one: Open) -> None:
    first = await open_one()
    await first.write(note("poison"), call=AGENT)
    await first.aclose()
    ledger = await open_one(program=with_counters(Broken()))
    before = await counted(ledger)

    with pytest.raises(ProjectionError, match="counters"):
        await ledger.rebuild()
    with pytest.raises(ProjectionError, match="counters"):
        await ledger.write(note("no more"), call=AGENT)

    assert await counted(ledger) == before
    state = await ledger.state()
    assert (state.degraded, state.lease.held) == ("projection_failed", False)


async def test_after_an_update_writes_wait_for_the_rebuild_and_reads_do_not(
    open_one: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await open_one()
    await first.write(note("a"), call=AGENT)
    await first.aclose()
    go_on = threading.Event()

    def project(record: Recorded) -> Iterator[Change]:
        assert go_on.wait(10)
        yield Increment(counters.KIND_COUNTS, {"kind": record.kind}, "total", 2)

    slow = SimpleNamespace(VERSION=counters.VERSION + 1, TABLES=counters.TABLES, project=project)
    ledger = await open_one(program=with_counters(slow))
    monkeypatch.setattr(catchup, "REBUILD_WAIT_S", 0.05)

    assert await notes(ledger) == ["a"]
    assert (await ledger.state()).degraded == "rebuilding"
    with pytest.raises(RebuildingError, match=r"0 % done"):
        await ledger.write(note("b"), call=AGENT)
    go_on.set()
    monkeypatch.setattr(catchup, "REBUILD_WAIT_S", 10)
    await ledger.write(note("b"), call=AGENT)

    assert (await ledger.state()).degraded == ""
    assert await counted(ledger) == 2 * len(await kinds(ledger))
    assert (await ledger.verify(projections=True)).ok


async def test_all_who_wait_for_a_rebuild_write_after_it(open_one: Open) -> None:
    first = await open_one()
    await first.write(note("a"), call=AGENT)
    await first.aclose()
    go_on = threading.Event()

    def project(record: Recorded) -> Iterator[Change]:
        assert go_on.wait(10)
        yield from counters.project(record)

    slow = SimpleNamespace(VERSION=counters.VERSION + 1, TABLES=counters.TABLES, project=project)
    ledger = await open_one(program=with_counters(slow))
    writing = [asyncio.create_task(ledger.write(note(text), call=AGENT)) for text in "bcd"]
    await asyncio.sleep(0.05)
    go_on.set()

    assert [answer.error for answer in await outcomes(writing)] == [None, None, None]
    assert sorted(str(text) for text in await notes(ledger)) == ["a", "b", "c", "d"]


async def test_a_cancelled_rebuild_is_begun_anew(open_one: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pmm_mcp.ledger.sqlite.ledger.CATCH_UP_S", 0)
    first = await open_one()
    await first.write(note("a"), call=AGENT)
    await first.aclose()
    ledger = await open_one(program=with_counters(newer()))
    running = ledger._catch_up._running
    assert running is not None
    running.cancel()

    answers = await outcomes(ledger.write(note(text), call=AGENT) for text in "bcd")

    assert {type(answer.error) for answer in answers} <= {RebuildingError, type(None)}
    await ledger.write(note("e"), call=AGENT)
    assert await counted(ledger) == 2 * len(await kinds(ledger))


async def test_closing_ends_a_rebuild_and_the_next_open_begins_it_anew(
    open_one: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pmm_mcp.ledger.sqlite.replay.BATCH", 2)
    first = await open_one()
    for n in range(10):
        await first.write(note(f"{n}"), call=AGENT)
    await first.aclose()
    started, go_on = threading.Event(), threading.Event()

    def project(record: Recorded) -> Iterator[Change]:
        started.set()
        assert go_on.wait(10)
        yield from counters.project(record)

    slow = SimpleNamespace(VERSION=counters.VERSION + 1, TABLES=counters.TABLES, project=project)
    closing = await open_one(program=with_counters(slow))
    await asyncio.to_thread(started.wait, 10)
    ended = asyncio.create_task(closing.aclose())
    await asyncio.sleep(0.05)
    go_on.set()
    await ended

    ledger = await open_one(program=with_counters(newer()))
    await ledger.write(note("after"), call=AGENT)
    assert await counted(ledger) == 2 * 12
    assert (await ledger.verify(projections=True)).ok


async def test_an_older_program_may_read_but_not_write(open_one: Open) -> None:
    old = await open_one()
    await old.write(note("a"), call=AGENT)
    new = await open_one(program=with_counters(newer()))
    await new.write(note("b"), call=AGENT)

    for _ in range(2):
        with pytest.raises(ProgramTooOldError):
            await old.write(note("c"), call=AGENT)
    with pytest.raises(ProgramTooOldError):
        async with old.keep_lease():
            pass
    assert await notes(old) == ["a", "b"]
    assert (await old.verify()).ok
    assert (await old.state()).lease.holder.role == "test 2"

    reopened = await open_one()
    assert await notes(reopened) == ["a", "b"]
    with pytest.raises(ProgramTooOldError):
        await reopened.write(note("c"), call=AGENT)


async def test_two_new_programs_rebuild_once_and_both_write(open_one: Open) -> None:
    old = await open_one()
    await old.write(note("a"), call=AGENT)
    one, two = await open_one(program=with_counters(newer())), await open_one(program=with_counters(newer()))

    await asyncio.gather(*(ledger.write(note("x"), call=AGENT) for ledger in (one, two)))

    assert await counted(one) == 2 * len(await kinds(one))


async def test_what_a_dead_rebuilder_left_is_said_first(open_one: Open, tmp_path: Any) -> None:
    """A takeover by a rebuild writes no event at once; the next event is still the first under its token."""
    ledger = await open_one()
    await ledger.write(note("a"), call=AGENT)
    await as_if_killed_while_holding(tmp_path)
    await ledger.rebuild()
    await ledger.write(note("b"), call=AGENT)

    assert (await kinds(ledger))[-2:] == ["lease_taken_over", "evidence_recorded"]
    assert (await ledger.verify(projections=True)).ok


async def as_if_killed_while_holding(tmp_path: Any) -> None:
    import sqlite3
    from contextlib import closing

    def work() -> None:
        with closing(sqlite3.connect(tmp_path / "l.db", isolation_level=None)) as db:
            db.execute("UPDATE writer_lease SET holder = 'f00d', held = 1, fence = fence + 1")

    await asyncio.to_thread(work)
