"""The rules of claims, by type: what a payload must say, and what must hold for it to be accepted.

A "no" is a value with a stable code; no JSON object makes these functions raise.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pmm_mcp.domain.control_lines import names_commitment, read_seq
from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.domain.ids import SEQ_MAX, parse_id
from pmm_mcp.domain.names import is_name
from pmm_mcp.domain.normalise import normalise

SUBJECT_CHARS_MAX: Final = 200
EVIDENCE_MAX: Final = 100
DEFAULT_DOMAIN: Final = "project"

ClaimReason = Literal[
    "UNKNOWN_CLAIM_TYPE",
    "INVALID_CLAIM_SHAPE",
    "NO_EVIDENCE",
    "EVIDENCE_NOT_SHOWN",
    "UNKNOWN_EVENT",
    "UNKNOWN_COMMITMENT",
    "STATUS_MISMATCH",
]
Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of a known type and the right shape; of its fields, those its type has."""

    type: str
    domain: str
    subject: str
    """What it is about; made from the target where the type names one."""
    evidence: tuple[int, ...] = ()
    """The events it rests on, ascending; each must have been shown."""
    cited: tuple[int, ...] = ()
    """The events it says exist."""
    commitment: str = ""
    status: str = ""


@dataclass(frozen=True, slots=True)
class ClaimProblem:
    """Why a claim is not accepted."""

    reason: ClaimReason
    detail: str


@dataclass(frozen=True, slots=True)
class ClaimRule:
    """What one type of claim must say beside its domain and evidence; `read` returns those fields."""

    read: Callable[[Payload], Mapping[str, Any]]
    needs_evidence: bool = False


class _ShapeError(ValueError):
    """A field is missing or of the wrong kind."""


def read_claim(type: str, payload: Payload) -> Claim | ClaimProblem:
    """Return the claim a payload makes, or what is wrong with its type or shape."""
    rule = RULES.get(type)
    if rule is None:
        return ClaimProblem("UNKNOWN_CLAIM_TYPE", f"the types are {', '.join(RULES)}")
    try:
        fields = rule.read(payload)
        return Claim(type=type, domain=_domain(payload), evidence=_evidence(payload), **fields)
    except _ShapeError as error:
        return ClaimProblem("INVALID_CLAIM_SHAPE", str(error))


def check_claim(
    claim: Claim,
    *,
    shown: frozenset[int],
    known: Callable[[int], bool],
    commitment_status: Callable[[str], str | None],
) -> ClaimProblem | None:
    """Return the first reason not to accept a claim that was read, or None.

    Args:
        claim: what `read_claim` returned.
        shown: the events this turn's context showed, and the turn's own user message.
        known: whether the ledger holds an event.
        commitment_status: `open`, `closed`, or None for a commitment the ledger does not hold.

    """
    if RULES[claim.type].needs_evidence and not claim.evidence:
        return ClaimProblem("NO_EVIDENCE", f"a {claim.type} cites at least one event it was shown")
    if hidden := [seq for seq in claim.evidence if seq not in shown]:
        return ClaimProblem("EVIDENCE_NOT_SHOWN", f"not shown in this turn: {_listed(hidden)}")
    if missing := [seq for seq in claim.cited if not known(seq)]:
        return ClaimProblem("UNKNOWN_EVENT", f"not in this ledger: {_listed(missing)}")
    if claim.commitment:
        status = commitment_status(claim.commitment)
        if status is None:
            return ClaimProblem("UNKNOWN_COMMITMENT", f"{claim.commitment} is not in this ledger")
        if status != claim.status:
            return ClaimProblem("STATUS_MISMATCH", f"{claim.commitment} is {status}")
    return None


def _statement(payload: Payload) -> dict[str, Any]:
    if "value" not in payload:
        raise _ShapeError("value is missing")
    if not isinstance(payload.get("text"), str | None):
        raise _ShapeError("text must be a string")
    return {"subject": _subject(payload.get("subject"))}


def _existence(payload: Payload) -> dict[str, Any]:
    seq = _event(payload.get("event"), field="event")
    return {"subject": f"event {seq}", "cited": (seq,)}


def _commitment_status(payload: Payload) -> dict[str, Any]:
    commitment, status = payload.get("commitment"), payload.get("status")
    if not (isinstance(commitment, str) and names_commitment(commitment.strip())):
        raise _ShapeError("commitment must be co:SEQ or eight hex digits")
    if status not in ("open", "closed"):
        raise _ShapeError("status must be open or closed")
    return {"subject": commitment.strip(), "commitment": commitment.strip(), "status": status}


RULES: Final[Mapping[str, ClaimRule]] = {
    "fact": ClaimRule(_statement, needs_evidence=True),
    "decision": ClaimRule(_statement, needs_evidence=True),
    "preference": ClaimRule(_statement, needs_evidence=True),
    "event_existence": ClaimRule(_existence),
    "reference": ClaimRule(_existence),
    "commitment_status": ClaimRule(_commitment_status),
}
"""Every type of claim there is."""


def _subject(value: object) -> str:
    subject = normalise(value).value.strip() if isinstance(value, str) else ""
    if not 1 <= len(subject) <= SUBJECT_CHARS_MAX:
        raise _ShapeError(f"subject must be a string of 1–{SUBJECT_CHARS_MAX} characters")
    return subject


def _domain(payload: Payload) -> str:
    value = payload.get("domain")
    if value is None or value == "":
        return DEFAULT_DOMAIN
    if not (isinstance(value, str) and is_name(value.strip())):
        raise _ShapeError("domain must be a name")
    return value.strip()


def _evidence(payload: Payload) -> tuple[int, ...]:
    seqs: set[int] = set()
    for field in ("evidence", "evidence_events"):
        value = payload.get(field)
        if value is None:
            continue
        if not isinstance(value, list | tuple):
            raise _ShapeError(f"{field} must be a list")
        seqs.update(_event(item, field=field) for item in value)
    if len(seqs) > EVIDENCE_MAX:
        raise _ShapeError(f"{len(seqs)} events are cited, the limit is {EVIDENCE_MAX}")
    return tuple(sorted(seqs))


def _event(value: object, *, field: str) -> int:
    """Return the position that an id, a number or digits name."""
    match value:
        case bool():
            pass
        case int() if 1 <= value <= SEQ_MAX:
            return value
        case str():
            if (seq := read_seq(value.strip())) is not None:
                return seq
            try:
                return parse_id(value)[1]
            except InvalidArgumentError as error:
                raise _ShapeError(f"{field}: {error}") from None
        case _:
            pass
    raise _ShapeError(f"{field}: an event is named by an id such as ev:1042, or by its number")


def _listed(seqs: list[int]) -> str:
    return ", ".join(map(str, seqs))
