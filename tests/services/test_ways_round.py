"""Ways round the gate that somebody tried: each of them is closed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pmm_mcp.domain.errors import MoveNotAllowedError, RequestIdConflictError
from pmm_mcp.domain.knowledge import statement_key
from pmm_mcp.domain.records import Call
from pmm_mcp.services.knowledge.distilling import DistillInput
from pmm_mcp.services.record import EvidenceInput
from tests.apps import Mind
from tests.houses import FILES, House, house_of


async def raise_tier(house: House, item: str, *, statement: str = "") -> Any:
    return await house.mind.app.distilling.raise_tier(
        item, statement=statement, content="", reason="it holds more widely", call=house.call()
    )


async def publish(house: House, item: str, *, to: str = "repo", reason: str = "it holds there") -> Any:
    return await house.mind.app.publishing.publish(item, to=to, reason=reason, call=house.call())


async def against(house: House, item: str) -> set[str]:
    shown = await house.mind.app.items.get(item)
    return {one.id for one in shown.references if one.role == "counterexample"}


async def repo_wide(house: House, file: str, *, session: str = "one") -> str:
    """Evidence of the repository, and no longer of one checkout."""
    return await house.seen(file, session=session, provenance="research")


async def quoted(house: House, turn: str) -> str:
    """Evidence of another session whose source is what the user said in a turn."""
    given = EvidenceInput(content=f"The user said so in {turn}.", source=turn.replace("turn:", "msg:"))
    return (await house.mind.app.records.record(given, call=house.call("two"))).id


async def believed_again(house: House) -> str:
    """The same sentence as a new item, with a verification of its own."""
    item = await house.distill()
    assert (await house.promote(item, [await house.seen(FILES[6], session="two")])).promoted
    return item


# ------------------------------------------------------------------------- saying the same somewhere else


async def test_raising_again_does_not_shed_what_spoke_against_the_first_raise(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.believed()
        first = await raise_tier(house, item, statement="Use make in every project.")
        await house.promote(first.id, [await house.seen(FILES[3], session="three")], session="three")
        seen = await house.seen(FILES[4])
        await house.demote(first.id, seen)
        second = await raise_tier(house, item, statement="Use make wherever you are.")
        refused = await house.promote(second.id, [await house.seen(FILES[5], session="three")])
    assert second.created
    assert second.id != first.id
    assert any("counterexample_unanswered" in reason for reason in refused.gate.reasons)


async def test_a_wider_place_does_not_shed_a_counterexample(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.believed()
        seen = await house.seen(FILES[2])
        await house.demote(item, seen)
        wide = await house.proposed(
            supporting_refs=[await house.seen(FILES[3]), await repo_wide(house, FILES[4])]
        )
        found = await against(house, wide.id)
    assert (wide.created, wide.anchor) == (True, house.place.repo)
    assert found == {seen}


async def test_the_order_of_candidates_does_not_shed_a_counterexample(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.believed()
        wide = await house.proposed(
            supporting_refs=[await house.seen(FILES[3]), await repo_wide(house, FILES[4])]
        )
        seen = await house.seen(FILES[2])
        await house.demote(item, seen)
        refused = await house.promote(wide.id, [await house.seen(FILES[5], session="three")])
        answer = await house.seen(FILES[6], session="three", answers=seen)
        answered = await house.promote(wide.id, [answer], session="three")
        again = await against(house, wide.id)
        is_sound = await house.mind.is_sound()
    assert any(f"{seen} speaks against it" in reason for reason in refused.gate.reasons)
    assert answered.promoted, answered.gate
    assert (again, is_sound) == ({seen}, True)


async def test_publishing_over_what_was_given_up_is_refused(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        wide = await house.proposed(
            supporting_refs=[await house.seen(FILES[3]), await repo_wide(house, FILES[4])]
        )
        narrow = await house.believed()
        assert (await house.promote(wide.id, [await house.seen(FILES[5], session="two")])).promoted
        with pytest.raises(MoveNotAllowedError, match="says the same there"):
            await publish(house, narrow)
        seen = await house.seen(FILES[6])
        await house.demote(wide.id, seen)
        with pytest.raises(MoveNotAllowedError, match=f"{seen} speaks against it there"):
            await publish(house, narrow)


async def test_a_reviewer_who_publishes_answers_what_speaks_against_it_anywhere(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        wide = await house.proposed(
            supporting_refs=[await house.seen(FILES[3]), await repo_wide(house, FILES[4])]
        )
        assert (await house.promote(wide.id, [await house.seen(FILES[5], session="two")])).promoted
        narrow = await house.believed()
        seen = await house.seen(FILES[6])
        await house.demote(narrow, seen)
        await publish(house, wide.id, to="global")
        case = await house.mind.app.reviewing.show(wide.id)
        await house.decide(wide.id, ada)
        published = await publish(house, wide.id, to="global")
        contested = (await house.mind.app.items.get(wide.id)).item.contested
        assert await house.mind.is_sound()
    assert seen in {one.id for one in case.evidence if one.role == "counterexample"}
    assert (published.published, contested) == (True, None)


# ------------------------------------------------------------------------ one sentence, believed once


async def test_what_fell_does_not_come_back_beside_what_says_the_same(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        first = await house.believed()
        await house.demote(first, await house.seen(FILES[2]), reason_type="obsolete")
        second = await believed_again(house)
        refused = await house.promote(first, [await house.seen(FILES[4], session="three")], session="three")
    assert not refused.promoted
    assert refused.gate.reasons == [f"said_already: {second} says this here and is active"]


async def test_what_was_superseded_does_not_come_back_beside_what_says_the_same(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        first = await house.believed()
        raised = await raise_tier(house, first, statement="Use make in every project.")
        await house.promote(raised.id, [await house.seen(FILES[3], session="three")], session="three")
        second = await believed_again(house)
        fallen = await house.demote(raised.id, await house.seen(FILES[4]))
        shown = await house.mind.app.items.get(first)
    assert second != first
    assert (fallen.moved_with, shown.item.status) == ([], "demoted")


async def test_what_comes_back_with_its_own_sentence_refuted_is_contested(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.believed()
        raised = await raise_tier(house, item)
        await house.promote(raised.id, [await house.seen(FILES[3], session="three")], session="three")
        fallen = await house.demote(raised.id, await house.seen(FILES[4]))
        shown = await house.mind.app.items.get(item)
        assert await house.mind.is_sound()
    assert (fallen.moved_with, shown.item.status, shown.item.contested) == ([item], "promoted", True)


@pytest.mark.parametrize(
    "again",
    [
        "Use make\ufe0f.",
        "Use\u034f make.",
        "Use make\u3164.",
        "Use\U000e0041 make.",
        "Use \u2800make\u115f",
        "\x07Use make.",
        "“Use make.”",
        "**Use make**",
        "(Use make!)",
        "Use m\u200da\u00adke\U000e01ef",
    ],
)
def test_what_cannot_be_seen_makes_no_other_sentence(again: str) -> None:
    assert statement_key(again) == statement_key("Use make.")


def test_marks_are_taken_out_before_letters_are_composed() -> None:
    assert statement_key("caf\u0065\u034f\u0301") == statement_key("café")


@pytest.mark.parametrize(
    ("one", "other"), [("Use C++.", "Use C."), ("Read .env first.", "Read env first."), ("Pass -v", "Pass v")]
)
def test_marks_that_mean_something_make_another_sentence(one: str, other: str) -> None:
    assert statement_key(one) != statement_key(other)


# ------------------------------------------------------------------------------------------- what counts


async def test_a_message_is_as_old_as_it_was_said(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        said = await Mind(house.mind.app, house.mind.chat, house.call("one")).answer("Noted.")
        item = await house.distill()
        cited = await quoted(house, said.turn)
        refused = await house.promote(item, [cited])
        later = await Mind(house.mind.app, house.mind.chat, house.call("two")).answer("Noted.")
        promoted = await house.promote(item, [await quoted(house, later.turn)])
    assert any("was known before the candidate" in reason for reason in refused.gate.reasons)
    assert promoted.promoted, promoted.gate


async def test_an_evaluator_neither_verifies_nor_answers(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.distill()
        judged = await house.seen(FILES[1], session="two", evaluator_id="judge-1")
        refused = await house.promote(item, [judged])
    assert any("is an evaluator's judgement" in reason for reason in refused.gate.reasons)


async def test_a_file_of_a_repository_within_is_a_source_there_only(tmp_path: Path) -> None:
    (tmp_path / "vendor" / "lib" / "src").mkdir(parents=True)
    (tmp_path / "vendor" / "lib" / ".git").write_text("gitdir: elsewhere\n")
    (tmp_path / "vendor" / "lib" / "src" / "a.py").write_text("a\n")
    (tmp_path / "vendor" / "own.py").write_text("b\n")
    async with house_of(tmp_path) as house:
        mind = Mind(house.mind.app, house.mind.chat, house.call())
        within = await mind.record("It is there.", source="vendor/lib/src/a.py")
        own = await mind.record("It is here.", source="vendor/own.py")
    assert (within.source_resolved, own.source_resolved) == (False, True)


async def test_refusals_of_a_session_come_to_an_end(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.distill()
        results = [await house.promote(item, [await house.seen(f"no {n}.txt")]) for n in range(55)]
        kinds = await house.mind.kinds()
    assert kinds.count("promotion_refused") == 50
    assert "not recorded any more" in (results[-1].notice or "")
    assert not any(result.promoted for result in results)


# ------------------------------------------------------------------------------- one request id, one request


async def test_a_request_id_stands_for_all_its_arguments(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        app = house.mind.app
        item = await house.believed()
        looked = [await house.seen(name) for name in FILES[2:5]]
        other = await house.distill("Use ninja.", supporting_refs=[looked[0]])

        def keyed(key: str) -> Call:
            return replace(house.call(), request_id=key)

        async def distill(**given: Any) -> Any:
            standard = {"statement": "S", "content": "C", "tier": "qi", "supporting_refs": looked[:1]}
            return await app.distilling.distill(DistillInput(**(standard | given)), call=keyed("distill"))

        async def promote(refs: list[str], reason: str = "x") -> Any:
            return await app.promoting.promote(
                other, verification_refs=refs, reason=reason, target_status="", call=keyed("promote")
            )

        async def raised(statement: str = "", reason: str = "x") -> Any:
            return await app.distilling.raise_tier(
                item, statement=statement, content="", reason=reason, call=keyed("raise")
            )

        async def published(to: str = "repo", reason: str = "x") -> Any:
            return await app.publishing.publish(item, to=to, reason=reason, call=keyed("publish"))

        async def demoted(evidence: str, reason: str = "x", reason_type: str = "contradicted") -> Any:
            return await app.demoting.demote(
                item,
                status="demoted",
                evidence_refs=[evidence],
                reason=reason,
                reason_type=reason_type,
                call=keyed("demote"),
            )

        assert (await distill()).id == (await distill()).id
        refused = [await promote(looked[1:2]), await promote(looked[1:2])]
        assert [one.gate.allowed for one in refused] == [False, False]
        assert (await raised()).id == (await raised()).id
        assert (await published()).published
        assert (await published()).repeated
        await demoted(looked[2])
        assert (await demoted(looked[2])).repeated
        for another in (
            distill(content="D"),
            distill(tier="shu"),
            distill(supporting_refs=looked[:2]),
            distill(scope_constraints="only here"),
            distill(tool_needs=["make"]),
            promote(looked[1:3]),
            promote(looked[1:2], "y"),
            raised("Another."),
            raised(reason="y"),
            published("global"),
            published(reason="y"),
            demoted(looked[1]),
            demoted(looked[2], "y"),
            demoted(looked[2], reason_type="obsolete"),
        ):
            with pytest.raises(RequestIdConflictError):
                await another


async def test_a_refusal_that_is_repeated_stays_a_refusal(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.distill()
        call = replace(house.call("two"), request_id="once")

        async def promote() -> Any:
            return await house.mind.app.promoting.promote(
                item, verification_refs=[], reason="x", target_status="", call=call
            )

        first = await promote()
        assert (await house.promote(item, [await house.seen(FILES[1], session="two")])).promoted
        again = await promote()
    assert (first.promoted, again.promoted, again.gate.allowed, again.repeated) == (False, False, False, True)
