"""How much an answer may hold: 9 000 bytes, whatever was recorded and in whatever script."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from pmm_mcp.domain.ids import KINDS
from pmm_mcp.domain.sizes import ANSWER_BYTES_MAX, cut, text_bytes
from pmm_mcp.providers.scripted import ScriptedReply
from tests.server.rooms import room

WIDE = "用户身份健康"  # three bytes a character
QUOTES = '"\\\n'  # twice as long in JSON
BELLS = "\a\x1b"  # six times
ALL_KINDS = {kind for kinds in KINDS.values() for kind in kinds}
SCRIPTS = {"wide": WIDE, "latin": "memory ", "quotes": QUOTES, "bells": BELLS, "emoji": "🍸"}
PREFIXES = {kind: [prefix for prefix, kinds in KINDS.items() if kind in kinds] for kind in ALL_KINDS}


def long(script: str, chars: int) -> str:
    return (script * chars)[:chars]


async def sized(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool; its answer is small."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.structured_content
    assert isinstance(result.structured_content, dict)
    size = len(result.content[0].text.encode())  # type: ignore[union-attr]
    assert size <= ANSWER_BYTES_MAX, f"{tool} answered with {size} bytes"
    return result.structured_content


def reply_of(script: str) -> str:
    """A reply in which everything is long and there is much of it."""
    promises = [f"COMMIT: {n} {long(script, 300).replace(chr(10), ' ')}" for n in range(30)]
    claims = [
        "CLAIM:fact="
        + json.dumps({"subject": f"{n} {long(script, 90)}", "value": long(script, 300), "evidence": ["ev:2"]})
        for n in range(20)
    ]
    bad = [f"CLAIM:nonsense={long(script, 300).replace(chr(10), ' ')}" for _ in range(30)]
    return "\n".join((*promises, *claims, *bad, long(script, 20_000)))


async def fill(client: Client, script: str) -> None:
    labels = [long(WIDE, 60) + str(n) for n in range(100)]
    for n in range(4):
        content = f"{n} memory {long(script, 6_000)}"
        await sized(client, "pmm_record", content=content, source=long(script, 3_000), labels=labels)
    begun = await sized(client, "pmm_turn_begin", prompt=f"memory {long(script, 6_000)}")
    await sized(client, "pmm_turn_finish", turn=begun["turn"], reply=reply_of(script))
    await sized(client, "pmm_turn_begin", prompt=f"memory {long(script, 6_000)}")


@pytest.mark.parametrize("script", ["wide", "bells"])
async def test_pain_08_no_answer_is_over_nine_thousand_bytes(tmp_path: Path, script: str) -> None:
    text = SCRIPTS[script]
    failing = ScriptedReply(text=long(text, 30_000), status="truncated")
    async with room(tmp_path, failing, reply_of(text)) as client:
        await fill(client, text)
        for _ in range(2):
            turn = await sized(client, "pmm_turn", prompt=f"memory {long(text, 9_000)}", include_events=True)
            await sized(client, "pmm_get", id=turn["turn"])
        await sized(client, "pmm_status")
        await sized(client, "pmm_status", brief=False)
        await sized(client, "pmm_search", query=f"memory {long(text, 9_000)}", limit=50)
        await sized(client, "pmm_search", query="memory", field="nowhere", limit=50)
        await sized(client, "pmm_ledger_verify", projections=True)
        events = await page_all(client, "pmm_ledger_events", "events", limit=200)
        for event in events[:: max(1, len(events) // 20)]:
            for prefix in PREFIXES.get(event["kind"], ()):
                await sized(client, "pmm_get", id=f"{prefix}:{event['seq']}")


async def page_all(client: Client, tool: str, part: str, **arguments: Any) -> list[Any]:
    """Follow the cursor to the end."""
    found: list[Any] = []
    cursor = ""
    while True:
        page = await sized(client, tool, cursor=cursor, **arguments)
        found += page[part]
        cursor = page.get("next_cursor", "")
        if not cursor:
            return found
        assert page[part], "a page before the last one is empty"


async def test_pain_08_what_does_not_fit_is_on_the_next_page(tmp_path: Path) -> None:
    async with room(tmp_path) as client:
        for n in range(30):
            await sized(client, "pmm_record", content=f"memory {n} {long(WIDE, 900)}")
        found = await page_all(client, "pmm_search", "results", query="memory", limit=50)
        events = await page_all(client, "pmm_ledger_events", "events", limit=200)

    assert len({one["id"] for one in found}) == len(found) == 30
    assert [one["seq"] for one in events] == list(range(1, len(events) + 1))
    assert len(events) > 30


async def test_a_text_that_is_cut_says_how_long_it_is(tmp_path: Path) -> None:
    async with room(tmp_path) as client:
        long_one = await sized(client, "pmm_record", content=long(WIDE, 6_000))
        short_one = await sized(client, "pmm_record", content="short")
        cut_item = (await sized(client, "pmm_get", id=long_one["id"]))["item"]
        whole_item = (await sized(client, "pmm_get", id=short_one["id"]))["item"]

    assert cut_item["texts_cut"] == {"content": 6_000}
    assert cut_item["texts"]["content"].endswith(" …")
    assert text_bytes(cut_item["texts"]["content"]) > 7_000
    assert "texts_cut" not in whole_item


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
@pytest.mark.parametrize("bytes_max", [0, 3, 4, 5, 100, 101, 102, 103, 4_096])
def test_a_text_is_cut_to_its_bytes(script: str, bytes_max: int) -> None:
    text = long(script, 5_000)
    shown = cut(text, bytes_max=bytes_max)

    assert text_bytes(shown) <= bytes_max
    assert text.startswith(shown.removesuffix(" …").rstrip())
    assert cut("short", bytes_max=5) == "short"


def test_pain_11_nothing_is_cut_through_a_character() -> None:
    pieces: Sequence[str] = [cut("🍸" * 50, bytes_max=size) for size in range(8, 60)]

    assert all(set(piece.removesuffix(" …")) <= {"🍸"} for piece in pieces)


@pytest.mark.parametrize("script", ["wide", "bells", "quotes"])
async def test_governed_knowledge_answers_within_the_same_size(tmp_path: Path, script: str) -> None:
    text = SCRIPTS[script]
    async with room(tmp_path) as client:
        refs = [
            (await sized(client, "pmm_record", content=f"{n} {long(text, 300)}", source=long(text, 900)))[
                "id"
            ]
            for n in range(100)
        ]
        item: dict[str, Any] = {}
        for n in range(40):
            item = await sized(
                client,
                "pmm_knowledge_distill",
                statement=f"{n} {long(text, 270).replace(chr(10), ' ')}",
                content=long(text, 5_000),
                scope_constraints=long(text, 5_000),
                tier="dao_tian",
                supporting_refs=refs[:60],
                counterexample_refs=refs[61:],
                intent_tags=[f"{long(WIDE, 50)} {tag}" for tag in range(20)],
            )
        await sized(client, "pmm_knowledge_gate", id=item["id"], verification_refs=refs[:50])
        await sized(client, "pmm_knowledge_promote", id=item["id"], verification_refs=refs, reason=text * 99)
        await sized(client, "pmm_get", id=item["id"])
        await sized(client, "pmm_knowledge_policy")
        card = await sized(client, "pmm_card_create", from_id=item["id"])
        await sized(client, "pmm_card_link", id=card["id"], evidence_id=refs[0], role="counterexample")
        await sized(client, "pmm_card_retrieve", query=text)
        await sized(client, "pmm_card_backfill", execute=True)
        await sized(client, "pmm_adoption_record", signal="miss", item_id=card["id"], note=long(text, 9_000))
        await sized(client, "pmm_adoption_report", candidate="card-embeddings", limit=50)
        for n in range(30):
            words = {"subject": long(text, 190) + str(n), "predicate": "is", "object": long(text, 199)}
            await sized(client, "pmm_fact_assert", source=refs[0], **words)
        await sized(client, "pmm_fact_query", limit=50)
        await sized(client, "pmm_fact_check", text=long(text, 20_000))
        finding = {"id": "f", "text": long(text, 9_000), "source_ids": ["s"]}
        report = {
            "report_id": "r",
            "title": "t",
            "sources": [{"id": "s", "title": long(text, 500)}],
            "findings": [finding | {"id": f"f{n}"} for n in range(40)],
        }
        await sized(client, "pmm_research_validate", report=report)
        await sized(client, "pmm_research_validate", report={long(text, 50) + str(n): n for n in range(99)})
        await sized(client, "pmm_research_record", report=report)
        await sized(
            client,
            "pmm_knowledge_demote",
            id=item["id"],
            status="retired",
            evidence_refs=refs,
            reason=long(text, 5_000),
            reason_type="unsafe",
        )
        await page_all(client, "pmm_knowledge_list", "items", limit=50)
        await sized(client, "pmm_context", query=text, include_candidates=True, max_items=50)
        await sized(client, "pmm_withdraw", id=refs[0], reason=long(text, 5_000))
        await sized(client, "pmm_status", brief=False)
