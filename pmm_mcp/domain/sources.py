"""What a source names: a file with its lines, an event of this ledger, or something elsewhere.

path  path:12  path:12-40     a file; two ranges of one file are one source
ev:1042  msg:7  cl:31         an event
https://…  a book, a person   cited, and not resolved
"""

import re
from dataclasses import dataclass
from typing import Final

from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.domain.ids import Prefix, parse_id

PATH_CHARS_MAX: Final = 1_024
LINE_MAX: Final = 10_000_000

_LINES: Final = re.compile(r"(?P<path>.+?):(?P<first>[1-9]\d{0,7})(?:-(?P<last>[1-9]\d{0,7}))?", re.DOTALL)
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]")


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file by its path as it was written, and its lines; 0 when none are named."""

    path: str
    first: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True)
class EventSource:
    """An event of this ledger by its id."""

    prefix: Prefix
    seq: int


@dataclass(frozen=True, slots=True)
class CitedSource:
    """Anything else: kept as it came."""


Source = FileSource | EventSource | CitedSource


def parse_source(text: str) -> Source:
    """Return what a source names. Any text is a source; only reading shows whether a file is there."""
    text = text.strip()
    try:
        return EventSource(*parse_id(text))
    except InvalidArgumentError:
        pass
    path, first, last = text, 0, 0
    if match := _LINES.fullmatch(text):
        path, first = match["path"], int(match["first"])
        last = int(match["last"] or first)
    is_elsewhere = _URL.match(path) and not _DRIVE.match(path)
    if not path or len(path) > PATH_CHARS_MAX or "\n" in path or is_elsewhere or last < first:
        return CitedSource()
    return FileSource(path, first, last)
