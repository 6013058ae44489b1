"""Finding an embedder by what the settings, or a ledger, call it."""

from typing import Final

from pmm_mcp.domain.errors import EmbedderUnavailableError
from pmm_mcp.embedders.minilm import HINT as MINILM_HINT
from pmm_mcp.embedders.minilm import MiniLmEmbedder
from pmm_mcp.embedders.static import StaticEmbedder
from pmm_mcp.ports import Embedder

STATIC: Final = "static"
MINILM: Final = "minilm"
NONE: Final = "none"


class Embedders:
    """The embedders of this process; implements the port. Nothing is loaded before it is used."""

    def __init__(self, wanted: str) -> None:
        """Take what the settings say."""
        self._wanted = wanted.strip() or STATIC
        self._known: dict[str, Embedder] = {}

    @property
    def wanted(self) -> Embedder | None:
        """What new vectors are made with; None for none, and where the default is not installed.

        Raises:
            EmbedderUnavailableError: the settings name none that there is.

        """
        if self._wanted == NONE or (self._wanted == STATIC and not StaticEmbedder.is_there()):
            return None
        return self._found(self._wanted)

    def of_set(self, name: str) -> Embedder | None:
        """Return what made a set of vectors; None when it is not here."""
        try:
            embedder = self._found(name.partition(":")[0])
        except EmbedderUnavailableError:
            return None
        return embedder if embedder.name == name else None

    async def aclose(self) -> None:
        """Close them all."""
        for embedder in self._known.values():
            await embedder.aclose()

    def _found(self, kind: str) -> Embedder:
        if kind not in self._known:
            self._known[kind] = self._made(kind)
        return self._known[kind]

    def _made(self, kind: str) -> Embedder:
        if kind == STATIC:
            return StaticEmbedder()
        if kind == MINILM and MiniLmEmbedder.is_there():
            return MiniLmEmbedder()
        if kind == MINILM:
            raise EmbedderUnavailableError("the embedder minilm is not installed", hint=MINILM_HINT)
        raise EmbedderUnavailableError(
            f"there is no embedder {kind[:40]!r}",
            hint=f"Set PMM_MCP_EMBEDDER to {STATIC}, {MINILM} or {NONE}.",
        )
