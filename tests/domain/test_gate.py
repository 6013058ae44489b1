"""The gate, as tables: every tier, status and shortfall, and every rule by what it alone prevents."""

from dataclasses import replace
from typing import Any, Final

import pytest

from pmm_mcp.domain import gate
from pmm_mcp.domain.case import FLOOR, Case, Piece, Requirements
from pmm_mcp.domain.events.memory import Origin, Provenance
from pmm_mcp.domain.gate import Verdict, judge
from pmm_mcp.domain.tiers import Role, Status, Tier

BORN: Final = 100
HERE: Final = "worktree:///code/here"


def piece(seq: int, role: Role = Role.SUPPORTING, **given: Any) -> Piece:
    """A piece that counts: a file of its own, read in a session of its own."""
    standard: dict[str, Any] = {
        "seq": seq,
        "role": role,
        "session": f"session {seq}",
        "origin": Origin.FILE,
        "source": f"file:{seq}.py",
        "anchor": HERE,
    }
    return Piece(**(standard | given))


def taught(seq: int) -> Piece:
    return piece(
        seq, Role.TEACHING, origin=Origin.SIGNED, source=f"signed:{seq}", provenance=Provenance.HUMAN
    )


def verified(seq: int = BORN + 1, **given: Any) -> Piece:
    return piece(seq, Role.VERIFICATION, **given)


def case(tier: Tier = Tier.QI, *pieces: Piece, **given: Any) -> Case:
    """A candidate that lacks nothing, with other pieces when some are given."""
    needs = FLOOR[tier]
    enough = (
        *(piece(seq) for seq in range(1, needs.supporting + 1)),
        *(verified(BORN + seq) for seq in range(1, needs.verification + 1)),
        *(taught(50 + seq) for seq in range(needs.teaching)),
    )
    standard: dict[str, Any] = {
        "tier": tier,
        "status": Status.CANDIDATE,
        "born": BORN,
        "session": "the candidate's",
        "worktree": HERE,
        "commit": "a" * 40,
        "requirements": needs,
        "is_reviewed": needs.review,
        "pieces": pieces or enough,
    }
    return Case(**(standard | given))


def codes(verdict: Verdict) -> set[str]:
    return {reason.code for reason in verdict.reasons}


def without(role: Role, count: int, full: Case) -> Case:
    """The same case with fewer pieces of one role."""
    kept, left = [], count
    for one in full.pieces:
        if one.role is role and left:
            left -= 1
            continue
        kept.append(one)
    return replace(full, pieces=kept)


@pytest.mark.parametrize("tier", Tier)
@pytest.mark.parametrize("status", [Status.CANDIDATE, Status.DEMOTED])
def test_what_lacks_nothing_passes(tier: Tier, status: Status) -> None:
    assert judge(case(tier, status=status)).allowed


SHORTFALLS = [
    (tier, role, lacking)
    for tier, needs in FLOOR.items()
    for role in (Role.SUPPORTING, Role.VERIFICATION, Role.TEACHING)
    for lacking in range(1, getattr(needs, role) + 1)
]


@pytest.mark.parametrize("status", [Status.CANDIDATE, Status.DEMOTED])
@pytest.mark.parametrize(("tier", "role", "lacking"), SHORTFALLS)
def test_each_shortfall_is_named_alone(tier: Tier, role: Role, lacking: int, status: Status) -> None:
    verdict = judge(without(role, lacking, case(tier, status=status)))
    assert codes(verdict) == {f"{role}_short"}
    (reason,) = verdict.reasons
    assert reason.missing.startswith(f"{lacking} ")


@pytest.mark.parametrize(
    ("tier", "status", "expected"),
    [
        (tier, status, code)
        for tier in Tier
        for status, code in (
            (Status.PROMOTED, "already_active"),
            (Status.CANONICAL, "already_active"),
            (Status.RETIRED, "retired"),
        )
    ],
)
def test_what_is_no_candidate_has_no_such_way(tier: Tier, status: Status, expected: str) -> None:
    assert codes(judge(case(tier, status=status))) == {expected}


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("tier", Tier)
def test_all_reasons_come_at_once(tier: Tier, status: Status) -> None:
    against = piece(60, Role.COUNTEREXAMPLE)
    bare = case(
        tier,
        against,
        status=status,
        is_reviewed=False,
        superseded_by=200,
        said_by="kn:9",
        requirements=FLOOR[Tier.DAO_TIAN],
    )
    always = {
        "superseded",
        "said_already",
        "supporting_short",
        "verification_short",
        "teaching_short",
        "counterexample_unanswered",
        "review_missing",
    }
    moved = {
        Status.PROMOTED: {"already_active"},
        Status.CANONICAL: {"already_active"},
        Status.RETIRED: {"retired"},
    }
    assert codes(judge(bare)) == always | moved.get(status, set())


# What each rule alone prevents: a case that is refused, for this reason only, while the rule is there.
FILE_A: dict[str, Any] = {"source": "file:a.py"}
UNRESOLVED: dict[str, Any] = {"origin": Origin.CITED, "source": None}
PREVENTED: dict[str, tuple[Case, str]] = {
    "not_withdrawn": (case(Tier.QI, piece(1, is_withdrawn=True), verified()), "supporting_short"),
    "not_redacted": (case(Tier.QI, piece(1, is_redacted=True), verified()), "supporting_short"),
    "in_one_role": (
        case(Tier.QI, piece(1), piece(BORN + 1), verified(BORN + 1)),
        "verification_short",
    ),
    "verification_is_resolved": (case(Tier.QI, piece(1), verified(**UNRESOLVED)), "verification_short"),
    "verification_is_no_opinion": (
        case(Tier.QI, piece(1), verified(is_evaluation=True)),
        "verification_short",
    ),
    "verification_is_newer_than_the_candidate": (
        case(Tier.QI, piece(1), verified(BORN - 1)),
        "verification_short",
    ),
    "verification_is_newer_than_the_demotion": (
        case(Tier.QI, piece(1), verified(), status=Status.DEMOTED, demoted_at=BORN + 5),
        "verification_short",
    ),
    "verification_is_from_elsewhen": (
        case(Tier.QI, piece(1), verified(session="the candidate's")),
        "verification_short",
    ),
    "teaching_is_signed": (
        case(
            Tier.QI,
            piece(1),
            verified(),
            piece(3, Role.TEACHING),
            requirements=Requirements(supporting=1, verification=1, teaching=1, review=False),
        ),
        "teaching_short",
    ),
    "can_become_active": (case(Tier.QI, status=Status.RETIRED), "retired"),
    "is_not_superseded": (case(Tier.QI, superseded_by=BORN + 9), "superseded"),
    "is_said_once": (case(Tier.QI, said_by="kn:9"), "said_already"),
    "has_enough_support": (without(Role.SUPPORTING, 1, case(Tier.QI)), "supporting_short"),
    "has_enough_verification": (without(Role.VERIFICATION, 1, case(Tier.QI)), "verification_short"),
    "has_enough_teaching": (without(Role.TEACHING, 1, case(Tier.DAO_TIAN)), "teaching_short"),
    "is_not_research_alone": (
        case(
            Tier.QI,
            piece(1, provenance=Provenance.RESEARCH),
            verified(provenance=Provenance.IMPORT),
        ),
        "research_alone",
    ),
    "counterexamples_are_answered": (
        case(Tier.QI, piece(1), verified(), piece(2, Role.COUNTEREXAMPLE)),
        "counterexample_unanswered",
    ),
    "has_its_review": (case(Tier.DAO_TIAN, is_reviewed=False), "review_missing"),
}


def rules() -> list[str]:
    return [rule.__name__ for rule in (*gate.PIECE_RULES, *gate.ITEM_RULES)]


def test_every_rule_has_its_row() -> None:
    assert list(PREVENTED) == rules()


@pytest.mark.parametrize("rule", PREVENTED)
def test_each_rule_refuses_for_its_own_reason(rule: str) -> None:
    refused, code = PREVENTED[rule]
    assert codes(judge(refused)) == {code}


@pytest.mark.parametrize("rule", PREVENTED)
def test_without_a_rule_what_it_prevents_passes(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("PIECE_RULES", "ITEM_RULES"):
        kept = tuple(one for one in getattr(gate, table) if one.__name__ != rule)
        monkeypatch.setattr(gate, table, kept)
    assert judge(PREVENTED[rule][0]).allowed


LAW = Tier.DAO_REN


@pytest.mark.parametrize(
    ("pieces", "counted"),
    [
        pytest.param([piece(1), piece(2)], 2, id="two files"),
        pytest.param([piece(1, **FILE_A), piece(2, **FILE_A)], 1, id="two ranges of one file"),
        pytest.param([piece(1, blob="b" * 40), piece(2, blob="b" * 40)], 1, id="a copy of a file"),
        pytest.param([piece(1), piece(2, **UNRESOLVED)], 2, id="a file and a word"),
        pytest.param([piece(1, **UNRESOLVED), piece(2, **UNRESOLVED)], 1, id="two words"),
        pytest.param(
            [piece(1, **UNRESOLVED), piece(2, origin=Origin.MODEL, source="event:7")],
            1,
            id="a word and a model's reply",
        ),
        pytest.param(
            [piece(n, origin=Origin.MODEL, source=f"event:{n}") for n in (1, 2, 3)], 1, id="three replies"
        ),
        pytest.param(
            [piece(n, origin=Origin.MESSAGE, source=f"turn:{n}") for n in (1, 2)],
            1,
            id="two prompts, for a law",
        ),
        pytest.param([piece(1), piece(1)], 1, id="one id twice"),
    ],
)
def test_sources_are_counted_not_pieces(pieces: list[Piece], counted: int) -> None:
    verdict = judge(case(LAW, *pieces, verified()))
    assert len(verdict.counted[Role.SUPPORTING]) == counted
    assert verdict.allowed == (counted == 2)


def test_one_source_does_not_support_and_verify() -> None:
    assert codes(judge(case(Tier.QI, piece(1, **FILE_A), verified(**FILE_A)))) == {"supporting_short"}
    other = piece(2)
    assert judge(case(Tier.QI, piece(1, **FILE_A), other, verified(**FILE_A))).allowed


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        pytest.param({"session": "the candidate's"}, False, id="the same session"),
        pytest.param({"session": "the candidate's", "commit": "a" * 40}, False, id="the same commit"),
        pytest.param({"session": "the candidate's", "commit": "b" * 40}, True, id="after a commit"),
        pytest.param(
            {"session": "the candidate's", "commit": "b" * 40, "anchor": "worktree:///code/beside"},
            False,
            id="another checkout at another commit",
        ),
        pytest.param({"session": "another"}, True, id="another session"),
    ],
)
def test_verification_comes_from_another_session_or_after_a_commit(
    given: dict[str, Any], allowed: bool
) -> None:
    assert judge(case(Tier.QI, piece(1), verified(**given))).allowed is allowed


@pytest.mark.parametrize(
    ("tier", "origin", "allowed"),
    [
        (Tier.QI, Origin.MESSAGE, True),
        (Tier.SHU, Origin.MESSAGE, True),
        (Tier.DAO_REN, Origin.MESSAGE, False),
        (Tier.QI, Origin.MODEL, False),
        (Tier.QI, Origin.IMPORT, False),
        (Tier.QI, Origin.CITED, False),
        (Tier.QI, Origin.SIGNED, True),
    ],
)
def test_what_may_verify(tier: Tier, origin: Origin, allowed: bool) -> None:
    source = None if origin is Origin.CITED else "turn:9"
    verdict = judge(case(tier, piece(1), piece(2), verified(origin=origin, source=source)))
    assert verdict.allowed is allowed


def test_one_turn_verifies_once() -> None:
    needs = Requirements(supporting=1, verification=2, teaching=0, review=False)
    said = {"origin": Origin.MESSAGE, "source": "turn:9"}
    one_turn = case(Tier.SHU, piece(1), verified(101, **said), verified(102, **said), requirements=needs)
    assert codes(judge(one_turn)) == {"verification_short"}


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        pytest.param({"answers": 60}, True, id="another session"),
        pytest.param({"answers": 60, "session": "session 60"}, False, id="its own session"),
        pytest.param({"answers": 61}, False, id="another counterexample"),
        pytest.param({}, False, id="no answer"),
        pytest.param({"answers": 60, **UNRESOLVED}, False, id="without a source"),
    ],
)
def test_a_counterexample_is_answered_by_a_later_verification(answer: dict[str, Any], allowed: bool) -> None:
    against = piece(60, Role.COUNTEREXAMPLE)
    verdict = judge(case(Tier.QI, piece(1), against, verified(101), verified(102, **answer)))
    assert verdict.allowed is allowed
    assert verdict.answered == ((60,) if allowed else ())


@pytest.mark.parametrize("gone", ["is_withdrawn", "is_redacted"])
def test_a_counterexample_that_is_gone_still_blocks(gone: str) -> None:
    against = piece(60, Role.COUNTEREXAMPLE, **{gone: True})
    assert codes(judge(case(Tier.QI, piece(1), against, verified()))) == {"counterexample_unanswered"}


def test_what_a_reviewer_answered_no_longer_blocks() -> None:
    against = piece(60, Role.COUNTEREXAMPLE)
    assert judge(case(Tier.QI, piece(1), against, verified(), answered=frozenset({60}))).allowed


def test_a_policy_makes_the_floor_stricter_and_never_looser() -> None:
    lax = Requirements(supporting=0, verification=3, teaching=0, review=False)
    assert FLOOR[Tier.DAO_TIAN].at_least(lax) == Requirements(
        supporting=3, verification=3, teaching=1, review=True
    )


@pytest.mark.parametrize(
    ("refused", "expected"),
    [
        (case(Tier.DAO_TIAN, is_reviewed=False), True),
        (case(Tier.QI, piece(1), verified(), piece(2, Role.COUNTEREXAMPLE)), True),
        (without(Role.SUPPORTING, 1, case(Tier.DAO_TIAN, is_reviewed=False)), False),
        (case(Tier.QI), False),
    ],
)
def test_a_person_is_asked_when_only_a_person_can_help(refused: Case, expected: bool) -> None:
    assert judge(refused).awaits_person is expected
