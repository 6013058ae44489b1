"""The context service: what it refuses, what it answers, how small it stays, and what a turn makes of it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pmm_mcp.context.pack import context_id
from pmm_mcp.context.quoting import tokens_of
from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.domain.sizes import ANSWER_BYTES_MAX, part_bytes
from pmm_mcp.domain.tiers import Status, Tier
from pmm_mcp.queries import adoption
from pmm_mcp.services.context import ContextInput, ContextResult
from tests.apps import HERE, Mind, body, mind_of, texts
from tests.beliefs import believe


async def context(mind: Mind, query: str = "otter", **given: Any) -> ContextResult:
    return await mind.app.context.context(ContextInput(query=query, **given), call=mind.call)


def shown(result: ContextResult) -> list[str]:
    return [item.id for section in result.sections for item in section.items]


@dataclass(frozen=True, kw_only=True)
class Wrong:
    name: str
    given: dict[str, Any]
    hint: str


WRONG = (
    Wrong(name="no_items", given={"max_items": 0}, hint="from 1 to 50"),
    Wrong(name="too_many_items", given={"max_items": 51}, hint="from 1 to 50"),
    Wrong(name="no_tokens", given={"token_budget": 0}, hint="from 1 to 20000"),
    Wrong(name="too_many_tokens", given={"token_budget": 20_001}, hint="from 1 to 20000"),
    Wrong(name="negative_principles", given={"dao_tian_limit": -1}, hint="from 0 to 50"),
    Wrong(name="before_the_ledger", given={"as_of": -1}, hint="0 is now"),
    Wrong(name="after_the_head", given={"as_of": 99}, hint="a seq up to 1"),
    Wrong(name="domain", given={"domain": "everything"}, hint="project, agent, skill, global"),
    Wrong(name="field", given={"field": "a;b"}, hint="A name has at most"),
)


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
async def test_a_wrong_argument_is_refused_with_what_is_right(tmp_path: Path, case: Wrong) -> None:
    async with mind_of(tmp_path) as mind:
        with pytest.raises(InvalidArgumentError) as caught:
            await context(mind, **case.given)

    assert case.hint in (caught.value.hint or "")


async def test_an_answer_says_what_where_and_how_much(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        seen = await mind.record("An otter was seen.", source="river.md")
        item = await believe(
            mind, "Feed the otter.", tier=Tier.QI, field="zoo", supporting=(int(seen.id.removeprefix("ev:")),)
        )
        result = await context(mind, "  how to feed the otter?\n")
        head = await mind.head()
        async with mind.app.ledger.reader.view() as view:
            secret = await view.ask(adoption.secret())

    assert result.model_dump(exclude_none=True) == {
        "head": head,
        "context_id": context_id(head=head, item_ids=(item,), secret=secret),
        "query": "how to feed the otter?",
        "anchors": list(HERE.visible),
        "sections": [
            {
                "name": "qi",
                "items": [
                    {
                        "id": item,
                        "statement": "Feed the otter.",
                        "tier": "qi",
                        "status": "promoted",
                        "domain": "project",
                        "field": "zoo",
                        "anchor": HERE.repo,
                        "score": 1.0,
                        "citations": [{"id": seen.id, "role": "supporting", "source": "river.md"}],
                    }
                ],
            }
        ],
        "rendered": result.rendered,
        "tokens": tokens_of(result.rendered),
        "left_out": [],
        "adoption": {},
    }
    assert result.rendered.endswith(
        f'## Tools (qi)\n\n{item} · promoted · repo · field "zoo" · cites {seen.id}\n'
        "```\n> Feed the otter.\n```"
    )


async def test_it_only_reads_and_says_the_same_twice(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await believe(mind, "otter")
        before = await mind.head()
        first, second = await context(mind), await context(mind)

        assert first == second
        assert await mind.head() == before


async def test_the_id_of_a_context_is_that_of_what_was_selected(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await believe(mind, "otter one")
        await believe(mind, "otter two")
        both, same, one = await context(mind), await context(mind, "otters"), await context(mind, max_items=1)

    assert both.context_id == same.context_id != one.context_id


async def test_a_mebibyte_is_a_query_and_the_cut_is_reported(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        item = await believe(mind, "Feed the otter in the morning.")
        result = await context(mind, "hay " * 250_000 + " feed otter morning")

    assert shown(result) == [item]
    assert "990019 characters were left out" in (result.notice or "")
    assert part_bytes(result) <= 2_000


@pytest.mark.parametrize("text", ["otter " * 45, "用户" * 130 + " otter", '"\\\x01' * 80 + " otter"])
async def test_an_answer_stays_small_whatever_is_stored(tmp_path: Path, text: str) -> None:
    async with mind_of(tmp_path) as mind:
        for n in range(15):
            for tier in (Tier.DAO_REN, Tier.SHU, Tier.QI):
                await believe(mind, f"{n} {text}", tier=tier, intent_tags=("用" * 60,) * 3)
            await mind.record(f"otter {n} {text}", source="語" * 5_000)
        result = await context(mind, max_items=50, token_budget=20_000, include_evidence=True)

    assert part_bytes(result) <= ANSWER_BYTES_MAX
    assert len(result.sections) >= 2
    assert {one.reason for one in result.left_out} >= {"answer_size"}
    assert [item for item in shown(result) if f"{item} · " not in result.rendered] == []
    assert len(shown(result)) + (result.left_out_total or 0) == 50


# ----------------------------------------------------------------------------------------- in a turn


async def test_a_turn_shows_guidance_first_and_records_it(tmp_path: Path) -> None:
    async with mind_of(tmp_path, "fine") as mind:
        await mind.record("An otter was seen.")
        item = await believe(mind, "Feed the otter twice a day.")
        await believe(mind, "Sell the otter.", status=Status.CANDIDATE)
        result = await mind.run("How often should I feed the otter?")
        (asked,) = mind.chat.asked
        (selection,) = [body(one) for one in await mind.history() if one.kind == "retrieval_selection"]

    assert "## Guidance\n\n" in asked.system
    assert asked.system.index("## Guidance") < asked.system.index("## State")
    assert "### Methods (shu)" in asked.system
    assert "> Feed the otter twice a day." in asked.system
    assert "Sell the otter" not in asked.system
    assert selection.guidance == (int(item.removeprefix("kn:")),)
    assert result.context is not None
    assert result.context.items == [item, "ev:2"]


async def test_a_turn_without_guidance_is_recorded_as_ever(tmp_path: Path) -> None:
    async with mind_of(tmp_path, "fine") as mind:
        await mind.run("an otter?")
        (selection,) = [body(one) for one in await mind.history() if one.kind == "retrieval_selection"]
        (asked,) = mind.chat.asked

    assert "guidance" not in selection.body()
    assert "## Guidance" not in asked.system


async def test_guidance_may_be_cited_by_the_reply(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        seq = int((await believe(mind, "Feed the otter.")).removeprefix("kn:"))
        hidden = int((await believe(mind, "Sell the badger.")).removeprefix("kn:"))
        lines = [
            "CLAIM:fact=" + json.dumps({"subject": f"s{one}", "value": 1, "evidence": [one]})
            for one in (seq, hidden)
        ]
        result = await mind.answer("\n".join(lines), prompt="otter?")
        history = await mind.history()

    assert [(made.subject, made.evidence) for made in result.claims] == [(f"s{seq}", [f"kn:{seq}"])]
    assert texts(history, "validation_failure", "detail") == [f"not shown in this turn: {hidden}"]
