"""Everything a server can do wrong, over real HTTP: each becomes a reply that says what it was."""

import asyncio
import gzip
import json
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import pytest

from pmm_mcp.ports import ChatModel, ModelReply, Prompt
from pmm_mcp.providers.bodies import BODY_BYTES_MAX
from pmm_mcp.providers.replies import REPLY_BYTES_MAX
from tests.providers.fake_server import OLLAMA, OPENAI, PROTOCOLS, Answer, Fake, Protocol, serving

PROMPT = Prompt(system="You have a memory.", user="And?", budget_tokens=64)
SECRET = "sk-in-the-words-of-the-server"
MIB = 1024 * 1024


@pytest.fixture
async def fake() -> AsyncGenerator[Fake]:
    async with serving() as server:
        yield server


@pytest.fixture(params=PROTOCOLS, ids=lambda protocol: protocol.name)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    found: Protocol = request.param
    return found


async def ask(chat: ChatModel) -> ModelReply:
    async with asyncio.timeout(20):
        try:
            return await chat.ask(PROMPT)
        finally:
            await chat.aclose()


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    answer: Answer
    reason: str
    status: str = "transport_error"
    text: str = ""
    timeout_s: float = 5.0
    categories: tuple[str, ...] = ()
    """Allowed class names; any when empty."""


def error(status: int, **headers: str) -> Answer:
    return Answer(status=status, body={"error": {"message": SECRET}}, headers=headers)


BOTH = (
    Case(
        name="400", answer=error(400), reason="bad_request", categories=("BadRequestError", "ResponseError")
    ),
    Case(name="401", answer=error(401), reason="unauthorized"),
    Case(name="403", answer=error(403), reason="unauthorized"),
    Case(name="404", answer=error(404), reason="not_found", categories=("NotFoundError", "ResponseError")),
    Case(name="408", answer=error(408), reason="timeout"),
    Case(name="413", answer=error(413), reason="bad_request"),
    Case(name="418", answer=error(418), reason="http_error"),
    Case(name="422", answer=error(422), reason="bad_request"),
    Case(
        name="429", answer=error(429), reason="rate_limited", categories=("RateLimitError", "ResponseError")
    ),
    Case(name="500", answer=error(500), reason="server_error"),
    Case(name="503", answer=error(503), reason="server_error"),
    Case(name="304", answer=Answer(status=304), reason="http_error"),
    Case(
        name="no_quota",
        answer=Answer(status=429, body={"error": {"message": SECRET, "code": "insufficient_quota"}}),
        reason="quota_exceeded",
    ),
    Case(
        name="redirects_in_a_circle",
        answer=Answer(status=307, headers={"location": "/v1/chat/completions"}),
        reason="http_error",
    ),
    Case(name="error_is_text", answer=Answer(status=500, body=SECRET.encode()), reason="server_error"),
    Case(name="error_is_a_list", answer=Answer(status=400, body=[SECRET]), reason="bad_request"),
    Case(name="error_is_a_word", answer=Answer(status=400, body={"error": SECRET}), reason="bad_request"),
    Case(
        name="error_never_ends",
        answer=Answer(status=500, body=b"{", then_for_ever=b"x" * 65536),
        reason="server_error",
    ),
    Case(
        name="broken_json",
        answer=Answer(body=b'{"choices": [', headers={"content-type": "application/json"}),
        reason="broken_json",
        categories=("JSONDecodeError",),
    ),
    Case(
        name="plain_text",
        answer=Answer(body=b"all is well", headers={"content-type": "text/plain"}),
        reason="broken_json",
    ),
    Case(
        name="a_login_page",
        answer=Answer(body=b"<html>log in</html>", headers={"content-type": "text/html"}),
        reason="broken_json",
    ),
    Case(name="nothing_at_all", answer=Answer(body=b""), reason="broken_json"),
    Case(name="not_utf8", answer=Answer(body=b'{"a": "\xff"}'), reason="broken_json"),
    Case(name="nested_without_end", answer=Answer(body=b"[" * 200_000), reason="broken_json"),
    Case(
        name="not_gzip",
        answer=Answer(body=b"no", headers={"content-encoding": "gzip"}),
        reason="broken_json",
    ),
    Case(name="a_list", answer=Answer(body=[1]), reason="wrong_shape"),
    Case(name="a_number", answer=Answer(body=1), reason="wrong_shape"),
    Case(name="null", answer=Answer(body=b"null"), reason="wrong_shape"),
    Case(name="an_empty_object", answer=Answer(body={}), reason="wrong_shape"),
    Case(name="an_error_with_200", answer=Answer(body={"error": SECRET}), reason="wrong_shape"),
    Case(
        name="breaks_off",
        answer=Answer(body=b'{"choi', promised_bytes=1000),
        reason="connection_lost",
        categories=("APIConnectionError", "RemoteProtocolError", "ReadError"),
    ),
    Case(
        name="silence",
        answer=Answer(delay_s=5),
        timeout_s=0.1,
        reason="timeout",
        categories=("APITimeoutError", "ReadTimeout", "TimeoutError"),
    ),
    Case(
        name="one_byte_at_a_time",
        answer=Answer(body=b"{", then_for_ever=b" ", pause_s=0.02),
        timeout_s=0.15,
        reason="timeout",
        categories=("TimeoutError",),
    ),
    Case(
        name="never_ends",
        answer=Answer(body=b"{", then_for_ever=b" " * 65536),
        status="truncated",
        reason="too_large",
    ),
    Case(
        name="a_reply_that_never_ends",
        answer=Answer(body=b'{"message": {"content": "a\\n', then_for_ever=b"\\u00e9" * 4096),
        status="truncated",
        reason="too_large",
        text="a\n" + "é" * (MIB // 2 - 1),
    ),
    Case(
        name="never_ends_packed",
        answer=Answer(body=gzip.compress(b" " * (BODY_BYTES_MAX + 1)), headers={"content-encoding": "gzip"}),
        status="truncated",
        reason="too_large",
    ),
)


@pytest.mark.parametrize("case", BOTH, ids=lambda case: case.name)
async def test_a_failure_says_what_it_was(case: Case, protocol: Protocol, fake: Fake) -> None:
    fake.answers = [case.answer]

    reply = await ask(protocol.chat(fake.url, retries=0, timeout_s=case.timeout_s))

    assert (reply.status, reply.reason, reply.text) == (case.status, case.reason, case.text)
    assert not case.categories or reply.category in case.categories
    assert SECRET not in repr(reply)
    assert fake.sent_bytes < 64 * MIB


def openai_choice(**changes: Any) -> Answer:
    body = OPENAI.good()
    body["choices"][0].update(changes)
    return Answer(body=body)


def openai_case(name: str, reason: str, *, answer: Answer | None = None, **content: Any) -> Case:
    status, text = content.pop("status", "transport_error"), content.pop("text", "")
    body = answer or Answer(body=OPENAI.good(**content))
    return Case(name=name, answer=body, reason=reason, status=status, text=text)


def ollama_case(name: str, reason: str, *, answer: Answer | None = None, **content: Any) -> Case:
    status, text = content.pop("status", "transport_error"), content.pop("text", "")
    body = answer or Answer(body=OLLAMA.good(**content))
    return Case(name=name, answer=body, reason=reason, status=status, text=text)


UNSURE: Any = {"status": "indeterminate"}
LONG = "é" * MIB
HALF: Any = {"status": "truncated", "text": "é" * (MIB // 2)}

OPENAI_CASES = (
    openai_case("choices_null", "wrong_shape", answer=Answer(body={"choices": None})),
    openai_case("choices_empty", "wrong_shape", answer=Answer(body={"choices": []})),
    openai_case("choices_of_words", "wrong_shape", answer=Answer(body={"choices": ["hi"]})),
    openai_case("choices_an_object", "wrong_shape", answer=Answer(body={"choices": {"0": {}}})),
    openai_case("message_missing", "wrong_shape", answer=Answer(body={"choices": [{"text": "hi"}]})),
    openai_case("message_null", "wrong_shape", answer=openai_choice(message=None)),
    openai_case("content_a_number", "wrong_shape", content=7),
    openai_case("content_in_parts", "wrong_shape", content=[{"type": "text", "text": "hi"}]),
    openai_case("content_empty", "empty", content="", status="empty"),
    openai_case("content_blank", "empty", content=" \n", status="empty", text=" \n"),
    openai_case("content_null", "empty", content=None, status="empty"),
    openai_case("content_missing", "empty", answer=openai_choice(message={}), status="empty"),
    openai_case("cut_off", "length", content="so f", finish="length", status="truncated", text="so f"),
    openai_case("all_spent_on_thinking", "length", content="", finish="length", status="truncated"),
    openai_case("filtered", "content_filter", content="I", finish="content_filter", text="I", **UNSURE),
    openai_case("refused", "refusal", content=None, refusal="No.", text="No.", **UNSURE),
    openai_case("no_finish_reason", "finish_reason_missing", finish=None, text="hi", **UNSURE),
    openai_case("calls_a_tool", "unknown_finish_reason", content=None, finish="tool_calls", **UNSURE),
    openai_case("unknown_finish_reason", "unknown_finish_reason", finish="tired", text="hi", **UNSURE),
    openai_case("finish_reason_a_number", "unknown_finish_reason", finish=1, text="hi", **UNSURE),
    openai_case("two_mib", "too_large", content=LONG, **HALF),
    openai_case("half_a_surrogate_pair", "", content="a\ud800b", status="complete", text="a?b"),
)

OLLAMA_CASES = (
    ollama_case("message_missing", "wrong_shape", answer=Answer(body={"done": True})),
    ollama_case("message_null", "wrong_shape", answer=Answer(body={"message": None, "done": True})),
    ollama_case("content_a_number", "wrong_shape", content=7),
    ollama_case("content_in_parts", "wrong_shape", content=[{"type": "text", "text": "hi"}]),
    ollama_case("content_empty", "empty", content="", status="empty"),
    ollama_case("content_null", "empty", content=None, status="empty"),
    ollama_case("cut_off", "length", content="so f", finish="length", status="truncated", text="so f"),
    ollama_case("no_finish_reason", "finish_reason_missing", finish=None, text="hi", **UNSURE),
    ollama_case(
        "not_done",
        "finish_reason_missing",
        answer=Answer(body={**OLLAMA.good(), "done": False}),
        text="hi",
        **UNSURE,
    ),
    ollama_case("only_loaded", "unknown_finish_reason", content="", finish="load", **UNSURE),
    ollama_case("finish_reason_a_number", "wrong_shape", finish=1),
    ollama_case("two_mib", "too_large", content=LONG, **HALF),
    ollama_case("half_a_surrogate_pair", "", content="a\ud800b", status="complete", text="a?b"),
)


@pytest.mark.parametrize("case", OPENAI_CASES, ids=lambda case: case.name)
async def test_what_an_openai_server_sends_is_judged(case: Case, fake: Fake) -> None:
    fake.answers = [case.answer]

    reply = await ask(OPENAI.chat(fake.url, retries=0))

    assert (reply.status, reply.reason, reply.text) == (case.status, case.reason, case.text)


@pytest.mark.parametrize("case", OLLAMA_CASES, ids=lambda case: case.name)
async def test_what_an_ollama_server_sends_is_judged(case: Case, fake: Fake) -> None:
    fake.answers = [case.answer]

    reply = await ask(OLLAMA.chat(fake.url, retries=0))

    assert (reply.status, reply.reason, reply.text) == (case.status, case.reason, case.text)


@dataclass(frozen=True, kw_only=True)
class Retry:
    name: str
    answers: tuple[Answer, ...]
    asked: int
    reason: str = ""
    settings: dict[str, Any] = field(default_factory=dict)


BAD, GOOD = error(500), Answer(status=299)  # GOOD stands for what is good in each protocol
RETRIES = (
    Retry(name="the_second_try_helps", answers=(BAD, GOOD), asked=2),
    Retry(name="the_third_try_helps", answers=(BAD, error(429), GOOD), asked=3),
    Retry(name="three_tries_are_all", answers=(BAD,), asked=3, reason="server_error"),
    Retry(name="no_retries", answers=(BAD, GOOD), asked=1, reason="server_error", settings={"retries": 0}),
    Retry(name="a_broken_connection_is_tried_again", answers=(Answer(promised_bytes=9), GOOD), asked=2),
    Retry(name="a_bad_request_is_not", answers=(error(404), GOOD), asked=1, reason="not_found"),
    Retry(name="a_broken_body_is_not", answers=(Answer(body=b"{"), GOOD), asked=1, reason="broken_json"),
    Retry(
        name="a_silent_server_is_asked_again",
        answers=(Answer(delay_s=5), GOOD),
        asked=2,
        settings={"timeout_s": 0.25, "retries": 8},
    ),
    Retry(
        name="the_server_says_when_rather_than_we",
        answers=(error(429, **{"retry-after-ms": "1"}), GOOD),
        asked=2,
        settings={"backoff_s": 8.0},
    ),
    Retry(
        name="the_server_says_now",
        answers=(error(503, **{"retry-after": "0"}), GOOD),
        asked=2,
        settings={"backoff_s": 8.0},
    ),
    Retry(
        name="later_than_there_is_time_is_never",
        answers=(error(429, **{"retry-after": "3600"}), GOOD),
        asked=1,
        reason="rate_limited",
    ),
    Retry(
        name="a_wait_that_is_no_number_is_ours",
        answers=(error(429, **{"retry-after": "nan"}), GOOD),
        asked=2,
    ),
    Retry(
        name="a_date_far_off_is_never",
        answers=(error(429, **{"retry-after": "Fri, 31 Dec 2999 23:59:59 GMT"}), GOOD),
        asked=1,
        reason="rate_limited",
    ),
)


@pytest.mark.parametrize("case", RETRIES, ids=lambda case: case.name)
async def test_what_may_pass_is_tried_again(case: Retry, protocol: Protocol, fake: Fake) -> None:
    fake.answers = [Answer(body=protocol.good()) if answer is GOOD else answer for answer in case.answers]

    reply = await ask(protocol.chat(fake.url, **case.settings))

    assert (reply.reason, len(fake.asked)) == (case.reason, case.asked)
    assert reply.status == ("transport_error" if case.reason else "complete")


@pytest.mark.parametrize(
    "answer", [Answer(delay_s=9), Answer(body=b"{", then_for_ever=b" ", pause_s=0.01)], ids=["silent", "slow"]
)
async def test_all_tries_together_end_in_time(answer: Answer, protocol: Protocol, fake: Fake) -> None:
    fake.answers = [answer]
    started = time.monotonic()

    reply = await ask(protocol.chat(fake.url, timeout_s=0.1, retries=2))

    assert reply.reason == "timeout"
    assert time.monotonic() - started < 0.3 + 3.0  # the rest is opening and closing


async def test_a_cancelled_question_is_cancelled_and_the_server_sees_it(
    protocol: Protocol, fake: Fake
) -> None:
    fake.answers = [Answer(delay_s=9)]
    async with aclosing(protocol.chat(fake.url)) as chat, asyncio.timeout(5):
        asking = asyncio.create_task(chat.ask(PROMPT))
        await fake.came.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await fake.left.wait()


async def test_nobody_listens(protocol: Protocol) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: nobody else gets the port
        reply = await ask(protocol.chat(f"http://127.0.0.1:{taken.getsockname()[1]}"))

    assert (reply.status, reply.reason) == ("transport_error", "connection_refused")
    assert reply.category in {"APIConnectionError", "ConnectionError"}


async def test_nobody_listens_under_any_address_of_a_name(protocol: Protocol) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as taken:
        taken.bind(("127.0.0.1", 0))
        reply = await ask(protocol.chat(f"http://localhost:{taken.getsockname()[1]}"))

    assert reply.reason == "connection_refused"


async def test_whoever_listens_does_not_speak_tls(protocol: Protocol, fake: Fake) -> None:
    reply = await ask(protocol.chat(fake.url.replace("http:", "https:"), retries=0))

    assert reply.reason == "tls_failed"


@pytest.mark.parametrize("url", ["ftp://localhost:1", "http://[::1", "http://localhost:port"])
async def test_an_address_that_is_none(protocol: Protocol, url: str) -> None:
    reply = await ask(protocol.chat(url))

    assert (reply.status, reply.reason) == ("transport_error", "misconfigured")


async def test_a_closed_model_says_so(protocol: Protocol, fake: Fake) -> None:
    fake.answers = [Answer(body=protocol.good())]
    chat = protocol.chat(fake.url)
    await chat.ask(PROMPT)
    await chat.aclose()

    assert (await chat.ask(PROMPT)).reason == "closed"


async def test_tokens_are_counted_when_the_server_counts_them(protocol: Protocol, fake: Fake) -> None:
    fake.answers = [Answer(body=protocol.good())]

    reply = await ask(protocol.chat(fake.url))

    assert (reply.text, reply.prompt_tokens, reply.reply_tokens) == ("hi", 3, 1)


@pytest.mark.parametrize("count", ["three", -1, True, 1.5, None, 10**30])
async def test_a_count_that_is_none_is_not_reported(count: Any, fake: Fake) -> None:
    body = OPENAI.good()
    body["usage"] = {"prompt_tokens": count, "completion_tokens": count}
    fake.answers = [Answer(body=json.loads(json.dumps(body)))]

    reply = await ask(OPENAI.chat(fake.url))

    assert (reply.status, reply.prompt_tokens, reply.reply_tokens) == ("complete", 0, 0)


def test_a_reply_in_the_longest_spelling_still_fits() -> None:
    assert len(json.dumps("\x01" * REPLY_BYTES_MAX)) < BODY_BYTES_MAX
