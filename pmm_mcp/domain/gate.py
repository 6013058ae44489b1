"""The gate: what must hold before a piece of knowledge is believed. Deterministic, and nothing overrides it.

Two tables hold every rule. `PIECE_RULES` say why a piece of evidence does not count in its role,
`ITEM_RULES` why the item may not become active. A verdict names every reason at once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pmm_mcp.domain.case import Case, Piece, Requirements
from pmm_mcp.domain.events.memory import Origin
from pmm_mcp.domain.ids import public_id
from pmm_mcp.domain.tiers import ACTIVE, Role, Status

RULES_VERSION: Final = 2
"""Rises whenever the same case would get another verdict; every decision records it."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a gate does not open, and in plain words what would satisfy it."""

    code: str
    detail: str
    missing: str = ""

    def __str__(self) -> str:
        """Say it on one line."""
        return f"{self.code}: {self.detail}"


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What counted, by role; a source counts once. `left_out` says of every other piece why not."""

    counted: Mapping[Role, tuple[int, ...]]
    eligible: Sequence[Piece]
    left_out: Mapping[Role, tuple[str, ...]] = field(default_factory=dict)

    def have(self, role: Role) -> int:
        """Return how many pieces counted in a role."""
        return len(self.counted.get(role, ()))


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the gate says: every reason, what was asked for, and what counted."""

    requirements: Requirements
    counted: Mapping[Role, tuple[int, ...]]
    reasons: tuple[Reason, ...] = ()
    answered: tuple[int, ...] = ()
    """Counterexamples that the verifications of this case answer."""

    @property
    def allowed(self) -> bool:
        """Whether nothing stands in the way."""
        return not self.reasons

    @property
    def awaits_person(self) -> bool:
        """Whether all that is missing is what a reviewer can give: a signature, or an answer."""
        return bool(self.reasons) and {reason.code for reason in self.reasons} <= _FOR_A_PERSON


REVIEW_MISSING: Final = "review_missing"
COUNTEREXAMPLE_UNANSWERED: Final = "counterexample_unanswered"
_FOR_A_PERSON: Final = frozenset({REVIEW_MISSING, COUNTEREXAMPLE_UNANSWERED})

PieceRule = Callable[[Piece, Case], str | None]
"""Returns why a piece does not count, or None."""
ItemRule = Callable[[Case, Tally], Iterator[Reason]]


def judge(case: Case) -> Verdict:
    """Return whether the item may become active, with every reason why not."""
    tally = _tally(case)
    return Verdict(
        requirements=case.requirements,
        counted=tally.counted,
        reasons=tuple(reason for rule in ITEM_RULES for reason in rule(case, tally)),
        answered=tuple(sorted(_answered_now(case, tally))),
    )


# ------------------------------------------------------------------------- why a piece does not count


def not_withdrawn(piece: Piece, _case: Case) -> str | None:
    """Withdrawn evidence is no evidence."""
    return f"{piece.id} was withdrawn" if piece.is_withdrawn else None


def not_redacted(piece: Piece, _case: Case) -> str | None:
    """Nobody can look at what was removed."""
    return f"the text of {piece.id} was removed" if piece.is_redacted else None


def in_one_role(piece: Piece, case: Case) -> str | None:
    """A piece counts once: as a counterexample first, then as support, as teaching, as verification."""
    first = next(role for role in _PRECEDENCE if role in case.roles[piece.seq])
    return f"{piece.id} is its {first} already" if piece.role is not first else None


def verification_is_resolved(piece: Piece, case: Case) -> str | None:
    """What verifies names a source that the server read itself; a model's words are none."""
    if piece.role is not Role.VERIFICATION or case.is_resolved(piece):
        return None
    match piece.origin:
        case Origin.MODEL:
            return f"{piece.id} comes from a model's reply or a claim"
        case Origin.IMPORT:
            return f"{piece.id} comes from an import"
        case Origin.MESSAGE:
            return f"{piece.id} is a user's message, which verifies a method or a tool only"
        case _:
            return f"{piece.id} names no source that was read"


def verification_is_no_opinion(piece: Piece, _case: Case) -> str | None:
    """An evaluator advises: what it thinks is not what was seen."""
    if piece.role is not Role.VERIFICATION or not piece.is_evaluation:
        return None
    return f"{piece.id} is an evaluator's judgement"


def verification_is_newer_than_the_candidate(piece: Piece, case: Case) -> str | None:
    """What was known before the claim does not verify it."""
    if piece.role is not Role.VERIFICATION or piece.since > case.born:
        return None
    return f"{piece.id} was known before the candidate"


def verification_is_newer_than_the_demotion(piece: Piece, case: Case) -> str | None:
    """What was known before it fell does not bring it back."""
    if piece.role is not Role.VERIFICATION or piece.since > case.demoted_at:
        return None
    return f"{piece.id} was known before the demotion"


def verification_is_from_elsewhen(piece: Piece, case: Case) -> str | None:
    """Nobody verifies in the same breath."""
    if piece.role is not Role.VERIFICATION or case.is_from_elsewhen(piece):
        return None
    return f"{piece.id} comes from the candidate's own session"


def teaching_is_signed(piece: Piece, _case: Case) -> str | None:
    """Only a person teaches, and only a signature proves one."""
    if piece.role is not Role.TEACHING or piece.origin is Origin.SIGNED:
        return None
    return f"{piece.id} is not signed by a person"


PIECE_RULES: Sequence[PieceRule] = (
    not_withdrawn,
    not_redacted,
    in_one_role,
    verification_is_resolved,
    verification_is_no_opinion,
    verification_is_newer_than_the_candidate,
    verification_is_newer_than_the_demotion,
    verification_is_from_elsewhen,
    teaching_is_signed,
)

_PRECEDENCE: Final = (Role.COUNTEREXAMPLE, Role.SUPPORTING, Role.TEACHING, Role.VERIFICATION)


# --------------------------------------------------------------------- why the item may not be active


def can_become_active(case: Case, _tally: Tally) -> Iterator[Reason]:
    """Only a candidate or a demoted item has this way."""
    if case.status in ACTIVE:
        yield Reason("already_active", f"it is {case.status} already")
    if case.status is Status.RETIRED:
        yield Reason("retired", "it is retired", "a reviewer's approval to restore it: pmm-mcp review")


def is_not_superseded(case: Case, _tally: Tally) -> Iterator[Reason]:
    """Of an item and the one raised from it, one is believed."""
    if case.superseded_by:
        successor = public_id("kn", case.superseded_by)
        yield Reason("superseded", f"{successor} was raised from it and is active", f"{successor} demoted")


def is_said_once(case: Case, _tally: Tally) -> Iterator[Reason]:
    """One sentence is believed once at a place."""
    if case.said_by:
        yield Reason(
            "said_already", f"{case.said_by} says this here and is active", f"{case.said_by} demoted"
        )


def has_enough_support(case: Case, tally: Tally) -> Iterator[Reason]:
    """Sources that differ; all unresolved ones count as one."""
    yield from _shortfall(
        Role.SUPPORTING,
        tally,
        case.requirements.supporting,
        "supporting evidence from a source of its own, such as a file (source: path:12-40)",
    )


def has_enough_verification(case: Case, tally: Tally) -> Iterator[Reason]:
    """Someone looked again, later, at something else."""
    yield from _shortfall(
        Role.VERIFICATION,
        tally,
        case.requirements.verification,
        "verification with a file of its own as its source, from a later session: restart the client, "
        "commit, or record it tomorrow",
    )


def has_enough_teaching(case: Case, tally: Tally) -> Iterator[Reason]:
    """A person stands behind it."""
    yield from _shortfall(
        Role.TEACHING, tally, case.requirements.teaching, "signed human teaching: pmm-mcp teach"
    )


def is_not_research_alone(case: Case, tally: Tally) -> Iterator[Reason]:
    """What others wrote never carries a gate by itself."""
    counted = {seq for seqs in tally.counted.values() for seq in seqs}
    groups = _sources(case, tally.eligible)
    ours = {groups[piece.seq] for piece in tally.eligible if not piece.is_secondhand}
    if counted and not any(groups[seq] in ours for seq in counted):
        yield Reason(
            "research_alone",
            "every piece that counts is research or imported",
            "1 piece of evidence of your own, from a run or a file here",
        )


def counterexamples_are_answered(case: Case, tally: Tally) -> Iterator[Reason]:
    """A counterexample blocks until it is answered; withdrawing it changes nothing."""
    open_ones = {piece.seq for piece in case.pieces if piece.role is Role.COUNTEREXAMPLE} - case.answered
    if left := sorted(open_ones - _answered_now(case, tally)):
        names = ", ".join(public_id("ev", seq) for seq in left)
        yield Reason(
            COUNTEREXAMPLE_UNANSWERED,
            f"{names} speaks against it",
            f'a verification from another session that names it (pmm_record with answers: "ev:{left[0]}"), '
            "or a reviewer",
        )


def has_its_review(case: Case, _tally: Tally) -> Iterator[Reason]:
    """What holds everywhere needs a person's signature."""
    if case.requirements.review and not case.is_reviewed:
        yield Reason(
            REVIEW_MISSING,
            "a person has not approved this, with this evidence",
            "review: a person runs pmm-mcp review on a terminal and signs; then promote again",
        )


ITEM_RULES: Sequence[ItemRule] = (
    can_become_active,
    is_not_superseded,
    is_said_once,
    has_enough_support,
    has_enough_verification,
    has_enough_teaching,
    is_not_research_alone,
    counterexamples_are_answered,
    has_its_review,
)


# ------------------------------------------------------------------------------------------- counting


def _shortfall(role: Role, tally: Tally, needed: int, missing: str) -> Iterator[Reason]:
    have = tally.have(role)
    if have < needed:
        why = "; ".join(tally.left_out.get(role, ()))
        detail = f"{have} of {needed} count{f' ({why})' if why else ''}"
        yield Reason(f"{role}_short", detail, f"{needed - have} {missing}")


def _tally(case: Case) -> Tally:
    eligible: list[Piece] = []
    left_out: dict[Role, list[str]] = {}
    for piece in sorted(case.pieces, key=lambda piece: piece.seq):
        if piece.role is Role.COUNTEREXAMPLE:
            continue
        why = next((why for rule in PIECE_RULES if (why := rule(piece, case)) is not None), None)
        if why is None:
            eligible.append(piece)
        else:
            left_out.setdefault(piece.role, []).append(why)
    groups = _sources(case, eligible)
    by_role: dict[Role, dict[str, int]] = {role: {} for role in _PRECEDENCE[1:]}
    for piece in eligible:
        by_role[piece.role].setdefault(groups[piece.seq], piece.seq)
    support, verification = by_role[Role.SUPPORTING], by_role[Role.VERIFICATION]
    # A source counts in one role: those that could serve in both verify only as far as it needs them.
    both = sorted(support.keys() & verification.keys(), key=lambda source: verification[source])
    needed = max(0, case.requirements.verification - (len(verification) - len(both)))
    for source in both[:needed]:
        left_out.setdefault(Role.SUPPORTING, []).append(
            f"the source of ev:{support.pop(source)} verifies already"
        )
    for source in both[needed:]:
        left_out.setdefault(Role.VERIFICATION, []).append(
            f"the source of ev:{verification.pop(source)} supports already"
        )
    counted = {role: tuple(sorted(pieces.values())) for role, pieces in by_role.items()}
    in_use = {seq for seqs in counted.values() for seq in seqs}
    for piece in eligible:
        same = by_role[piece.role].get(groups[piece.seq])
        if piece.seq not in in_use and same is not None:
            left_out.setdefault(piece.role, []).append(f"{piece.id} has the source of ev:{same}")
    return Tally(
        counted=counted,
        eligible=tuple(eligible),
        left_out={role: tuple(why) for role, why in left_out.items()},
    )


def _sources(case: Case, pieces: Sequence[Piece]) -> Mapping[int, str]:
    """Name the source of each piece; copies of one file are one, and all unresolved ones together."""
    known: dict[str, str] = {}
    sources: dict[int, str] = {}
    for piece in pieces:
        if not case.is_resolved(piece):
            sources[piece.seq] = ""
            continue
        marks = [f"at {piece.source}", *([f"blob {piece.blob}"] if piece.blob else [])]
        name = next((known[mark] for mark in marks if mark in known), marks[0])
        known |= dict.fromkeys((mark for mark in marks if mark not in known), name)
        sources[piece.seq] = name
    return sources


def _answered_now(case: Case, tally: Tally) -> set[int]:
    """Return the counterexamples that a verification of another session, recorded later, names."""
    against = {piece.seq: piece for piece in case.pieces if piece.role is Role.COUNTEREXAMPLE}
    return {
        piece.answers
        for piece in tally.eligible
        if piece.role is Role.VERIFICATION
        and piece.answers in against
        and piece.since > piece.answers
        and against[piece.answers].session not in piece.sessions
    }
