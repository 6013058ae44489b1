from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmm_mcp.domain.claims import (
    EVIDENCE_MAX,
    RULES,
    SUBJECT_CHARS_MAX,
    Claim,
    ClaimProblem,
    check_claim,
    read_claim,
)
from pmm_mcp.domain.ids import SEQ_MAX
from tests.replies import claim_payloads, json_values, words

STATUS: Final[Mapping[str, str]] = {"co:5": "open", "0a1b2c3d": "closed"}
FACT: Final[Mapping[str, Any]] = {"subject": "the pool", "value": 32, "evidence": [12]}


def fact(**fields: Any) -> dict[str, Any]:
    return {**FACT, **fields}


def outcome(claim: Claim | ClaimProblem, *, shown: frozenset[int] = frozenset({3, 12, 14})) -> str:
    """The reason a claim is not accepted, or `accepted`."""
    if isinstance(claim, Claim):
        problem = check_claim(
            claim, shown=shown, known=frozenset(range(1, 21)).__contains__, commitment_status=STATUS.get
        )
        return problem.reason if problem else "accepted"
    return claim.reason


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    type: str = "fact"
    payload: Mapping[str, Any] = field(default_factory=lambda: FACT)
    expected: str = "accepted"


CASES: Final = (
    Case(name="a_fact_with_evidence_that_was_shown"),
    Case(name="a_decision", type="decision"),
    Case(name="a_preference", type="preference"),
    Case(name="an_unknown_type", type="weather", expected="UNKNOWN_CLAIM_TYPE"),
    Case(name="a_reserved_type", type="identity_proposal", expected="UNKNOWN_CLAIM_TYPE"),
    Case(name="a_name_change", type="name_change", expected="UNKNOWN_CLAIM_TYPE"),
    Case(name="no_type", type="", expected="UNKNOWN_CLAIM_TYPE"),
    Case(name="an_unknown_type_before_its_shape", type="x", payload={}, expected="UNKNOWN_CLAIM_TYPE"),
    Case(name="nothing", payload={}, expected="INVALID_CLAIM_SHAPE"),
    Case(name="no_subject", payload=fact(subject=None), expected="INVALID_CLAIM_SHAPE"),
    Case(name="a_blank_subject", payload=fact(subject=" \n"), expected="INVALID_CLAIM_SHAPE"),
    Case(name="a_subject_of_nul", payload=fact(subject="\x00"), expected="INVALID_CLAIM_SHAPE"),
    Case(name="a_number_as_subject", payload=fact(subject=3), expected="INVALID_CLAIM_SHAPE"),
    Case(name="the_longest_subject", payload=fact(subject="x" * SUBJECT_CHARS_MAX)),
    Case(
        name="a_longer_subject",
        payload=fact(subject="x" * (SUBJECT_CHARS_MAX + 1)),
        expected="INVALID_CLAIM_SHAPE",
    ),
    Case(name="no_value", payload={"subject": "s", "evidence": [12]}, expected="INVALID_CLAIM_SHAPE"),
    Case(name="an_empty_value", payload=fact(value=None)),
    Case(name="an_object_as_value", payload=fact(value={"size": 0.5})),
    Case(name="a_text", payload=fact(text="it was measured")),
    Case(name="a_list_as_text", payload=fact(text=["x"]), expected="INVALID_CLAIM_SHAPE"),
    Case(name="fields_nobody_asked_for", payload=fact(confidence=0.9)),
    Case(name="a_domain", payload=fact(domain="build")),
    Case(name="a_domain_that_is_no_name", payload=fact(domain="a\nb"), expected="INVALID_CLAIM_SHAPE"),
    Case(name="a_number_as_domain", payload=fact(domain=1), expected="INVALID_CLAIM_SHAPE"),
    Case(name="an_absent_domain", payload=fact(domain="")),
    Case(name="no_evidence", payload={"subject": "s", "value": 1}, expected="NO_EVIDENCE"),
    Case(name="an_empty_list_of_evidence", payload=fact(evidence=[]), expected="NO_EVIDENCE"),
    Case(
        name="a_preference_needs_evidence_too",
        type="preference",
        payload=fact(evidence=None),
        expected="NO_EVIDENCE",
    ),
    Case(name="evidence_not_shown", payload=fact(evidence=[12, 13]), expected="EVIDENCE_NOT_SHOWN"),
    Case(
        name="evidence_that_does_not_exist", payload=fact(evidence=["ev:99"]), expected="EVIDENCE_NOT_SHOWN"
    ),
    Case(name="evidence_by_id", payload=fact(evidence=["ev:12", "msg:14", "turn:3"])),
    Case(name="evidence_by_digits", payload=fact(evidence=["12", " 14 "])),
    Case(name="evidence_events", payload={"subject": "s", "value": 1, "evidence_events": [12]}),
    Case(
        name="both_lists_count",
        payload=fact(evidence_events=[13]),
        expected="EVIDENCE_NOT_SHOWN",
    ),
    Case(name="evidence_as_a_word", payload=fact(evidence="ev:12"), expected="INVALID_CLAIM_SHAPE"),
    Case(name="evidence_as_an_object", payload=fact(evidence={"ev": 12}), expected="INVALID_CLAIM_SHAPE"),
    Case(name="zero_as_evidence", payload=fact(evidence=[0]), expected="INVALID_CLAIM_SHAPE"),
    Case(name="a_negative_number", payload=fact(evidence=[-12]), expected="INVALID_CLAIM_SHAPE"),
    Case(name="true_is_not_one", payload=fact(evidence=[True]), expected="INVALID_CLAIM_SHAPE"),
    Case(name="a_float_is_no_seq", payload=fact(evidence=[12.0]), expected="INVALID_CLAIM_SHAPE"),
    Case(name="a_huge_number", payload=fact(evidence=[SEQ_MAX + 1]), expected="INVALID_CLAIM_SHAPE"),
    Case(name="huge_digits", payload=fact(evidence=["9" * 9_999]), expected="INVALID_CLAIM_SHAPE"),
    Case(name="digits_of_another_script", payload=fact(evidence=["١٢"]), expected="INVALID_CLAIM_SHAPE"),
    Case(name="an_unknown_prefix", payload=fact(evidence=["xx:12"]), expected="INVALID_CLAIM_SHAPE"),
    Case(name="null_as_evidence", payload=fact(evidence=[None]), expected="INVALID_CLAIM_SHAPE"),
    Case(name="a_list_in_a_list", payload=fact(evidence=[[12]]), expected="INVALID_CLAIM_SHAPE"),
    Case(
        name="more_evidence_than_a_record_holds",
        payload=fact(evidence=list(range(1, EVIDENCE_MAX + 2))),
        expected="INVALID_CLAIM_SHAPE",
    ),
    Case(name="an_event_exists", type="event_existence", payload={"event": "ev:20"}),
    Case(name="an_event_is_referred_to", type="reference", payload={"event": 20}),
    Case(name="no_such_event", type="event_existence", payload={"event": 21}, expected="UNKNOWN_EVENT"),
    Case(name="no_such_referent", type="reference", payload={"event": "msg:21"}, expected="UNKNOWN_EVENT"),
    Case(name="no_event", type="reference", payload={}, expected="INVALID_CLAIM_SHAPE"),
    Case(name="a_list_of_events", type="reference", payload={"event": [20]}, expected="INVALID_CLAIM_SHAPE"),
    Case(
        name="evidence_of_any_type_must_have_been_shown",
        type="reference",
        payload={"event": 20, "evidence": [13]},
        expected="EVIDENCE_NOT_SHOWN",
    ),
    Case(
        name="a_commitment_is_open",
        type="commitment_status",
        payload={"commitment": "co:5", "status": "open"},
    ),
    Case(
        name="a_commitment_by_its_short_id",
        type="commitment_status",
        payload={"commitment": " 0a1b2c3d ", "status": "closed"},
    ),
    Case(
        name="a_commitment_is_not_closed",
        type="commitment_status",
        payload={"commitment": "co:5", "status": "closed"},
        expected="STATUS_MISMATCH",
    ),
    Case(
        name="no_such_commitment",
        type="commitment_status",
        payload={"commitment": "co:6", "status": "open"},
        expected="UNKNOWN_COMMITMENT",
    ),
    Case(
        name="an_event_is_no_commitment",
        type="commitment_status",
        payload={"commitment": "ev:5", "status": "open"},
        expected="INVALID_CLAIM_SHAPE",
    ),
    Case(
        name="a_status_that_there_is_not",
        type="commitment_status",
        payload={"commitment": "co:5", "status": "kept"},
        expected="INVALID_CLAIM_SHAPE",
    ),
    Case(
        name="a_list_as_status",
        type="commitment_status",
        payload={"commitment": "co:5", "status": ["open"]},
        expected="INVALID_CLAIM_SHAPE",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_claim(case: Case) -> None:
    assert outcome(read_claim(case.type, case.payload)) == case.expected


@pytest.mark.parametrize(
    ("type_", "payload", "expected"),
    [
        (
            "fact",
            {
                "subject": " the \ud800pool ",
                "value": 1,
                "evidence": ["msg:14", 12],
                "evidence_events": [12, 3],
            },
            Claim(type="fact", domain="project", subject="the \ufffdpool", evidence=(3, 12, 14)),
        ),
        (
            "decision",
            {"subject": "s", "value": 1, "domain": " build "},
            Claim(type="decision", domain="build", subject="s"),
        ),
        (
            "reference",
            {"event": "ev:20", "subject": "left to the target"},
            Claim(type="reference", domain="project", subject="event 20", cited=(20,)),
        ),
        (
            "commitment_status",
            {"commitment": "co:5 ", "status": "open", "domain": None},
            Claim(
                type="commitment_status", domain="project", subject="co:5", commitment="co:5", status="open"
            ),
        ),
    ],
)
def test_a_claim_says(type_: str, payload: dict[str, Any], expected: Claim) -> None:
    assert read_claim(type_, payload) == expected


def test_a_problem_names_what_is_missing() -> None:
    claim = read_claim("fact", fact(evidence=[14, 13, 12, 99]))
    assert isinstance(claim, Claim)

    problem = check_claim(
        claim, shown=frozenset({12}), known=lambda _: True, commitment_status=lambda _: None
    )

    assert problem == ClaimProblem("EVIDENCE_NOT_SHOWN", "not shown in this turn: 13, 14, 99")


FIELDS: Final = (
    "subject",
    "value",
    "domain",
    "text",
    "evidence",
    "evidence_events",
    "event",
    "commitment",
    "status",
)


@given(
    st.sampled_from([*RULES, "", "weather"]),
    st.dictionaries(st.sampled_from(FIELDS) | words(), json_values(), max_size=8) | claim_payloads(),
    st.frozensets(st.integers(1, 60)),
)
def test_any_payload_has_an_answer(type_: str, payload: dict[str, Any], shown: frozenset[int]) -> None:
    claim = read_claim(type_, payload)

    if isinstance(claim, ClaimProblem):
        assert claim.reason in {"UNKNOWN_CLAIM_TYPE", "INVALID_CLAIM_SHAPE"}
        assert len(claim.detail.encode()) <= 600
        return
    assert claim.subject
    accepted = outcome(claim, shown=shown) == "accepted"
    if accepted:
        assert shown.issuperset(claim.evidence)
    if accepted and RULES[type_].needs_evidence:
        assert claim.evidence
