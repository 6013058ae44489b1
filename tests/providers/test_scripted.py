import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pmm_mcp.domain.errors import ModelUnavailableError
from pmm_mcp.ports import Prompt
from pmm_mcp.providers import Models, ProviderSettings, ScriptedChat, ScriptedReply

PROMPT = Prompt(system="You know: the sky is blue.", user="And?", budget_tokens=64)


def script(tmp_path: Path, content: Any) -> str:
    path = tmp_path / "script.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return f"scripted:{path}"


async def test_a_file_is_read_aloud_one_reply_a_question(tmp_path: Path) -> None:
    name = script(
        tmp_path,
        [
            {"text": "one"},
            {"text": "tw", "status": "truncated"},
            {"error": "timeout"},
            {"text": "part", "status": "indeterminate", "error": "content_filter"},
            {"text": "blue", "expect": "sky is blue"},
            {"text": "green", "expect": "sky is green"},
            {"text": "late", "delay_s": 0.001},
        ],
    )
    models = Models(ProviderSettings(), default=name)
    replies = [await models.get(name).ask(PROMPT) for _ in range(8)]

    assert [(reply.status, reply.text, reply.reason) for reply in replies] == [
        ("complete", "one", ""),
        ("truncated", "tw", "scripted"),
        ("transport_error", "", "timeout"),
        ("indeterminate", "part", "content_filter"),
        ("complete", "blue", ""),
        ("transport_error", "", "expectation_failed"),
        ("complete", "late", ""),
        ("transport_error", "", "script_exhausted"),
    ]
    await models.aclose()


async def test_it_remembers_what_it_was_asked() -> None:
    chat = ScriptedChat(["one", ScriptedReply(text="two")])

    assert [(await chat.ask(PROMPT)).text for _ in range(2)] == ["one", "two"]
    assert chat.asked == [PROMPT, PROMPT]
    assert chat.name == "scripted:script"


async def test_questions_at_once_get_replies_in_their_order() -> None:
    chat = ScriptedChat([ScriptedReply(text="one", delay_s=0.01), "two"])

    replies = await asyncio.gather(chat.ask(PROMPT), chat.ask(PROMPT))

    assert [reply.text for reply in replies] == ["one", "two"]


async def test_a_delay_can_be_cancelled() -> None:
    asking = asyncio.create_task(ScriptedChat([ScriptedReply(delay_s=60)]).ask(PROMPT))
    await asyncio.sleep(0)
    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not json",
        b"\xff",
        b"[" * 100_000,
        {"text": "no list"},
        ["no object"],
        [{"text": 1}],
        [{"text": "a", "status": "done"}],
        [{"text": "a", "delay_s": -1}],
        [{"text": "a", "error": "no code"}],
        [{"txt": "a"}],
    ],
    ids=str,
)
async def test_a_file_that_is_no_script_is_refused(tmp_path: Path, content: Any) -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        Models(ProviderSettings(), default=script(tmp_path, content)).get()
    assert caught.value.hint


async def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(ModelUnavailableError):
            Models(ProviderSettings(), default=f"scripted:{path}").get()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
async def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(ModelUnavailableError):
        Models(ProviderSettings(), default=f"scripted:{tmp_path / 'pipe'}").get()


async def test_no_caller_names_a_script_or_learns_which_files_there_are(tmp_path: Path) -> None:
    (tmp_path / "there.json").write_text('[{"text": "a secret"}]')
    ours = script(tmp_path, [{"text": "ours"}])
    refused = set()
    for default in ("", ours, f"scripted:{tmp_path / 'absent.json'}"):
        models = Models(ProviderSettings(), default=default)
        for name in ("there.json", "absent.json", ""):
            with pytest.raises(ModelUnavailableError) as caught:
                models.get(f"scripted:{tmp_path / name}")
            refused.add((str(caught.value), caught.value.hint))

    assert len(refused) == 1


async def test_the_configured_script_may_be_named(tmp_path: Path) -> None:
    ours = script(tmp_path, [{"text": "ours"}])
    models = Models(ProviderSettings(), default=ours)

    assert (await models.get(ours).ask(PROMPT)).text == "ours"
    assert models.get() is models.get(ours)


async def test_a_script_is_read_once_when_the_program_starts(tmp_path: Path) -> None:
    models = Models(ProviderSettings(), default=script(tmp_path, [{"text": "before"}]))
    script(tmp_path, [{"text": "after"}])

    assert (await models.get().ask(PROMPT)).text == "before"
