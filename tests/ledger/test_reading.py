"""Plans on a view: one snapshot, and nothing left behind by whoever fails or leaves."""

import asyncio
import threading

import pytest

from pmm_mcp.domain.errors import RebuildingError
from pmm_mcp.ports import Ledger, Plan, Query
from pmm_mcp.queries import events
from tests.ledgers import AGENT, note

ENDLESS: Query[object] = Query(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n", {}, list
)
NO_SUCH: Query[object] = Query("SELECT 1 FROM no_such_table", {}, list)
IN_TIME_S = 20


def heads(asked: Query[object] | None = None, *, ended: threading.Event | None = None) -> Plan[list[int]]:
    try:
        first: int = yield events.head()
        if asked is not None:
            yield asked
        second: int = yield events.head()
    finally:
        if ended is not None:
            ended.set()
    return [first, second]


async def test_a_plan_sees_what_its_view_sees(ledger: Ledger) -> None:
    await ledger.write(note("before"), call=AGENT)
    async with ledger.reader.view() as view:
        head = await view.ask(events.head())
        await ledger.write(note("meanwhile"), call=AGENT)
        assert await view.carry_out(heads()) == [head, head]
    async with ledger.reader.view() as view:
        assert await view.carry_out(heads()) == [head + 1, head + 1]


async def test_a_question_that_fails_ends_its_plan_and_no_other(ledger: Ledger) -> None:
    ended = threading.Event()
    with pytest.raises(RebuildingError):
        async with ledger.reader.view() as view:
            await view.carry_out(heads(NO_SUCH, ended=ended))
    assert ended.is_set()
    async with ledger.reader.view() as view:
        assert await view.carry_out(heads()) == [1, 1]


async def test_who_leaves_takes_a_plan_along_and_readers_go_on(ledger: Ledger) -> None:
    """More leave than there are connections, so that one that stayed behind would be missed."""

    async def read(asking: threading.Event, ended: threading.Event) -> None:
        def plan() -> Plan[object]:
            try:
                yield events.head()
                asking.set()
                return (yield ENDLESS)
            finally:
                ended.set()

        async with ledger.reader.view() as view:
            await view.carry_out(plan())

    for _ in range(6):
        asking, ended = threading.Event(), threading.Event()
        reading = asyncio.create_task(read(asking, ended))
        assert await asyncio.to_thread(asking.wait, IN_TIME_S)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert await asyncio.to_thread(ended.wait, IN_TIME_S)
    async with ledger.reader.view() as view:
        assert await view.carry_out(heads()) == [1, 1]
