"""What a question means beside what documents mean: by the vectors of the set that serves."""

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

from pmm_mcp.domain.errors import EmbedderUnavailableError
from pmm_mcp.domain.vectors import Batch, Vector
from pmm_mcp.ports import Embedder, Embedders, Plan, View
from pmm_mcp.queries import embeddings
from pmm_mcp.retrieval.vectors import Vectors

NEAREST: Final = 20
FLOOR: Final = 400_000
"""Below this cosine a document is not near a question, only less far than others."""
BATCHES_AT_ONCE: Final = 256
QUESTIONS_KEPT: Final = 64
QUESTION_CHARS: Final = 1_000
"""Of a long question the end is what is asked: models look at so much, and at the beginning."""
QUESTION_S: Final = 3.0
"""How long a search waits for the vector of its question."""
REST_S: Final = 60.0


class VectorIndex:
    """The vectors of one set, loaded as far as they are stored. Many threads may ask it at a time."""

    def __init__(self, name: str) -> None:
        """Hold nothing yet."""
        self.name = name
        self._vectors = Vectors.none()
        self._loading = Lock()

    def loaded(self) -> Plan[Vectors]:
        """Take in what was stored since, and return all there is."""
        with self._loading:
            while True:
                found: Sequence[Batch] = yield embeddings.batches(
                    self.name, after=self._vectors.reaches, limit=BATCHES_AT_ONCE
                )
                if not found:
                    return self._vectors
                self._vectors = self._vectors.more(found)


class VectorMeaning:
    """A `Meaning` by the vectors of the set that serves, as far as its embedder is here."""

    def __init__(self, embedders: Embedders) -> None:
        """Load nothing yet."""
        self._embedders = embedders
        self._index: VectorIndex | None = None
        self._resting_until = 0.0
        self._asked: OrderedDict[tuple[str, str], Vector] = OrderedDict()

    async def question(self, view: View, text: str) -> "VectorQuestion | None":
        """Return a text as a vector of the set that serves; None where there is none, or nobody to ask."""
        name = await view.ask(embeddings.active_set())
        embedder = None if name is None else self._embedders.of_set(name)
        if name is None or embedder is None or not text.strip():
            return None
        loop = asyncio.get_running_loop()
        if loop.time() < self._resting_until:
            return None
        try:
            async with asyncio.timeout(QUESTION_S):
                asked = await self._vector(embedder, text)
        except (EmbedderUnavailableError, TimeoutError):
            # The words still find. A server that is away holds up one search, and not every one.
            self._resting_until = loop.time() + REST_S
            return None
        if self._index is None or self._index.name != name:
            self._index = VectorIndex(name)
        return VectorQuestion(self._index, asked, embedder.weight)

    async def _vector(self, embedder: Embedder, text: str) -> Vector:
        text = text[-QUESTION_CHARS:]
        key = embedder.name, text
        if key in self._asked:
            self._asked.move_to_end(key)
        else:
            (self._asked[key],) = await embedder.embed([text])
            if len(self._asked) > QUESTIONS_KEPT:
                self._asked.popitem(last=False)
        return self._asked[key]


@dataclass(frozen=True, slots=True)
class VectorQuestion:
    """A question as a vector, and the index it is compared with."""

    index: VectorIndex
    asked: Vector
    weight: float

    def compared(self) -> Plan["VectorsCompared"]:
        """Return it beside all documents that have vectors by now."""
        vectors = yield from self.index.loaded()
        return VectorsCompared(vectors, self.asked, self.weight)


@dataclass(frozen=True, slots=True)
class VectorsCompared:
    """A question beside the vectors there are."""

    vectors: Vectors
    asked: Vector
    weight: float

    def nearest(self) -> Mapping[int, int]:
        """Return the documents nearest to it, wherever they are, with their cosines in millionths."""
        return self.vectors.nearest(self.asked, limit=NEAREST, floor=FLOOR)

    def cosines(self, docs: Collection[int]) -> Mapping[int, int]:
        """Return how near documents are, in millionths; those without a vector are absent."""
        return self.vectors.cosines(self.asked, docs=docs)
