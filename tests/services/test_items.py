"""Looking at one thing: by its id, whole, as it is or as it was."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from pmm_mcp.domain.errors import InvalidArgumentError, NotFoundError
from pmm_mcp.services.items import CITATIONS_MAX
from tests.apps import Mind, mind_of
from tests.ledgers import HUMAN, redact

REPLY = 'Yes.\nCOMMIT: ship it\nCLAIM:fact={"subject":"pool","value":32,"evidence":["ev:2"]}\nREFLECT:{"n":1}'
"""By `furnish`: ev:2, the place, turn:4, its selection, msg:6, cl:7 and its evidence ev:8, co:9, rf:10."""


async def furnish(mind: Mind) -> None:
    await mind.record("The pool is 32.", source="notes")
    await mind.answer(REPLY, prompt="The pool?")


@dataclass(frozen=True, kw_only=True)
class Kept:
    id: str
    kind: str
    text: str
    references: tuple[tuple[str, str], ...] = ()
    dependants: tuple[tuple[str, str], ...] = ()


KEPT = (
    Kept(id="ev:2", kind="evidence_recorded", text="The pool is 32.", dependants=(("cl:7", "evidence"),)),
    Kept(id="msg:4", kind="user_message", text="The pool?"),
    Kept(id="msg:6", kind="assistant_message", text=REPLY),
    Kept(
        id="cl:7",
        kind="claim_accepted",
        text="pool",
        references=(("ev:2", "evidence"),),
        dependants=(("ev:8", "source"),),
    ),
    Kept(id="ev:8", kind="evidence_recorded", text="pool: 32", references=(("cl:7", "source"),)),
    Kept(id=" co:9 ", kind="commitment_opened", text="ship it"),
    Kept(id="rf:10", kind="reflection", text='{"n":1}'),
)


@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.id.strip())
async def test_every_prefix_finds_what_it_names(tmp_path: Path, case: Kept) -> None:
    async with mind_of(tmp_path) as mind:
        await furnish(mind)
        found = await mind.app.items.get(case.id)
        record = next(one for one in await mind.history() if one.seq == found.item.seq)

    assert (found.item.id, found.item.kind) == (case.id.strip(), case.kind)
    assert case.text in found.item.texts.values()
    assert found.item.hash == record.hash.hex()
    assert tuple((one.id, one.role) for one in found.references) == case.references
    assert tuple((one.id, one.role) for one in found.dependants) == case.dependants
    assert found.history[0].seq == found.item.seq


async def test_a_turn_is_shown_with_what_came_of_it(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await furnish(mind)
        found = await mind.app.items.get("turn:4")
        running = await mind.app.items.get("turn:4", as_of=5)

    assert found.turn is not None
    assert (found.turn.assistant, [one.id for one in found.turn.opened]) == ("Yes.", ["co:9"])
    assert running.turn is not None
    assert (running.turn.generation_status, running.turn.opened) == ("running", [])


@pytest.mark.parametrize(
    "id",
    [
        "ev:4",
        "msg:2",
        "cl:9",
        "co:7",
        "rf:2",
        "turn:2",
        "turn:6",
        "kn:2",
        "card:2",
        "fa:2",
        "rv:2",
        "ad:2",
        "ev:999",
    ],
)
async def test_a_prefix_that_does_not_fit_finds_nothing(tmp_path: Path, id: str) -> None:
    async with mind_of(tmp_path) as mind:
        await furnish(mind)
        with pytest.raises(NotFoundError):
            await mind.app.items.get(id)


@pytest.mark.parametrize(
    "id", ["", "2", "ev", "ev:", "ev:0", "ev:-2", "ev:２", "EV:2", "xx:2", "ev:2;", "ci:2:abc", "\ud800"]
)
async def test_what_is_no_id_is_refused(tmp_path: Path, id: str) -> None:
    async with mind_of(tmp_path) as mind:
        await furnish(mind)
        with pytest.raises(InvalidArgumentError):
            await mind.app.items.get(id)


async def test_a_promise_is_shown_as_it_was_at_any_seq(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await furnish(mind)
        await mind.answer("CLOSE: co:9 = done")
        closed = await mind.head()
        seen = {
            as_of: (await mind.app.items.get("co:9", as_of=as_of)).item.status
            for as_of in (9, closed - 1, closed, 0)
        }
        history = (await mind.app.items.get("co:9")).history
        before = (await mind.app.items.get("co:9", as_of=closed - 1)).history
        with pytest.raises(NotFoundError):
            await mind.app.items.get("co:9", as_of=8)
        with pytest.raises(InvalidArgumentError):
            await mind.app.items.get("co:9", as_of=-1)

    assert seen == {9: "open", closed - 1: "open", closed: "closed", 0: "closed"}
    assert [(one.kind, one.summary) for one in history] == [
        ("commitment_opened", "ship it"),
        ("commitment_closed", "done"),
    ]
    assert len(before) == 1


async def test_a_close_is_in_the_history_however_much_cites_the_promise(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await furnish(mind)
        await asyncio.gather(*(mind.record(f"about it, {n}", source="co:9") for n in range(101)))
        await mind.answer("CLOSE: co:9 = done")
        found = await mind.app.items.get("co:9")
        before = await mind.app.items.get("co:9", as_of=await mind.head() - 1)
        early = await mind.app.items.get("co:9", as_of=12)

    assert [one.kind for one in found.history] == ["commitment_opened", "commitment_closed"]
    assert {one.role for one in found.dependants} == {"source"}
    assert len(early.dependants) < len(before.dependants) <= CITATIONS_MAX


async def test_a_text_that_was_removed_is_absent_and_the_rest_stays(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await furnish(mind)
        await mind.app.ledger.write(redact(2), call=HUMAN)
        found = await mind.app.items.get("ev:2")
        assert await mind.is_sound()

    assert found.item.texts == {"source": "notes"}
    assert [one.kind for one in found.history] == ["evidence_recorded", "text_redacted"]


async def test_an_answer_stays_small_whatever_is_stored(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        first = await mind.record(
            "\x01語" * 5_000, source="語" * 5_000, labels=[f"label-{n}-{'x' * 50}" for n in range(100)]
        )
        for n in range(25):
            await mind.record(f"語 {n}" * 40, source=first.id)
        found = await mind.app.items.get(first.id)

    assert len(found.model_dump_json(exclude_none=True).encode()) <= 9_000
    assert found.item.texts_cut is not None
    assert found.item.texts_cut["content"] == 10_000
