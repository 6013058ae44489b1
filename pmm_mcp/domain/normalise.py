"""Text as it may enter the ledger: valid Unicode, no NUL, otherwise as it came."""

import re
from dataclasses import dataclass
from typing import Final

REPLACEMENT: Final = "\ufffd"

_TROUBLE: Final = re.compile("[\x00\ud800-\udfff]")
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LONE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Normalised:
    """A text that UTF-8 can hold, and what had to be changed for that."""

    value: str
    changes: tuple[str, ...] = ()


def normalise(text: str) -> Normalised:
    """Return the text with surrogates repaired and NUL removed, naming each kind of change."""
    if ("\x00" not in text) if text.isascii() else not _TROUBLE.search(text):
        return Normalised(text)
    changes: list[str] = []
    text, joined = _PAIR.subn(_join, text)
    if joined:
        changes.append("surrogates_joined")
    text, replaced = _LONE.subn(REPLACEMENT, text)
    if replaced:
        changes.append("surrogates_replaced")
    # NUL goes last: taken out first, it could bring two halves together that never were a pair.
    if "\x00" in text:
        text = text.replace("\x00", "")
        changes.append("nul_removed")
    return Normalised(text, tuple(changes))


def _join(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")
