"""The server as a client meets it: how soon it answers, how long a trivial tool takes, what it weighs."""

import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from pmm_mcp.ledger.sqlite.ledger import open_ledger
from pmm_mcp.system import SystemClock, SystemIds
from tests.bench.conftest import Board
from tests.bench.ledgers import SIZES, copy_of, ledger_of
from tests.bench.peers import BARE, OURS, Peer, environment
from tests.bench.report import ROOT, Row
from tests.bench.timing import MILLI, Subject, Times, side_by_side

pytestmark = pytest.mark.bench

STARTS = 9
CALLS = 300
HANDSHAKE_MAX = 1.2
ROUND_TRIP_MAX = 1.5
MEMORY_MB_MAX = 90
MEGABYTE = 1_000_000


async def ledgers(scratch: Path) -> dict[str, Path]:
    """An empty ledger, and the largest there is."""
    empty = scratch / "empty.db"
    async with open_ledger(empty, clock=SystemClock(), ids=SystemIds(), role="bench"):
        pass
    large = await copy_of(await ledger_of(events=SIZES[-1]), scratch / "large.db")
    return {"empty ledger": empty, f"{SIZES[-1]} events": large}


async def test_handshake(board: Board, scratch: Path) -> None:
    """From the start of the process to the answer, everything in the page cache."""
    commands: dict[str, tuple[Sequence[str], dict[str, str], str]] = {
        "bare": (BARE, environment(scratch), "events")
    }
    for name, path in (await ledgers(scratch)).items():
        commands[name] = (OURS, environment(scratch, db=str(path)), "pmm_status")
    answered: dict[str, list[float]] = {name: [] for name in commands}
    called: dict[str, list[float]] = {name: [] for name in commands}
    memory: dict[str, int] = {}
    for start in range(-1, STARTS):
        for name, (arguments, env, tool) in commands.items():
            with Peer(arguments, env) as peer:
                peer.initialize()
                first_s = peer.elapsed_s()
                peer.call(tool)
                second_s = peer.elapsed_s()
                memory[name] = peer.resident_bytes()
            if start >= 0:
                answered[name].append(first_s)
                called[name].append(second_s)
    for values, what in ((answered, "handshake"), (called, "first status")):
        floor = Times(values["bare"])
        for name in commands:
            if name == "bare":
                continue
            found = Times(values[name])
            ratio = found.p50_s / floor.p50_s
            board.add(
                Row(
                    what=f"{what}, {name}",
                    measured=found.ms(),
                    floor=f"bare server {floor.p50_ms()}",
                    figure=f"{ratio:.2f} ×",
                    target=f"≤ {HANDSHAKE_MAX} ×" if what == "handshake" else "–",
                    met=ratio <= HANDSHAKE_MAX if what == "handshake" else None,
                    numbers={**found.numbers("ours"), **floor.numbers("bare")},
                )
            )
    for name, found_bytes in memory.items():
        if name == "bare" or not found_bytes:
            continue
        more = (found_bytes - memory["bare"]) / MEGABYTE
        board.add(
            Row(
                what=f"resident memory, {name}",
                measured=f"{found_bytes / MEGABYTE:.0f} MB",
                floor=f"bare server {memory['bare'] / MEGABYTE:.0f} MB",
                figure=f"+{more:.0f} MB",
                target=f"≤ +{MEMORY_MB_MAX} MB",
                met=more <= MEMORY_MB_MAX,
                numbers={"ours_bytes": found_bytes, "bare_bytes": memory["bare"]},
            )
        )


async def test_round_trip(board: Board, scratch: Path) -> None:
    """A trivial tool, asked over a raw pipe: a page of one event, and how things stand."""
    path = list((await ledgers(scratch)).values())[-1]
    ours = environment(scratch, db=str(path), toolsets="all")
    with ExitStack() as stack:
        pmm = stack.enter_context(Peer(OURS, ours))
        idle = stack.enter_context(Peer(BARE, environment(scratch)))
        reading = stack.enter_context(Peer((*BARE, str(path)), environment(scratch)))
        for peer in (pmm, idle, reading):
            peer.initialize()

        async def page() -> None:
            pmm.call("pmm_ledger_events", after=100, limit=1)

        async def status() -> None:
            pmm.call("pmm_status")

        async def same() -> None:
            reading.call("events", after=100, limit=1)

        async def nothing() -> None:
            idle.call("events")

        times = await side_by_side(
            {"page": page, "status": status, "same": same, "nothing": nothing}, rounds=CALLS, warm_up=20
        )
    add_round_trip(board, "one event over stdio, raw peer", times["page"], times["same"])
    board.add(
        Row(
            what="pmm_status over stdio, raw peer",
            measured=times["status"].ms(),
            floor=f"bare, no work {times['nothing'].p50_ms()}",
            figure=f"+{(times['status'].p50_s - times['nothing'].p50_s) * MILLI:.2f} ms",
            numbers={**times["status"].numbers("status"), **times["nothing"].numbers("bare_idle")},
        )
    )


async def test_round_trip_of_the_sdk(board: Board, scratch: Path) -> None:
    """The same page of one event, asked by the SDK's own client."""
    path = list((await ledgers(scratch)).values())[-1]

    def parameters(*arguments: str) -> StdioServerParameters:
        env = environment(scratch, db=str(path), toolsets="all")
        return StdioServerParameters(command=sys.executable, args=[*arguments], env=env, cwd=ROOT)

    def calling(client: Client, tool: str) -> Subject:
        async def call() -> None:
            result = await client.call_tool(tool, {"after": 100, "limit": 1})
            assert not result.is_error

        return call

    async with AsyncExitStack() as stack:
        pmm = await stack.enter_async_context(Client(parameters(*OURS)))
        bare = await stack.enter_async_context(Client(parameters(*BARE, str(path))))
        times = await side_by_side(
            {"page": calling(pmm, "pmm_ledger_events"), "same": calling(bare, "events")},
            rounds=CALLS,
            warm_up=20,
        )
    add_round_trip(board, "one event over stdio, SDK client", times["page"], times["same"])


def add_round_trip(board: Board, what: str, ours: Times, bare: Times) -> None:
    ratio = ours.p50_s / bare.p50_s
    board.add(
        Row(
            what=what,
            measured=ours.ms(),
            floor=f"bare, same read {bare.p50_ms()}",
            figure=f"{ratio:.2f} ×",
            target=f"≤ {ROUND_TRIP_MAX} ×",
            met=ratio <= ROUND_TRIP_MAX,
            numbers={**ours.numbers("ours"), **bare.numbers("bare")},
        )
    )
