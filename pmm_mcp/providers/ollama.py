"""Ollama, over its own /api/chat."""

from typing import TYPE_CHECKING, Final

from pmm_mcp.ports import ModelReply, Prompt
from pmm_mcp.providers.attempts import persist
from pmm_mcp.providers.bodies import client_options
from pmm_mcp.providers.failures import ShapeError
from pmm_mcp.providers.opening import Opening
from pmm_mcp.providers.replies import finished
from pmm_mcp.providers.settings import ProviderSettings

if TYPE_CHECKING:
    from ollama import AsyncClient, ChatResponse

DEFAULT_HOST: Final = "http://127.0.0.1:11434"
SEED: Final = 1

CONTEXT_TOKENS_MIN: Final = 4096
CONTEXT_TOKENS_MAX: Final = 131_072
_BYTES_A_TOKEN: Final = 3  # prose has about four; too much room does no harm


class OllamaChat:
    """One model of an Ollama server; implements the port `ChatModel`."""

    def __init__(self, model: str, settings: ProviderSettings) -> None:
        """Prepare; nothing is opened before the first question."""
        self._model = model
        self._settings = settings
        self._client = Opening(self._open, _close)
        self._context_tokens = CONTEXT_TOKENS_MIN

    @property
    def name(self) -> str:
        """`ollama:` and the model."""
        return f"ollama:{self._model}"

    async def ask(self, prompt: Prompt) -> ModelReply:
        """Ask; every failure is a reply that says so."""
        return await persist(lambda: self._attempt(prompt), self._settings)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _attempt(self, prompt: Prompt) -> ModelReply:
        client = await self._client.get()
        try:
            response = await client.chat(
                model=self._model,
                messages=[
                    {"role": "system", "content": prompt.system},
                    {"role": "user", "content": prompt.user},
                ],
                options=self._options(prompt),
            )
        except TypeError as error:  # the client unpacks whatever JSON it gets as if it were an object
            raise ShapeError from error
        return reply_of(response)

    def _options(self, prompt: Prompt) -> dict[str, int]:
        """Return how the model is to write.

        Ollama cuts a prompt that is longer than the context it reserved, without a word; so a long one
        asks for more. It never goes back, as every change loads the model anew.
        """
        needed = context_tokens(prompt)
        self._context_tokens = max(self._context_tokens, needed)
        options = {
            "num_predict": max(prompt.budget_tokens, 1),
            "temperature": 0,
            "top_p": 1,
            "seed": SEED,
        }
        if self._context_tokens > CONTEXT_TOKENS_MIN:
            options["num_ctx"] = self._context_tokens
        return options

    def _open(self) -> "AsyncClient":
        import httpx
        import ollama

        host = self._settings.setting("OLLAMA_HOST") or DEFAULT_HOST
        url = host if "://" in host else f"http://{host}"
        key = self._settings.setting("OLLAMA_API_KEY")
        headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {key}"} if key else {})
        return ollama.AsyncClient(host, headers=headers, **client_options(httpx, url, self._settings))


def context_tokens(prompt: Prompt) -> int:
    """Return the context that surely holds prompt and reply, as one of few sizes."""
    prompt_bytes = len(prompt.system.encode("utf-8", "replace")) + len(prompt.user.encode("utf-8", "replace"))
    needed = prompt_bytes // _BYTES_A_TOKEN + prompt.budget_tokens
    size = CONTEXT_TOKENS_MIN
    while size < min(needed, CONTEXT_TOKENS_MAX):
        size *= 2
    return size


def reply_of(response: "ChatResponse") -> ModelReply:
    """Read a chat response that has the right shape."""
    return finished(
        response.message.content or "",
        finish=response.done_reason if response.done else None,
        prompt_tokens=response.prompt_eval_count,
        reply_tokens=response.eval_count,
    )


async def _close(client: "AsyncClient") -> None:
    await client.close()  # type: ignore[no-untyped-call]
