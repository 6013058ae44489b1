"""Knowledge and its card, moved by two server processes at the same time: they never disagree."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

from mcp import Client

from tests.processes.servers import ask, server

ROUNDS = 3


def repository(home: Path) -> Path:
    folder = home / "project"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for n in range(20):
        (folder / f"{n}.py").write_text(f"{n}\n")
    return folder


async def any_end(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that may be refused: somebody else may have been there first."""
    return (await client.call_tool(tool, arguments)).structured_content or {}


async def test_two_processes_move_knowledge_and_its_card_and_both_stay_one_belief(tmp_path: Path) -> None:
    cwd = str(await asyncio.to_thread(repository, tmp_path))
    files = iter(range(20))

    async def seen(client: Client, **given: Any) -> str:
        n = next(files)
        recorded = await ask(client, "pmm_record", content=f"seen in {n}", source=f"{n}.py", cwd=cwd, **given)
        return str(recorded["id"])

    async with server(tmp_path, name="one") as one, server(tmp_path, name="two") as two:
        item = (
            await ask(
                one,
                "pmm_knowledge_distill",
                statement="Use make.",
                content="It is there.",
                tier="tool",
                supporting_refs=[await seen(one)],
                cwd=cwd,
            )
        )["id"]
        await ask(two, "pmm_knowledge_promote", id=item, verification_refs=[await seen(two)], reason="x")
        card = (await ask(one, "pmm_card_create", from_id=item, cwd=cwd))["id"]

        async def statuses() -> set[str]:
            return {(await ask(one, "pmm_get", id=each))["item"]["status"] for each in (item, card)}

        async def both(tool: str, **arguments: Any) -> None:
            await asyncio.gather(
                any_end(one, tool, id=item, **arguments), any_end(two, tool, id=card, **arguments)
            )

        assert await statuses() == {"promoted"}
        for _ in range(ROUNDS):
            against = await seen(one)
            await both(
                "pmm_knowledge_demote",
                status="demoted",
                evidence_refs=[against],
                reason="it failed",
                reason_type="contradicted",
            )
            assert await statuses() == {"demoted"}
            answer = await seen(two, answers=against)
            await both("pmm_knowledge_promote", verification_refs=[answer], reason="it works")
            assert await statuses() == {"promoted"}
        verified = await ask(two, "pmm_ledger_verify", projections=True)
        moves = ["knowledge_demoted", "card_demoted"]
        events = (await ask(one, "pmm_ledger_events", kinds=moves, limit=50))["events"]

    assert verified["ok"]
    assert len(events) == 2 * ROUNDS  # Each fell once a round, and neither alone.
