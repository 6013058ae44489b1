"""What a reply asks for: one typed candidate a control line, and the lines that ask for nothing readable.

A candidate is only read, not yet checked against the ledger.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pmm_mcp.domain.ids import SEQ_MAX

CONTROL_LINES_MAX: Final = 200
COMMITMENT_CHARS_MAX: Final = 2_000
OUTCOME_CHARS_MAX: Final = 2_000
REJECTED_CHARS_MAX: Final = 2_000

_SEQ: Final = re.compile(r"[1-9][0-9]{0,15}")
_SHORT_ID: Final = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class Commit:
    """`COMMIT: text` promises something."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Close:
    """`CLOSE: id` or `CLOSE: id = outcome` ends a promise; `target` is `co:SEQ` or PMM's eight-hex id."""

    line: int
    target: str
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class ClaimLine:
    """`CLAIM:type={…}` states something; `raw` is the JSON as it was written."""

    line: int
    type: str
    payload: Mapping[str, Any]
    raw: str


@dataclass(frozen=True, slots=True)
class Reflect:
    """`REFLECT:{…}` looks back; `raw` is the JSON as it was written."""

    line: int
    payload: Mapping[str, Any]
    raw: str


@dataclass(frozen=True, slots=True)
class Reference:
    """`REF: ledger#seq` names an event of a ledger, itself named by its file or its id, never by a path."""

    line: int
    ledger: str
    seq: int


Candidate = Commit | Close | ClaimLine | Reflect | Reference


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that was meant to have an effect and has none; `text` is the line, its head when it is long."""

    line: int
    reason: str
    text: str
    detail: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """A reply, read: what a person sees of it, what it asks for, and what could not be read."""

    visible: str
    candidates: tuple[Candidate, ...] = ()
    rejected: tuple[Rejected, ...] = ()


def read_seq(text: str) -> int | None:
    """Return the position that plain digits name, or None."""
    if _SEQ.fullmatch(text) is None or int(text) > SEQ_MAX:
        return None
    return int(text)


def names_commitment(text: str) -> bool:
    """Say whether this is how a commitment is named: `co:SEQ`, or eight hex digits in lower case."""
    prefix, _, seq = text.partition(":")
    return (prefix == "co" and read_seq(seq) is not None) or _SHORT_ID.fullmatch(text) is not None
