"""Measuring what is found: memories recorded through the product, and questions asked of its own search."""

import json
import random
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean
from time import perf_counter
from typing import Final

from pmm_mcp.bootstrap import App
from pmm_mcp.domain.anchors import Anchor, Place
from pmm_mcp.domain.records import Actor, Call
from pmm_mcp.domain.words import query_terms
from pmm_mcp.retrieval.ranking import Weights
from pmm_mcp.services.record import EvidenceInput
from pmm_mcp.services.search import SearchInput
from tests.bench.report import RESULTS

RESAMPLES: Final = 1_000

WITHOUT: Final[Mapping[str, Mapping[str, float]]] = {
    "meaning": {"meaning": 0},
    "headings": {"heading": 0},
    "neighbours": {"next_to": 0, "near": 0},
    "standing alone": {"alone": 0},
    "speaker": {"speaker": 1},
    "conversation": {"conversation": 0},
    "directives": {"directive": 1},
}
"""What an ablation leaves out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Something to be found; `space` is the repository it is recorded in."""

    name: str
    text: str
    space: str
    speaker: str = ""
    occurred_at: str = ""
    conversation: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, the names of what answers it, and the group it is counted in."""

    text: str
    space: str
    gold: frozenset[str]
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was found for a question: which share of its gold, and how long that took."""

    question: Question
    found: Sequence[str]
    recall: float
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """Memories in a ledger, by the ids they have there; the same words twice are one."""

    names: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)


def call_at(space: str, conversation: str = "") -> Call:
    place = Place(worktree=None, repo=Anchor(f"repo://example.org/{space}"))
    return Call(
        actor=Actor(kind="agent", name="bench", session="one"), place=place, conversation=conversation
    )


async def recorded(app: App, memories: Sequence[Memory]) -> Recorded:
    """Record memories in their order, and give them vectors if the settings say so."""
    names: dict[tuple[str, str], list[str]] = {}
    for memory in memories:
        given = EvidenceInput(
            content=memory.text,
            speaker=memory.speaker,
            occurred_at=memory.occurred_at,
            source=memory.source,
        )
        result = await app.records.record(given, call=call_at(memory.space, memory.conversation))
        names.setdefault((memory.space, result.id), []).append(memory.name)
    await app.embedding.catch_up()
    return Recorded(names)


async def ask(
    app: App, known: Recorded, questions: Sequence[Question], *, limit: int, weights: Weights | None = None
) -> list[Asked]:
    """Ask each question in its own repository."""
    search = app.search
    if weights is not None:
        search = replace(search, finder=replace(search.finder, weights=weights))
    asked: list[Asked] = []
    for question in questions:
        given = SearchInput(query=question.text, limit=limit, anchor="repo")
        begun = perf_counter()
        result = await search.search(given, call=call_at(question.space))
        ms = 1_000 * (perf_counter() - begun)
        found = [name for one in result.results for name in known.names.get((question.space, one.id), ())]
        asked.append(_judged(question, found, ms))
    return asked


def ask_naively(memories: Sequence[Memory], questions: Sequence[Question], *, limit: int) -> list[Asked]:
    """What one FTS5 table finds: Porter's stems, all words of the question, best match first."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE texts USING fts5(space UNINDEXED, body, tokenize = 'porter unicode61')")
    db.executemany("INSERT INTO texts VALUES (?, ?)", [(one.space, one.text) for one in memories])
    asked: list[Asked] = []
    for question in questions:
        match = " OR ".join(f'"{term}"' for term in query_terms(question.text))
        rows = db.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? AND space = ? ORDER BY rank, rowid LIMIT ?",
            (match, question.space, limit),
        )
        asked.append(_judged(question, [memories[row[0] - 1].name for row in rows]))
    db.close()
    return asked


def recall(asked: Sequence[Asked]) -> float:
    """The mean share of gold that was found, in per cent."""
    return 100 * mean(one.recall for one in asked) if asked else 0.0


def interval(asked: Sequence[Asked]) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean over questions (Efron 1979)."""
    chance = random.Random(0)
    values = [one.recall for one in asked]
    means = sorted(100 * mean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[RESAMPLES // 40], means[-RESAMPLES // 40]


def quantile_ms(asked: Sequence[Asked], share: float) -> float:
    times = sorted(one.ms for one in asked)
    return times[min(len(times) - 1, int(share * len(times)))]


def write_down(name: str, asked: Sequence[Asked]) -> None:
    """Keep what came of every question."""
    RESULTS.mkdir(exist_ok=True)
    lines = [
        json.dumps(
            {
                "question": one.question.text,
                "space": one.question.space,
                "group": one.question.group,
                "gold": sorted(one.question.gold),
                "found": list(one.found),
                "recall": round(one.recall, 4),
                "ms": round(one.ms, 2),
            },
            ensure_ascii=False,
        )
        for one in asked
    ]
    (RESULTS / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _judged(question: Question, found: Sequence[str], ms: float = 0.0) -> Asked:
    share = len(question.gold.intersection(found)) / len(question.gold)
    return Asked(question=question, found=found, recall=share, ms=ms)
