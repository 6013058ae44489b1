"""What is sent: two messages, nothing added; and only the parameters the server takes."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import pytest

from pmm_mcp.ports import Prompt
from pmm_mcp.providers import ProviderSettings
from pmm_mcp.providers.bodies import _proxy, content_of
from pmm_mcp.providers.ollama import CONTEXT_TOKENS_MAX, context_tokens
from pmm_mcp.providers.opening import Opening
from tests.providers.fake_server import OLLAMA, OPENAI, PROTOCOLS, Answer, Fake, Protocol, serving

PROMPT = Prompt(system="You have a memory.", user="And?", budget_tokens=64, quotable=[("ev:1", "not sent")])
MESSAGES = [{"role": "system", "content": "You have a memory."}, {"role": "user", "content": "And?"}]
ALL = {"max_completion_tokens": 64, "temperature": 0, "top_p": 1, "seed": 1}


@pytest.fixture
async def fake() -> AsyncGenerator[Fake]:
    async with serving() as server:
        yield server


async def test_openai_gets_two_messages_and_how_to_write(fake: Fake) -> None:
    fake.answers = [Answer(body=OPENAI.good())]
    async with aclosing(OPENAI.chat(fake.url)) as chat:
        await chat.ask(PROMPT)

    (asked,) = fake.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.body == {"model": "m", "messages": MESSAGES, **ALL}


async def test_ollama_gets_two_messages_and_how_to_write(fake: Fake) -> None:
    fake.answers = [Answer(body=OLLAMA.good())]
    async with aclosing(OLLAMA.chat(fake.url)) as chat:
        await chat.ask(PROMPT)

    (asked,) = fake.asked
    assert asked.path == "/api/chat"
    assert (asked.body["model"], asked.body["messages"], asked.body["stream"]) == ("m", MESSAGES, False)
    assert asked.body["options"] == {"num_predict": 64, "temperature": 0, "top_p": 1, "seed": 1}


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
async def test_the_key_is_sent_and_no_packing_is_asked_for(protocol: Protocol, fake: Fake) -> None:
    fake.answers = [Answer(body=protocol.good())]
    env = {"OPENAI_API_KEY": "sk-1", "OLLAMA_API_KEY": "sk-1"}
    async with aclosing(protocol.chat(fake.url, env=env)) as chat:
        await chat.ask(PROMPT)

    assert fake.asked[0].headers["authorization"] == "Bearer sk-1"
    assert fake.asked[0].headers["accept-encoding"] == "identity"


async def test_a_connection_is_used_again(fake: Fake) -> None:
    fake.answers = [Answer(body=OPENAI.good())]
    opened: list[int] = []
    async with aclosing(OPENAI.chat(fake.url)) as chat:
        await chat.ask(PROMPT)
        await asyncio.gather(*(chat.ask(PROMPT) for _ in range(3)))
        opened.append(len({id(await chat._client.get()) for _ in range(3)}))  # type: ignore[attr-defined]

    assert opened == [1]


def refusing(message: str, *, param: str | None = None, status: int = 400) -> Answer:
    return Answer(status=status, body={"error": {"message": message, "param": param}})


def without(*names: str, **more: int) -> dict[str, int]:
    return {name: value for name, value in ALL.items() if name not in names} | more


OLDER = without("max_completion_tokens", max_tokens=64)


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    refusals: tuple[Answer, ...]
    accepted: dict[str, int]


CASES = (
    Case(
        name="the_budget_under_its_older_name",
        refusals=(refusing("unknown field: max_completion_tokens"),),
        accepted=OLDER,
    ),
    Case(
        name="a_server_that_names_both",
        refusals=(refusing("max_completion_tokens: did you mean max_tokens?"),),
        accepted=OLDER,
    ),
    Case(
        name="pydantic_and_422",
        refusals=(Answer(status=422, body={"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs"}]}),),
        accepted=without("seed"),
    ),
    Case(
        name="what_param_says_counts",
        refusals=(refusing("temperature is fine, top_p is not", param="top_p"),),
        accepted=without("top_p"),
    ),
    Case(
        name="one_after_another",
        refusals=(
            refusing("'temperature' does not support 0", param="temperature"),
            refusing("'top_p' is not supported", param="top_p"),
            refusing("no seed"),
            refusing("no max_completion_tokens"),
        ),
        accepted={"max_tokens": 64},
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_parameter_that_is_refused_is_left_out_from_then_on(case: Case, fake: Fake) -> None:
    fake.answers = [*case.refusals, Answer(body=OPENAI.good())]
    async with aclosing(OPENAI.chat(fake.url, retries=0)) as chat:
        first, second = await chat.ask(PROMPT), await chat.ask(PROMPT)

    sent = [
        {name: asked.body[name] for name in asked.body.keys() - {"model", "messages"}} for asked in fake.asked
    ]
    assert (first.status, second.status) == ("complete", "complete")
    assert sent[0] == ALL
    assert sent[len(case.refusals) :] == [case.accepted, case.accepted]


async def test_leaving_out_what_did_not_help_is_not_remembered(fake: Fake) -> None:
    fake.answers = [refusing("the seed of all evil"), refusing("too long"), Answer(body=OPENAI.good())]
    async with aclosing(OPENAI.chat(fake.url)) as chat:
        failed, complete = await chat.ask(PROMPT), await chat.ask(PROMPT)

    assert (failed.reason, complete.status) == ("bad_request", "complete")
    assert fake.asked[2].body == {"model": "m", "messages": MESSAGES, **ALL}


@pytest.mark.parametrize(
    "refusal",
    [refusing("no max_tokens, no seed", param="max_tokens"), refusing("seedless temperature_unit")],
    ids=["not_ours", "not_the_whole_word"],
)
async def test_a_refusal_of_something_else_is_final(refusal: Answer, fake: Fake) -> None:
    fake.answers = [refusal]
    async with aclosing(OPENAI.chat(fake.url)) as chat:
        reply = await chat.ask(PROMPT)

    assert (reply.reason, len(fake.asked)) == ("bad_request", 1)


async def test_a_server_that_refuses_everything_is_left_alone(fake: Fake) -> None:
    fake.answers = [refusing("max_completion_tokens temperature top_p seed max_tokens")]
    async with aclosing(OPENAI.chat(fake.url)) as chat:
        reply = await chat.ask(PROMPT)

    assert (reply.reason, len(fake.asked)) == ("bad_request", 5)


async def test_ollama_makes_room_for_a_long_prompt_and_keeps_it(fake: Fake) -> None:
    fake.answers = [Answer(body=OLLAMA.good())]
    long = Prompt(system="x" * 30_000, user="And?", budget_tokens=64)
    async with aclosing(OLLAMA.chat(fake.url)) as chat:
        for prompt in (PROMPT, long, PROMPT):
            await chat.ask(prompt)

    assert [asked.body["options"].get("num_ctx") for asked in fake.asked] == [None, 16384, 16384]


def test_the_room_for_a_prompt_has_an_end() -> None:
    assert context_tokens(Prompt(system="x" * 9_000_000, user="", budget_tokens=1)) == CONTEXT_TOKENS_MAX


@pytest.mark.parametrize(
    ("url", "env", "expected"),
    [
        ("https://api.openai.com/v1", {}, None),
        ("https://api.openai.com/v1", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.openai.com/v1", {"HTTP_PROXY": "http://p:1"}, None),
        (
            "https://api.openai.com/v1",
            {"https_proxy": "http://p:1", "HTTPS_PROXY": "http://q:1"},
            "http://p:1",
        ),
        ("https://api.openai.com/v1", {"ALL_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.openai.com/v1", {"ALL_PROXY": "http://p:1", "NO_PROXY": "x, .openai.com"}, None),
        ("https://notopenai.com", {"ALL_PROXY": "http://p:1", "NO_PROXY": "openai.com,"}, "http://p:1"),
        ("https://api.openai.com/v1", {"ALL_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        ("http://127.0.0.1:11434", {"ALL_PROXY": "http://p:1"}, None),
        ("http://localhost:11434", {"http_proxy": "http://p:1"}, None),
    ],
)
def test_the_proxy_is_the_one_of_the_environment(url: str, env: dict[str, str], expected: str | None) -> None:
    assert _proxy(url, ProviderSettings(env=env)) == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b'{"choices": [{"message": {"content": "so \\"far\\"', 'so "far"'),
        (b'{"content" : "a\\', "a"),
        (b'{"content": "a\\u00', "a"),
        (b'{"content": "a\\\\', "a\\"),
        (b'{"content": "a\xc3', "a"),
        (b'{"content": "whole", "x": "', "whole"),
        (b'{"content": "\\q"', ""),
        (b'{"thinking": "\\"content\\": \\"no\\""', ""),
        (b"{", ""),
    ],
)
def test_the_reply_is_found_in_what_came_of_it(head: bytes, expected: str) -> None:
    assert content_of(head) == expected


async def test_a_client_is_built_once_and_not_on_the_event_loop() -> None:
    threads: list[int] = []
    closed: list[int] = []

    async def close(value: int) -> None:
        closed.append(value)

    def build() -> int:
        threads.append(threading.get_ident())
        return 7

    opening = Opening(build, close)
    assert await asyncio.gather(*(opening.get() for _ in range(5))) == [7] * 5
    await opening.aclose()
    await opening.aclose()

    assert len(threads) == 1
    assert threads[0] != threading.get_ident()
    assert closed == [7]


def test_naming_a_model_loads_no_client() -> None:
    program = """
import sys
from pmm_mcp.providers import Models, ProviderSettings
models = Models(ProviderSettings(env={"OPENAI_API_KEY": "k"}))
for name in ("", "openai:m", "ollama:m"):
    models.get(name)
print(sorted({"openai", "ollama", "httpx", "httpx2"} & set(sys.modules)))
"""
    done: Any = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
