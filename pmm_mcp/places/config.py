"""The syntax of git's configuration files, as far as they say what a repository is."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

_BLANK: Final = re.compile(r"\s+|[#;][^\n]*")
_HEADER: Final = re.compile(r'\[[ \t]*(?P<section>[\w.-]+)(?:[ \t]+"(?P<sub>(?:[^"\\\n]|\\.)*)")?[ \t]*\]')
_KEY: Final = re.compile(r"(?P<key>[A-Za-z][\w-]*)[ \t]*(?P<assigned>=)?")
_LINE: Final = re.compile(r"[^\n]*")
_PIECE: Final = re.compile(
    r'\\\n|\\(?P<escape>.)|(?P<quote>")|(?P<comment>[#;][^\n]*)|(?P<space>[^\S\n]+)|[^\\"#;\s]+'
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "b": "\b"}
_CONTINUED: Final = "\\\n"


def first(text: str, name: str) -> str:
    """Return the first value of a name that is not empty; empty when there is none."""
    return next(filter(None, _values(text).get(name, ())), "")


def last(text: str, name: str) -> str:
    """Return the value that counts where a later line replaces an earlier one."""
    return _values(text).get(name, ("",))[-1]


@lru_cache(maxsize=16)  # the same few files are read again at every call
def _values(text: str) -> Mapping[str, Sequence[str]]:
    values: dict[str, list[str]] = {}
    for name, value in entries(text):
        values.setdefault(name, []).append(value)
    return values


def entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield every name, such as `remote.origin.url`, with its value, in the order of the file."""
    text = text.replace("\r\n", "\n")
    section, at = "", 0
    while at < len(text):
        if blank := _BLANK.match(text, at):
            at = blank.end()
        elif header := _HEADER.match(text, at):
            section, at = _section(header), header.end()
        elif key := _KEY.match(text, at):
            # A key alone is a switch turned on.
            value, at = _value(text, key.end()) if key["assigned"] else ("true", key.end())
            yield f"{section}.{key['key'].lower()}", value
        else:
            at = _end_of_line(text, at)


def _section(header: re.Match[str]) -> str:
    section = header["section"].lower()
    if header["sub"] is None:
        return section
    return section + "." + re.sub(r"\\(.)", r"\1", header["sub"])


def _value(text: str, at: int) -> tuple[str, int]:
    """Read a value up to the end of its line; return it with the position where it ends."""
    value, gap, quoted = "", "", False
    while piece := _PIECE.match(text, at):
        if piece["comment"] and quoted:
            value, at = value + text[at], at + 1  # a mark of a comment is a letter inside quotes
            continue
        at = piece.end()
        if piece["comment"] or piece[0] == _CONTINUED:
            continue
        if piece["space"] and not quoted:
            gap = value and piece[0]  # counts only between two pieces
            continue
        quoted ^= piece["quote"] is not None
        value, gap = value + gap + _meaning(piece), ""
    return value, at


def _meaning(piece: re.Match[str]) -> str:
    if piece["quote"]:
        return ""
    return _ESCAPES.get(piece["escape"], piece["escape"]) if piece["escape"] else piece[0]


def _end_of_line(text: str, at: int) -> int:
    line = _LINE.match(text, at)
    return max(line.end() if line else at, at + 1)
