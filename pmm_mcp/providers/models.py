"""Finding a model by its name."""

from contextlib import AsyncExitStack, suppress
from typing import Final

from pmm_mcp.domain.errors import ModelUnavailableError
from pmm_mcp.ports import ChatModel
from pmm_mcp.providers.offline import QUOTE, OfflineChat
from pmm_mcp.providers.ollama import OllamaChat
from pmm_mcp.providers.openai import OpenAIChat
from pmm_mcp.providers.scripted import SCRIPT_HINT, ScriptedChat
from pmm_mcp.providers.settings import ProviderSettings

PROVIDERS: Final = ("openai", "ollama", "offline", "scripted")
DEFAULT_MODEL: Final = f"offline:{QUOTE}"
NAME_CHARS_MAX: Final = 200
MODELS_MAX: Final = 64


class Models:
    """Every model this process can ask, opened when first named; implements the port `ChatModels`."""

    def __init__(self, settings: ProviderSettings, *, default: str = "") -> None:
        """Take the settings, and the model that is used when none is named; a script is read at once."""
        self._settings = settings
        self._default = default.strip() or DEFAULT_MODEL
        self._models: dict[tuple[str, str], ChatModel] = {}
        if self._default.startswith("scripted:"):
            with suppress(ModelUnavailableError):  # Whoever asks for it is told.
                provider, path = self._resolve(self._default)
                self._models[provider, path] = ScriptedChat.of_file(path)

    @property
    def default(self) -> str:
        """The name used when a call names none."""
        return self._default

    def get(self, name: str = "") -> ChatModel:
        """Return the model; "" is the default.

        Raises:
            ModelUnavailableError: there is no such provider, or it is not configured.

        """
        provider, model = self._resolve(name.strip() or self._default)
        key = provider, model
        if key not in self._models:
            if len(self._models) >= MODELS_MAX:
                raise ModelUnavailableError(
                    f"this process has already used {MODELS_MAX} different models",
                    hint="Name one of those, or start the server anew.",
                )
            self._models[key] = self._build(provider, model)
        return self._models[key]

    async def aclose(self) -> None:
        """Close every model."""
        async with AsyncExitStack() as closing:
            for model in self._models.values():
                closing.push_async_callback(model.aclose)
            self._models.clear()

    def _resolve(self, name: str) -> tuple[str, str]:
        if len(name) > NAME_CHARS_MAX or not name.isprintable():
            raise ModelUnavailableError(
                "that is not the name of a model", hint="Name it as provider:model, ollama:llama3.2 say."
            )
        provider, _, model = name.partition(":")
        if provider not in PROVIDERS:
            return "ollama", name
        return provider, model.strip() or self._usual(provider)

    def _usual(self, provider: str) -> str:
        """Return the model of a provider that was named without one."""
        if provider == "offline":
            return QUOTE
        if provider == "openai" and (model := self._settings.setting("PMM_OPENAI_MODEL", "OPENAI_MODEL")):
            return model
        hints = {
            "openai": "Name it, openai:gpt-5 say, or set PMM_OPENAI_MODEL.",
            "ollama": "Name it, ollama:llama3.2 say; `ollama list` shows which there are.",
            "scripted": "Name the file: scripted:FILE.",
        }
        raise ModelUnavailableError(f"{provider}: names no model", hint=hints[provider])

    def _build(self, provider: str, model: str) -> ChatModel:
        match provider:
            case "openai":
                return OpenAIChat(model, self._settings)
            case "ollama":
                return OllamaChat(model, self._settings)
            case "scripted":
                # Said of every other file alike: a caller shall not learn which files there are.
                raise ModelUnavailableError(
                    "a script must be the configured model, and readable when the program starts",
                    hint=f"Set PMM_MCP_MODEL=scripted:FILE where the program is started. {SCRIPT_HINT}",
                )
            case _:
                return OfflineChat(model)
