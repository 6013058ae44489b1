"""Any server that speaks OpenAI's chat completions: OpenAI, llama.cpp, vLLM, LM Studio."""

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pmm_mcp.domain.errors import ModelUnavailableError
from pmm_mcp.ports import ModelReply, Prompt
from pmm_mcp.providers.attempts import persist
from pmm_mcp.providers.bodies import client_options
from pmm_mcp.providers.failures import Failure, ShapeError, failure_of
from pmm_mcp.providers.opening import Opening
from pmm_mcp.providers.replies import finished
from pmm_mcp.providers.settings import ProviderSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

DEFAULT_URL: Final = "https://api.openai.com/v1"
SEED: Final = 1

_NO_KEY: Final = "none"  # the client insists on one; a server on this machine does not look
_REFUSABLE: Final = ("max_completion_tokens", "temperature", "top_p", "seed")


class OpenAIChat:
    """One model of an OpenAI-compatible server; implements the port `ChatModel`."""

    def __init__(self, model: str, settings: ProviderSettings) -> None:
        """Prepare; nothing is opened before the first question.

        Raises:
            ModelUnavailableError: there is neither a key nor another server than OpenAI's.

        """
        self._model = model
        self._settings = settings
        self._url = settings.setting("OPENAI_BASE_URL")
        self._key = settings.setting("OPENAI_API_KEY")
        if not self._url and not self._key:
            raise ModelUnavailableError(
                "no key for OpenAI is configured",
                hint="Set OPENAI_API_KEY, or OPENAI_BASE_URL to a compatible server of your own.",
            )
        self._client = Opening(self._open, _close)
        self._refused: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """`openai:` and the model."""
        return f"openai:{self._model}"

    async def ask(self, prompt: Prompt) -> ModelReply:
        """Ask; every failure is a reply that says so."""
        return await persist(lambda: self._attempt(prompt), self._settings)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _attempt(self, prompt: Prompt) -> ModelReply:
        """Ask once; parameters the server refuses by name are left out, and stay out once that helped."""
        client = await self._client.get()
        refused = self._refused
        while True:
            try:
                body = await self._send(client, prompt, refused)
            except Exception as error:
                name = refused_parameter(failure_of(error), known=refused)
                if not name:
                    raise
                refused |= {name}
            else:
                self._refused |= refused
                return reply_of(body)

    async def _send(self, client: "AsyncOpenAI", prompt: Prompt, refused: frozenset[str]) -> bytes:
        # The client hands over a broken or strange body without a word, so it is read here.
        raw = await client.chat.completions.with_raw_response.create(
            model=self._model,
            messages=[
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
            extra_body=parameters(prompt, refused),
        )
        return raw.http_response.content

    def _open(self) -> "AsyncOpenAI":
        import httpx2
        import openai

        url = self._url or DEFAULT_URL
        options = client_options(httpx2, url, self._settings)
        return openai.AsyncOpenAI(
            base_url=url,
            api_key=self._key or _NO_KEY,
            max_retries=0,
            timeout=options["timeout"],
            http_client=httpx2.AsyncClient(**options, follow_redirects=True),
            default_headers={"Accept-Encoding": "identity"},
        )


def parameters(prompt: Prompt, refused: frozenset[str]) -> dict[str, int]:
    """Return how the model is to write; what was refused is left out, the budget under its older name."""
    wanted = {
        "max_completion_tokens": max(prompt.budget_tokens, 1),
        "temperature": 0,
        "top_p": 1,
        "seed": SEED,
    }
    sent = {name: value for name, value in wanted.items() if name not in refused}
    if "max_completion_tokens" in refused:
        sent["max_tokens"] = wanted["max_completion_tokens"]
    return sent


def refused_parameter(failure: Failure, *, known: frozenset[str]) -> str:
    """Return which parameter a server does not take, by what it says; "" when that is not the matter."""
    if failure.reason != "bad_request":
        return ""
    candidates = [name for name in _REFUSABLE if name not in known]
    named = _named_parameter(failure.said)
    if named:
        return named if named in candidates else ""
    found = [(match.start(), name) for name in candidates if (match := _word(name).search(failure.said))]
    return min(found)[1] if found else ""


def reply_of(body: bytes) -> ModelReply:
    """Read a chat completion.

    Raises:
        ShapeError: it is none.
        ValueError: it is not even JSON.

    """
    data = _mapping(json.loads(body))
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ShapeError
    choice = _mapping(choices[0])
    message = _mapping(choice.get("message"))
    content = message.get("content", "")
    text = "" if content is None else content
    if not isinstance(text, str):
        raise ShapeError
    usage = data.get("usage")
    tokens = usage if isinstance(usage, dict) else {}
    counts = {"prompt_tokens": tokens.get("prompt_tokens"), "reply_tokens": tokens.get("completion_tokens")}
    refusal = message.get("refusal")
    if not text and isinstance(refusal, str) and refusal:
        return finished(refusal, finish="refusal", **counts)
    return finished(text, finish=choice.get("finish_reason"), **counts)


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ShapeError
    return value


def _named_parameter(said: str) -> str:
    """Return the parameter in OpenAI's own form of an error."""
    try:
        name = json.loads(said)["error"]["param"]
    except (ValueError, RecursionError, TypeError, KeyError, IndexError):
        return ""
    return name if isinstance(name, str) else ""


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9_]){name}(?![A-Za-z0-9_])")


async def _close(client: "AsyncOpenAI") -> None:
    await client.close()
