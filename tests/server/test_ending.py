"""How a server ends: at once, cleanly, and never as a zombie that holds the ledger."""

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from pmm_mcp.bootstrap import App
from pmm_mcp.domain.errors import LedgerUnavailableError
from pmm_mcp.server.desk import Desk
from tests.server.conftest import Start
from tests.server.rooms import MODES, ask, opened, server_at, settings_at
from tests.server.test_stdio import window
from tests.server.wire import LINUX, children, is_running, until

END_S_MAX = 1.0
WATCHFUL = "from pmm_mcp.server.stdio import serve_stdio; serve_stdio(watch_every_s=0.05)"


def script(home: Path, *replies: dict[str, Any]) -> str:
    path = home / "script.json"
    path.write_text(json.dumps(replies))
    return f"scripted:{path}"


def terminals(home: Path) -> list[tuple[str, str]]:
    """How each turn ended, as the ledger file says after the server is gone."""
    with closing(sqlite3.connect(home / "ledger.db")) as db:
        found = db.execute("SELECT record FROM events WHERE kind = 'generation_failure'").fetchall()
        assert db.execute("SELECT count(*) FROM turns WHERE status = 'open'").fetchone() == (0,)
    bodies = [json.loads(record)["body"] for (record,) in found]
    return [(body["status"], body["reason"]) for body in bodies]


def is_held(home: Path) -> bool:
    """Whether somebody still has the right to write."""
    with closing(sqlite3.connect(home / "ledger.db")) as db:
        return bool(db.execute("SELECT held FROM writer_lease").fetchone()[0])


@pytest.mark.parametrize(("how", "patience_s"), [("eof", 40), ("sigterm", 40), ("eof", 0.1)])
def test_pain_20_the_end_closes_the_open_turn_releases_the_lease_and_is_quick(
    tmp_path: Path, start: Start, how: str, patience_s: float
) -> None:
    model = script(tmp_path, {"text": "late", "delay_s": 60})
    wire = start(model=model, turn_patience_s=patience_s)
    number = wire.begin_call("pmm_turn", prompt="think long")
    until(lambda: wire.call("pmm_status")["head"] >= 2)
    if patience_s < 1:
        assert wire.answer(number)["result"]["structuredContent"]["generation_status"] == "running"

    began = time.monotonic()
    if how == "eof":
        wire.close_stdin()
    else:
        wire.process.send_signal(signal.SIGTERM)
    code = wire.wait()
    spent_s = time.monotonic() - began

    assert code == 0
    assert spent_s < END_S_MAX
    assert terminals(tmp_path) == [("interrupted", "cancelled")]
    assert not is_held(tmp_path)


@pytest.mark.skipif(not LINUX, reason="looks into /proc")
def test_pain_20_a_server_whose_wrapper_was_killed_ends_although_stdin_is_open(
    tmp_path: Path, start: Start
) -> None:
    wire = start("sh", "-c", f"'{sys.executable}' -c '{WATCHFUL}'; exit $?")
    wire.call("pmm_record", content="x")
    (pid,) = children(wire.process.pid)
    wire.process.kill()

    until(lambda: not is_running(pid))
    assert not is_held(tmp_path)


@pytest.mark.skipif(not LINUX, reason="looks into /proc")
def test_pain_20_a_server_whose_client_died_behind_a_wrapper_ends(tmp_path: Path, start: Start) -> None:
    """The client is the outer shell; the inner one, a wrapper, outlives it, and we hold stdin open."""
    inner = f"sh -c \"'{sys.executable}' -c '{WATCHFUL}'; exit $?\""
    wire = start("sh", "-c", f"exec 3<&0; {inner} <&3 & wait")
    wire.call("pmm_record", content="x")
    (wrapper,) = children(wire.process.pid)
    (pid,) = children(wrapper)
    wire.process.kill()

    until(lambda: not is_running(pid))
    assert not is_held(tmp_path)


async def ended(client: Client, turn: str) -> dict[str, Any]:
    """Ask for a turn until it has ended."""
    async with asyncio.timeout(10):
        while True:
            found = await ask(client, "pmm_get", id=turn)
            if found["turn"]["generation_status"] != "running":
                return found
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("mode", MODES)
async def test_a_cancelled_turn_is_closed_as_interrupted(tmp_path: Path, mode: str) -> None:
    model = script(tmp_path, {"text": "late", "delay_s": 60})
    async with window(tmp_path, mode, model=model) as client:
        await ask(client, "pmm_status")
        with pytest.raises(MCPError):
            await client.call_tool("pmm_turn", {"prompt": "think long"}, read_timeout_seconds=0.5)
        found = await ended(client, "turn:2")

    assert found["turn"]["generation_status"] == "interrupted"
    assert found["turn"]["generation_failure"]["reason"] == "cancelled"
    assert terminals(tmp_path) == [("interrupted", "cancelled")]


async def test_a_turn_that_takes_long_is_handed_back_and_told_of_once(tmp_path: Path) -> None:
    model = script(tmp_path, {"text": "COMMIT: come back\nHere I am.", "delay_s": 0.8})
    async with window(tmp_path, "legacy", model=model, turn_patience_s=0.1) as client:
        running = await ask(client, "pmm_turn", prompt="take your time")
        found = await ended(client, running["turn"])
        first, second = await ask(client, "pmm_status"), await ask(client, "pmm_status")

    assert running["generation_status"] == "running"
    assert f'pmm_get(id="{running["turn"]}")' in running["notice"]
    assert found["turn"]["assistant"] == "Here I am."
    assert found["turn"]["opened"][0]["text"] == "come back"
    assert f"finished meanwhile: {running['turn']}" in first["notice"]
    assert "finished meanwhile" not in second.get("notice", "")


async def test_pain_09_the_handshake_does_not_wait_for_the_ledger(tmp_path: Path) -> None:
    settings, may_open = await settings_at(tmp_path), asyncio.Event()

    @asynccontextmanager
    async def slow() -> Any:
        await may_open.wait()
        async with opened(settings) as app:
            yield app

    desk = Desk(slow)
    async with asyncio.timeout(20), desk, Client(server_at(desk), mode="legacy") as client:
        assert (await client.list_tools()).tools
        call = asyncio.create_task(client.call_tool("pmm_status", {}))
        await asyncio.sleep(0.05)
        assert not call.done()
        may_open.set()
        assert not (await call).is_error


def test_pain_09_nothing_heavy_is_loaded_before_it_is_needed() -> None:
    heavy = {
        "openai",
        "ollama",
        "typer",
        "rich",
        "numpy",
        "tokenizers",
        "onnxruntime",
        "pmm_mcp.cli",
        "pmm_mcp.server.http",
    }
    code = (
        "import sys; import pmm_mcp.server.stdio as s; from pmm_mcp.server.desk import Desk;"
        "s.build_server(Desk(None), toolsets=('core', 'ledger'), read_only=False);"
        f"print([name for name in {sorted(heavy)} if name in sys.modules])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert loaded.stdout.strip() == "[]"


async def test_a_desk_that_failed_to_open_tries_again_at_the_next_call(tmp_path: Path) -> None:
    settings, attempts = await settings_at(tmp_path), []

    def opener() -> Any:
        attempts.append(1)
        if len(attempts) == 1:
            raise LedgerUnavailableError("not yet")
        return opened(settings)

    async with asyncio.timeout(20), Desk(opener) as desk:
        with pytest.raises(LedgerUnavailableError, match="not yet"):
            await desk.app()
        assert isinstance(await desk.app(), App)

    assert len(attempts) == 2


async def test_a_call_that_is_cancelled_does_not_cancel_the_opening(tmp_path: Path) -> None:
    settings = await settings_at(tmp_path)
    async with asyncio.timeout(20), Desk(lambda: opened(settings)) as desk:
        impatient = asyncio.create_task(desk.app())
        await asyncio.sleep(0)
        impatient.cancel()
        assert isinstance(await desk.app(), App)
