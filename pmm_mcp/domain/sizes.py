"""How much room things take in an answer: bytes of JSON, not characters, so that no script is worse off."""

import json
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel

P = TypeVar("P", bound=BaseModel)

ANSWER_BYTES_MAX: Final = 9_000
"""What every answer stays below; more is had through a cursor or an id."""

MARK: Final = " …"


def text_bytes(text: str) -> int:
    """Return how many bytes a text takes inside a JSON string."""
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")) - 2


def part_bytes(part: BaseModel) -> int:
    """Return how many bytes a part of an answer takes as it is shown, without what is None."""
    return len(part.model_dump_json(exclude_none=True).encode())


def cut(text: str, *, bytes_max: int) -> str:
    """Return the text, or its beginning and a mark, in at most that many bytes of JSON."""
    if len(text) <= bytes_max and text_bytes(text) <= bytes_max:
        return text
    room = bytes_max - text_bytes(MARK)
    if room <= 0:
        return ""
    fits, beyond = 0, min(len(text), room) + 1
    while beyond - fits > 1:
        middle = (fits + beyond) // 2
        if text_bytes(text[:middle]) <= room:
            fits = middle
        else:
            beyond = middle
    return text[:fits].rstrip() + MARK


def fitting(parts: Sequence[P], *, bytes_max: int, least: int = 0) -> list[P]:
    """Return as many parts, from the first on, as fit into that many bytes; at least `least` of them."""
    left, kept = bytes_max, list[P]()
    for part in parts:
        left -= part_bytes(part) + 1
        if left < 0 and len(kept) >= least:
            break
        kept.append(part)
    return kept


def lean(data: dict[str, Any], *, bytes_max: int) -> tuple[dict[str, Any], bool]:
    """Return the data, its lists and texts shortened until it fits, and whether that was needed."""
    if _data_bytes(data) <= bytes_max:
        return data, False
    for length in (40, 16, 6, 2):
        shorter = {name: _shortened(value, length) for name, value in data.items()}
        if _data_bytes(shorter) <= bytes_max:
            return shorter, True
    return {}, True


def _data_bytes(data: object) -> int:
    return len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def _shortened(value: object, length: int) -> object:
    match value:
        case str():
            return cut(value, bytes_max=8 * length)
        case list() | tuple():
            return [_shortened(item, length) for item in value[:length]]
        case dict():
            return {name: _shortened(child, length) for name, child in list(value.items())[:length]}
        case _:
            return value
