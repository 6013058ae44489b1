"""Whatever arguments a tool is called with, it answers, or refuses with a code; and the server lives."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis_jsonschema import from_schema
from mcp import Client
from mcp.types import CallToolResult, Tool

from pmm_mcp.domain.errors import PmmError
from pmm_mcp.domain.sizes import ANSWER_BYTES_MAX
from tests.server.rooms import room

EXAMPLES: Final = 20
JSON: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(("ev:1", "turn:2", "co:9")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def codes_of(error: type[PmmError]) -> set[str]:
    return {error.code}.union(*(codes_of(child) for child in error.__subclasses__()))


CODES: Final = codes_of(PmmError) - {"internal"}


def fitting_value(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """A value of this schema. Objects are made here: hypothesis-jsonschema 0.23 no longer can."""
    one_of = [one["type"] for one in schema.get("anyOf", [schema]) if "type" in one]
    if "object" in one_of:
        objects = st.dictionaries(st.text(max_size=8), JSON, max_size=4)
        return objects if one_of == ["object"] else objects | st.text() | objects.map(json.dumps)
    return from_schema(schema)


def arguments_of(tool: Tool) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments that fit, those with values of any kind, and any object at all."""
    # An argument at a time: what hypothesis-jsonschema 0.23 does for objects, today's hypothesis has no more.
    values = {name: fitting_value(schema) for name, schema in tool.input_schema.get("properties", {}).items()}
    needed = {name: values.pop(name) for name in tool.input_schema.get("required", ())}
    names = st.sampled_from([*needed, *values, "unknown"])
    fitting: st.SearchStrategy[Any] = st.fixed_dictionaries(needed, optional=values)
    bent: st.SearchStrategy[Any] = st.builds(
        lambda args, name, value: {**args, name: value},
        fitting,
        names,
        JSON | st.sampled_from((2**63, -(2**63) - 1, 2**70)),
    )
    return fitting | bent | st.dictionaries(names | st.text(max_size=8), JSON, max_size=5)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_any_arguments_give_success_or_a_coded_error(tmp_path: Path, mode: str) -> None:
    loop = asyncio.get_running_loop()
    async with room(tmp_path, mode=mode, turn_patience_s=5) as client:
        for tool in (await client.list_tools()).tools:

            def call(arguments: dict[str, Any], name: str = tool.name) -> CallToolResult:
                return asyncio.run_coroutine_threadsafe(answer(client, name, arguments), loop).result(30)

            await asyncio.to_thread(try_many, tool, call)
        assert (await client.call_tool("pmm_ledger_verify", {"projections": True})).structured_content["ok"]


async def answer(client: Client, name: str, arguments: dict[str, Any]) -> CallToolResult:
    return await client.call_tool(name, arguments)


def try_many(tool: Tool, call: Callable[[dict[str, Any]], CallToolResult]) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(arguments_of(tool))
    def one(arguments: dict[str, Any]) -> None:
        result = call(arguments)
        data = result.structured_content
        assert isinstance(data, dict)
        if result.is_error:
            assert data["code"] in CODES, (tool.name, arguments, data)
            assert data["message"]
        assert len(result.content[0].text.encode()) <= ANSWER_BYTES_MAX  # type: ignore[union-attr]

    one()
