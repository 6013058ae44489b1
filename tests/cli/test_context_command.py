"""What is believed, on the command line: an answer for people, and the same for programs."""

import asyncio
from pathlib import Path

from pmm_mcp.domain.anchors import UNSCOPED
from pmm_mcp.domain.tiers import Tier
from tests.apps import mind_of
from tests.beliefs import believe
from tests.cli.conftest import Cli


def fill(db: Path, *statements: str) -> None:
    async def write() -> None:
        async with mind_of(db.parent, name=db.name) as mind:
            for statement in statements:
                await believe(mind, statement, tier=Tier.QI, anchor=UNSCOPED)

    asyncio.run(write())


def test_what_is_believed_is_shown_with_what_was_left_out(cli: Cli, db: Path) -> None:
    fill(db, "Use otters.", "Use many otters.")
    shown, data = cli("context", "otters", "-n", "1"), cli("context", "otters", "-n", "1", "--json").json

    assert shown.out.startswith(f"{data['rendered']}\n\n")
    assert data["sections"][0]["name"] == "qi"
    assert f"1 left out: {data['left_out'][0]['id']} (max_items)" in shown.out
    assert data["context_id"] in shown.out


def test_when_nothing_is_believed_it_says_so_and_writes_nothing(cli: Cli, db: Path) -> None:
    assert cli("context", "otters").code == 3
    fill(db)
    shown = cli("context", "otters")

    assert shown.code == 0
    assert "nothing is believed here yet" in shown.out
    assert cli("context", "otters", "--max-items", "0", "--json").error["code"] == "invalid_argument"
