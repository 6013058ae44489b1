"""The life of knowledge, one promise a test."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pmm_mcp.domain.errors import (
    InvalidArgumentError,
    InvalidInputError,
    MoveNotAllowedError,
    NotFoundError,
    RequestIdConflictError,
)
from pmm_mcp.services.knowledge.distilling import DistillInput
from pmm_mcp.services.knowledge.listing import ListInput
from tests.apps import mind_of
from tests.houses import FILES, House, house_of


async def listed(house: House, **given: Any) -> list[str]:
    return [
        one.id for one in (await house.mind.app.knowledge.list(ListInput(**given), call=house.call())).items
    ]


async def status_of(house: House, item: str, *, as_of: int = 0) -> str | None:
    return (await house.mind.app.items.get(item, as_of=as_of)).item.status


# ---------------------------------------------------------------------------------------------- distilling


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"statement": "  "}, "statement is empty"),
        ({"statement": "x" * 281}, "281 characters"),
        ({"content": ""}, "content is empty"),
        ({"tier": "law of nature"}, "tier"),
        ({"supporting_refs": []}, "supporting_refs is empty"),
        ({"supporting_refs": ["kn:1"]}, "names knowledge"),
        ({"supporting_refs": ["https://example.org"]}, "is not an id"),
        ({"domain": "global"}, "not allowed here"),
        ({"field": "a\nb"}, "not a name"),
        ({"intent_tags": [f"tag {n}" for n in range(21)]}, "21 of at most 20"),
    ],
)
async def test_a_bad_candidate_is_refused_and_nothing_is_written(
    tmp_path: Path, given: dict[str, Any], match: str
) -> None:
    async with house_of(tmp_path) as house:
        await house.seen(FILES[0])
        head = await house.mind.head()
        with pytest.raises(InvalidInputError, match=match):
            await house.proposed(**given)
        kinds = await house.mind.kinds(after=head)
    assert "knowledge_distilled" not in kinds


async def test_a_reference_that_is_not_there_is_no_evidence(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        with pytest.raises(NotFoundError, match="ev:99"):
            await house.proposed(supporting_refs=["ev:99"])


async def test_a_piece_of_evidence_has_one_role(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        seen = await house.seen(FILES[0])
        with pytest.raises(InvalidArgumentError, match="is in supporting_refs and in"):
            await house.proposed(supporting_refs=[seen], counterexample_refs=[seen])


async def test_a_request_id_of_one_tool_is_a_conflict_for_another(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.believed()
        app, call, against = house.mind.app, house.mind.keyed("once"), await house.seen(FILES[2])
        demotion: dict[str, Any] = {
            "evidence_refs": [against],
            "reason": "x",
            "reason_type": "obsolete",
            "call": call,
        }
        first = await app.demoting.demote(item, status="demoted", **demotion)
        again = await app.demoting.demote(item, status="demoted", **demotion)
        for other in (
            app.demoting.demote(item, status="retired", **demotion),
            app.promoting.promote(item, verification_refs=[], reason="x", target_status="", call=call),
            app.publishing.publish(item, to="repo", reason="x", call=call),
        ):
            with pytest.raises(RequestIdConflictError):
                await other
    assert (first.new_status, again.new_status, again.repeated) == ("demoted", "demoted", True)


@pytest.mark.parametrize(
    "again", ["Use make.", "Use\u200b make\u2060.", "use  MAKE", "Ｕｓｅ make!", " Use make … "]
)
async def test_the_same_sentence_again_finds_the_item(tmp_path: Path, again: str) -> None:
    async with house_of(tmp_path) as house:
        first = await house.proposed("Use make.")
        second = await house.proposed(again, session="two", tier="shu")
    assert (second.id, second.created, first.created) == (first.id, False, True)
    assert second.tier == "qi"
    assert second.notice is not None


async def test_what_is_said_again_after_it_fell_inherits_what_spoke_against_it(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.believed()
        against = await house.seen(FILES[2])
        await house.demote(item, against)
        again = await house.proposed("Use make!")
        shown = await house.mind.app.items.get(again.id)
        refused = await house.promote(again.id, [await house.seen(FILES[3], session="two")])
    assert (again.created, again.id != item) == (True, True)
    assert (against, "counterexample") in [(one.id, one.role) for one in shown.references]
    assert not refused.promoted


async def test_an_item_holds_where_its_widest_evidence_does(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        seen = await house.seen(FILES[0])
        read = await house.seen(FILES[1], provenance="research")
        narrow = await house.proposed("Narrow.", supporting_refs=[seen])
        wide = await house.proposed("Wide.", supporting_refs=[seen, read])
    assert narrow.anchor == house.place.worktree
    assert wide.anchor == house.place.repo


async def test_similar_statements_are_named_and_decide_nothing(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        first = await house.proposed("Run make test before every commit.")
        second = await house.proposed("Run make test before any commit.")
    assert second.created
    assert [one.id for one in second.similar] == [first.id]


async def test_a_long_content_leaves_room_for_what_comes_next(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        await house.proposed(content="word " * 40_000)
        await house.seen(FILES[1])
        assert await house.mind.is_sound()


async def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        seen = await house.seen(FILES[0])
        head = await house.mind.head()
        result = await house.proposed(supporting_refs=[seen], dry_run=True)
        assert await house.mind.head() == head
    assert (result.id, result.created) == ("", False)


async def test_a_request_id_gives_the_first_result_again(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        seen = await house.seen(FILES[0])
        given = DistillInput(statement="Use make.", content="It is there.", tier="qi", supporting_refs=[seen])
        call = house.mind.keyed("once")
        first = await house.mind.app.distilling.distill(given, call=call)
        again = await house.mind.app.distilling.distill(given, call=call)
        other = DistillInput(statement="Use ninja.", content="x", tier="qi", supporting_refs=[seen])
        with pytest.raises(RequestIdConflictError):
            await house.mind.app.distilling.distill(other, call=call)
    assert (again.id, again.repeated, first.repeated) == (first.id, True, None)


# ------------------------------------------------------------------------------------- promoting, demoting


async def test_the_gate_says_in_plain_words_what_is_missing(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.distill()
        gate = await house.mind.app.promoting.gate(item, target_status="", verification_refs=[])
        head = await house.mind.head()
    assert (gate.allowed, gate.target_status, gate.status) == (False, "promoted", "candidate")
    assert gate.missing == [
        "1 verification with a file of its own as its source, from a later session: restart the client, "
        "commit, or record it tomorrow"
    ]
    assert gate.counts["supporting"].counted == 1
    assert gate.head == head


async def test_a_refusal_is_kept_once_a_session_with_its_reasons(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.distill()
        for session in ("one", "one", "two"):
            result = await house.promote(item, [], session=session)
            assert not result.promoted
        kinds = await house.mind.kinds()
    assert kinds.count("promotion_refused") == 2


async def test_the_same_promotion_again_is_the_same_result_and_any_other_an_error(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.distill()
        looked = await house.seen(FILES[1], session="two")
        first = await house.promote(item, [looked])
        again = await house.promote(item, [looked])
        with pytest.raises(MoveNotAllowedError):
            await house.promote(item, [looked], session="three")
        with pytest.raises(MoveNotAllowedError):
            await house.promote(item, [await house.seen(FILES[2], session="two")])
    assert first.promoted
    assert (again.promoted, again.repeated, again.old_status) == (True, True, "candidate")


async def test_no_status_can_be_asked_for_directly(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.distill()
        for target in ("canonical", "retired", "candidate", "human"):
            with pytest.raises(InvalidArgumentError):
                await house.mind.app.promoting.promote(
                    item, verification_refs=[], reason="x", target_status=target, call=house.call()
                )


async def test_two_servers_promote_once(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house, mind_of(tmp_path.resolve(), seed="other") as other:  # noqa: ASYNC240
        item = await house.distill()
        looked = await house.seen(FILES[1], session="two")

        async def promote(app: Any, session: str) -> Any:
            return await app.promoting.promote(
                item, verification_refs=[looked], reason="x", target_status="", call=house.call(session)
            )

        ends = await asyncio.gather(
            promote(house.mind.app, "two"), promote(other.app, "three"), return_exceptions=True
        )
        kinds = await house.mind.kinds()
    assert kinds.count("knowledge_promoted") == 1
    assert sum(isinstance(end, MoveNotAllowedError) for end in ends) == 1


async def test_what_fell_comes_back_through_the_gate_with_newer_verification(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.believed()
        against = await house.seen(FILES[2])
        fallen = await house.demote(item, against)
        old = await house.promote(item, [])
        newer = await house.promote(item, [await house.seen(FILES[3], session="three")])
        answered = await house.promote(item, [await house.seen(FILES[4], session="three", answers=against)])
        again = await house.demote(item, against)
        blocked = await house.promote(item, [await house.seen(FILES[5], session="four")])
    assert fallen.new_status == "demoted"
    assert not old.promoted
    assert [reason.partition(":")[0] for reason in newer.gate.reasons] == ["counterexample_unanswered"]
    assert answered.promoted
    assert again.new_status == "demoted"
    assert "counterexample_unanswered" in {reason.partition(":")[0] for reason in blocked.gate.reasons}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"status": "gone"}, InvalidArgumentError),
        ({"reason_type": "because"}, InvalidArgumentError),
        ({"reason": "  "}, InvalidArgumentError),
    ],
)
async def test_demoting_takes_a_reason(tmp_path: Path, given: Any, error: type[Exception]) -> None:
    async with house_of(tmp_path) as house:
        item = await house.believed()
        with pytest.raises(error):
            await house.demote(item, await house.seen(FILES[2]), **given)
        with pytest.raises(InvalidArgumentError, match="evidence_refs is empty"):
            await house.demote(item)
        assert await status_of(house, item) == "promoted"


async def test_demoting_again_is_the_same_result_and_a_candidate_is_retired_instead(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.believed()
        against = await house.seen(FILES[2])
        await house.demote(item, against)
        again = await house.demote(item, against)
        candidate = await house.distill("Use ninja.")
        with pytest.raises(MoveNotAllowedError, match="candidate"):
            await house.demote(candidate, against)
        retired = await house.demote(candidate, status="retired", reason_type="out_of_scope")
    assert (again.new_status, again.repeated) == ("demoted", True)
    assert retired.new_status == "retired"


@pytest.mark.parametrize(("reason_type", "blocks"), [("contradicted", True), ("obsolete", False)])
async def test_evidence_of_a_demotion_is_a_counterexample_unless_it_is_only_out_of_use(
    tmp_path: Path, reason_type: str, blocks: bool
) -> None:
    async with house_of(tmp_path) as house:
        item = await house.believed()
        await house.demote(item, await house.seen(FILES[2]), reason_type=reason_type)
        result = await house.promote(item, [await house.seen(FILES[3], session="three")])
    assert result.promoted is not blocks


async def test_raising_again_finds_the_candidate_and_only_what_is_active_is_raised(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:

        async def raised(item: str) -> Any:
            return await house.mind.app.distilling.raise_tier(
                item, statement="", content="", reason="it holds", call=house.call()
            )

        candidate = await house.distill("Use ninja.")
        with pytest.raises(MoveNotAllowedError, match="only active"):
            await raised(candidate)
        item = await house.believed()
        first, second = await raised(item), await raised(item)
    assert (first.tier, first.status, first.created) == ("shu", "candidate", True)
    assert (second.id, second.created) == (first.id, False)


async def test_publishing_goes_one_step_outwards_and_finds_no_other_repository(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        candidate = await house.distill("Use ninja.")
        with pytest.raises(MoveNotAllowedError):
            await house.mind.app.publishing.publish(candidate, to="repo", reason="x", call=house.call())
        item = await house.believed()
        published = await house.mind.app.publishing.publish(item, to="repo", reason="x", call=house.call())
        again = await house.mind.app.publishing.publish(item, to="repo", reason="x", call=house.call())
        found = await house.mind.search("make", kinds=["knowledge"], anchor="repo")
    assert (published.published, published.new_anchor) == (True, house.place.repo)
    assert again.repeated
    assert [one.id for one in found.results] == [item]


# ------------------------------------------------------------------------------- what holds, and what held


async def test_withdrawn_evidence_leaves_active_knowledge_contested(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        seen = await house.seen(FILES[0])
        item = await house.believed(supporting_refs=[seen])
        before = await house.mind.head()
        result = await house.mind.app.withdrawing.withdraw(seen, reason="wrong file", call=house.call())
        again = await house.mind.app.withdrawing.withdraw(seen, reason="wrong file", call=house.call())
        now = (await house.mind.app.items.get(item)).item
        then = (await house.mind.app.items.get(item, as_of=before)).item
        gone = (await house.mind.app.items.get(seen)).item
        found = await house.mind.found("shows")
        waiting = await listed(house, awaiting="review")
        gate = await house.mind.app.promoting.gate(item, target_status="", verification_refs=[])
        assert await house.mind.is_sound()
    assert [one.id for one in result.dependants] == [item]
    assert again.repeated
    assert (now.status, now.contested, then.contested) == ("promoted", True, None)
    assert (gone.status, gone.texts["content"].startswith(FILES[0])) == ("withdrawn", True)
    assert seen not in found
    assert waiting == [item]
    assert any("was withdrawn" in reason for reason in gate.reasons)


async def test_withdrawing_a_counterexample_makes_no_gate_easier(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        against = await house.seen(FILES[2])
        item = await house.distill(counterexample_refs=[against])
        await house.mind.app.withdrawing.withdraw(against, reason="oops", call=house.call())
        result = await house.promote(item, [await house.seen(FILES[1], session="two")])
    assert [reason.partition(":")[0] for reason in result.gate.reasons] == ["counterexample_unanswered"]


async def test_lists_say_what_waits(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        candidate = await house.distill("Use ninja.")
        item = await house.believed()
        bare = await house.distill("Use bazel.", supporting_refs=[await house.seen("none.py")], tier="law")
        assert await listed(house) == [bare, item, candidate]
        assert await listed(house, awaiting="promotion") == [bare, candidate]
        assert await listed(house, awaiting="verification") == [candidate]
        assert await listed(house, awaiting="review") == []
        assert await listed(house, tier="tool", status="promoted") == [item]
        assert await listed(house, kind="card") == []
        first = await house.mind.app.knowledge.list(ListInput(limit=2), call=house.call())
        rest = await listed(house, limit=2, cursor=first.next_cursor or "")
        assert ([one.id for one in first.items], rest) == ([bare, item], [candidate])


async def test_a_replay_shows_what_was_believed_then_as_the_tables_said_it_then(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        app, call = house.mind.app, house.call()
        said: dict[int, Any] = {}

        async def look() -> None:
            head = await house.mind.head()
            said[head] = await app.beliefs.believed(head, call=call)

        seen = await house.seen(FILES[0])
        await look()
        item = await house.believed(supporting_refs=[seen])
        await look()
        await house.mind.at(house.place).answer("COMMIT: write it down\nI will.")
        await look()
        raised = await app.distilling.raise_tier(
            item, statement="It holds in every project.", content="", reason="x", call=call
        )
        looked = [await house.seen(name, session="three") for name in FILES[2:4]]
        await house.promote(raised.id, looked, session="three")
        await look()
        await app.withdrawing.withdraw(seen, reason="wrong", call=call)
        await look()
        against = await house.seen(FILES[5])
        await house.demote(raised.id, against)
        await look()
        await app.publishing.publish(item, to="repo", reason="x", call=call)
        await look()

        for head, then in said.items():
            assert await app.beliefs.believed(head, call=call) == then, head
            assert await app.beliefs.replay(head, call=call) == then, head
        with pytest.raises(InvalidArgumentError):
            await app.beliefs.replay(999, call=call)

    ids = [[one.id for one in then.beliefs] for then in said.values()]
    assert ids == [[], [item], [item], [raised.id], [raised.id], [item], [item]]
    assert [one.contested for then in list(said.values())[4:6] for one in then.beliefs] == [True, True]
    assert [len(then.commitments) for then in said.values()] == [0, 0, 1, 1, 1, 1, 1]
