"""Any text as a reply ends its turn, and leaves a ledger whose read tables follow from its events."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from pmm_mcp.domain.anchors import Place
from pmm_mcp.domain.errors import InvalidArgumentError, NotFoundError, TurnClosedError
from pmm_mcp.domain.records import Recorded
from tests.apps import BESIDE, ELSEWHERE, HERE, Mind, mind_of
from tests.clocks import ManualClock
from tests.replies import replies

ANY_TEXT = st.text(st.characters(exclude_categories=()), min_size=1, max_size=200)
PROMPTS = st.sampled_from(("ship the release?", "what of the pool?", "日本語", "x" * 300, '"a" -b kind:c'))
PLACES = st.sampled_from((HERE, HERE, BESIDE, ELSEWHERE))


@dataclass
class Tally:
    """How many examples there were, and how many had effects."""

    examples: int = 0
    with_effects: int = 0


@contextmanager
def a_mind(directory: Path) -> Generator[tuple[asyncio.Runner, Mind]]:
    """One app for all examples of a property; opening costs more than a turn."""
    with asyncio.Runner() as runner:
        opening = mind_of(directory)
        mind = runner.run(opening.__aenter__())
        try:
            yield runner, mind
        finally:
            runner.run(opening.__aexit__(None, None, None))


def test_any_reply_ends_its_turn(tmp_path: Path) -> None:
    tally = Tally()
    with a_mind(tmp_path) as (runner, mind):

        @given(PROMPTS, st.one_of(replies(), replies(), replies(), ANY_TEXT))
        def ends(prompt: str, reply: str) -> None:
            result = runner.run(mind.answer(reply, prompt=prompt))
            tally.examples += 1
            tally.with_effects += any(
                (result.opened, result.closed, result.claims, result.validation_failures)
            )
            assert result.generation_status in {"complete", "empty"}
            assert result.event_range.last == result.head
            assert len(result.model_dump_json(exclude_none=True).encode()) <= 9_000

        ends()
        assert runner.run(mind.is_sound())
    assert tally.with_effects >= tally.examples / 3


def test_any_text_is_a_query(tmp_path: Path) -> None:
    async def first(mind: Mind) -> None:
        await mind.record("The pool holds 32 connections.", source="notes")
        await mind.answer('COMMIT: ship it\nREFLECT:{"n":1}', prompt="健康?")

    marks = ("kind:", "status:", "since:", "anchor:", "label:", "source:", "pool", "健", "NEAR", *'"-:*( ')
    queries = st.one_of(ANY_TEXT, st.lists(st.sampled_from(marks), max_size=12).map("".join), st.just(""))
    with a_mind(tmp_path) as (runner, mind):
        runner.run(first(mind))

        @given(queries)
        def answers(query: str) -> None:
            found = runner.run(mind.search(query))
            assert found.scope.documents == 5
            assert all(0 <= item.score <= 1 for item in found.results)

        answers()


CALLS = st.one_of(
    st.tuples(st.just("answer"), PLACES, replies()),
    st.tuples(st.just("answer"), PLACES, replies()),
    st.tuples(st.just("run"), PLACES, st.just("hello?")),
    st.tuples(
        st.just("record"), PLACES, st.sampled_from(("one", "two", "one more time", "COMMIT: x", "健康"))
    ),
    st.tuples(st.just("begin"), PLACES, st.sampled_from(("a?", "b?"))),
    st.tuples(st.just("finish"), PLACES, replies()),
    st.tuples(st.just("wait"), PLACES, st.just("")),
)


async def carry_out(mind: Mind, what: str, text: str, clock: ManualClock) -> None:
    match what:
        case "answer":
            await mind.answer(text)
        case "run":
            await mind.run(text)
        case "record":
            await mind.record(text, labels=[text[:3].strip()], importance=len(text) % 6)
        case "begin":
            await mind.app.turns.begin(text, call=mind.call, deadline_s=5)
        case "finish":
            turns = [one.seq for one in await mind.history() if one.kind == "user_message"]
            with suppress(TurnClosedError, InvalidArgumentError):
                await mind.app.turns.finish(f"turn:{turns[-1] if turns else 2}", text, call=mind.call)
        case _:
            clock.advance(4)


@settings(max_examples=25)
@given(st.lists(CALLS, min_size=3, max_size=12))
def test_read_tables_follow_from_the_events_after_any_calls(calls: list[tuple[str, Place, str]]) -> None:
    async def live() -> None:
        clock = ManualClock()
        async with mind_of(Path(directory), *["said\nCOMMIT: ship the release"] * 12, clock=clock) as mind:
            for what, place, text in calls:
                with suppress(NotFoundError):
                    await carry_out(mind.at(place), what, text, clock)
            assert await mind.is_sound()
            for record in await mind.history():
                assert record.kind != "user_message" or ends(await mind.history(), record.seq) <= 1

    with TemporaryDirectory() as directory:
        asyncio.run(live())


def ends(history: list[Recorded], turn: int) -> int:
    return sum(
        one.turn == turn and one.kind in {"assistant_message", "generation_failure"} for one in history
    )
