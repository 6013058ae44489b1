"""Withdrawing evidence: it no longer shows nor counts, it stays citable, and its history says why."""

from dataclasses import replace
from pathlib import Path

import pytest

from pmm_mcp.domain.errors import InvalidArgumentError, NotFoundError, PmmError, RequestIdConflictError
from pmm_mcp.services.withdraw import WithdrawResult
from tests.apps import Mind, mind_of, texts
from tests.houses import FILES, house_of
from tests.ledgers import HUMAN, redact


async def withdraw(
    mind: Mind, item: str, *, reason: str = "another pool", request_id: str = ""
) -> WithdrawResult:
    call = replace(mind.call, request_id=request_id)
    return await mind.app.withdrawing.withdraw(item, reason=reason, call=call)


async def test_what_was_withdrawn_shows_in_no_search_and_no_context(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        wrong = await mind.record("The pool is 16.", importance=5, labels=["pool"])
        right = await mind.record("The pool is 32.")
        await withdraw(mind, wrong.id)
        status = await mind.app.status.status(call=mind.call)

        assert await mind.found("pool") == [right.id]
        assert wrong.id not in status.wake_up
        assert "1 documents" in status.wake_up
        assert await mind.is_sound()


async def test_what_was_withdrawn_stays_whole_and_says_who_withdrew_it_and_why(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        seen = await mind.record("The pool is 16.")
        before = await mind.head()
        await withdraw(mind, seen.id, reason=" measured on another pool\n")
        now = await mind.app.items.get(seen.id)
        then = await mind.app.items.get(seen.id, as_of=before)
        citing = await mind.record("so it was believed", source=seen.id)

    assert (now.item.status, now.item.texts["content"]) == ("withdrawn", "The pool is 16.")
    assert [(one.kind, one.actor) for one in now.history] == [
        ("evidence_recorded", "agent"),
        ("evidence_withdrawn", "agent"),
    ]
    assert now.history[-1].summary == "measured on another pool"
    assert (then.item.status, [one.kind for one in then.history]) == (None, ["evidence_recorded"])
    assert [ref.id for ref in citing.refs or []] == [seen.id]


async def test_withdrawing_twice_writes_once(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        seen = await mind.record("The pool is 16.")
        first = await withdraw(mind, seen.id)
        second = await withdraw(mind, seen.id, reason="once more")

        assert texts(await mind.history(), "evidence_withdrawn", "reason") == ["another pool"]
    assert (first.repeated, second.repeated, second.notice) == (None, True, "withdrawn before")


async def test_a_repeated_request_withdraws_once(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        seen = await mind.record("The pool is 16.")
        first = await withdraw(mind, seen.id, request_id="k")
        second = await withdraw(mind, seen.id, request_id="k")

        assert (await mind.kinds()).count("evidence_withdrawn") == 1
    assert (first.repeated, second.repeated, second.id) == (None, True, seen.id)


@pytest.mark.parametrize(("item", "reason"), [("ev:3", "another pool"), ("ev:2", "another reason")])
async def test_a_request_id_stands_for_the_same_withdrawal(tmp_path: Path, item: str, reason: str) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.record("The pool is 16.")
        await mind.record("The pool is 32.")
        await withdraw(mind, "ev:2", request_id="k")
        with pytest.raises(RequestIdConflictError):
            await withdraw(mind, item, reason=reason, request_id="k")


@pytest.mark.parametrize(
    ("item", "reason", "error"),
    [
        ("ev:2", " \n", InvalidArgumentError),
        ("kn:2", "wrong", InvalidArgumentError),
        ("2", "wrong", InvalidArgumentError),
        ("ev:1", "wrong", NotFoundError),
        ("ev:99", "wrong", NotFoundError),
    ],
)
async def test_only_evidence_is_withdrawn_and_only_for_a_reason(
    tmp_path: Path, item: str, reason: str, error: type[PmmError]
) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.record("The pool is 16.")
        head = await mind.head()
        with pytest.raises(error):
            await withdraw(mind, item, reason=reason)
        assert await mind.head() == head


async def test_whoever_leaned_on_it_is_named(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        seen = await house.seen(FILES[0])
        active = await house.believed(supporting_refs=[seen])
        candidate = await house.distill("Use ninja.", supporting_refs=[seen])
        await house.distill("Use bazel.", supporting_refs=[await house.seen(FILES[2])])
        here = Mind(house.mind.app, house.mind.chat, house.call())
        result, again = await withdraw(here, seen), await withdraw(here, seen)

    assert {(one.id, one.statement, one.status) for one in result.dependants} == {
        (active, "Use make.", "promoted"),
        (candidate, "Use ninja.", "candidate"),
    }
    assert result.notice is not None
    assert result.notice.endswith(active)
    assert again.dependants == result.dependants
    assert again.notice == f"withdrawn before; {result.notice}"


async def test_what_was_withdrawn_can_be_recorded_again(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        first = await mind.record("The pool is 16.")
        await withdraw(mind, first.id)
        second = await mind.record("The pool is 16.")

        assert await mind.found("pool") == [second.id]
        assert await mind.is_sound()
    assert (second.duplicate, second.id == first.id) == (False, False)


async def test_withdrawing_what_was_removed_takes_no_second_document(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.record("The pool is 16.")
        await mind.record("The pool is 32.")
        await mind.app.ledger.write(redact(2), call=HUMAN)
        await withdraw(mind, "ev:2")
        status = await mind.app.status.status(call=mind.call)

        assert await mind.is_sound()
    assert "1 documents" in status.wake_up
