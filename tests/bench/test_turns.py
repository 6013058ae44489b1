"""A turn without the model's time, on ledgers of any size: nothing on its way may grow with the ledger."""

from pathlib import Path

import pytest

from pmm_mcp.bootstrap import App
from pmm_mcp.queries import events
from tests.bench.conftest import Board
from tests.bench.ledgers import CALL, SIZES, Words, copy_of, ledger_of
from tests.bench.minds import app_on
from tests.bench.plain import bytes_of, plain_log
from tests.bench.report import Row
from tests.bench.timing import MILLI, Subject, side_by_side

pytestmark = pytest.mark.bench

ROUNDS = 120
SMALLEST_MS_MAX = 15
GROWTH_MAX = 1.5


def turn_of(app: App, words: Words) -> Subject:
    async def turn() -> None:
        result = await app.turns.run(words.text(5, 40), call=CALL)
        assert result.generation_status == "complete"

    return turn


async def test_turn(board: Board, scratch: Path) -> None:
    """Two durable writes, one selection, all effects; the floor is two plain inserts."""
    paths = [await copy_of(await ledger_of(events=size), scratch / f"{size}.db") for size in SIZES]
    sizes_before = [bytes_of(path) for path in paths]
    async with app_on(*paths) as apps:
        heads_before = [await head_of(app) for app in apps]
        subjects = {str(size): turn_of(app, Words("prompts")) for size, app in zip(SIZES, apps, strict=True)}
        with plain_log(scratch / "plain.db") as log:

            async def two_inserts() -> None:
                log.insert(bytes(600))
                log.insert(bytes(1_400))

            times = await side_by_side({"plain": two_inserts, **subjects}, rounds=ROUNDS, warm_up=8)
        heads = [await head_of(app) for app in apps]
    smallest, turns = times[str(SIZES[0])], ROUNDS + 8
    for size, found in times.items():
        if size == "plain":
            continue
        growth = found.p50_s / smallest.p50_s
        is_smallest = found is smallest
        board.add(
            Row(
                what=f"turn without the model, {size} events",
                measured=found.ms(),
                floor=f"two inserts {times['plain'].p50_ms()}",
                figure="" if is_smallest else f"{growth:.2f} × of {SIZES[0]}",
                target=f"p50 ≤ {SMALLEST_MS_MAX} ms" if is_smallest else f"≤ {GROWTH_MAX} ×",
                met=found.p50_s * MILLI <= SMALLEST_MS_MAX if is_smallest else growth <= GROWTH_MAX,
                numbers={**found.numbers("turn"), "growth": growth},
            )
        )
    last = -1
    added = bytes_of(paths[last]) - sizes_before[last]
    board.add(
        Row(
            what=f"size of a turn, after {SIZES[last]} events",
            measured=f"{added / turns:,.0f} bytes",
            figure=f"{(heads[last] - heads_before[last]) / turns:.1f} events",
            numbers={"bytes_per_turn": added / turns},
        )
    )


async def head_of(app: App) -> int:
    async with app.ledger.reader.view() as view:
        return await view.ask(events.head())
