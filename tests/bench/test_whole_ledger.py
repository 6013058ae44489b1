"""What goes through a whole ledger: verifying it, rebuilding its read tables, and how large it is."""

from pathlib import Path

import pytest

from pmm_mcp.ledger.sqlite.verify import verify_file
from tests.bench.conftest import Board
from tests.bench.ledgers import FULL, LARGE, SIZES, copy_of, ledger_of
from tests.bench.minds import app_on
from tests.bench.plain import bytes_of, content_bytes, read_and_hash
from tests.bench.report import Row
from tests.bench.timing import side_by_side

pytestmark = pytest.mark.bench

LARGEST = SIZES[-1] if FULL else LARGE
VERIFY_SHARE_MIN = 0.35
VERIFY_PER_S_MIN = 200_000
REBUILD_PER_S_MIN = 20_000


async def test_verify(board: Board, scratch: Path) -> None:
    """All hashes, links and texts, against reading and hashing the same bytes."""
    path = await copy_of(await ledger_of(events=LARGEST), scratch / "l.db")

    async def floor() -> None:
        read_and_hash(path)

    async def chain() -> None:
        assert verify_file(path, storage=False).ok

    async with app_on(path) as (app,):

        async def whole() -> None:
            assert (await app.ledger.verify()).ok

        times = await side_by_side(
            {"floor": floor, "chain": chain, "whole": whole}, rounds=1 if FULL else 5, warm_up=1
        )
    count = read_and_hash(path)
    rates = {name: count / found.p50_s for name, found in times.items()}
    share = rates["whole"] / rates["floor"]
    floor_text = f"read + SHA-256 {rates['floor']:,.0f}/s"
    board.add(
        Row(
            what=f"verify, {count} events, texts too",
            measured=f"{rates['whole']:,.0f} events/s",
            floor=floor_text,
            figure=f"{share:.2f} ×",
            target=f"≥ {VERIFY_SHARE_MIN} ×, {VERIFY_PER_S_MIN:,}/s",
            met=share >= VERIFY_SHARE_MIN and rates["whole"] >= VERIFY_PER_S_MIN,
            numbers={f"{name}_per_s": rate for name, rate in rates.items()},
        )
    )
    storage_s = times["whole"].p50_s - times["chain"].p50_s
    board.add(
        Row(
            what="  of that, hashes, links and texts",
            measured=f"{rates['chain']:,.0f} events/s",
            floor=floor_text,
            figure=f"{rates['chain'] / rates['floor']:.2f} ×",
            numbers={"storage_share": storage_s / times["whole"].p50_s},
        )
    )
    board.add(
        Row(
            what="  of that, SQLite's own check",
            measured=f"{storage_s:.2f} s",
            figure=f"{storage_s / times['whole'].p50_s:.0%} of the time",
        )
    )


async def test_rebuild(board: Board, scratch: Path) -> None:
    """Every read table and the search index, from the events alone."""
    path = await copy_of(await ledger_of(events=LARGEST), scratch / "l.db")
    async with app_on(path) as (app,):
        count = 0

        async def rebuild() -> None:
            nonlocal count
            count = await app.ledger.rebuild()

        times = await side_by_side({"rebuild": rebuild}, rounds=1, warm_up=0)
    rate = count / times["rebuild"].p50_s
    board.add(
        Row(
            what=f"rebuild, {count} events",
            measured=f"{rate:,.0f} events/s",
            target=f"≥ {REBUILD_PER_S_MIN:,}/s",
            met=rate >= REBUILD_PER_S_MIN,
            numbers={"rebuild_per_s": rate},
        )
    )


@pytest.mark.parametrize("events", SIZES[1:])
async def test_size(board: Board, events: int) -> None:
    """The file, against the bytes of its records, hashes and texts alone."""
    path = await ledger_of(events=events)
    ours, least = bytes_of(path), content_bytes(path)
    board.add(
        Row(
            what=f"size, {events} events",
            measured=f"{ours / events:,.0f} bytes an event",
            floor=f"records and texts {least / events:,.0f}",
            figure=f"{ours / least:.1f} ×",
            numbers={"bytes_per_event": ours / events, "content_bytes_per_event": least / events},
        )
    )
