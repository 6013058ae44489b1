"""Real processes on one ledger: killed, stopped and woken, and many at once."""

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from pmm_mcp.domain.errors import LedgerBusyError
from pmm_mcp.ledger.sqlite.ledger import SqliteLedger
from pmm_mcp.ledger.sqlite.writer import WriterSettings
from pmm_mcp.system import SystemClock, SystemIds
from tests.ledger.conftest import Open
from tests.ledgers import AGENT, history, kinds, note, notes

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


class Process:
    """A writer in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid

    async def said(self) -> list[str]:
        """The next line of its output, as words; none at its end."""
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            return (await self._process.stdout.readline()).decode().split()

    async def rest(self) -> list[list[str]]:
        """Everything it says until it ends."""
        lines = []
        while line := await self.said():
            lines.append(line)
        return lines

    def tell(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n".encode())

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    async def end(self) -> int:
        async with asyncio.timeout(PATIENCE_S):
            return await self._process.wait()


@asynccontextmanager
async def writing(path: Path, mode: str, *arguments: object) -> AsyncGenerator[Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.writer_process", str(path), mode, *map(str, arguments)),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield Process(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        # Closes the pipes.
        cast(Any, process)._transport.close()


@pytest.fixture
def open_real(open_one: Open) -> Callable[..., Any]:
    """Open the ledger in this process, with the clocks and the randomness of the machine."""

    async def open_it(**settings: Any) -> SqliteLedger:
        return await open_one(clock=SystemClock(), ids=SystemIds(), settings=WriterSettings(**settings))

    return open_it


async def taken_over(ledger: SqliteLedger) -> list[str]:
    return [
        record.event.model_dump()["reason"]
        for record in await history(ledger)
        if record.kind == "lease_taken_over"
    ]


async def test_a_killed_holder_is_followed_at_once(tmp_path: Path, open_real: Callable[..., Any]) -> None:
    ledger = await open_real()
    async with writing(tmp_path / "l.db", "keep") as process:
        assert await process.said() == ["ready"]
        process.tell("a")
        assert (await process.said())[0] == "ack"
        with pytest.raises(LedgerBusyError, match=rf"keep \(pid {process.pid} on "):
            await (await open_real(lease_wait_s=0.05)).write(note("too early"), call=AGENT)
        process.send(signal.SIGKILL)
        await process.end()

        async with asyncio.timeout(2):
            await ledger.write(note("b"), call=AGENT)

    assert await notes(ledger) == ["a", "b"]
    assert await taken_over(ledger) == ["dead"]
    records = await history(ledger)
    first = next(record for record in records if record.fence == records[-1].fence)
    assert first.kind == "lease_taken_over"
    assert (await ledger.verify(projections=True)).ok


async def test_a_stopped_holder_is_pushed_aside_and_refused_when_it_wakes(
    tmp_path: Path, open_real: Callable[..., Any]
) -> None:
    ledger = await open_real(lease_ttl_s=1, lease_wait_s=0.5)
    async with writing(tmp_path / "l.db", "keep", 0, 1) as process:
        assert await process.said() == ["ready"]
        process.tell("a")
        assert (await process.said())[0] == "ack"
        # It lives, if only by its heartbeat: nobody gets in, for longer than a lease lasts.
        for _ in range(4):
            with pytest.raises(LedgerBusyError):
                await ledger.write(note("too early"), call=AGENT)
        await _stop_between_writes(process, ledger)
        process.send(signal.SIGCONT)
        process.tell("stale")
        assert await process.said() == ["error", "fence_lost"]
        process.tell("stale still")
        assert await process.said() == ["error", "fence_lost"]
        process.tell("")
        assert await process.end() == 0

    assert await notes(ledger) == ["a", "b"]
    assert await taken_over(ledger) == ["expired"]
    assert (await ledger.verify(projections=True)).ok


async def _stop_between_writes(process: Process, ledger: SqliteLedger) -> None:
    """Stop it, and write in its place; if it was stopped inside its heartbeat, let it finish that."""
    for attempt in range(20):
        if attempt % 5 == 0:
            process.send(signal.SIGCONT)
            await asyncio.sleep(0.05)
            process.send(signal.SIGSTOP)
        try:
            await ledger.write(note("b"), call=AGENT)
        except LedgerBusyError:
            continue
        return
    pytest.fail("the stopped holder was never pushed aside")


async def test_a_holder_stopped_inside_a_write_is_named_and_loses_nothing(
    tmp_path: Path, open_real: Callable[..., Any]
) -> None:
    ledger = await open_real(lease_wait_s=0.2)
    await ledger.write(note("a"), call=AGENT)
    async with writing(tmp_path / "l.db", "inside") as process:
        assert await process.said() == ["ready"]
        process.send(signal.SIGSTOP)
        with pytest.raises(LedgerBusyError) as caught:
            await ledger.write(note("b"), call=AGENT)
        assert caught.value.code == "ledger_busy"
        assert f"pid {process.pid} " in str(caught.value)
        process.send(signal.SIGCONT)
        process.tell("")
        assert (await process.said())[0] == "ack"
        assert await process.end() == 0

    await ledger.write(note("c"), call=AGENT)
    assert await notes(ledger) == ["a", "inside", "c"]


@pytest.mark.parametrize("mode", ["one by one", "burst"])
@pytest.mark.parametrize(
    ("each", "worst_ms"),
    [(20, 10_000), pytest.param(500, 2_000, marks=[pytest.mark.slow, pytest.mark.timeout(600)])],
)
async def test_eight_processes_write_at_once_and_everything_is_there_once(
    tmp_path: Path, open_real: Callable[..., Any], mode: str, each: int, worst_ms: int
) -> None:
    """They also create the file together."""
    async with AsyncExitStack() as stack:
        processes = [
            await stack.enter_async_context(writing(tmp_path / "l.db", mode, each)) for _ in range(8)
        ]
        said = [
            line for lines in await asyncio.gather(*(each.rest() for each in processes)) for line in lines
        ]
        assert {await process.end() for process in processes} == {0}
    answers = [line for line in said if line != ["ready"]]
    ledger = await open_real()

    assert {line[0] for line in answers} == {"ack"}
    written = [record.seq for record in await history(ledger) if record.kind == "evidence_recorded"]
    assert sorted(int(line[1]) for line in answers) == written
    assert len(written) == 8 * each
    if mode == "one by one":
        assert max(int(line[2]) for line in answers) < worst_ms
    assert await taken_over(ledger) == []
    assert (await ledger.verify(projections=True)).ok


@pytest.mark.parametrize(
    "points", [6, pytest.param(200, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
)
@pytest.mark.parametrize("mode", ["one by one", "burst"])
async def test_a_kill_at_any_moment_loses_nothing_acknowledged(
    tmp_path: Path, open_real: Callable[..., Any], points: int, mode: str
) -> None:
    chance = random.Random(points)
    acknowledged: set[int] = set()
    for point in range(points):
        async with writing(tmp_path / "l.db", mode, 400) as process:
            assert await process.said() == ["ready"]
            if point == 0:  # On a busy machine, the others may all come before the first answer.
                acknowledged.add(int((await process.said())[1]))
            await asyncio.sleep(chance.random() * 0.1)
            process.send(signal.SIGKILL)
            acknowledged |= {int(line[1]) for line in await process.rest() if len(line) == 3}
            await process.end()
        ledger = await open_real()
        found = await ledger.verify(projections=True)
        assert found.problems == ()
        await ledger.write(note("alive"), call=AGENT)
        await ledger.aclose()

    ledger = await open_real()
    assert acknowledged
    assert acknowledged <= {
        record.seq for record in await history(ledger) if record.kind == "evidence_recorded"
    }
    assert set(await taken_over(ledger)) <= {"dead"}
    assert (await kinds(ledger)).count("ledger_opened") == 1
