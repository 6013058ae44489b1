"""What every chat model promises; a new provider is done when this is green for it."""

import asyncio
import re
from collections.abc import AsyncGenerator

import pytest

from pmm_mcp.ports import ChatModel, Prompt
from pmm_mcp.providers import OfflineChat, ScriptedChat
from pmm_mcp.providers.replies import REPLY_BYTES_MAX
from tests.providers.fake_server import OLLAMA, OPENAI, Answer, serving

PROMPT = Prompt(
    system="You have a memory.",
    user="What do we use for storage?",
    budget_tokens=64,
    quotable=[("ev:12", "We use SQLite."), ("ev:14", "One file a ledger.")],
)
PROVIDERS = ("openai", "ollama", "offline", "scripted")


@pytest.fixture(params=PROVIDERS)
async def model(request: pytest.FixtureRequest) -> AsyncGenerator[ChatModel]:
    async with serving() as fake:
        protocol = {"openai": OPENAI, "ollama": OLLAMA}.get(request.param)
        if protocol:
            fake.answers = [Answer(body=protocol.good("SQLite."))]
            chat = protocol.chat(fake.url)
        else:
            chat = OfflineChat() if request.param == "offline" else ScriptedChat(["SQLite."] * 20)
        yield chat
        await chat.aclose()


async def test_its_name_is_its_provider_and_its_model(model: ChatModel) -> None:
    assert re.fullmatch(rf"({'|'.join(PROVIDERS)}):.+", model.name)


async def test_it_answers_completely_and_within_the_budget(model: ChatModel) -> None:
    reply = await model.ask(PROMPT)

    assert (reply.status, reply.reason, reply.category) == ("complete", "", "")
    assert "SQLite." in reply.text
    assert len(reply.text.encode()) <= PROMPT.budget_tokens * 4 <= REPLY_BYTES_MAX


async def test_only_what_is_quoted_is_called_a_quotation(model: ChatModel) -> None:
    reply = await model.ask(PROMPT)

    assert reply.quotation == model.name.startswith("offline:")


async def test_it_answers_many_at_once(model: ChatModel) -> None:
    replies = await asyncio.gather(*(model.ask(PROMPT) for _ in range(8)))

    assert {reply.status for reply in replies} == {"complete"}


@pytest.mark.parametrize(
    "prompt",
    [
        Prompt(system="", user="", budget_tokens=1),
        Prompt(system="", user="", budget_tokens=0),
        Prompt(system="\ud800", user="\x00", budget_tokens=-1, quotable=[("\n", "\ud800"), ("", "")]),
    ],
    ids=["nothing", "no_budget", "unencodable"],
)
async def test_it_never_raises(model: ChatModel, prompt: Prompt) -> None:
    await model.ask(prompt)


async def test_it_closes_more_than_once(model: ChatModel) -> None:
    await model.ask(PROMPT)

    await model.aclose()
    await model.aclose()


async def test_it_closes_without_having_been_asked(model: ChatModel) -> None:
    await model.aclose()
