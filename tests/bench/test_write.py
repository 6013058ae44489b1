"""Writing: what governance costs on top of the disk, and what committing in groups wins back."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pmm_mcp.bootstrap import App
from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.events.memory import EvidenceRecorded
from pmm_mcp.domain.records import Draft
from pmm_mcp.queries import events
from tests.bench.conftest import Board
from tests.bench.ledgers import CALL, LARGE, Words, copy_of, ledger_of
from tests.bench.minds import app_on
from tests.bench.plain import plain_log
from tests.bench.report import Row
from tests.bench.timing import MICRO, Subject, side_by_side

pytestmark = pytest.mark.bench

WRITES = 600
MORE_US_MAX = 200
RECORD_BYTES = 450
"""About as many as the record of a piece of evidence has, apart from its text."""
CALLERS = 32
WRITES_A_CALLER = 30
SPEED_UP_MIN = 4.0


def evidence_of(app: App, text: Callable[[], str]) -> Subject:
    """A write of one piece of evidence; each says something else."""

    async def write() -> None:
        draft = Draft(EvidenceRecorded(), {"content": Admitted(text())})
        await app.ledger.write(lambda tx: tx.append(draft), call=CALL)

    return write


async def test_durable_write(board: Board, scratch: Path) -> None:
    """One event with its projections and its index rows, against one plain insert of the same bytes."""
    words = Words("writes")
    large = await copy_of(await ledger_of(events=LARGE), scratch / "large.db")
    async with app_on(scratch / "empty.db", large) as (empty, grown):
        write = evidence_of(empty, lambda: words.text(40, 50))
        await write()
        async with empty.ledger.reader.view() as view:
            (last,) = await view.ask(events.page(kinds=("evidence_recorded",), limit=1))
        data = bytes(RECORD_BYTES) + (last.texts["content"] or "").encode()
        with plain_log(scratch / "plain.db") as log:

            async def insert() -> None:
                log.insert(data)

            times = await side_by_side(
                {
                    "plain": insert,
                    "empty": write,
                    "grown": evidence_of(grown, lambda: words.text(40, 50)),
                },
                rounds=WRITES,
                warm_up=20,
            )
    floor = times["plain"]
    for name, what in (("empty", "one durable write"), ("grown", f"the same, after {LARGE} events")):
        more_us = (times[name].p50_s - floor.p50_s) * MICRO
        board.add(
            Row(
                what=what,
                measured=times[name].us(),
                floor=f"plain insert {floor.p50_us()}",
                figure=f"+{more_us:.0f} µs",
                target=f"≤ +{MORE_US_MAX} µs",
                met=more_us <= MORE_US_MAX,
                numbers={**times[name].numbers("write"), **floor.numbers("plain")},
            )
        )


async def test_concurrent_writes(board: Board, scratch: Path) -> None:
    """What 32 callers get through together, against one caller who waits for each answer."""
    words = Words("callers")
    texts = [words.text(40, 50) for _ in range(CALLERS * WRITES_A_CALLER)]

    async def rate(app: App, callers: int, writes: int) -> float:
        said = iter(texts)

        async def one() -> None:
            write = evidence_of(app, lambda: next(said))
            for _ in range(writes):
                await write()

        started = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(callers)))
        return callers * writes / (time.perf_counter() - started)

    async with app_on(scratch / "l.db") as (app,):
        await rate(app, 1, 50)
        rounds = [(await rate(app, 1, 300), await rate(app, CALLERS, WRITES_A_CALLER)) for _ in range(7)]
    single, together = (sorted(found)[len(found) // 2] for found in zip(*rounds, strict=True))
    board.add(
        Row(
            what=f"{CALLERS} callers at once",
            measured=f"{together:,.0f} writes/s",
            floor=f"one caller {single:,.0f} writes/s",
            figure=f"{together / single:.1f} ×",
            target=f"≥ {SPEED_UP_MIN:.0f} ×",
            met=together / single >= SPEED_UP_MIN,
            numbers={"single_per_s": single, "together_per_s": together},
        )
    )
