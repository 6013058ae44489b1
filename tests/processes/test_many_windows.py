"""Several server processes on one ledger, each with a client of its own."""

import asyncio
import time
from pathlib import Path

import pytest
from mcp import Client

from tests.processes.servers import ask, server

WINDOWS = 4


@pytest.mark.timeout(300)
@pytest.mark.parametrize("records", [40, pytest.param(500, marks=pytest.mark.slow)])
async def test_four_windows_writing_at_once_lose_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], records: int
) -> None:
    """Each records through its own server; the worst wait is printed."""

    async def write(client: Client, window: int) -> tuple[set[str], float]:
        ids, worst_s = set(), 0.0
        for n in range(records):
            began = time.perf_counter()
            answer = await ask(client, "pmm_record", content=f"window {window} saw thing {n}")
            worst_s = max(worst_s, time.perf_counter() - began)
            ids.add(answer["id"])
        return ids, worst_s

    async with (
        server(tmp_path, name="a") as a,
        server(tmp_path, name="b") as b,
        server(tmp_path, name="c") as c,
        server(tmp_path, name="d") as d,
    ):
        began = time.perf_counter()
        outcomes = await asyncio.gather(*(write(client, n) for n, client in enumerate((a, b, c, d))))
        spent_s = time.perf_counter() - began
        status = await ask(a, "pmm_status", brief=False)
        verified = await ask(a, "pmm_ledger_verify", projections=True)

    ids = set().union(*(found for found, _ in outcomes))
    worst_s = max(worst for _, worst in outcomes)
    with capsys.disabled():
        total = WINDOWS * records
        print(f"\n{total} records by {WINDOWS} windows in {spent_s:.1f} s, worst wait {worst_s:.3f} s")
    assert len(ids) == WINDOWS * records
    assert status["counts"]["evidence_recorded"] == WINDOWS * records
    assert verified["ok"], verified["problems"]
