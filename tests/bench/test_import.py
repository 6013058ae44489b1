"""Bringing in the real PMM ledger, verified."""

import asyncio
import json
import os
from hashlib import sha256
from pathlib import Path

import pytest

from pmm_mcp.domain.records import Actor, Call
from pmm_mcp.transfer.pmm import import_pmm
from tests.bench.conftest import Board
from tests.bench.minds import app_on
from tests.bench.report import Row
from tests.bench.timing import Times, side_by_side
from tests.pmm_ledgers import canonical

pytestmark = pytest.mark.bench

SHARED = Path(os.environ.get("PMM_MCP_SHARED") or Path(__file__).parents[3] / "shared")
REAL = SHARED / "data" / "pmm-session-ledger.json"
CALL = Call(actor=Actor(kind="human", name="bench", session="s"))
ROUNDS = 5
S_MAX = 1.0


@pytest.mark.skipif(not REAL.exists(), reason=f"the real PMM ledger is not here: {REAL} (set PMM_MCP_SHARED)")
async def test_import(board: Board, scratch: Path) -> None:
    """Read, check the source's chain, write everything; the floor reads the file and hashes its rows."""
    rows = 0

    async def floor() -> None:
        for row in json.loads(await asyncio.to_thread(REAL.read_bytes)):
            sha256(canonical(row).encode()).digest()

    async def bring_in(number: int) -> float:
        nonlocal rows
        async with app_on(scratch / f"{number}.db") as (app,):

            async def imported() -> None:
                nonlocal rows
                rows = (await import_pmm(app.ledger, REAL, call=CALL)).imported

            times = await side_by_side({"import": imported}, rounds=1, warm_up=0)
            assert (await app.ledger.verify()).ok
            return times["import"].p50_s

    least = (await side_by_side({"floor": floor}, rounds=ROUNDS))["floor"]
    found = Times([await bring_in(number) for number in range(ROUNDS)])
    board.add(
        Row(
            what=f"import of a real PMM ledger, {rows} rows",
            measured=found.ms(),
            floor=f"read + SHA-256 {least.p50_ms()}",
            figure=f"{rows / found.p50_s:,.0f} rows/s",
            target=f"< {S_MAX:.0f} s, verified",
            met=found.p50_s < S_MAX,
            numbers={**found.numbers("import"), **least.numbers("floor")},
        )
    )
