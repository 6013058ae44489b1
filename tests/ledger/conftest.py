"""Ledgers to test, on every engine there is, and the small change of writing to them."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from pmm_mcp.ledger.sqlite.ledger import SqliteLedger, open_ledger
from tests.clocks import ManualClock, SeededIds

Open = Callable[..., Awaitable[SqliteLedger]]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def open_one(tmp_path: Path, clock: ManualClock) -> AsyncGenerator[Open, None]:
    """Open ledgers that are closed after the test: by default on one file, each as a process of its own."""
    opened = 0
    async with AsyncExitStack() as stack:

        async def open_it(name: str = "l.db", **options: Any) -> SqliteLedger:
            nonlocal opened
            opened += 1
            given: dict[str, Any] = {"clock": clock, "ids": SeededIds(str(opened)), "role": f"test {opened}"}
            return await stack.enter_async_context(open_ledger(tmp_path / name, **(given | options)))

        yield open_it


ENGINES = ("sqlite",)


@pytest.fixture(params=ENGINES)
async def ledger(request: pytest.FixtureRequest, open_one: Open) -> SqliteLedger:
    """A ledger of each engine; a second engine is done when the suite is green with it."""
    assert request.param == "sqlite"
    return await open_one()


@pytest.fixture
async def other(ledger: SqliteLedger, open_one: Open) -> SqliteLedger:
    """The same ledger, as another process has it open."""
    return await open_one()
