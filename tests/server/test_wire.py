"""What goes over stdin and stdout, byte for byte."""

import json
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.server.conftest import Start
from tests.server.wire import Wire

NOISY = Path(__file__).with_name("noisy_server.py")


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Generator[Wire]:
    wire = Wire(tmp_path_factory.mktemp("wire"))
    try:
        wire.greet()
        yield wire
        assert wire.end() == 0
        assert wire.log() == ""
    finally:
        wire.discard()


def test_pain_10_half_a_surrogate_pair_in_a_text_is_recorded_as_a_replacement(wire: Wire) -> None:
    recorded = wire.call_raw("pmm_record", r'{"content":"lone \ud800 half, \udf78\ud83c turned round"}')

    assert wire.call("pmm_get", id=recorded["id"])["item"]["texts"] == {
        "content": "lone \ufffd half, \ufffd\ufffd turned round"
    }


def test_pain_10_an_emoji_as_two_escapes_stays_an_emoji(wire: Wire) -> None:
    recorded = wire.call_raw("pmm_record", r'{"content":"a \uD83C\uDF78, and \\ud800 as text"}')

    assert wire.call("pmm_get", id=recorded["id"])["item"]["texts"] == {
        "content": "a 🍸, and \\ud800 as text"
    }


def test_pain_10_half_a_surrogate_pair_in_a_key_is_an_unknown_argument(wire: Wire) -> None:
    refused = wire.call_raw("pmm_search", r'{"query":"x","\udc00key":1}')

    assert refused["code"] == "invalid_argument"
    assert "\ufffdkey: this tool has no such argument" in refused["message"]


def test_pain_10_bytes_that_are_no_utf8_are_answered(wire: Wire) -> None:
    params = b'{"name":"pmm_search","arguments":{"query":"\xc4\xe3"}}'
    wire.send(b'{"jsonrpc":"2.0","id":4242,"method":"tools/call","params":' + params + b"}")

    assert wire.call("pmm_search", query="after")["results"] == []
    assert "result" in wire.answer(4242)  # Either may come first.


def test_pain_12_a_nul_is_taken_out_before_hashing(wire: Wire) -> None:
    recorded = wire.call_raw("pmm_record", r'{"content":"hello\u0000world","source":"a\u0000b"}')
    item = wire.call("pmm_get", id=recorded["id"])["item"]

    assert item["texts"] == {"content": "helloworld", "source": "ab"}
    assert wire.call_raw("pmm_search", r'{"query":"hello\u0000world"}')["results"][0]["id"] == recorded["id"]
    assert wire.call("pmm_ledger_verify")["ok"]


def test_pain_12_a_nul_in_a_name_or_a_key_is_refused_by_name(wire: Wire) -> None:
    named = wire.call_raw("pmm_record", r'{"content":"x","field":"a\u0000b"}')
    keyed = wire.call_raw("pmm_record", r'{"content":"x","a\u0000b":1}')

    assert (named["code"], keyed["code"]) == ("invalid_argument", "invalid_argument")
    assert "field" in named["message"]


def test_a_line_of_a_megabyte_is_recorded_and_one_byte_over_the_limit_is_refused(wire: Wire) -> None:
    largest = "x" * 1_048_576

    assert wire.call("pmm_record", content=largest)["id"]
    assert wire.call("pmm_record", content=largest + "x")["code"] == "too_large"


def test_garbage_lines_are_ignored(wire: Wire) -> None:
    for garbage in (b"", b"hello", b"{", b"[]", b"null", b"\xff\xfe\x00", b'{"jsonrpc":"2.0"}', b"9" * 5_000):
        wire.send(garbage)

    assert wire.call("pmm_status")["head"] > 0


def test_requests_are_answered_in_any_number_at_once(wire: Wire) -> None:
    numbers = [wire.begin_call("pmm_record", content=f"thing {n}") for n in range(50)]
    ids = {wire.answer(number)["result"]["structuredContent"]["id"] for number in numbers}

    assert len(ids) == len(numbers)


def test_pain_47_the_answer_is_json_once_and_the_same_in_both_places(wire: Wire) -> None:
    wire.call("pmm_record", content='{"quux": "b"}')
    good = wire.ask("tools/call", {"name": "pmm_search", "arguments": {"query": "quux"}})["result"]
    bad = wire.ask("tools/call", {"name": "pmm_get", "arguments": {"id": "ev:1"}})["result"]

    for result, is_error in ((good, False), (bad, True)):
        assert result.get("isError", False) is is_error
        assert isinstance(result["structuredContent"], dict)
        assert [json.loads(block["text"]) for block in result["content"]] == [result["structuredContent"]]
    assert good["structuredContent"]["results"][0]["text"] == '{"quux": "b"}'
    assert set(bad["structuredContent"]) == {"code", "message", "hint", "retryable"}


def test_pain_06_what_a_tool_prints_does_not_reach_the_wire(tmp_path: Path, start: Start) -> None:
    """The tool prints, writes to fd 1, starts a child that does, and reads stdin: see noisy_server.py."""
    wire = start(sys.executable, str(NOISY))

    assert wire.call("pmm_status")["notice"] == "stdin said '', the child's 0 bytes"
    assert wire.end() == 0
    assert [json.loads(line)["jsonrpc"] for line in wire.lines] == ["2.0"] * len(wire.lines)
    assert (tmp_path / "stderr").read_text().count("noise") == 3
