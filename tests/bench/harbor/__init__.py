"""A developer-domain set of our own: what a made-up team recorded in three years, and what it looks for.

`memories.jsonl` was written first. The questions were written by someone who saw `facts.jsonl`, the bare
facts behind the gold memories, and none of their words, before anything was ranked.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tests.bench.finding import Memory, Question

HERE: Final = Path(__file__).parent
SPACE: Final = "harbor"


def load() -> tuple[Sequence[Memory], Sequence[Question]]:
    """Read the memories, in the order they were recorded, and the questions."""
    memories = [
        Memory(
            name=row["id"],
            text=row["text"],
            space=SPACE,
            speaker=row["speaker"],
            occurred_at=f"{row['date']}T12:00:00Z",
            conversation=row["conversation"],
            source=row["source"],
        )
        for row in _rows("memories.jsonl")
    ]
    kinds = {row["id"]: row["kind"] for row in _rows("facts.jsonl")}
    questions = [
        Question(text=row["question"], space=SPACE, gold=frozenset({row["fact"]}), group=kinds[row["fact"]])
        for row in _rows("questions.jsonl")
    ]
    return memories, questions


def _rows(name: str) -> Iterator[dict[str, Any]]:
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        yield json.loads(line)
