"""The whole surface over stdio, with the real client, in both eras of the protocol."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import TextContent

from pmm_mcp.server.stdio import serve_stdio
from tests.processes.servers import environment
from tests.server.rooms import MODES, ask, refused, room

ERA = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28"}


@asynccontextmanager
async def window(home: Path, mode: str, **settings: Any) -> AsyncGenerator[Client]:
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "pmm_mcp"], env=environment(home, **settings), cwd=home
    )
    with (home / "stderr").open("w") as stderr:
        async with Client(
            stdio_client(parameters, errlog=stderr), mode=mode, read_timeout_seconds=30
        ) as client:
            yield client


@pytest.mark.parametrize("mode", MODES)
async def test_every_tool_answers_as_it_says_it_does(tmp_path: Path, mode: str) -> None:
    """The client validates too; here the schema is taken as JSON, and content compared with structure."""
    async with window(tmp_path, mode) as client:
        assert client.protocol_version == ERA[mode]
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}

        async def checked(tool: str, **arguments: Any) -> dict[str, Any]:
            result = await client.call_tool(tool, arguments)
            data = result.structured_content
            assert not result.is_error, data
            assert isinstance(data, dict)
            schema = schemas.pop(tool, None)
            if schema is not None:
                jsonschema.validate(data, schema)
            (block,) = result.content
            assert isinstance(block, TextContent)
            assert block.text == json.dumps(data, ensure_ascii=False, separators=(",", ":"))
            assert "null" not in block.text
            return data

        recorded = await checked(
            "pmm_record", content="We chose SQLite because it is embedded", labels=["db"]
        )
        found = await checked("pmm_search", query="why SQLite")
        turn = await checked("pmm_turn", prompt="why SQLite?")
        begun = await checked("pmm_turn_begin", prompt="promise something")
        finished = await checked(
            "pmm_turn_finish", turn=begun["turn"], reply="COMMIT: write it down\nI will."
        )
        again = await checked("pmm_turn_finish", turn=begun["turn"], reply="COMMIT: write it down\nI will.")
        item = await checked("pmm_get", id=recorded["id"])
        as_turn = await checked("pmm_get", id=begun["turn"])
        status = await checked("pmm_status", brief=False)
        await _governed(tmp_path / "checkout", recorded["id"], checked)
        events = await checked("pmm_ledger_events", limit=5, kinds=["commitment_opened"])
        verified = await checked("pmm_ledger_verify", projections=True)

    assert schemas == {}, "tools that were not called"
    assert [one["id"] for one in found["results"]] == [recorded["id"]]
    assert recorded["id"] in turn["assistant"]
    assert finished["opened"][0]["text"] == "write it down"
    assert again == {**finished, "repeated": True}
    assert item["item"]["actor"]["kind"] == "agent"
    assert as_turn["turn"] == {**finished, "head": as_turn["head"]}
    assert as_turn["item"]["texts"] == {"prompt": "promise something"}
    assert [one["text"] for one in status["open_commitments"]] == ["write it down"]
    assert [one["seq"] for one in events["events"]] == [int(finished["opened"][0]["id"].removeprefix("co:"))]
    assert verified["ok"]


Checked = Callable[..., Awaitable[dict[str, Any]]]
"""Calls a tool, and checks that it answers as it says."""


async def _governed(checkout: Path, against: str, checked: Checked) -> None:
    """Bring a method into being, raise it, publish it and let it fall."""
    await checked("pmm_context", query="why SQLite?")
    policy = await checked("pmm_knowledge_policy")
    item_id = await _believed(checkout, checked)
    pack = await checked("pmm_context", query="what do I run first?", cwd=str(checkout))
    signal = await checked("pmm_adoption_record", signal="used", context_id=pack["context_id"])
    report = await checked("pmm_adoption_report", candidate="card-context-default")
    card = await checked("pmm_card_create", from_id=item_id, cwd=str(checkout))
    published = await checked("pmm_knowledge_publish", id=item_id, to="repo", reason="all should know")
    linked = await checked("pmm_card_link", id=card["id"], evidence_id=against, role="counterexample")
    found = await checked("pmm_card_retrieve", query="a.py runs", cwd=str(checkout))
    backfilled = await checked("pmm_card_backfill", cwd=str(checkout))
    await _others_and_facts(against, checked)
    raised = await checked("pmm_knowledge_raise", id=item_id, reason="it holds more widely")
    listed = await checked("pmm_knowledge_list", anchor="*")
    demoted = await checked(
        "pmm_knowledge_demote",
        id=item_id,
        status="demoted",
        evidence_refs=[against],
        reason="it failed",
        reason_type="contradicted",
    )
    withdrawn = await checked("pmm_withdraw", id=against, reason="never mind")

    assert [gate["reviewer"] for gate in policy["gates"]] == [True, False, False, False]
    assert raised["tier"] == "dao_ren"
    assert published["published"]
    assert {one["id"] for one in listed["items"]} == {item_id, raised["id"], card["id"]}
    assert (demoted["new_status"], demoted["moved_with"]) == ("demoted", [card["id"]])
    assert {item_id, card["id"]} <= {one["id"] for one in withdrawn["dependants"]}
    assert (signal["totals"]["used"], report["gate"]["ready"]) == (1, False)
    assert (card["status"], linked["changed"]) == ("promoted", True)
    assert [one["id"] for one in found["cards"]] == [card["id"]]
    assert backfilled["existing"] == [card["id"]]


async def _others_and_facts(evidence: str, checked: Checked) -> None:
    """Take in a report, and keep facts with the time they hold."""
    report = {
        "report_id": "r1",
        "title": "Caches",
        "sources": [{"id": "s1", "title": "A paper"}],
        "findings": [{"id": "f1", "text": "Caches help.", "source_ids": ["s1"]}],
    }
    assert (await checked("pmm_research_validate", report=report))["valid"]
    assert len((await checked("pmm_research_record", report=json.dumps(report)))["recorded"]) == 1
    fact = {"subject": "billing", "predicate": "database", "source": evidence}
    await checked("pmm_fact_assert", object="MySQL", valid_from="2023-01-01", **fact)
    second = await checked("pmm_fact_assert", object="PostgreSQL", valid_from="2023-06-01", **fact)
    then = await checked("pmm_fact_query", subject="Billing", as_of="2023-02-01")
    issues = await checked("pmm_fact_check", text="the billing database MySQL")
    assert len(second["ended"]) == 1
    assert [one["object"] for one in then["facts"]] == ["MySQL"]
    assert {one["kind"] for one in issues["issues"]} == {"contradiction", "ended"}


async def _believed(checkout: Path, checked: Checked) -> str:
    """Bring a method through its gate: evidence, a candidate, a commit, verification."""
    cwd = str(checkout)
    await asyncio.to_thread(_commit, checkout, "a.py")
    seen = await checked("pmm_record", content="a.py runs", source="a.py:1", cwd=cwd)
    candidate = await checked(
        "pmm_knowledge_distill",
        statement="Run a.py before anything else.",
        content="It finds what is missing.",
        tier="method",
        supporting_refs=[seen["id"]],
        cwd=cwd,
    )
    asked = await checked("pmm_knowledge_gate", id=candidate["id"])
    assert asked["missing"][0].startswith("1 verification with a file")
    await asyncio.to_thread(_commit, checkout, "b.py")
    again = await checked("pmm_record", content="b.py shows it too", source="b.py", cwd=cwd)
    assert again["source_resolved"]
    promoted = await checked(
        "pmm_knowledge_promote", id=candidate["id"], verification_refs=[again["id"]], reason="seen twice"
    )
    assert promoted["promoted"], promoted
    return str(candidate["id"])


def _commit(checkout: Path, name: str) -> None:
    """Add a file to a repository, in a commit of its own."""
    checkout.mkdir(exist_ok=True)
    (checkout / name).write_text(f"# {name}\n")
    as_someone = ("-c", "user.name=Someone", "-c", "user.email=someone@example.org")
    for arguments in (("init", "-q"), ("add", name), (*as_someone, "commit", "-q", "-m", name)):
        subprocess.run(["git", *arguments], cwd=checkout, check=True)


@pytest.mark.parametrize("mode", MODES)
async def test_resources_are_read_and_what_is_not_there_is_an_error_with_a_code(
    tmp_path: Path, mode: str
) -> None:
    async with room(tmp_path, mode=mode) as client:
        recorded = await ask(client, "pmm_record", content="Kept for the resource.")
        listed = [str(one.uri) for one in (await client.list_resources()).resources]
        templates = (await client.list_resource_templates()).resource_templates

        async def read(uri: str) -> str:
            (content,) = (await client.read_resource(uri)).contents
            return str(getattr(content, "text", ""))

        assert listed == ["pmm://wake-up", "pmm://protocol", "pmm://policy"]
        assert {one.uri_template for one in templates} == {
            "pmm://item/{id}",
            "pmm://events/{seq}",
            "pmm://context/{query}",
        }
        assert "nothing is believed here" in await read("pmm://context/what%20about%20the%20resource")
        assert json.loads(await read("pmm://policy"))["gates"][0]["tier"] == "dao_tian"
        assert "Kept for the resource." in await read("pmm://wake-up")
        assert "pmm_record" in await read("pmm://protocol")
        assert json.loads(await read(f"pmm://item/{recorded['id']}"))["item"]["id"] == recorded["id"]
        assert json.loads(await read("pmm://events/1"))["kind"] == "ledger_opened"

        for uri, code in (("pmm://item/ev:999", "not_found"), ("pmm://item/nothing", "invalid_argument")):
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            assert caught.value.error.code == -32602
            assert caught.value.error.data["code"] == code
        with pytest.raises(MCPError, match="the ledger has no event 999"):
            await client.read_resource("pmm://events/999")


async def test_a_ledger_that_cannot_be_opened_is_told_to_every_call(tmp_path: Path) -> None:
    async with window(tmp_path, "2026-07-28", db=tmp_path) as client:
        assert len((await client.list_tools()).tools) > 5
        refusals = [
            await refused(client, "pmm_status"),
            await refused(client, "pmm_record", content="x"),
            await refused(client, "pmm_search", query="x"),
        ]
        with pytest.raises(MCPError) as caught:
            await client.read_resource("pmm://wake-up")

    assert {refusal["code"] for refusal in refusals} == {"ledger_unavailable"}
    assert all(refusal["hint"] and refusal["retryable"] is False for refusal in refusals)
    assert caught.value.error.data["code"] == "ledger_unavailable"


def test_settings_that_are_wrong_end_the_server_with_a_word_about_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PMM_MCP_TOOLSETS", "core,tools")

    with pytest.raises(SystemExit) as caught:
        serve_stdio()

    assert caught.value.code == 2
    assert "PMM_MCP_TOOLSETS: tools is no toolset" in capsys.readouterr().err
