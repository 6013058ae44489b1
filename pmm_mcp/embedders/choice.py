"""Finding an embedder by what the settings, or a ledger, call it."""

from collections.abc import Mapping
from typing import Final

from pmm_mcp.domain.errors import EmbedderUnavailableError
from pmm_mcp.embedders.minilm import HINT as MINILM_HINT
from pmm_mcp.embedders.minilm import MiniLmEmbedder
from pmm_mcp.embedders.server import ollama_embedder, openai_embedder
from pmm_mcp.embedders.static import StaticEmbedder
from pmm_mcp.ports import Embedder

NONE: Final = "none"
KINDS: Final = ("static", "minilm", "openai:MODEL", "ollama:MODEL", NONE)
NAME_MAX: Final = 64


class Embedders:
    """The embedders of this process; implements the port. Nothing is loaded before it is used."""

    def __init__(self, wanted: str, env: Mapping[str, str]) -> None:
        """Take what the settings say, and the environment that names servers and keys."""
        self._wanted = wanted.strip() or "static"
        self._env = env
        self._known: dict[str, Embedder] = {}

    @property
    def wanted(self) -> Embedder | None:
        """What new vectors are made with; None for none, and where the default is not installed.

        Raises:
            EmbedderUnavailableError: the settings name none that there is.

        """
        if self._wanted == NONE or (self._wanted == "static" and not StaticEmbedder.is_there()):
            return None
        return self._found(self._wanted)

    def of_set(self, name: str) -> Embedder | None:
        """Return what made a set of vectors; None when it is not here."""
        kind = name.partition(":")[0]
        try:
            embedder = self._found(kind if kind in ("static", "minilm") else name)
        except EmbedderUnavailableError:
            return None
        return embedder if embedder.name == name else None

    async def aclose(self) -> None:
        """Close them all."""
        for embedder in self._known.values():
            await embedder.aclose()

    def _found(self, name: str) -> Embedder:
        if name not in self._known:
            self._known[name] = self._made(name)
        return self._known[name]

    def _made(self, name: str) -> Embedder:
        kind, _, model = name.partition(":")
        match kind:
            case "static" if not model and StaticEmbedder.is_there():
                return StaticEmbedder()
            case "minilm" if not model and MiniLmEmbedder.is_there():
                return MiniLmEmbedder()
            case "minilm" if not model:
                raise EmbedderUnavailableError("the embedder minilm is not installed", hint=MINILM_HINT)
            case "openai" if len(name) <= NAME_MAX:
                return openai_embedder(model.strip(), self._env)
            case "ollama" if len(name) <= NAME_MAX:
                return ollama_embedder(model.strip(), self._env)
            case _:
                raise EmbedderUnavailableError(
                    f"there is no embedder {name[:40]!r}",
                    hint=f"Set PMM_MCP_EMBEDDER to {', '.join(KINDS)}.",
                )
