"""A turn from its prompt to its end: one order of events, one terminal, one result for every later look."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pmm_mcp.domain.errors import (
    InvalidArgumentError,
    NotFoundError,
    RequestIdConflictError,
    SecretRefusedError,
    TooLargeError,
    TurnClosedError,
)
from pmm_mcp.domain.records import Recorded
from pmm_mcp.ports import ModelReply, Prompt
from pmm_mcp.providers.offline import OfflineChat
from pmm_mcp.providers.scripted import ScriptedReply
from pmm_mcp.turn.ending import ANOTHER_REPLY
from pmm_mcp.turn.recovery import CLOSED_MAX
from tests.apps import BESIDE, ELSEWHERE, Mind, Reply, body, files_with, lines, mind_of, texts
from tests.clocks import ManualClock

TERMINALS = {"assistant_message", "generation_failure"}
EVERYTHING = lines(
    'REFLECT:{"first": 1}',
    "REF: nowhere#7",
    "CLOSE: co:9999",
    "Here is what I think.",
    "COMMIT: water the plants",
    'CLAIM:fact={"subject": "pool", "value": 32, "evidence": [2]}',
    'REFLECT:{"second": 2}',
    "COMMIT:",
)
BY_THEN = 5.0
"""No wait in these tests takes longer, in seconds."""


async def until(condition: Callable[[], bool]) -> None:
    """Let others run until something holds."""
    async with asyncio.timeout(BY_THEN):
        while not condition():  # noqa: ASYNC110 - the state of others, which signals nothing
            await asyncio.sleep(0)


def terminals(records: list[Recorded]) -> list[Recorded]:
    return [record for record in records if record.kind in TERMINALS]


class Never:
    """A model that is asked and does not answer; `heard` holds once it was asked."""

    name = "scripted:never"

    def __init__(self) -> None:
        self.heard = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def ask(self, _prompt: Prompt) -> ModelReply:
        self.heard.set()
        await self.may_answer.wait()
        return ModelReply(status="complete", text="late but here")

    async def aclose(self) -> None:
        return


class Broken(Never):
    async def ask(self, _prompt: Prompt) -> ModelReply:
        raise RuntimeError("a defect of ours")


# ----------------------------------------------------------------------------------- order and number


async def test_a_reply_and_all_its_effects_are_written_in_one_order_and_two_writes(tmp_path: Path) -> None:
    async with mind_of(tmp_path, EVERYTHING) as mind:
        result = await mind.run("what about the pool?")
        turn = [record for record in await mind.history() if record.kind != "place_seen"][1:]

    assert [record.kind for record in turn] == [
        "user_message", "assistant_message",
        "claim_accepted", "evidence_recorded", "commitment_opened",
        "ledger_referenced", "reflection", "reflection",
        "validation_failure", "validation_failure",
        "retrieval_selection", "turn_metrics",
    ]  # fmt: skip
    assert {record.turn for record in turn[1:]} == {turn[0].seq}
    assert len({record.ts for record in turn[1:]}) == 1, "written by one transaction, at one time"
    assert [record.actor.kind for record in turn] == ["agent"] + 7 * ["model"] + 4 * ["runtime"]
    assert {record.anchor for record in turn} == {mind.call.place.home}
    assert result.event_range.first == turn[0].seq
    assert result.event_range.last == turn[-1].seq == result.head
    assert [failure.line for failure in result.validation_failures] == [3, 8]


async def test_the_prompt_is_on_record_before_the_model_hears_it(tmp_path: Path) -> None:
    model = Never()
    async with mind_of(tmp_path, chat=model) as mind:
        asking = asyncio.create_task(mind.run("on record?"))
        await asyncio.wait_for(model.heard.wait(), BY_THEN)
        before = await mind.kinds()
        model.may_answer.set()
        result = await asyncio.wait_for(asking, BY_THEN)

    assert "user_message" in before
    assert not TERMINALS & set(before)
    assert result.assistant == "late but here"


async def test_a_failing_effect_leaves_nothing_of_the_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All or nothing: the reply goes with its effects, and the turn is closed as interrupted."""

    def broken(**_: object) -> None:
        raise RuntimeError("half way")

    async with mind_of(tmp_path, EVERYTHING) as mind:
        monkeypatch.setattr("pmm_mcp.turn.effects.LedgerReferenced", broken)
        with pytest.raises(RuntimeError, match="half way"):
            await mind.run()
        kinds = await mind.kinds()
        assert await mind.is_sound()

    assert kinds[-1] == "generation_failure"
    assert not {"assistant_message", "claim_accepted", "commitment_opened"} & set(kinds)


# ------------------------------------------------------------------------------------------ statuses


@dataclass(frozen=True, kw_only=True)
class Ended:
    name: str
    reply: Reply
    status: str
    reason: str = ""
    partial: str | None = None


ENDED = (
    Ended(name="complete", reply="COMMIT: x", status="complete"),
    Ended(name="truncated", reply=ScriptedReply(text="COMMIT: x", status="truncated"), status="truncated",
          reason="scripted", partial="COMMIT: x"),
    Ended(name="empty", reply="", status="empty", reason="empty"),
    Ended(name="blank", reply=" \n\t ", status="empty", reason="empty", partial=" \n\t "),
    Ended(name="nothing_but_nul", reply="\x00", status="empty", reason="empty"),
    Ended(name="indeterminate", reply=ScriptedReply(text="COMMIT: x", status="indeterminate"),
          status="indeterminate", reason="scripted", partial="COMMIT: x"),
    Ended(name="transport_error", reply=ScriptedReply(error="rate_limited"), status="transport_error",
          reason="rate_limited"),
    Ended(name="over_a_mebibyte", reply="COMMIT: x\n" + "é" * 600_000, status="truncated",
          reason="too_large"),
)  # fmt: skip


@pytest.mark.parametrize("case", ENDED, ids=lambda case: case.name)
async def test_every_turn_has_one_end_and_only_complete_replies_have_effects(
    tmp_path: Path, case: Ended
) -> None:
    async with mind_of(tmp_path, case.reply) as mind:
        result = await mind.run()
        history = await mind.history()
        assert await mind.is_sound()

    assert result.generation_status == case.status
    assert len(terminals(history)) == 1
    assert len(result.opened) == (case.status == "complete")
    if case.reason:
        assert result.generation_failure is not None
        assert result.generation_failure.reason == case.reason
    if case.partial is not None:
        assert texts(history, "generation_failure", "partial") == [case.partial]


async def test_of_an_overlong_reply_the_first_mebibyte_is_kept(tmp_path: Path) -> None:
    async with mind_of(tmp_path, "é" * 600_000) as mind:
        await mind.run()
        (partial,) = texts(await mind.history(), "generation_failure", "partial")

    assert partial == "é" * (2**20 // 2)


async def test_a_model_of_ours_that_breaks_leaves_an_interrupted_turn(tmp_path: Path) -> None:
    async with mind_of(tmp_path, chat=Broken()) as mind:
        with pytest.raises(RuntimeError, match="a defect"):
            await mind.run()
        (end,) = terminals(await mind.history())

    assert body(end).status == "interrupted"
    assert body(end).reason == "internal"


BAD_PROMPTS = ("", "  \n", "\x00", "\x00 \x00")


@pytest.mark.parametrize("prompt", BAD_PROMPTS, ids=repr)
async def test_an_empty_prompt_is_refused_and_nothing_is_written(tmp_path: Path, prompt: str) -> None:
    async with mind_of(tmp_path) as mind:
        with pytest.raises(InvalidArgumentError):
            await mind.run(prompt)
        with pytest.raises(InvalidArgumentError):
            await mind.app.turns.begin(prompt, call=mind.call)
        assert await mind.kinds() == ["ledger_opened"]


@pytest.mark.parametrize("tokens", [-1, 32_769])
async def test_an_output_budget_has_bounds(tmp_path: Path, tokens: int) -> None:
    async with mind_of(tmp_path, "hi") as mind:
        with pytest.raises(InvalidArgumentError):
            await mind.run(output_tokens=tokens)
        assert (await mind.run(output_tokens=77)).generation_status == "complete"

    assert mind.chat.asked[0].budget_tokens == 77


# ------------------------------------------------------------------------------------ begin and finish


async def test_a_begun_turn_gives_what_a_model_would_be_given(tmp_path: Path) -> None:
    async with mind_of(tmp_path, "hi") as mind:
        await mind.record("The pool holds 32 connections.")
        asked = await mind.run("how many connections?")
        begun = await mind.app.turns.begin("how many connections?", call=mind.call)

    assert begun.user == "how many connections?"
    assert begun.deadline.endswith("Z")
    assert mind.chat.asked[0].user == "how many connections?"
    assert begun.system in mind.chat.asked[0].system
    assert "The pool holds 32 connections." in begun.context
    assert "The pool holds 32 connections." in mind.chat.asked[0].system
    assert asked.context is not None
    assert asked.context.items == ["ev:2"]


async def test_the_context_has_one_id_from_begin_to_every_later_look(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.record("The pool holds 32 connections.")
        begun = await mind.app.turns.begin("which pool?", call=mind.call)
        await mind.record("The pool holds 64 connections.")
        finished = await mind.app.turns.finish(begun.turn, "32", call=mind.call)
        later = await mind.app.turns.result(int(begun.turn[5:]))

    assert finished.context is not None
    assert later.context is not None
    assert begun.context_id == finished.context.context_id == later.context.context_id
    assert finished.context.items == ["ev:2"]


async def test_finishing_twice_returns_the_first_result(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        begun = await mind.app.turns.begin("hello?", call=mind.call)
        first = await mind.app.turns.finish(begun.turn, "one\nCOMMIT: x", call=mind.call)
        head = await mind.head()
        second = await mind.app.turns.finish(begun.turn, "one\nCOMMIT: x", call=mind.call)

        assert await mind.head() == head
    assert second.repeated
    assert second.model_copy(update={"repeated": None, "head": first.head}) == first


async def test_another_reply_to_an_answered_turn_is_kept_without_effects_and_said_so(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        begun = await mind.app.turns.begin("hello?", call=mind.call)
        first = await mind.app.turns.finish(begun.turn, "one\nCOMMIT: x", call=mind.call)
        second = await mind.app.turns.finish(begun.turn, "two\nCOMMIT: y", call=mind.call)
        late = texts(await mind.history(), "late_reply", "reply")
        opened = (await mind.kinds()).count("commitment_opened")
    assert late == ["two\nCOMMIT: y"]
    assert opened == 1
    assert (second.repeated, second.notice) == (True, ANOTHER_REPLY)
    assert second.assistant == first.assistant


async def test_a_reply_closes_no_promise_of_another_project_that_it_was_not_shown(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        (theirs,) = (await mind.at(ELSEWHERE).answer("COMMIT: theirs alone")).opened
        ours = await mind.answer(lines(f"CLOSE: {theirs.id} = nope", f"CLOSE: {theirs.cid}"))
    assert ours.closed == []
    assert [failed.reason for failed in ours.validation_failures] == ["UNKNOWN_COMMITMENT"] * 2


async def test_finishing_an_empty_reply_twice_returns_the_first_result(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        begun = await mind.app.turns.begin("hello?", call=mind.call)
        first = await mind.app.turns.finish(begun.turn, "", call=mind.keyed("k"))
        second = await mind.app.turns.finish(begun.turn, "", call=mind.keyed("k"))
        third = await mind.app.turns.finish(begun.turn, "COMMIT: x", call=mind.call)

    assert [first.generation_status, second.generation_status] == ["empty", "empty"]
    assert second.repeated
    assert third.opened == []


@pytest.mark.parametrize("turn", ["turn:1", "turn:99", "turn:9007199254740991"])
async def test_what_is_no_turn_cannot_be_finished(tmp_path: Path, turn: str) -> None:
    async with mind_of(tmp_path) as mind:
        with pytest.raises(NotFoundError):
            await mind.app.turns.finish(turn, "hi", call=mind.call)


@pytest.mark.parametrize("turn", ["", "7", "ev:2", "turn:0", "turn:-1", "turn:x"])
async def test_what_is_no_id_of_a_turn_is_refused(tmp_path: Path, turn: str) -> None:
    async with mind_of(tmp_path) as mind:
        with pytest.raises(InvalidArgumentError):
            await mind.app.turns.finish(turn, "hi", call=mind.call)


async def test_a_turn_that_a_model_answers_cannot_be_finished_by_a_caller(tmp_path: Path) -> None:
    model = Never()
    async with mind_of(tmp_path, chat=model) as mind:
        asking = asyncio.create_task(mind.run())
        await asyncio.wait_for(model.heard.wait(), BY_THEN)
        with pytest.raises(InvalidArgumentError):
            await mind.app.turns.finish("turn:2", "COMMIT: mine now", call=mind.call)
        model.may_answer.set()
        result = await asyncio.wait_for(asking, BY_THEN)

    assert (result.turn, result.assistant) == ("turn:2", "late but here")


async def test_an_overlong_reply_is_refused_and_the_turn_stays_open(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        begun = await mind.app.turns.begin("hello?", call=mind.call)
        with pytest.raises(TooLargeError):
            await mind.app.turns.finish(begun.turn, "x" * (2**20 + 1), call=mind.call)
        result = await mind.app.turns.finish(begun.turn, "short", call=mind.call)

    assert result.generation_status == "complete"


@pytest.mark.parametrize("deadline_s", [0, -1, 86_401])
async def test_a_deadline_has_bounds(tmp_path: Path, deadline_s: int) -> None:
    async with mind_of(tmp_path) as mind:
        with pytest.raises(InvalidArgumentError):
            await mind.app.turns.begin("hello?", call=mind.call, deadline_s=deadline_s)


# ---------------------------------------------------------------------------------------- recovery


async def test_a_begun_turn_is_closed_by_its_deadline_alone_and_once(tmp_path: Path) -> None:
    clock = ManualClock()
    async with mind_of(tmp_path, clock=clock) as mind:
        begun = await mind.app.turns.begin("hello?", call=mind.call, deadline_s=60)
    async with mind_of(tmp_path, clock=clock, seed="another process") as mind:
        clock.advance(59)
        await mind.record("within time")
        assert not terminals(await mind.history())
        clock.advance(2)
        await mind.record("overdue")
        await mind.record("and again")
        (end,) = terminals(await mind.history())

        assert end.turn == int(begun.turn[5:])
        assert (body(end).status, body(end).reason) == (
            "interrupted",
            "deadline_passed",
        )
        assert end.actor.kind == "runtime"
        with pytest.raises(TurnClosedError):
            await mind.app.turns.finish(begun.turn, "late\nCOMMIT: x", call=mind.call)
        assert texts(await mind.history(), "late_reply", "reply") == ["late\nCOMMIT: x"]
        assert "commitment_opened" not in await mind.kinds()
        assert await mind.found("late") == []


async def test_a_reply_after_the_deadline_is_late_whether_or_not_someone_wrote_in_between(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with mind_of(tmp_path, clock=clock) as mind:
        begun = await mind.app.turns.begin("hello?", call=mind.call, deadline_s=60)
        clock.advance(61)
        with pytest.raises(TurnClosedError):
            await mind.app.turns.finish(begun.turn, "late\nCOMMIT: x", call=mind.call)

        assert (await mind.kinds())[-2:] == ["generation_failure", "late_reply"]
        assert await mind.is_sound()


async def test_a_late_reply_is_kept_once_and_a_different_one_too(tmp_path: Path) -> None:
    clock = ManualClock()
    async with mind_of(tmp_path, clock=clock) as mind:
        begun = await mind.app.turns.begin("hello?", call=mind.call, deadline_s=1)
        clock.advance(2)
        for reply, key in (("a", "k"), ("a", "k"), ("a", ""), ("b", ""), ("", "")):
            with pytest.raises(TurnClosedError):
                await mind.app.turns.finish(begun.turn, reply, call=mind.keyed(key))
        history = await mind.history()

    assert texts(history, "late_reply", "reply") == ["a", "b"]
    assert len(terminals(history)) == 1


async def test_a_turn_whose_owner_is_dead_is_closed_at_the_next_write(tmp_path: Path) -> None:
    model = Never()
    async with mind_of(tmp_path) as survivor:
        async with mind_of(tmp_path, chat=model, seed="owner") as owner:
            asking = asyncio.create_task(owner.run("who?"))
            await asyncio.wait_for(model.heard.wait(), BY_THEN)
            await survivor.record("the owner lives")
            assert not terminals(await survivor.history())
            # The owner goes as a crash would leave it: nothing of it interrupts its turn.
            owner.app.turns._running._tasks.clear()
        await survivor.record("the owner is gone")
        await survivor.record("and stays so")
        (end,) = terminals(await survivor.history())
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    assert (body(end).status, body(end).reason) == ("interrupted", "owner_died")


async def test_a_model_that_answers_after_its_deadline_has_its_reply_kept_as_late(tmp_path: Path) -> None:
    model, clock = Never(), ManualClock()
    async with mind_of(tmp_path, chat=model, clock=clock) as mind:
        asking = asyncio.create_task(mind.run())
        await asyncio.wait_for(model.heard.wait(), BY_THEN)
        clock.advance(601)
        await mind.record("overdue")
        model.may_answer.set()
        result = await asyncio.wait_for(asking, BY_THEN)
        history = await mind.history()

    assert result.generation_status == "interrupted"
    assert texts(history, "late_reply", "reply") == ["late but here"]
    assert len(terminals(history)) == 1


# --------------------------------------------------------------------- leaving, closing, handing back


async def test_a_cancelled_call_closes_its_turn_as_interrupted(tmp_path: Path) -> None:
    model = Never()
    async with mind_of(tmp_path, chat=model) as mind:
        asking = asyncio.create_task(mind.run())
        await asyncio.wait_for(model.heard.wait(), BY_THEN)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    async with mind_of(tmp_path) as mind:
        (end,) = terminals(await mind.history())

    assert (body(end).status, body(end).reason) == ("interrupted", "cancelled")


@pytest.mark.parametrize("steps", range(0, 24, 2))
async def test_a_call_cancelled_at_any_step_leaves_no_open_turn(tmp_path: Path, steps: int) -> None:
    async with mind_of(tmp_path, "hi", "hi") as mind:
        asking = asyncio.create_task(mind.run())
        for _ in range(steps):
            await asyncio.sleep(0.0005)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await mind.app.turns.aclose()
        history = await mind.history()

        assert len(terminals(history)) == sum(record.kind == "user_message" for record in history)


async def test_closing_the_app_interrupts_what_runs(tmp_path: Path) -> None:
    model = Never()
    async with mind_of(tmp_path, chat=model) as mind:
        asking = asyncio.create_task(mind.run())
        await asyncio.wait_for(model.heard.wait(), BY_THEN)
        await mind.app.turns.aclose()
        result = await asyncio.wait_for(asking, BY_THEN)

    assert result.generation_status == "interrupted"
    async with mind_of(tmp_path) as mind:
        assert len(terminals(await mind.history())) == 1


async def test_a_turn_is_interrupted_even_before_its_task_took_a_step(tmp_path: Path) -> None:
    async with mind_of(tmp_path, chat=Never()) as mind:
        asking = asyncio.create_task(mind.run())
        await until(lambda: bool(mind.app.turns._running._tasks))
        await mind.app.turns.aclose()
        await asyncio.gather(asking, return_exceptions=True)
        assert len(terminals(await mind.history())) == 1


async def test_a_slow_turn_is_handed_back_and_announced_once_when_it_has_ended(tmp_path: Path) -> None:
    model = Never()
    async with mind_of(tmp_path, chat=model, turn_patience_s=0.01) as mind:
        running = await asyncio.wait_for(mind.run(), BY_THEN)
        assert (await mind.app.turns.result(2)).generation_status == "running"
        assert (await mind.app.status.status(call=mind.call)).notice is None
        model.may_answer.set()
        await until(lambda: not mind.app.turns._running._tasks)
        first = await mind.app.status.status(call=mind.call)
        second = await mind.app.status.status(call=mind.call)
        ended = await mind.app.turns.result(2)

    assert running.generation_status == "running"
    assert running.notice is not None
    assert 'pmm_get(id="turn:2")' in running.notice
    assert first.notice == "finished meanwhile: turn:2"
    assert second.notice is None
    assert ended.assistant == "late but here"


# ------------------------------------------------------------------------------------- request ids


async def test_a_repeated_request_runs_no_second_turn(tmp_path: Path) -> None:
    async with mind_of(tmp_path, "one\nCOMMIT: x", "two") as mind:
        first = await mind.run(call=mind.keyed("k"))
        second = await mind.run(call=mind.keyed("k"))

        assert len(mind.chat.asked) == 1
    assert second.repeated
    assert second.model_copy(update={"repeated": None}) == first


async def test_a_request_repeated_while_it_runs_waits_for_the_same_turn(tmp_path: Path) -> None:
    model = Never()
    async with mind_of(tmp_path, chat=model) as mind:
        first = asyncio.create_task(mind.run(call=mind.keyed("k")))
        await asyncio.wait_for(model.heard.wait(), BY_THEN)
        second = asyncio.create_task(mind.run(call=mind.keyed("k")))
        await asyncio.sleep(0.02)
        model.may_answer.set()
        results = await asyncio.wait_for(asyncio.gather(first, second), BY_THEN)

    assert {result.turn for result in results} == {"turn:2"}
    assert {result.assistant for result in results} == {"late but here"}


async def test_who_shares_a_cancelled_turn_is_told_that_it_was_interrupted(tmp_path: Path) -> None:
    model = Never()
    async with mind_of(tmp_path, chat=model) as mind:
        first = asyncio.create_task(mind.run(call=mind.keyed("k")))
        await asyncio.wait_for(model.heard.wait(), BY_THEN)
        second = asyncio.create_task(mind.run(call=mind.keyed("k")))
        await asyncio.sleep(0.02)
        first.cancel()
        result = await asyncio.wait_for(second, BY_THEN)

    assert result.generation_status == "interrupted"
    assert first.cancelled()


async def test_begin_and_finish_repeat_under_their_request_ids(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        begun = [await mind.app.turns.begin("hello?", call=mind.keyed("b")) for _ in range(2)]
        ended = [
            await mind.app.turns.finish(begun[0].turn, "hi\nCOMMIT: x", call=mind.keyed("f"))
            for _ in range(2)
        ]
        assert (await mind.kinds()).count("user_message") == 1
        assert (await mind.kinds()).count("assistant_message") == 1

    assert (begun[0].turn, begun[0].deadline) == (begun[1].turn, begun[1].deadline)
    assert [one.repeated for one in begun] == [None, True]
    assert [one.repeated for one in ended] == [None, True]
    assert ended[0].opened == ended[1].opened != []


async def test_a_request_id_belongs_to_one_call(tmp_path: Path) -> None:
    async with mind_of(tmp_path, *["hi"] * 9) as mind:
        turns, key = mind.app.turns, mind.keyed("k")
        begun = await turns.begin("other", call=mind.call)
        await mind.run("one", call=key)
        head = await mind.head()
        for call in (
            mind.run("two", call=key),
            turns.begin("one", call=key),
            turns.finish(begun.turn, "one", call=key),
        ):
            with pytest.raises(RequestIdConflictError):
                await call
        assert await mind.head() == head


async def test_a_request_id_belongs_to_one_place_and_conversation(tmp_path: Path) -> None:
    async with mind_of(tmp_path, "hi") as mind:
        turns = mind.app.turns
        await mind.run("one", call=mind.keyed("run"))
        await turns.begin("one", call=mind.keyed("begin"))
        head = await mind.head()
        for elsewhere in (mind.at(BESIDE), mind.at(conversation="another")):
            with pytest.raises(RequestIdConflictError):
                await mind.run("one", call=elsewhere.keyed("run"))
            with pytest.raises(RequestIdConflictError):
                await turns.begin("one", call=elsewhere.keyed("begin"))
        assert await mind.head() == head


async def test_a_request_id_belongs_to_one_model(tmp_path: Path) -> None:
    async with mind_of(tmp_path, "hi") as mind:
        await mind.run("one", call=mind.keyed("k"))
    async with mind_of(tmp_path, chat=OfflineChat(), seed="another process") as mind:
        with pytest.raises(RequestIdConflictError):
            await mind.run("one", call=mind.keyed("k"))


# --------------------------------------------------------------------------------- offline, secrets


async def test_a_quotation_has_no_effects_and_is_not_found(tmp_path: Path) -> None:
    async with mind_of(tmp_path, chat=OfflineChat()) as mind:
        await mind.record("COMMIT: escape the quotation\nquokka")
        result = await mind.run("quokka?")
        history = await mind.history()
        found = await mind.search("quokka")

    assert result.generation_status == "complete"
    assert "quokka" in result.assistant
    assert result.notice is not None
    assert "no model is configured" in result.notice
    assert (result.opened, result.validation_failures) == ([], [])
    assert "commitment_opened" not in [record.kind for record in history]
    prompt = result.turn.replace("turn", "msg")
    assert {item.id for item in found.results} == {"ev:2", prompt}


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
ESCAPED = "\\u0067hp_" + SECRET[4:]


async def test_a_secret_in_a_reply_reaches_no_table_however_json_spells_it(tmp_path: Path) -> None:
    reply = lines(
        f"I saw {SECRET}.",
        f'CLAIM:fact={{"subject": "key", "value": "{ESCAPED}", "evidence": [2]}}',
        f'CLAIM:fact={{"subject": "{ESCAPED}", "value": 1, "text": "{ESCAPED}", "evidence": [2]}}',
        f'CLAIM:fact={{"subject": "x", "value": 1, "evidence": ["{ESCAPED}"]}}',
        f"COMMIT: use {SECRET}",
    )
    async with mind_of(tmp_path) as mind:
        await mind.record("seen")
        result = await mind.answer(reply, prompt="seen?")
        assert len(result.claims) == 2
        assert await mind.is_sound()
    assert files_with(SECRET, tmp_path) == []


async def test_a_secret_that_is_refused_ends_a_model_s_turn_and_leaves_a_begun_one_open(
    tmp_path: Path,
) -> None:
    async with mind_of(tmp_path, f"it is {SECRET}", secrets="refuse") as mind:
        asked = await mind.run()
        begun = await mind.app.turns.begin("hello?", call=mind.call)
        with pytest.raises(SecretRefusedError):
            await mind.app.turns.finish(begun.turn, f"it is {SECRET}", call=mind.call)
        finished = await mind.app.turns.finish(begun.turn, "it is gone", call=mind.call)

    assert asked.generation_failure is not None
    assert asked.generation_failure.reason == "secret_refused"
    assert finished.generation_status == "complete"


# ------------------------------------------------------------------------------------------ result


async def test_a_result_stays_small_whatever_a_reply_does(tmp_path: Path) -> None:
    commits = [f"COMMIT: {n} {'語' * 1_900}" for n in range(60)]
    claims = [
        "CLAIM:fact="
        + json.dumps({"subject": f"{n}" + "\u2028" * 190, "value": "\x01" * 300, "evidence": [2]})
        for n in range(60)
    ]
    bad = ["CLAIM:" + "語" * 2_500] * 60
    async with mind_of(tmp_path) as mind:
        result = await mind.answer(lines("語" * 9_000, *commits, *claims, *bad))

    assert len(result.model_dump_json(exclude_none=True).encode()) <= 9_000
    assert result.notice is not None
    assert "60 commitments opened" in result.notice


async def test_a_turn_belongs_to_its_place_even_when_it_is_finished_from_another(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        begun = await mind.app.turns.begin("hello?", call=mind.call)
        beside: Mind = mind.at(BESIDE)
        await beside.app.turns.finish(begun.turn, "COMMIT: stay here", call=beside.call)
        anchors = {record.anchor for record in await mind.history() if record.turn}

    assert anchors == {mind.call.place.home}


async def test_many_overdue_turns_are_closed_a_few_with_every_write(tmp_path: Path) -> None:
    """They ride along with somebody else's write; all of them at once would be too large for it."""
    clock = ManualClock()
    async with mind_of(tmp_path, clock=clock) as mind:
        for n in range(CLOSED_MAX + 5):
            await mind.app.turns.begin(f"question {n}", call=mind.call, deadline_s=60)
        clock.advance(61)
        await mind.record("one thing")
        closed_first = (await mind.kinds()).count("generation_failure")
        await mind.record("another thing")
        closed = (await mind.kinds()).count("generation_failure")
    assert (closed_first, closed) == (CLOSED_MAX, CLOSED_MAX + 5)


async def test_a_repeated_begin_shows_what_it_showed_first(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.answer("COMMIT: feed the cat")
        first = await mind.app.turns.begin("what is left to do?", call=mind.keyed("k"))
        await mind.answer("COMMIT: water the plants")
        again = await mind.app.turns.begin("what is left to do?", call=mind.keyed("k"))
    assert again.repeated
    assert (again.turn, again.context, again.context_id) == (first.turn, first.context, first.context_id)


async def test_a_reply_waits_for_a_ledger_that_another_process_keeps(tmp_path: Path) -> None:
    """An import in a second window takes longer than a write waits; the reply is not lost to it."""
    model = Never()
    async with (
        mind_of(tmp_path, chat=model, lease_wait_s=0.01) as mind,
        mind_of(tmp_path, seed="other") as other,
    ):
        turn = asyncio.create_task(mind.run("still there?"))
        await model.heard.wait()
        async with other.app.ledger.keep_lease():
            model.may_answer.set()
            await asyncio.wait({turn}, timeout=0.2)
            assert not turn.done()
        async with asyncio.timeout(BY_THEN):
            result = await turn
    assert result.generation_status == "complete"
