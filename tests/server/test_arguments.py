"""Arguments as clients really send them."""

from pathlib import Path
from typing import Any

import pytest

from pmm_mcp.server.schemas import coerced
from tests.server.rooms import MODES, ask, refused, room

SCHEMA = {
    "properties": {
        "text": {"type": "string"},
        "name": {"type": "string", "default": ""},
        "count": {"type": "integer", "default": 0},
        "share": {"type": "number", "default": 0.5},
        "flag": {"type": "boolean", "default": False},
        "tags": {"type": "array", "items": {"type": "string"}, "default": []},
        "more": {"type": "object", "default": {}},
    },
    "required": ["text"],
}


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ({"tags": '["a","b"]'}, {"tags": ["a", "b"]}),
        ({"tags": "a"}, {"tags": ["a"]}),
        ({"tags": "[a"}, {"tags": ["[a"]}),
        ({"tags": [1, "b"]}, {"tags": ["1", "b"]}),
        ({"more": '{"k":1}'}, {"more": {"k": 1}}),
        ({"count": "10"}, {"count": 10}),
        ({"count": " 10 "}, {"count": 10}),
        ({"share": "0.25"}, {"share": 0.25}),
        ({"flag": "true"}, {"flag": True}),
        ({"flag": "False"}, {"flag": False}),
        ({"name": 12}, {"name": "12"}),
        ({"text": "[1]"}, {"text": "[1]"}),
        ({"count": "many"}, {"count": "many"}),
        ({"count": "9" * 5_000}, {"count": "9" * 5_000}),
        ({"tags": "[" * 5_000}, {"tags": ["[" * 5_000]}),
    ],
)
def test_pain_18_stringified_values_are_read(sent: dict[str, Any], meant: dict[str, Any]) -> None:
    assert coerced(sent, SCHEMA) == meant


@pytest.mark.parametrize("nothing", ["", None])
def test_pain_19_nothing_means_absent_for_what_is_optional(nothing: str | None) -> None:
    optional = dict.fromkeys(("name", "count", "share", "flag", "tags", "more"), nothing)

    assert coerced(optional, SCHEMA) == {}
    assert coerced({"text": nothing}, SCHEMA) == {"text": nothing}


@pytest.mark.parametrize("mode", MODES)
async def test_pain_18_and_19_over_the_protocol(tmp_path: Path, mode: str) -> None:
    async with room(tmp_path, mode=mode) as client:
        recorded = await ask(
            client,
            "pmm_record",
            content="kept",
            labels='["a","b"]',
            importance="3",
            dry_run="false",
            source=None,
        )
        item = (await ask(client, "pmm_get", id=recorded["id"], as_of=""))["item"]
        found = await ask(client, "pmm_search", query="kept", limit="5", kinds="evidence", cursor=None)

    assert item["details"] == {"importance": 3, "labels": ["a", "b"]}
    assert item["texts"] == {"content": "kept"}
    assert [one["id"] for one in found["results"]] == [recorded["id"]]


@pytest.mark.parametrize("mode", MODES)
async def test_pain_19_an_unknown_argument_is_named_and_the_known_ones_are_listed(
    tmp_path: Path, mode: str
) -> None:
    async with room(tmp_path, mode=mode) as client:
        refusal = await refused(client, "pmm_get", id="ev:1", as_off=3, deep=True)
        assert (await ask(client, "pmm_status"))["head"] == 1

    assert refusal == {
        "code": "invalid_argument",
        "message": "as_off: this tool has no such argument; deep: this tool has no such argument",
        "hint": "This tool takes id, as_of.",
        "retryable": False,
    }


async def test_what_is_missing_or_of_the_wrong_kind_is_named_without_a_librarys_words(tmp_path: Path) -> None:
    async with room(tmp_path) as client:
        missing = await refused(client, "pmm_get")
        wrong = await refused(client, "pmm_search", query={"a": "secret"}, limit="many")

    assert missing["message"] == "id: this argument is required"
    assert [part.partition(":")[0] for part in wrong["message"].split("; ")] == ["query", "limit"]
    for told in (str(missing), str(wrong)):
        assert "pydantic" not in told
        assert "http" not in told
        assert "secret" not in told


async def test_a_tool_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    async with room(tmp_path) as client:
        refusal = await refused(client, "pmm_recall", query="x")

    assert refusal["message"] == "there is no tool 'pmm_recall'"
    assert "pmm_search" in refusal["hint"]
