"""The default: the mean of a table's rows, one a token. No model runs, and nothing is downloaded.

The table is that of the `wordllama` wheel (256 dimensions, 32 000 tokens). It is read here, for the
package's own loader looks for its tokenizer on the network.
"""

import asyncio
import json
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pmm_mcp.domain.errors import EmbedderUnavailableError
from pmm_mcp.domain.vectors import Vector
from pmm_mcp.embedders.rows import quantised

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSIONS: Final = 256
TOKENS_MAX: Final = 2_048
HINT: Final = "Install it with: pip install 'pmm-mcp[static]'"
_WEIGHTS: Final = f"weights/l2_supercat_{DIMENSIONS}.safetensors"
_TOKENIZER: Final = "tokenizers/l2_supercat_tokenizer_config.json"
_HEADER_BYTES: Final = 8


class StaticEmbedder:
    """An `Embedder` that looks tokens up; 0.04 ms a text."""

    name = f"static:wordllama-{DIMENSIONS}"
    weight = 0.5

    @staticmethod
    def is_there() -> bool:
        """Say whether what it reads is installed; nothing is imported."""
        return all(find_spec(package) is not None for package in ("numpy", "tokenizers", "wordllama"))

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector a text; the empty text has one of zeros.

        Raises:
            EmbedderUnavailableError: a package is not installed, or its files are not where they were.

        """
        if len(texts) == 1 and self._is_loaded:
            return self._embed(texts)  # A change of threads takes longer than one text.
        return await asyncio.to_thread(self._embed, texts)

    async def aclose(self) -> None:
        """Keep nothing open."""

    def _embed(self, texts: Sequence[str]) -> list[Vector]:
        import numpy as np

        table, tokenizer = self._table, self._tokenizer
        vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
        for n, found in enumerate(_encoded(tokenizer, texts)):
            if found.ids:
                vectors[n] = table[found.ids[:TOKENS_MAX]].mean(axis=0, dtype=np.float32)
        return quantised(vectors)

    @property
    def _is_loaded(self) -> bool:
        return {"_table", "_tokenizer"} <= self.__dict__.keys()

    @cached_property
    def _folder(self) -> Path:
        spec = find_spec("wordllama")
        if spec is None or spec.origin is None or not self.is_there():
            raise EmbedderUnavailableError("the static embedder is not installed", hint=HINT)
        return Path(spec.origin).parent

    @cached_property
    def _table(self) -> "NDArray[np.float16]":
        """The table, mapped and not read: only the rows of words that occur come into memory."""
        import numpy as np

        path = self._folder / _WEIGHTS
        try:
            with path.open("rb") as file:
                size = int.from_bytes(file.read(_HEADER_BYTES), "little")
                header = json.loads(file.read(size))
            (described,) = (tensor for name, tensor in header.items() if name != "__metadata__")
            start = _HEADER_BYTES + size + described["data_offsets"][0]
            mapped = np.memmap(path, np.float16, "r", start, shape=tuple(described["shape"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EmbedderUnavailableError(f"{path} is not the table that was expected", hint=HINT) from error
        if described["dtype"] != "F16" or mapped.shape[1] != DIMENSIONS:
            raise EmbedderUnavailableError(f"{path} holds another kind of table", hint=HINT)
        return np.asarray(mapped)  # numpy is quicker with its own kind

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        path = self._folder / _TOKENIZER
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:
            raise EmbedderUnavailableError(f"{path} is no tokenizer", hint=HINT) from error
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer


def _encoded(tokenizer: Any, texts: Sequence[str]) -> Sequence[Any]:
    if len(texts) == 1:  # For a batch it wakes threads of its own.
        return (tokenizer.encode(texts[0], add_special_tokens=False),)
    return tokenizer.encode_batch(list(texts), add_special_tokens=False)  # type: ignore[no-any-return]
