"""Cards: beliefs as objects of their own, tied to evidence, moving together with their knowledge."""

from pathlib import Path
from typing import Any

import pytest

from pmm_mcp.domain.errors import InvalidArgumentError, MoveNotAllowedError, NotFoundError
from pmm_mcp.domain.records import Call
from pmm_mcp.services.context import ContextInput
from pmm_mcp.services.knowledge.distilling import DistillInput
from pmm_mcp.services.knowledge.listing import ListInput
from pmm_mcp.services.record import EvidenceInput
from tests.houses import FILES, House, house_of

NOTHING = DistillInput(statement="", content="", tier="", supporting_refs=[])


async def card_of(house: House, item: str) -> Any:
    return await house.mind.app.cards.create(NOTHING, from_id=item, call=house.call())


async def card_from(house: House, *evidence: str, statement: str = "Use ninja.") -> str:
    given = DistillInput(statement=statement, content="It is fast.", tier="qi", supporting_refs=evidence)
    return (await house.mind.app.cards.create(given, from_id="", call=house.call())).id


async def link(house: House, card: str, evidence: str, role: str, *, unlink: bool = False) -> Any:
    return await house.mind.app.card_links.link(
        card, evidence_id=evidence, role=role, note="", unlink=unlink, call=house.call()
    )


async def retrieved(house: House, query: str, *, call: Call | None = None) -> list[Any]:
    found = await house.mind.app.card_search.retrieve(
        query, domain="", field="", top_k=5, call=call or house.call()
    )
    return found.cards


async def statuses(house: House, *ids: str) -> list[str | None]:
    return [(await house.mind.app.items.get(one)).item.status for one in ids]


async def test_a_card_of_active_knowledge_is_active_and_made_once(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.believed()
        first, second = await card_of(house, item), await card_of(house, item)
        shown = await house.mind.app.items.get(first.id)
        assert await house.mind.is_sound()
    assert (first.created, first.status, first.from_id) == (True, "promoted", item)
    assert (second.created, second.id) == (False, first.id)
    assert (item, "made_from") in [(one.id, one.role) for one in shown.references]


async def test_a_card_whose_gate_no_longer_holds_is_a_candidate_that_says_why(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        seen = await house.seen(FILES[0])
        item = await house.believed(supporting_refs=[seen])
        await house.mind.app.withdrawing.withdraw(seen, reason="wrong", call=house.call())
        card = await card_of(house, item)
    assert card.status == "candidate"
    assert card.reasons[0].startswith("supporting_short")


async def test_a_card_passes_the_same_gate(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        card = await card_from(house, await house.seen(FILES[0]))
        refused = await house.promote(card, [])
        promoted = await house.promote(card, [await house.seen(FILES[1], session="two")])
        listed = await house.mind.app.knowledge.list(ListInput(kind="card"), call=house.call())
        kinds = await house.mind.kinds()
    assert card.startswith("card:")
    assert (refused.promoted, promoted.promoted) == (False, True)
    assert [one.id for one in listed.items] == [card]
    assert "card_promoted" in kinds
    assert "knowledge_promoted" not in kinds


async def test_a_prefix_says_which_it_is(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.believed()
        card = (await card_of(house, item)).id
        for wrong in (item.replace("kn", "card"), card.replace("card", "kn")):
            with pytest.raises(NotFoundError):
                await house.demote(wrong, await house.seen(FILES[2]))


@pytest.mark.parametrize("moved", ["kn", "card"])
async def test_knowledge_and_its_card_move_together(tmp_path: Path, moved: str) -> None:
    async with house_of(tmp_path) as house:
        item = await house.believed()
        card = (await card_of(house, item)).id
        one, other = (item, card) if moved == "kn" else (card, item)
        against = await house.seen(FILES[2])
        demoted = await house.demote(one, against)
        both_down = await statuses(house, item, card)
        answer = await house.seen(FILES[3], session="three", answers=against)
        promoted = await house.promote(other, [answer], session="three")
        both_up = await statuses(house, item, card)
        published = await house.mind.app.publishing.publish(one, to="repo", reason="x", call=house.call())
        anchors = [(await house.mind.app.items.get(each)).item.anchor for each in (item, card)]
        assert await house.mind.is_sound()
    assert (demoted.moved_with, both_down) == ([other], ["demoted", "demoted"])
    assert promoted.promoted, promoted.gate
    assert (promoted.moved_with, both_up) == ([one], ["promoted", "promoted"])
    assert (published.moved_with, anchors) == ([other], [house.place.repo, house.place.repo])


async def test_a_link_is_the_beliefs_and_not_the_cards_alone(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.believed()
        card = (await card_of(house, item)).id
        against = await house.seen(FILES[2])
        linked = await link(house, card, against, "counterexample")
        again = await link(house, card, against, "counterexample")
        more = await house.seen(FILES[4])
        await link(house, card, more, "supporting")
        with pytest.raises(InvalidArgumentError, match="already"):
            await link(house, card, more, "verification")
        with pytest.raises(MoveNotAllowedError, match="rests on its evidence"):
            await link(house, card, more, "supporting", unlink=True)
        contested = [(await house.mind.app.items.get(each)).item.contested for each in (item, card)]
        await house.demote(item, await house.seen(FILES[5]))
        with pytest.raises(MoveNotAllowedError, match="never untied"):
            await link(house, card, against, "counterexample", unlink=True)
        untied = await link(house, card, more, "supporting", unlink=True)
        assert await house.mind.is_sound()
    assert (linked.changed, again.changed, untied.changed) == (True, False, True)
    assert contested == [True, True]


async def test_a_global_card_is_found_through_the_evidence_of_a_worktree(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        seen = await house.seen(FILES[0])
        card = await card_from(house, seen)
        await house.promote(card, [await house.seen(FILES[1], session="two")])
        for to in ("repo", "global"):
            await house.mind.app.publishing.publish(card, to=to, reason="x", call=house.call())
        await house.decide(card, ada)
        await house.mind.app.publishing.publish(card, to="global", reason="x", call=house.call())
        (found,) = await retrieved(house, FILES[0])
        nowhere = await retrieved(house, "nothing like it")
    assert (found.id, found.anchor) == (card, "global://default")
    assert {one.role for one in found.citations} == {"supporting", "verification"}
    assert (found.citations[0].id, found.citations[0].score) == (seen, 1.0)
    assert nowhere == []


async def test_a_counterexample_is_shown_and_never_lifts_a_card(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        app = house.mind.app

        async def seen(content: str, file: str, session: str = "one") -> str:
            evidence = EvidenceInput(content=content, source=file)
            return (await app.records.record(evidence, call=house.call(session))).id

        good = await card_from(house, await seen("the cache warms slowly", FILES[0]), statement="Warm it.")
        weak = await card_from(house, await seen("the cache is red", FILES[1]), statement="Paint it.")
        for card, file in ((good, FILES[2]), (weak, FILES[3])):
            looked = await seen(f"cache looked at again {file}", file, "two")
            assert (await house.promote(card, [looked])).promoted
        await link(
            house, weak, await seen("the cache warms slowly, and that is bad", FILES[4]), "counterexample"
        )
        found = await retrieved(house, "cache warms slowly")
    assert [one.id for one in found] == [good, weak]
    assert "counterexample" in {one.role for one in found[1].citations}
    assert found[1].contested


async def test_backfill_shows_first_and_then_makes(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        one, two = await house.believed(), await house.believed("Use ruff.")
        fallen = await house.believed("Use tabs.")
        await house.demote(fallen, await house.seen(FILES[2]))
        app, call = house.mind.app, house.call()
        dry = await app.cards.backfill(ListInput(), execute=False, call=call)
        done = await app.cards.backfill(ListInput(), execute=True, call=call)
        again = await app.cards.backfill(ListInput(), execute=True, call=call)
    assert dry.ready == [two, one]
    assert ([skip.id for skip in dry.skipped], dry.created) == ([fallen], [])
    assert len(done.created) == 2
    assert (again.created, again.existing) == ([], done.created)


async def test_cards_are_in_a_context_when_asked_for_and_once(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.believed("Use make for the build.")
        await card_of(house, item)
        lone = await card_from(
            house, await house.seen(FILES[2]), statement="Run the build with make and ninja."
        )
        await house.promote(lone, [await house.seen(FILES[3], session="two")])

        async def shown(*, cards: bool) -> set[str]:
            given = ContextInput(query="how is the build run with make?", include_cards=cards)
            pack = await house.mind.app.context.context(given, call=house.call())
            return {one.id for section in pack.sections for one in section.items}

        assert await shown(cards=False) == {item}
        assert await shown(cards=True) == {item, lone}
        found = await house.mind.found("make build ninja")
        assert lone not in found


async def test_a_sentence_is_said_once_as_knowledge_or_as_a_card(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.distill("Use make.")
        given = DistillInput(
            statement="use make", content="x", tier="qi", supporting_refs=[await house.seen(FILES[0])]
        )
        made = await house.mind.app.cards.create(given, from_id="", call=house.call())
        lone = await card_from(house, await house.seen(FILES[1]))
        said = await house.proposed("Use ninja!")
    assert (made.id, made.created) == (item, False)
    assert (said.id, said.created) == (lone, False)
