"""A mind that was imported is the one that answers: its events are cited, and the next model sees them."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.pmm_ledgers import PmmLedger, boot, say, small_ledger
from tests.processes.servers import ask, environment, server


def command(home: Path, *arguments: str, **settings: Any) -> subprocess.Popen[str]:
    """Start a command of the command line."""
    return subprocess.Popen(
        [sys.executable, "-m", "pmm_mcp", "--json", *arguments],
        cwd=home,
        env=environment(home, **settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def until(holds: Callable[[], bool], *, timeout_s: float = 60) -> None:
    """Wait for the thing itself, with a limit."""
    with anyio.fail_after(timeout_s):
        while not await anyio.to_thread.run_sync(holds):
            await anyio.lowlevel.checkpoint()


async def test_a_turn_on_an_imported_ledger_cites_it_and_the_next_model_sees_that(tmp_path: Path) -> None:
    ledger = PmmLedger()
    boot(ledger)
    say(ledger, "Which gateway do we use?", "The payment gateway is Adyen, since March.")
    source = ledger.write(tmp_path / "old-mind.json")
    importing = command(tmp_path, "import", "pmm", str(source))
    output, errors = await anyio.to_thread.run_sync(importing.communicate)
    assert importing.returncode == 0, errors
    assert json.loads(output)["mapped"] >= 2

    async with server(tmp_path) as client:
        found = await ask(client, "pmm_search", query="payment gateway Adyen", kinds=["message"])
        imported = found["results"][0]["id"]
    claim = {"subject": "gateway", "value": "Adyen", "evidence": [imported]}
    script = tmp_path / "script.json"
    script.write_text(
        json.dumps(
            [
                {"text": f"It is Adyen.\nCLAIM:fact={json.dumps(claim)}", "expect": imported},
                {"text": "As I said, Adyen.", "expect": "It is Adyen."},
            ]
        )
    )

    async with server(tmp_path, model=f"scripted:{script}") as client:
        first = await ask(client, "pmm_turn", prompt="Which payment gateway was it?")
        second = await ask(client, "pmm_turn", prompt="Are you sure about the gateway?")

    assert first["generation_status"] == "complete", first
    assert imported in first["context"]["items"]
    assert [made["evidence"] for made in first["claims"]] == [[imported]]
    assert first["validation_failures"] == []
    assert second["generation_status"] == "complete", second


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs a system that can stop a process")
async def test_an_import_stopped_past_its_lease_is_taken_over_and_its_next_write_refused(
    tmp_path: Path,
) -> None:
    source = small_ledger(turns=3_000).write(tmp_path / "large.json")
    path = tmp_path / "ledger.db"

    def imported() -> int:
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=1)) as db:
                return int(db.execute("SELECT MAX(seq) FROM events").fetchone()[0] or 0)
        except sqlite3.OperationalError:
            return 0

    def stopped_between_writes() -> bool:
        """Stop it; if that was inside a write, where SQLite's own lock keeps everybody out, let it go on."""
        os.kill(importing.pid, signal.SIGSTOP)
        with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as db:
            try:
                db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                os.kill(importing.pid, signal.SIGCONT)
                return False
            db.execute("ROLLBACK")
        return True

    importing = command(tmp_path, "import", "pmm", str(source), lease_ttl_s=1)
    await until(lambda: imported() > 1_000)
    await until(stopped_between_writes)
    async with server(tmp_path, lease_ttl_s=1) as client:
        recorded = await ask(client, "pmm_record", content="written while the import was asleep")
        taken = await ask(client, "pmm_ledger_events", kinds=["lease_taken_over"])
        os.kill(importing.pid, signal.SIGCONT)
        _, errors = await anyio.to_thread.run_sync(importing.communicate)
        verified = await ask(client, "pmm_ledger_verify", projections=True)

    assert importing.returncode != 0
    assert json.loads(errors.splitlines()[-1])["code"] == "fence_lost"
    assert [event["body"]["reason"] for event in taken["events"]] == ["expired"]
    assert taken["events"][0]["seq"] < int(recorded["id"].removeprefix("ev:"))
    assert verified["ok"], verified["problems"]

    again = command(tmp_path, "import", "pmm", str(source))
    output, errors = await anyio.to_thread.run_sync(again.communicate)
    assert again.returncode == 0, errors
    assert json.loads(output)["total"] == len(json.loads(source.read_text()))
