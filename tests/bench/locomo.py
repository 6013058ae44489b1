"""LoCoMo (Maharana et al. 2024): ten long dialogues, and questions with the turns that answer them.

The data is CC BY-NC and is read from beside the project; it is never copied into it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.bench.finding import Memory, Question
from tests.bench.report import ROOT

PATH: Final = ROOT.parent / "shared" / "data" / "locomo10.json"
HEADLINE: Final = frozenset({"1", "2", "3", "4"})
"""The categories of the headline figure; 5 asks what was never said."""
HELD_OUT: Final = frozenset(f"dialogue-{n}" for n in range(5, 10))
"""Nothing was tuned on these."""

# Some evidence names are misspelt: D8:6; D9:17, D:11:26, D30:05.
_TURN: Final = re.compile(r"D:?(\d+):0*(\d+)")
_WHEN: Final = re.compile(r"(\d+):(\d+) (am|pm) on (\d+) (\w+), (\d{4})")
_MONTHS: Final = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
                  "October", "November", "December")  # fmt: skip


def load(path: Path = PATH) -> tuple[Sequence[Memory], Sequence[Question]]:
    """Read the set; questions whose evidence is nowhere are left out."""
    dialogues: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    turns = [turn for n, one in enumerate(dialogues) for turn in _turns(n, one["conversation"])]
    known = {(turn.space, turn.name) for turn in turns}
    questions: list[Question] = []
    for n, one in enumerate(dialogues):
        space = f"dialogue-{n}"
        for asked in one["qa"]:
            names = {f"D{a}:{b}" for said in asked["evidence"] for a, b in _TURN.findall(said)}
            gold = frozenset(name for name in names if (space, name) in known)
            if gold:
                text, group = asked["question"], str(asked["category"])
                questions.append(Question(text=text, space=space, gold=gold, group=group))
    return turns, questions


def _turns(dialogue: int, conversation: Mapping[str, Any]) -> Iterator[Memory]:
    number = 1
    while f"session_{number}_date_time" in conversation:
        when = _instant(conversation[f"session_{number}_date_time"])
        for said in conversation.get(f"session_{number}", ()):
            photo = f" [photo: {said['blip_caption']}]" if said.get("blip_caption") else ""
            yield Memory(
                name=said["dia_id"],
                text=said["text"] + photo,
                space=f"dialogue-{dialogue}",
                speaker=said["speaker"],
                occurred_at=when,
                conversation=f"session {number}",
            )
        number += 1


def _instant(text: str) -> str:
    match = _WHEN.fullmatch(text.strip())
    assert match is not None, text
    hour, minute, half, day, month, year = match.groups()
    hours = int(hour) % 12 + (12 if half == "pm" else 0)
    moment = datetime(int(year), _MONTHS.index(month) + 1, int(day), hours, int(minute), tzinfo=UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
