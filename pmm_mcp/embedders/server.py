"""Embedders behind HTTP: any server that speaks OpenAI's `/embeddings`, and Ollama's `/api/embed`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pmm_mcp.domain.errors import EmbedderUnavailableError
from pmm_mcp.domain.vectors import Vector
from pmm_mcp.embedders.rows import quantised

if TYPE_CHECKING:
    import httpx

OPENAI_URL: Final = "https://api.openai.com/v1"
OLLAMA_HOST: Final = "http://127.0.0.1:11434"
TIMEOUT_S: Final = 30.0
TEXTS_AT_ONCE: Final = 64
CHARS_MAX: Final = 8_000
"""How much of a text is sent; the rest is found by its words."""
VALUE_MAX: Final = 1e6
BODY_BYTES_MAX: Final = 64 * 2**20
DIMENSIONS_MAX: Final = 1_024
"""So that sums of signed bytes stay exact; a longer vector is cut, as its models allow (Matryoshka)."""


class ServerEmbedder:
    """An `Embedder` that asks a server; what it answers is checked, and never trusted."""

    weight = 1.0

    def __init__(self, name: str, *, url: str, model: str, key: str = "", under: str = "data") -> None:
        """Take where to ask; nothing is opened before the first question.

        `under` is the field of the answer that holds the vectors.
        """
        self.name = name
        self._url = url
        self._model = model
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._under = under
        self._client: httpx.AsyncClient | None = None

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector a text.

        Raises:
            EmbedderUnavailableError: the server is not there, or answers something else than vectors.

        """
        import numpy as np

        vectors: list[Vector] = []
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            some = [text[:CHARS_MAX] or " " for text in texts[start : start + TEXTS_AT_ONCE]]
            rows = self._rows(await self._asked(some), count=len(some))
            vectors += quantised(np.array(rows, np.float32)[:, :DIMENSIONS_MAX])
        return vectors

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _asked(self, texts: Sequence[str]) -> Any:
        import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(timeout=TIMEOUT_S, headers=self._headers)
        try:
            response = await self._client.post(self._url, json={"model": self._model, "input": list(texts)})
            response.raise_for_status()
            if len(response.content) > BODY_BYTES_MAX:
                raise self._strange("far more than was asked for")
            return response.json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise EmbedderUnavailableError(
                f"{self.name} did not answer: {type(error).__name__}",
                hint="Is the server running, and does it have the model?",
            ) from error

    def _rows(self, answer: Any, *, count: int) -> list[list[float]]:
        found = answer.get(self._under) if isinstance(answer, dict) else None
        if not isinstance(found, list) or len(found) != count:
            raise self._strange("another number of vectors than of texts")
        rows: list[Any] = [one.get("embedding") if isinstance(one, dict) else one for one in found]
        sizes = {len(row) if isinstance(row, list) else 0 for row in rows}
        if len(sizes) != 1 or not sizes.pop():
            raise self._strange("vectors of unlike lengths")
        if not all(isinstance(x, int | float) and abs(x) < VALUE_MAX for row in rows for x in row):
            raise self._strange("something else than numbers")
        return rows

    def _strange(self, what: str) -> EmbedderUnavailableError:
        return EmbedderUnavailableError(
            f"{self.name} answered {what}", hint="Is that a model for embeddings?"
        )


def openai_embedder(model: str, env: Mapping[str, str]) -> ServerEmbedder:
    """Return an embedder of OpenAI, or of the compatible server that the environment names.

    Raises:
        EmbedderUnavailableError: there is neither a key nor another server.

    """
    url, key = env.get("OPENAI_BASE_URL", "").strip(), env.get("OPENAI_API_KEY", "").strip()
    if not model or not (url or key):
        raise EmbedderUnavailableError(
            "openai: names no model, or no key is configured",
            hint="Say openai:text-embedding-3-small, and set OPENAI_API_KEY or OPENAI_BASE_URL.",
        )
    return ServerEmbedder(
        f"openai:{model}", url=f"{(url or OPENAI_URL).rstrip('/')}/embeddings", model=model, key=key
    )


def ollama_embedder(model: str, env: Mapping[str, str]) -> ServerEmbedder:
    """Return an embedder of the Ollama server that the environment names, or of this machine's.

    Raises:
        EmbedderUnavailableError: no model is named.

    """
    if not model:
        raise EmbedderUnavailableError("ollama: names no model", hint="Say ollama:nomic-embed-text.")
    host = env.get("OLLAMA_HOST", "").strip() or OLLAMA_HOST
    host = host if "://" in host else f"http://{host}"
    return ServerEmbedder(
        f"ollama:{model}", url=f"{host.rstrip('/')}/api/embed", model=model, under="embeddings"
    )
