"""Showing stored text as data: quoted line by line, so that it can never open or close anything."""

from typing import Final

from pmm_mcp.domain.invisible import HIDDEN

ELLIPSIS: Final = " …"


def quoted(text: str, *, chars_max: int | None = None) -> str:
    """Return the text with `> ` before every line, whatever breaks its lines, and cut where asked."""
    if chars_max is not None:
        text = shortened(text, chars_max=chars_max)
    return "\n".join(f"> {HIDDEN.sub(' ', line)}" for line in text.splitlines() or [""])


def one_line(text: str, *, chars_max: int) -> str:
    """Return the text on one line, control characters and runs of white space as single spaces."""
    return shortened(" ".join(HIDDEN.sub(" ", text).split()), chars_max=chars_max)


def shortened(text: str, *, chars_max: int) -> str:
    """Return at most that many characters, with a mark where some were left out."""
    return text if len(text) <= chars_max else text[: chars_max - len(ELLIPSIS)].rstrip() + ELLIPSIS


def tokens_of(text: str) -> int:
    """Estimate tokens: UTF-8 bytes / 4, CJK characters 1 each; no tokenizer is downloaded."""
    wide = sum("\u2e80" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7af" for char in text)
    return wide + (len(text.encode()) - 3 * wide + 3) // 4
