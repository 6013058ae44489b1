"""What a reply does to the ledger: every rule of its control lines, on a real ledger."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pmm_mcp.domain.commitments import short_id
from pmm_mcp.domain.events.mind import ClaimAccepted, LedgerReferenced
from pmm_mcp.turn.outcome import TurnResult
from tests.apps import ELSEWHERE, body, lines, mind_of, texts


def claim(type: str = "fact", **payload: Any) -> str:
    return f"CLAIM:{type}={json.dumps(payload)}"


def reasons(result: TurnResult) -> list[str]:
    return [failure.reason for failure in result.validation_failures]


# ------------------------------------------------------------------------------------- commitments


@dataclass(frozen=True, kw_only=True)
class Same:
    name: str
    first: str
    second: str
    opened: int = 0
    """How many the second line opens while the first is open."""


SAME = (
    Same(name="the_same_words", first="ship it", second="ship it"),
    Same(name="case_and_end_mark", first="Ship it!", second="ship it."),
    Same(name="white_space", first="ship  it", second=" ship\tit "),
    Same(name="full_width_letters", first="ship it", second="ｓｈｉｐ ｉｔ"),
    Same(name="cjk_end_mark", first="发布", second="发布。"),
    Same(name="other_words", first="ship it", second="ship it now", opened=1),
)


@pytest.mark.parametrize("case", SAME, ids=lambda case: case.name)
async def test_a_promise_is_opened_once_while_it_is_open(tmp_path: Path, case: Same) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.answer(f"COMMIT: {case.first}")
        result = await mind.answer(f"COMMIT: {case.second}")

    assert len(result.opened) == case.opened
    assert result.validation_failures == []


async def test_the_same_promise_twice_in_one_reply_is_one(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        assert len((await mind.answer("COMMIT: ship it\nCOMMIT: Ship it!")).opened) == 1


async def test_a_promise_that_was_kept_can_be_made_again(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        (first,) = (await mind.answer("COMMIT: ship it")).opened
        await mind.answer(f"CLOSE: {first.id}")
        (second,) = (await mind.answer("COMMIT: ship it")).opened

    assert first.id != second.id
    assert first.cid == second.cid == short_id("ship it")


async def test_a_promise_is_closed_by_its_id_with_an_outcome(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        (opened,) = (await mind.answer("COMMIT: ship it")).opened
        result = await mind.answer(f"CLOSE: {opened.id} = shipped = on Monday")
        (closed,) = result.closed
        item = await mind.app.items.get(opened.id)

    assert (closed.id, closed.text, closed.outcome) == (opened.id, "ship it", "shipped = on Monday")
    assert item.item.status == "closed"


async def test_a_promise_is_closed_by_its_short_id(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        (opened,) = (await mind.answer("COMMIT: ship it")).opened
        (closed,) = (await mind.answer(f"CLOSE: {short_id('ship it')}")).closed

    assert (closed.id, closed.outcome) == (opened.id, None)


async def test_a_promise_is_opened_and_closed_in_one_reply_whatever_their_order(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        result = await mind.answer(f"CLOSE: {short_id('ship it')} = at once\nCOMMIT: ship it")

    assert [promise.id for promise in result.opened] == [promise.id for promise in result.closed]
    assert result.closed[0].outcome == "at once"


async def test_a_short_id_means_the_promise_of_this_place_first(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        (mine,) = (await mind.answer("COMMIT: ship it")).opened
        (theirs,) = (await mind.at(ELSEWHERE).answer("COMMIT: ship it")).opened
        (closed,) = (await mind.answer(f"CLOSE: {short_id('ship it')}")).closed
        again = await mind.answer(f"CLOSE: {short_id('ship it')}")

    assert mine.id != theirs.id
    assert closed.id == mine.id
    assert reasons(again) == ["UNKNOWN_COMMITMENT"]


@pytest.mark.parametrize("target", ["co:1", "co:999", "deadbeef"])
async def test_what_is_not_open_cannot_be_closed(tmp_path: Path, target: str) -> None:
    async with mind_of(tmp_path) as mind:
        result = await mind.answer(f"ok\nCLOSE: {target} = done")
        (failure,) = result.validation_failures

    assert (failure.reason, failure.line, failure.text) == (
        "UNKNOWN_COMMITMENT",
        2,
        f"CLOSE: {target} = done",
    )
    assert result.closed == []


async def test_a_promise_is_closed_once(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        (opened,) = (await mind.answer("COMMIT: ship it")).opened
        result = await mind.answer(lines(f"CLOSE: {opened.id} = a", f"CLOSE: {opened.id} = b"))

    assert [promise.outcome for promise in result.closed] == ["a"]
    assert reasons(result) == ["UNKNOWN_COMMITMENT"]


# ------------------------------------------------------------------------------------------ claims


@dataclass(frozen=True, kw_only=True)
class Claimed:
    """A claim in a turn that showed ev:2; ev:4 is there and was not shown."""

    name: str
    line: str
    reason: str = ""


CLAIMS = (
    Claimed(name="shown_evidence", line=claim(subject="s", value=1, evidence=["ev:2"])),
    Claimed(name="a_number_is_an_event", line=claim(subject="s", value=1, evidence=[2])),
    Claimed(name="evidence_events", line=claim(subject="s", value=1, evidence_events=[2])),
    Claimed(name="the_prompt_itself", line=claim(subject="s", value=1, evidence=["msg:5"])),
    Claimed(name="a_null_value", line=claim(subject="s", value=None, evidence=[2])),
    Claimed(name="a_decision", line=claim("decision", subject="s", value={"a": [1]}, evidence=[2])),
    Claimed(name="a_preference", line=claim("preference", subject="s", value="x", evidence=[2])),
    Claimed(name="existence_of_what_is_there", line=claim("event_existence", event=3)),
    Claimed(name="a_reference", line=claim("reference", event="ev:3")),
    Claimed(
        name="hidden_evidence",
        line=claim(subject="s", value=1, evidence=["ev:4"]),
        reason="EVIDENCE_NOT_SHOWN",
    ),
    Claimed(
        name="one_of_two_hidden",
        line=claim(subject="s", value=1, evidence=[2, 4]),
        reason="EVIDENCE_NOT_SHOWN",
    ),
    Claimed(
        name="invented_evidence",
        line=claim(subject="s", value=1, evidence=[999]),
        reason="EVIDENCE_NOT_SHOWN",
    ),
    Claimed(name="no_evidence", line=claim(subject="s", value=1), reason="NO_EVIDENCE"),
    Claimed(
        name="empty_evidence", line=claim("decision", subject="s", value=1, evidence=[]), reason="NO_EVIDENCE"
    ),
    Claimed(
        name="unknown_type",
        line=claim("opinion", subject="s", value=1, evidence=[2]),
        reason="UNKNOWN_CLAIM_TYPE",
    ),
    Claimed(name="no_subject", line=claim(value=1, evidence=[2]), reason="INVALID_CLAIM_SHAPE"),
    Claimed(name="no_value", line=claim(subject="s", evidence=[2]), reason="INVALID_CLAIM_SHAPE"),
    Claimed(name="existence_of_nothing", line=claim("event_existence", event=999), reason="UNKNOWN_EVENT"),
    Claimed(
        name="status_of_nothing",
        line=claim("commitment_status", commitment="co:2", status="open"),
        reason="UNKNOWN_COMMITMENT",
    ),
    Claimed(
        name="a_domain_of_no_letters",
        line=claim(subject="s", value=1, domain="½", evidence=[2]),
        reason="INVALID_CLAIM_SHAPE",
    ),
    Claimed(
        name="half_a_surrogate_pair",
        line='CLAIM:fact={"subject": "a\\ud800", "value": "b\\udc00", "text": "c\\ud800", "evidence": [2]}',
    ),
    Claimed(name="nul", line='CLAIM:fact={"subject": "a\\u0000", "value": "\\u0000", "evidence": [2]}'),
    Claimed(
        name="nested_halves",
        line='CLAIM:fact={"subject": "a", "value": {"\\ud800": ["\\udc00"]}, "evidence_events": [2]}',
    ),
    Claimed(
        name="a_value_longer_than_a_text",
        line=f'CLAIM:fact={{"subject": "s", "value": [{",".join(["1e9"] * 90_000)}], "evidence": [2]}}',
        reason="INVALID_CLAIM_SHAPE",
    ),
)


@pytest.mark.parametrize("case", CLAIMS, ids=lambda case: case.name)
async def test_a_claim_is_accepted_by_the_rules_of_its_type(tmp_path: Path, case: Claimed) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.record("visible otters")
        await mind.record("hidden badgers")
        result = await mind.answer(case.line, prompt="otters?")
        assert await mind.is_sound()

    assert reasons(result) == ([case.reason] if case.reason else [])
    assert len(result.claims) == (not case.reason)


async def test_the_status_of_a_promise_can_be_claimed(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        (opened,) = (await mind.answer("COMMIT: ship it")).opened
        right = await mind.answer(claim("commitment_status", commitment=opened.id, status="open"))
        wrong = await mind.answer(claim("commitment_status", commitment=short_id("ship it"), status="closed"))

    assert [made.subject for made in right.claims] == [opened.id]
    assert reasons(wrong) == ["STATUS_MISMATCH"]


@pytest.mark.parametrize("type", ["fact", "decision"])
async def test_an_accepted_fact_becomes_evidence_that_search_finds(tmp_path: Path, type: str) -> None:
    async with mind_of(tmp_path) as mind:
        result = await mind.answer(
            claim(type, subject="pool size", value=32, evidence=["msg:2"]), prompt="how large?"
        )
        found = await mind.search("pool size", kinds=["evidence"])
        item = await mind.app.items.get(found.results[0].id)

    (hit,) = found.results
    assert (hit.text, hit.source) == ("pool size: 32", result.turn)
    assert item.item.details["source_event"] == int(result.claims[0].id[3:])


async def test_a_claim_s_own_words_are_what_becomes_evidence(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.answer(claim(subject="pool", value=32, text=" The pool is 32. ", evidence=[2]))
        contents = texts(await mind.history(), "evidence_recorded", "content")

    assert contents == ["The pool is 32."]


async def test_a_preference_becomes_no_evidence(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.answer(claim("preference", subject="tabs", value="no", evidence=[2]))
        assert "evidence_recorded" not in await mind.kinds()


async def test_evidence_of_an_accepted_fact_can_be_cited_by_the_next_turn(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.answer(claim(subject="pool", value=32, evidence=[2]), prompt="pool?")
        (found,) = await mind.found("pool", kinds=["evidence"])
        result = await mind.answer(claim(subject="cache", value=1, evidence=[found]), prompt="pool?")

    assert result.claims[0].evidence == [found]


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    name: str
    first: dict[str, Any]
    second: dict[str, Any]
    contradicts: bool
    second_type: str = "fact"


CONTRADICTIONS = (
    Contradiction(name="another_value", first={"value": 1}, second={"value": 2}, contradicts=True),
    Contradiction(
        name="the_same_value", first={"value": [1, "a"]}, second={"value": [1, "a"]}, contradicts=False
    ),
    Contradiction(
        name="the_same_object_in_another_order",
        first={"value": {"a": 1, "b": 2}},
        second={"value": {"b": 2, "a": 1}},
        contradicts=False,
    ),
    Contradiction(name="true_is_not_one", first={"value": 1}, second={"value": True}, contradicts=True),
    Contradiction(name="null_is_not_nothing", first={"value": 1}, second={"value": None}, contradicts=True),
    Contradiction(
        name="another_domain",
        first={"value": 1, "domain": "a"},
        second={"value": 2, "domain": "b"},
        contradicts=False,
    ),
    Contradiction(
        name="another_subject", first={"value": 1}, second={"value": 2, "subject": "t"}, contradicts=False
    ),
)


@pytest.mark.parametrize("case", CONTRADICTIONS, ids=lambda case: case.name)
async def test_a_claim_that_says_otherwise_is_accepted_and_shown_with_what_it_contradicts(
    tmp_path: Path, case: Contradiction
) -> None:
    async with mind_of(tmp_path) as mind:
        (first,) = (await mind.answer(claim(**({"subject": "s", "evidence": [2]} | case.first)))).claims
        seq = await mind.head() + 1
        (second,) = (await mind.answer(claim(**({"subject": "s", "evidence": [seq]} | case.second)))).claims
        old = await mind.app.items.get(first.id)

    assert second.contradicts == ([first.id] if case.contradicts else None)
    told = [related.id for related in old.dependants if related.role == "contradicts"]
    assert told == ([second.id] if case.contradicts else [])


async def test_claims_of_another_place_contradict_nothing_here(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.answer(claim(subject="s", value=1, evidence=[2]))
        seq = await mind.head() + 1
        (made,) = (await mind.at(ELSEWHERE).answer(claim(subject="s", value=2, evidence=[seq]))).claims

    assert made.contradicts is None


# -------------------------------------------------------------------------- references, reflections


async def test_a_reference_to_an_event_is_verified_with_its_hash(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.record("target")
        await mind.answer("REF: l#2\nREF: l.db#2\nREF: l#999\nREF: nowhere#2")
        history = await mind.history()
        target = history[1].hash.hex()

    found = [record.event for record in history if isinstance(record.event, LedgerReferenced)]
    assert [event.verified for event in found] == [True, True, False, False]
    assert [event.target_hash for event in found] == [target, target, None, None]
    assert texts(history, "ledger_referenced", "ledger") == ["l", "l.db", "l", "nowhere"]


async def test_another_ledger_beside_ours_is_found_by_name_and_by_id(tmp_path: Path) -> None:
    async with mind_of(tmp_path, name="other.db", seed="other") as other:
        await other.record("over there")
        target = (await other.history())[1].hash.hex()
        other_id = (await other.app.ledger.state()).ledger_id
    async with mind_of(tmp_path) as mind:
        await mind.answer(f"REF: other#2\nREF: {other_id}#2")
        history = await mind.history()

    assert [body(one).target_hash for one in history if one.kind == "ledger_referenced"] == [target] * 2


TRICKS = (
    "../beside/l.db",
    "/etc/passwd",
    "beside/l.db",
    ".hidden",
    "l.db\\x",
    "file:l.db",
    "..",
    "l.db?mode=rw",
)


@pytest.mark.parametrize("trick", TRICKS)
async def test_a_reference_is_never_a_path(tmp_path: Path, trick: str) -> None:
    async with mind_of(tmp_path) as mind:
        result = await mind.answer(f"REF: {trick}#1")

    assert reasons(result) == ["MALFORMED_REFERENCE"]


async def test_a_link_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    async with mind_of(outside, seed="other"):
        pass
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.db").symlink_to(outside / "l.db")
    async with mind_of(inside) as mind:
        await mind.answer("REF: link#1")
        (event,) = [body(one) for one in await mind.history() if one.kind == "ledger_referenced"]

    assert event.verified is False


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="reads the locks of this process from /proc")
@pytest.mark.parametrize("name", ["l.db-shm", "l.db-wal", "L.DB-SHM"])
async def test_a_reference_never_touches_the_files_sqlite_keeps_its_locks_on(
    tmp_path: Path, name: str
) -> None:
    """A POSIX lock is lost when any descriptor of its file is closed by the process that holds it."""

    def locks() -> int:
        inode = (tmp_path / "l.db-shm").stat().st_ino
        return sum(f":{inode} " in line for line in Path("/proc/locks").read_text().splitlines())

    async with mind_of(tmp_path) as mind:
        await mind.record("something")
        before = locks()
        await mind.answer(f"REF: {name}#1")
        assert locks() == before > 0


async def test_every_reflection_of_a_reply_is_kept(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.answer('REFLECT:{"n": 1}\ntext\nREFLECT:{"n": 2}\nREFLECT: {"n": 1}')
        history = await mind.history()
        found = await mind.found("n", kinds=["reflection"])

    assert texts(history, "reflection", "reflection") == ['{"n": 1}', '{"n": 2}', '{"n": 1}']
    assert len(found) == 3


# ------------------------------------------------------------------------------------- what failed


async def test_what_failed_is_shown_to_the_model_on_the_next_turn_and_then_no_more(tmp_path: Path) -> None:
    async with mind_of(tmp_path, "COMMIT:\nCLAIM:fact={oops\nCLOSE: co:77", "fine", "fine") as mind:
        await mind.run()
        await mind.run()
        await mind.run()

    _, second, third = (prompt.system for prompt in mind.chat.asked)
    for shown in (
        "> COMMIT:",
        "> CLAIM:fact={oops",
        "> CLOSE: co:77",
        "EMPTY_COMMITMENT",
        "UNKNOWN_COMMITMENT",
    ):
        assert shown in second
    assert "no effect\n" not in third
    assert "oops" not in third.replace("> CLAIM:fact={oops", "") or "INVALID_CLAIM_JSON" not in third


async def test_two_hundred_lines_count_and_the_rest_is_one_failure(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.record("seen")
        all_claims = lines(*(claim(subject=f"s{n}", value=n, evidence=[2]) for n in range(230)))
        result = await mind.answer(all_claims, prompt="seen?")
        made = [one for one in await mind.history() if isinstance(one.event, ClaimAccepted)]
        assert await mind.is_sound()

    assert len(made) == 200
    assert reasons(result) == ["TOO_MANY_LINES"]


async def test_a_failed_line_is_kept_shortened(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.answer(f'CLAIM:opinion={{"x": "{"y" * 50_000}"}}')
        (kept,) = texts(await mind.history(), "validation_failure", "line")

    assert kept is not None
    assert kept.startswith("CLAIM:opinion=")
    assert len(kept) <= 2_000
