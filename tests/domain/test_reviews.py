"""What a person signs, to the byte, and what of a history of signatures does not hold."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha512
from typing import Any, Final, TypeVar

import pytest

from pmm_mcp.domain.anchors import UNSCOPED
from pmm_mcp.domain.events import Event
from pmm_mcp.domain.events.adoption import RollbackResolved
from pmm_mcp.domain.events.base import EventBody
from pmm_mcp.domain.events.memory import EvidenceRecorded
from pmm_mcp.domain.events.review import (
    PolicyUpdated,
    ReviewerRegistered,
    ReviewerRevoked,
    ReviewRecorded,
    TeachingSigned,
)
from pmm_mcp.domain.records import Actor, Recorded
from pmm_mcp.domain.reviews import (
    REVIEW_KINDS,
    YOUNG_US,
    Reviewers,
    key_id,
    looked_at,
    proposal_digest,
    signed_bytes,
)
from pmm_mcp.domain.tiers import Tier
from pmm_mcp.domain.times import timestamp

E = TypeVar("E", bound=EventBody)

LEDGER: Final = "a ledger"
HASH: Final = "ab" * 32
ADA, BOB, EVE = "aa" * 32, "bb" * 32, "ee" * 32
DAY: Final = YOUNG_US


def key(public_key: str) -> str:
    return key_id(bytes.fromhex(public_key))


def signature(public_key: str, message: bytes) -> str:
    """Stand in for Ed25519: only who knows a key's public half can make one, which will do here."""
    return sha512(public_key.encode() + message).hexdigest()


def holds(public_key: str, message: bytes, signed: str) -> bool:
    return signed == signature(public_key, message)


def signed(event: E, by: str, *, ledger_id: str = LEDGER) -> E:
    return event.model_copy(update={"signature": signature(by, signed_bytes(event, ledger_id=ledger_id))})


def registered(public_key: str, *, by: str) -> ReviewerRegistered:
    event = ReviewerRegistered(
        name="someone", key=key(public_key), public_key=public_key, by=key(by), signature="0" * 128
    )
    return signed(event, by)


def revoked(public_key: str, *, by: str) -> ReviewerRevoked:
    return signed(ReviewerRevoked(key=key(public_key), by=key(by), signature="0" * 128), by)


def review(by: str, **given: Any) -> ReviewRecorded:
    said: dict[str, Any] = {
        "item": 7,
        "move": "promote",
        "to": "canonical",
        "decision": "approve",
        "digest": "cd" * 32,
        "answered": (3,),
        "since_seq": 9,
        "head_hash": HASH,
        "expires_us": 1_000,
        "key": key(by),
        "signature": "0" * 128,
    }
    return signed(ReviewRecorded(**(said | given)), by)


def teaching(by: str, **given: Any) -> TeachingSigned:
    said: dict[str, Any] = {"evidence": 5, "digest": HASH, "key": key(by), "signature": "0" * 128}
    return signed(TeachingSigned(**(said | given)), by)


def policy(by: str, **given: Any) -> PolicyUpdated:
    said: dict[str, Any] = {
        "tier": Tier.QI,
        "supporting": 2,
        "verification": 1,
        "teaching": 0,
        "key": key(by),
        "signature": "0" * 128,
    }
    return signed(PolicyUpdated(**(said | given)), by)


def resolution(by: str) -> RollbackResolved:
    return signed(RollbackResolved(rollback=4, key=key(by), signature="0" * 128), by)


def recorded(event: Event, *, seq: int = 1, us: int = 0) -> Recorded:
    return Recorded(
        seq=seq,
        ts=timestamp(us),
        kind=event.kind,
        actor=Actor(kind="human", name="cli", session="s"),
        anchor=UNSCOPED,
        conversation="",
        fence=1,
        turn=None,
        request_id="",
        event=event,
        texts={},
        hash=seq.to_bytes(32, "big"),
    )


def problems(*history: tuple[Event, int]) -> list[str]:
    """What does not hold of events, each with the day it was recorded."""
    known = Reviewers(ledger_id=LEDGER, holds=holds)
    return [
        problem
        for at, (event, day) in enumerate(history)
        for problem in known.problems(
            recorded(event, seq=at + 1, us=day * DAY), hash_of=lambda seq: HASH if seq in (5, 9) else None
        )
    ]


FIRST: Final = (registered(ADA, by=ADA), 0)
SECOND: Final = (registered(BOB, by=ADA), 0)

SIGNED: Final[Sequence[Event]] = (
    registered(BOB, by=ADA),
    revoked(ADA, by=ADA),
    review(ADA),
    teaching(ADA),
    policy(ADA, review=True),
    resolution(ADA),
)

OTHER: Final[dict[str, Any]] = {
    "name": "someone else",
    "key": "0" * 16,
    "public_key": EVE,
    "by": "1" * 16,
    "item": 8,
    "move": "uphold",
    "to": "promoted",
    "decision": "reject",
    "digest": "ef" * 32,
    "answered": (),
    "since_seq": 10,
    "head_hash": "01" * 32,
    "expires_us": 1_001,
    "evidence": 6,
    "tier": Tier.SHU,
    "supporting": 3,
    "verification": 2,
    "teaching": 1,
    "review": False,
    "rollback": 5,
}


def test_every_kind_of_review_event_is_here() -> None:
    assert {event.kind for event in SIGNED} == set(REVIEW_KINDS)


@pytest.mark.parametrize("event", SIGNED, ids=lambda event: event.kind)
def test_a_signature_covers_every_field_but_itself(event: Event) -> None:
    before = signed_bytes(event, ledger_id=LEDGER)
    for field in set(type(event).model_fields) - {"kind", "v", "changed", "signature"}:
        assert signed_bytes(event.model_copy(update={field: OTHER[field]}), ledger_id=LEDGER) != before, field
    assert signed_bytes(event, ledger_id="another ledger") != before
    unsigned = event.model_copy(update={"signature": "f" * 128, "changed": ("note:masked:token",)})
    assert signed_bytes(unsigned, ledger_id=LEDGER) == before


def test_no_signature_fits_an_event_of_another_kind() -> None:
    schemes = {signed_bytes(event, ledger_id=LEDGER).partition(b"\n")[0] for event in SIGNED}
    assert len(schemes) == len(SIGNED)


def test_what_is_signed_can_be_written_down_by_anyone() -> None:
    assert signed_bytes(review(ADA), ledger_id=LEDGER) == (
        b"pmm.review.v1\n"
        b'{"answered":[3],"decision":"approve","digest":"' + b"cd" * 32 + b'","expires_us":1000,'
        b'"head_hash":"' + b"ab" * 32 + b'","item":7,"key":"' + key(ADA).encode() + b'",'
        b'"ledger_id":"a ledger","move":"promote","since_seq":9,"to":"canonical","v":1}'
    )


def digest(**given: Any) -> str:
    item = recorded(EvidenceRecorded(), seq=7)
    one, two = (recorded(EvidenceRecorded(), seq=seq) for seq in (1, 2))
    said: dict[str, Any] = {
        "item": item,
        "status": "candidate",
        "anchor": "global://default",
        "domain": "project",
        "move": "promote",
        "to": "promoted",
        "evidence": {"supporting": [one], "verification": [two]},
    }
    return proposal_digest(**(said | given))


PIECE: Final = recorded(EvidenceRecorded(), seq=1)
OTHER_PIECE: Final = recorded(EvidenceRecorded(), seq=2)


@pytest.mark.parametrize(
    "given",
    [
        {"item": recorded(EvidenceRecorded(), seq=8)},
        {"item": replace(recorded(EvidenceRecorded(), seq=7), hash=b"other" * 6 + b"..")},
        {"status": "demoted"},
        {"anchor": "repo://host/o/n"},
        {"domain": "agent"},
        {"move": "publish"},
        {"to": "canonical"},
        {"evidence": {"supporting": [PIECE]}},
        {"evidence": {"supporting": [PIECE], "verification": [OTHER_PIECE], "teaching": [PIECE]}},
        {"evidence": {"supporting": [OTHER_PIECE], "verification": [PIECE]}},
        {"evidence": {"supporting": [PIECE], "verification": [replace(OTHER_PIECE, hash=bytes(32))]}},
    ],
)
def test_another_proposal_has_another_digest(given: dict[str, Any]) -> None:
    assert digest(**given) != digest()


def test_a_proposal_is_the_same_in_whatever_order_its_evidence_comes() -> None:
    forth = {"supporting": [PIECE, OTHER_PIECE], "verification": []}
    back = {"verification": [], "supporting": [OTHER_PIECE, PIECE]}
    assert digest(evidence=forth) == digest(evidence=back)


def test_a_history_that_holds_has_no_problems() -> None:
    assert not problems(
        FIRST,
        (review(ADA), 0),
        (teaching(ADA), 0),
        SECOND,
        (review(BOB), 1),
        (review(BOB, decision="reject"), 0),
        (policy(BOB), 0),
        (policy(ADA, supporting=3), 0),
        (policy(ADA, supporting=3), 0),
        (resolution(BOB), 0),
        (revoked(ADA, by=BOB), 1),
        (review(BOB), 1),
        (EvidenceRecorded(), 1),
    )


OF_ANOTHER_LEDGER: Final = signed(review(ADA), ADA, ledger_id="another")


@pytest.mark.parametrize(
    ("history", "problem"),
    [
        ([(review(ADA), 0)], "nobody registered"),
        ([(registered(BOB, by=ADA), 0)], "the first reviewer does not sign for itself"),
        ([FIRST, (registered(EVE, by=EVE), 0)], "no earlier reviewer signed for it"),
        ([FIRST, FIRST], "registered already"),
        ([FIRST, (signed(registered(BOB, by=ADA), EVE), 0)], "not of this key"),
        (
            [(registered(ADA, by=ADA).model_copy(update={"key": key(EVE), "by": key(EVE)}), 0)],
            "after another",
        ),
        ([FIRST, (signed(review(ADA), EVE), 0)], "not of this key"),
        ([FIRST, (review(ADA).model_copy(update={"item": 8}), 0)], "not of this key"),
        ([FIRST, (OF_ANOTHER_LEDGER, 0)], "not of this key"),
        ([FIRST, (review(EVE), 0)], "nobody registered"),
        ([FIRST, SECOND, (review(BOB), 0)], "younger than a day"),
        ([FIRST, SECOND, (revoked(BOB, by=ADA), 1), (review(BOB), 2)], "was revoked"),
        ([FIRST, (revoked(ADA, by=ADA), 0), (registered(EVE, by=ADA), 0)], "was revoked"),
        ([FIRST, (review(ADA, since_seq=8), 0)], "looked at another event 8"),
        ([FIRST, (review(ADA, head_hash="0" * 64), 0)], "looked at another event 9"),
        ([FIRST, (teaching(ADA, digest="0" * 64), 0)], "signs another ev:5"),
        ([FIRST, (teaching(ADA, evidence=6), 0)], "signs another ev:6"),
        ([FIRST, (signed(teaching(ADA), EVE), 0)], "not of this key"),
        ([FIRST, (policy(ADA, supporting=0), 0)], "looser"),
        ([FIRST, (policy(ADA, supporting=3), 0), (policy(ADA), 0)], "looser"),
        ([FIRST, (signed(policy(ADA), EVE), 0)], "not of this key"),
        ([FIRST, (signed(resolution(ADA), EVE), 0)], "not of this key"),
    ],
)
def test_what_does_not_hold_is_said(history: list[tuple[Event, int]], problem: str) -> None:
    found = problems(*history)
    assert any(problem in one for one in found), found


def test_a_review_and_a_teaching_name_what_they_saw() -> None:
    assert looked_at(recorded(review(ADA))) == (9,)
    assert looked_at(recorded(teaching(ADA))) == (5,)
    assert looked_at(recorded(policy(ADA))) == ()
