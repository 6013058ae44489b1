"""Verifying through the service: in the time a call may take, or for as long as it takes."""

from pathlib import Path

import pytest

from pmm_mcp.domain.errors import InvalidArgumentError
from tests.apps import mind_of


async def test_verifying_within_a_budget_says_where_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pmm_mcp.ledger.sqlite.verify._EVENTS_AT_ONCE", 4)
    async with mind_of(tmp_path) as mind:
        for n in range(8):
            await mind.record(f"fact {n}")
        head = await mind.head()
        first = await mind.app.log.verify(budget_s=0)
        rest = await mind.app.log.verify(since_last=True, budget_s=1_000)

    assert (first.ok, first.checked, first.head) == (True, 4, head)
    assert first.notice is not None
    assert "from_seq 5" in first.notice
    assert (rest.ok, rest.checked, rest.notice) == (True, head - 4, None)


async def test_replaying_a_large_ledger_is_for_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pmm_mcp.services.ledger.REPLAYED_MAX", 1)
    async with mind_of(tmp_path) as mind:
        await mind.record("a fact")
        with pytest.raises(InvalidArgumentError) as caught:
            await mind.app.log.verify(projections=True, budget_s=30)
        unbounded = await mind.app.log.verify(projections=True)

    assert "verify --projections" in str(caught.value.hint)
    assert unbounded.ok


async def test_status_names_who_is_writing(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.record("a fact")
        idle = await mind.app.status.status(call=mind.call, brief=False)
        async with mind.app.ledger.keep_lease():
            busy = await mind.app.status.status(call=mind.call, brief=False)

    assert idle.ledger is not None
    assert busy.ledger is not None
    assert idle.ledger.writer is None
    assert (busy.ledger.writer or "").startswith("test (pid ")
