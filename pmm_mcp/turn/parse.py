"""Reading a reply: any text whatever becomes candidates and rejected lines, never an exception.

A control line starts at column 0 with its exact prefix, outside code fences; lines end at LF or CR LF
only. A fence is CommonMark's: three or more of one mark behind at most three spaces, closed by at least
as many of the same mark, or by the end of the reply.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn

from pmm_mcp.domain.commitments import identity
from pmm_mcp.domain.control_lines import (
    COMMITMENT_CHARS_MAX,
    CONTROL_LINES_MAX,
    OUTCOME_CHARS_MAX,
    REJECTED_CHARS_MAX,
    Candidate,
    ClaimLine,
    Close,
    Commit,
    Parsed,
    Reference,
    Reflect,
    Rejected,
    names_commitment,
    read_seq,
)
from pmm_mcp.domain.ids import SEQ_MAX
from pmm_mcp.domain.names import is_name
from pmm_mcp.domain.normalise import normalise

JSON_DEPTH_MAX: Final = 64

Reason = Literal[
    "EMPTY_COMMITMENT",
    "COMMITMENT_TOO_LONG",
    "MALFORMED_CLOSE",
    "OUTCOME_TOO_LONG",
    "MALFORMED_CLAIM",
    "INVALID_CLAIM_TYPE",
    "INVALID_CLAIM_JSON",
    "CLAIM_NOT_AN_OBJECT",
    "INVALID_REFLECT_JSON",
    "REFLECT_NOT_AN_OBJECT",
    "MALFORMED_REFERENCE",
    "TOO_MANY_LINES",
]

_CLAIM_TYPE: Final = re.compile(r"[a-z][a-z_]{0,39}")
_INTEGER_CHARS_MAX: Final = len(str(-SEQ_MAX))
_STRUCTURE: Final = re.compile(r'\\.|["\[\]{}]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Bad:
    reason: Reason
    detail: str


# ------------------------------------------------------------------------- one reader a control line


def _read_commit(line: int, text: str) -> Candidate | _Bad:
    if len(text) > COMMITMENT_CHARS_MAX:
        return _Bad("COMMITMENT_TOO_LONG", f"{len(text)} characters, the limit is {COMMITMENT_CHARS_MAX}")
    if not identity(text):
        return _Bad("EMPTY_COMMITMENT", "there are no words after COMMIT:")
    return Commit(line, text)


def _read_close(line: int, text: str) -> Candidate | _Bad:
    target, _, outcome = (part.strip() for part in text.partition("="))
    if not names_commitment(target):
        return _Bad(
            "MALFORMED_CLOSE", "expected CLOSE: co:SEQ, or CLOSE: and eight hex digits, then = outcome"
        )
    if len(outcome) > OUTCOME_CHARS_MAX:
        return _Bad("OUTCOME_TOO_LONG", f"{len(outcome)} characters, the limit is {OUTCOME_CHARS_MAX}")
    return Close(line, target, outcome)


def _read_claim(line: int, text: str) -> Candidate | _Bad:
    type_, equals, raw = (part.strip() for part in text.partition("="))
    if not equals:
        return _Bad("MALFORMED_CLAIM", 'expected CLAIM:type={"subject": …}')
    if _CLAIM_TYPE.fullmatch(type_) is None:
        return _Bad("INVALID_CLAIM_TYPE", "a type is a lower-case letter and up to 39 of a–z and _")
    payload = _read_object(raw, invalid="INVALID_CLAIM_JSON", no_object="CLAIM_NOT_AN_OBJECT")
    return payload if isinstance(payload, _Bad) else ClaimLine(line, type_, payload, raw)


def _read_reflect(line: int, text: str) -> Candidate | _Bad:
    payload = _read_object(text, invalid="INVALID_REFLECT_JSON", no_object="REFLECT_NOT_AN_OBJECT")
    return payload if isinstance(payload, _Bad) else Reflect(line, payload, text)


def _read_reference(line: int, text: str) -> Candidate | _Bad:
    ledger, _, digits = (part.strip() for part in text.partition("#"))
    seq = read_seq(digits)
    # A colon would be a drive or a stream on Windows, a dot in front a directory or a hidden file.
    path = any(mark in ledger for mark in ("/", "\\", ":", "..")) or ledger.startswith(".")
    if seq is None or path or not is_name(ledger):
        return _Bad(
            "MALFORMED_REFERENCE", "expected REF: ledger#seq; a ledger is a name or an id, not a path"
        )
    return Reference(line, ledger, seq)


READERS: Final[Mapping[str, Callable[[int, str], Candidate | _Bad]]] = {
    "COMMIT:": _read_commit,
    "CLOSE:": _read_close,
    "CLAIM:": _read_claim,
    "REFLECT:": _read_reflect,
    "REF:": _read_reference,
}
"""Every control line there is: its prefix, and who reads the trimmed rest of it."""

_MARK: Final = re.compile(
    rf"^(?:(?P<prefix>{'|'.join(map(re.escape, READERS))})(?P<payload>[^\n]*)"
    r"|[ ]{0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*))",
    re.MULTILINE,
)


# --------------------------------------------------------------------------------------- the reply


def parse(reply: str) -> Parsed:
    """Return what a reply asks for; a line that cannot be read is rejected alone.

    The reply is read as it is recorded: NUL and lone surrogates are mended first.
    """
    text = normalise(reply).value
    candidates: list[Candidate] = []
    rejected: list[Rejected] = []
    first_over: tuple[int, str] | None = None
    visible: list[str] = []
    shown_to = count = 0
    for line, mark in _control_lines(text):
        visible.append(text[shown_to : mark.start()])
        shown_to = mark.end() + 1
        count += 1
        if count <= CONTROL_LINES_MAX:
            read = READERS[mark["prefix"]](line, mark["payload"].strip())
            if isinstance(read, _Bad):
                rejected.append(_rejected(line, mark[0], read))
            else:
                candidates.append(read)
        elif first_over is None:
            first_over = line, mark[0]
    if first_over is not None:
        more = f"{count - CONTROL_LINES_MAX} control lines after the first {CONTROL_LINES_MAX} have no effect"
        rejected.append(_rejected(*first_over, _Bad("TOO_MANY_LINES", more)))
    visible.append(text[shown_to:])
    return Parsed(_without_blank_ends("".join(visible)), tuple(candidates), tuple(rejected))


def _control_lines(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the number and the match of every line outside fences that begins with a known prefix."""
    fence, line, counted_to = "", 1, 0
    for mark in _MARK.finditer(text):
        if mark["fence"]:
            fence = _fence_after(fence, mark["fence"], mark["info"])
        elif not fence:
            line += text.count("\n", counted_to, mark.start())
            counted_to = mark.start()
            yield line, mark


def _rejected(line: int, text: str, bad: _Bad) -> Rejected:
    return Rejected(line, bad.reason, text.rstrip("\r")[:REJECTED_CHARS_MAX], bad.detail)


def _fence_after(fence: str, run: str, rest: str) -> str:
    """Return the marks of the fence that is open after this line; empty when none is."""
    if not fence:
        # "```like this```" is code within a line.
        return "" if run.startswith("`") and "`" in rest else run
    closes = run[0] == fence[0] and len(run) >= len(fence) and not rest.strip()
    return "" if closes else fence


def _without_blank_ends(text: str) -> str:
    indent_to = len(text) - len(text.lstrip())
    return text[text.rfind("\n", 0, indent_to) + 1 :].rstrip()


# ---------------------------------------------------------------------------------------- its JSON


def _read_object(raw: str, *, invalid: Reason, no_object: Reason) -> dict[str, Any] | _Bad:
    """Return the object a text holds; what two readers could read differently is not JSON here."""
    if _is_too_deep(raw):
        return _Bad(invalid, f"nested deeper than {JSON_DEPTH_MAX}")
    try:
        value = json.loads(
            raw,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_finite,
            parse_constant=_no_constant,
        )
    except ValueError as error:
        return _Bad(invalid, str(error))
    return value if isinstance(value, dict) else _Bad(no_object, "the JSON must be an object, {…}")


def _is_too_deep(raw: str) -> bool:
    """Say whether brackets outside strings nest too deep; asked first, for a parser's stack has an end."""
    depth = 0
    quoted = False
    for mark in _STRUCTURE.finditer(raw):
        if mark[0] == '"':
            quoted = not quoted
        elif not quoted and mark[0] in "[{":
            depth += 1
            if depth > JSON_DEPTH_MAX:
                return True
        elif not quoted and mark[0] in "]}":
            depth -= 1
    return False


def _object(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise ValueError(f"the key {key[:80]!r} occurs twice")
        members[key] = value
    return members


def _integer(digits: str) -> int:
    # By length first: turning a million digits into a number takes long, and Python refuses to.
    if len(digits) > _INTEGER_CHARS_MAX or abs(int(digits)) > SEQ_MAX:
        raise ValueError("an integer is outside ±(2⁵³−1)")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")
