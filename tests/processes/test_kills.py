"""A server that is killed at any moment loses nothing that it acknowledged."""

import asyncio
import random
from pathlib import Path

import pytest

from tests.processes.peer import Peer

IN_FLIGHT = 8


@pytest.mark.timeout(900)
@pytest.mark.parametrize("points", [5, pytest.param(50, marks=pytest.mark.slow)])
async def test_kill_9_at_random_points_loses_no_acknowledged_event(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], points: int
) -> None:
    """Eight calls are in flight at every kill; each is retried after the restart and found exactly once."""
    chance = random.Random(2026)
    number, acknowledged_in_all = 0, 0
    expected: dict[str, str] = {}
    peer = await Peer.start(tmp_path)
    for point in range(points):
        calls = {}
        for _ in range(IN_FLIGHT):
            number += 1
            request_id, content = f"r{number}", f"thing {number}, seen before kill {point}"
            calls[number] = (request_id, content)
            expected[request_id] = content
            peer.call(number, "pmm_record", content=content, request_id=request_id)
        await asyncio.sleep(0)
        # From "nothing was read yet" to "all is answered"; the later ones are rarer, as in life.
        waited_for = chance.choice((0, 0, 1, 2, 4, 6))
        if waited_for:
            await peer.answer(min(calls) + waited_for - 1)
        else:
            await asyncio.wait({asyncio.ensure_future(peer.process.wait())}, timeout=chance.random() * 0.3)
        await peer.kill()
        acknowledged = {
            key: peer.answers[key]["result"]["structuredContent"] for key in calls if key in peer.answers
        }
        acknowledged_in_all += len(acknowledged)

        peer = await Peer.start(tmp_path)
        for key, (request_id, content) in calls.items():
            peer.call(key, "pmm_record", content=content, request_id=request_id)
        for key in calls:
            answer = (await peer.answer(key))["result"]
            assert not answer.get("isError"), answer
            retried = answer["structuredContent"]
            if key in acknowledged:
                assert retried["id"] == acknowledged[key]["id"]
                assert retried["repeated"] is True

    peer.call(-1, "pmm_status", brief=False)
    peer.call(-2, "pmm_ledger_verify", projections=True)
    counts = (await peer.answer(-1))["result"]["structuredContent"]["counts"]
    verified = (await peer.answer(-2))["result"]["structuredContent"]
    assert await peer.close() == 0
    with capsys.disabled():
        print(f"\n{points} kills, {acknowledged_in_all} of {len(expected)} calls acknowledged before them")
    assert counts["evidence_recorded"] == len(expected)
    assert verified["ok"], verified["problems"]
