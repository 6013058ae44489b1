"""What `tools/list` says: portable to the strictest client, small, and always the same."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import Tool

from pmm_mcp.config import DEFAULT_TOOLSETS, TOOLSETS
from pmm_mcp.server.instructions import long_form
from pmm_mcp.server.schemas import portable
from tests.server.rooms import MODES, closed_desk, room, server_at

KEYWORDS = {
    "type", "description", "enum", "const", "default", "minimum", "maximum", "minLength", "maxLength",
    "pattern", "items", "properties", "required", "anyOf",
}  # fmt: skip
CORE_BYTES_MAX = 7_000
DEFAULT_BYTES_MAX = 16_000
ALL_BYTES_MAX = 25_000
TOOL_NAMES = re.compile(r"\bpmm_[a-z_]+")


async def listed(**chosen: Any) -> tuple[list[Tool], str]:
    async with Client(server_at(closed_desk(), **chosen), mode="legacy") as client:
        return (await client.list_tools()).tools, client.instructions or ""


def nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every schema inside a schema, itself first."""
    yield schema
    for child in schema.get("properties", {}).values():
        yield from nodes(child)
    for child in schema.get("anyOf", ()):
        yield from nodes(child)
    if isinstance(schema.get("items"), dict):
        yield from nodes(schema["items"])


def size_bytes(tools: list[Tool]) -> int:
    shown = [
        {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
        for tool in tools
    ]
    return len(json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode())


@pytest.mark.parametrize("mode", MODES)
async def test_pain_17_schemas_are_what_the_strictest_client_takes(tmp_path: Path, mode: str) -> None:
    async with room(tmp_path, mode=mode) as client:
        tools = (await client.list_tools()).tools

    for tool in tools:
        assert re.fullmatch(r"[a-z][a-z0-9_]{0,39}", tool.name)
        assert "__" not in tool.name
        assert 20 < len(tool.description or "") <= 2_000
        assert "\n  " not in (tool.description or ""), "the indentation of the source"
        root = tool.input_schema
        assert root["type"] == "object"
        assert root["additionalProperties"] is False
        assert set(root) <= {"type", "properties", "required", "additionalProperties"}
        for name, argument in root["properties"].items():
            assert re.fullmatch(r"[a-z_]{1,64}", name)
            assert argument.get("description"), f"{tool.name}.{name} is not described"
            for node in nodes(argument):
                assert set(node) <= KEYWORDS, f"{tool.name}.{name}"
                assert node.get("type") != "array" or "items" in node
        assert tool.output_schema is not None
        assert tool.output_schema["type"] == "object"
        assert "$ref" not in json.dumps(tool.output_schema)


async def test_every_annotation_is_set() -> None:
    tools, _ = await listed()

    for tool in tools:
        assert tool.annotations is not None
        assert None not in tool.annotations.model_dump().values(), tool.name
        assert tool.title == tool.annotations.title
    assert {tool.name for tool in tools if tool.annotations and tool.annotations.open_world_hint} == {
        "pmm_turn"
    }


async def test_the_list_is_in_the_same_order_every_time() -> None:
    first, _ = await listed()
    second, _ = await listed()

    assert first == second
    assert [tool.name for tool in first][:2] == ["pmm_status", "pmm_turn"]


async def test_pain_07_the_list_is_small(capsys: pytest.CaptureFixture[str]) -> None:
    core, _ = await listed(toolsets=("core",))
    everything, _ = await listed(toolsets=TOOLSETS)

    with capsys.disabled():
        print(f"\ntools/list: core {size_bytes(core)} bytes, all {size_bytes(everything)} bytes")
    default, _ = await listed(toolsets=DEFAULT_TOOLSETS)
    assert size_bytes(core) <= CORE_BYTES_MAX
    assert size_bytes(default) <= DEFAULT_BYTES_MAX
    assert size_bytes(everything) <= ALL_BYTES_MAX


@pytest.mark.parametrize("toolsets", [TOOLSETS, ("core",), ("ledger",)])
@pytest.mark.parametrize("read_only", [False, True])
async def test_instructions_are_short_and_name_only_what_is_listed(
    toolsets: tuple[str, ...], read_only: bool
) -> None:
    tools, instructions = await listed(toolsets=toolsets, read_only=read_only)
    names = {tool.name for tool in tools}

    assert 200 < len(instructions) <= 2_000
    assert set(TOOL_NAMES.findall(instructions)) <= names
    assert set(TOOL_NAMES.findall(long_form(names))) <= names
    for tool in tools:
        assert set(TOOL_NAMES.findall(tool.description or "")) <= names | {"pmm_get"}, tool.name


async def test_read_only_lists_reading_tools_alone() -> None:
    tools, _ = await listed(read_only=True)

    assert [tool.name for tool in tools] == [
        "pmm_status", "pmm_context", "pmm_search", "pmm_get", "pmm_knowledge_gate", "pmm_knowledge_list",
        "pmm_card_retrieve", "pmm_adoption_report", "pmm_knowledge_policy", "pmm_research_validate",
        "pmm_fact_query", "pmm_fact_check", "pmm_ledger_events", "pmm_ledger_verify",
    ]  # fmt: skip
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)


def test_a_schema_is_made_portable() -> None:
    point = {
        "type": "object",
        "title": "Point",
        "properties": {"title": {"type": "string", "title": "Title"}},
    }
    schema = {
        "type": "object",
        "$defs": {"Point": point},
        "properties": {
            "at": {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}], "default": None},
            "pair": {"type": "array"},
            "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        },
    }

    assert portable(schema)["properties"] == {
        "at": {"type": "object", "properties": {"title": {"type": "string"}}},
        "pair": {"type": "array", "items": {}},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    }


def test_a_recursive_schema_is_refused() -> None:
    tree = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
    }

    with pytest.raises(ValueError, match="Tree is recursive"):
        portable({"$defs": {"Tree": tree}, "$ref": "#/$defs/Tree"})
