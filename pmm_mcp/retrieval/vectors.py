"""Comparing a question with what documents mean: exact, over all vectors of the set that serves."""

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pmm_mcp.domain.errors import EmbedderUnavailableError
from pmm_mcp.domain.vectors import Batch, Vector
from pmm_mcp.ports import Embedder, Embedders, View
from pmm_mcp.queries import embeddings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MILLION: Final = 1_000_000
NEAREST: Final = 20
FLOOR: Final = 400_000
"""Below this cosine a document is not near a question, only less far than others."""
BATCHES_AT_ONCE: Final = 256
BLOCK: Final = 8_192
"""Rows that are compared at a time: as much as a processor keeps at hand."""
PREFILTER_FROM: Final = 4_000
"""From so many documents on, signs are compared first, and vectors only of the best by that.

Of the 10 nearest of 5 882 real texts, 200 kept by their signs hold 99.7 %; here they are 2 000.
"""
PREFILTERED: Final = 2_000
ON_THE_LOOP_MAX: Final = 200_000
"""Up to so many documents are compared in the time that a change of threads may take."""
QUESTIONS_KEPT: Final = 64
QUESTION_CHARS: Final = 1_000
"""Of a long question the end is what is asked: models look at so much, and at the beginning."""
QUESTION_S: Final = 3.0
"""How long a search waits for the vector of its question."""
REST_S: Final = 60.0


class VectorIndex:
    """The vectors of one set in memory; it only grows, and documents that are gone show nowhere."""

    def __init__(self, name: str) -> None:
        """Hold nothing yet."""
        self.name = name
        self.reaches = 0
        self.size = 0
        self._room: _Room | None = None
        self._signs: NDArray[np.uint64] | None = None

    def add(self, batches: Collection[Batch]) -> None:
        """Take in what was stored since."""
        import numpy as np

        batches = [batch for batch in batches if batch.count]
        size = self.size + sum(batch.count for batch in batches)
        room = self._room
        if room is None or size > len(room.docs):
            # Grown by half at a time, so that a small batch seldom moves a large index.
            dimensions = len(batches[0].data) // batches[0].count
            self._room = room = _Room.of(max(size, 3 * self.size // 2), dimensions, before=room)
        for batch in batches:
            span = slice(self.size, self.size + batch.count)
            room.docs[span] = np.frombuffer(batch.docs, "<i8")
            room.scales[span] = np.frombuffer(batch.scales, "<f4")
            room.rows[span] = np.frombuffer(batch.data, np.int8).reshape(batch.count, -1)
            self.size += batch.count
            self.reaches = batch.to_seq

    def nearest(self, asked: Vector, *, limit: int, floor: int) -> dict[int, int]:
        """Return the documents with the largest cosines, at least `floor`, in millionths; ties by seq."""
        import numpy as np

        if self._room is None or not self.size:
            return {}
        chosen = self._by_sign(asked) if self.size > PREFILTER_FROM else slice(0, self.size)
        docs = self._room.docs[chosen]
        found = _cosines(self._room.rows[chosen], self._room.scales[chosen], asked)
        limit = min(limit, len(found))
        top = np.argpartition(-found, limit - 1)[:limit]
        best = sorted(((int(found[n]), int(docs[n])) for n in top), key=lambda one: (-one[0], one[1]))
        return {doc: cosine for cosine, doc in best if cosine >= floor}

    def cosines(self, asked: Vector, *, docs: Collection[int]) -> dict[int, int]:
        """Return the cosines of documents in millionths; those without a vector are absent."""
        import numpy as np

        if self._room is None or not self.size or not docs:
            return {}
        known = self._room.docs[: self.size]
        wanted = np.array(sorted(docs), np.int64)
        places = np.minimum(np.searchsorted(known, wanted), self.size - 1)
        there = known[places] == wanted
        places, wanted = places[there], wanted[there]
        found = _cosines(self._room.rows[places], self._room.scales[places], asked)
        return {int(doc): int(cosine) for doc, cosine in zip(wanted, found, strict=True)}

    def _by_sign(self, asked: Vector) -> "NDArray[np.int64]":
        """Return the rows whose signs agree most with those of the question."""
        import numpy as np

        question = _signs_of(np.frombuffer(asked.data, np.int8)[None, :])
        signs = self._signs if self._signs is not None else np.zeros((0, question.shape[1]), np.uint64)
        if self._room is not None and len(signs) < self.size:
            new = _signs_of(self._room.rows[len(signs) : self.size])
            self._signs = signs = np.concatenate((signs, new))
        apart = np.bitwise_count(signs ^ question).sum(axis=1, dtype=np.uint16)
        return np.sort(np.argpartition(apart, PREFILTERED)[:PREFILTERED])


@dataclass(frozen=True, slots=True)
class _Room:
    docs: "NDArray[np.int64]"
    scales: "NDArray[np.float32]"
    rows: "NDArray[np.int8]"

    @classmethod
    def of(cls, size: int, dimensions: int, *, before: "_Room | None") -> "_Room":
        """Return room for so many, with what was there before."""
        import numpy as np

        room = cls(
            np.zeros(size, np.int64), np.zeros(size, np.float32), np.zeros((size, dimensions), np.int8)
        )
        if before is not None:
            there = len(before.docs)
            room.docs[:there], room.scales[:there], room.rows[:there] = (
                before.docs,
                before.scales,
                before.rows,
            )
        return room


class VectorMeaning:
    """A `Meaning` by the vectors of the set that serves, as far as its embedder is here."""

    def __init__(self, embedders: Embedders) -> None:
        """Load nothing yet."""
        self._embedders = embedders
        self._index: VectorIndex | None = None
        self._loading = asyncio.Lock()
        self._resting_until = 0.0
        self._asked: OrderedDict[tuple[str, str], Vector] = OrderedDict()

    async def compared(self, view: View, text: str) -> "VectorsCompared | None":
        """Return a text beside the vectors that serve; None where there are none, or nobody to ask."""
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
        return VectorsCompared(await self._loaded(view, embedder), asked, embedder.weight)

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

    async def _loaded(self, view: View, embedder: Embedder) -> VectorIndex:
        async with self._loading:
            if self._index is None or self._index.name != embedder.name:
                self._index = VectorIndex(embedder.name)
            index = self._index
            while True:
                query = embeddings.batches(index.name, after=index.reaches, limit=BATCHES_AT_ONCE)
                if not (found := await view.ask(query)):
                    return index
                await asyncio.to_thread(index.add, found)


@dataclass(frozen=True, slots=True)
class VectorsCompared:
    """A question beside the vectors of an index."""

    index: VectorIndex
    asked: Vector
    weight: float

    async def nearest(self) -> Mapping[int, int]:
        """Return the documents nearest to it, wherever they are, with their cosines in millionths."""
        if self.index.size <= ON_THE_LOOP_MAX:
            return self.index.nearest(self.asked, limit=NEAREST, floor=FLOOR)
        return await asyncio.to_thread(self.index.nearest, self.asked, limit=NEAREST, floor=FLOOR)

    def cosines(self, docs: Collection[int]) -> Mapping[int, int]:
        """Return how near documents are, in millionths; those without a vector are absent."""
        return self.index.cosines(self.asked, docs=docs)


def _signs_of(rows: "NDArray[np.int8]") -> "NDArray[np.uint64]":
    """Return the signs of each row, 64 to a number."""
    import numpy as np

    bits = np.packbits(rows > 0, axis=1)
    words = -(-bits.shape[1] // 8)
    padded = np.zeros((len(rows), 8 * words), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded.view(np.uint64)


def _cosines(rows: "NDArray[np.int8]", scales: "NDArray[np.float32]", asked: Vector) -> "NDArray[np.int64]":
    """Return cosines in millionths. The sums are whole numbers and exact, so every machine has the same."""
    import numpy as np

    question = np.frombuffer(asked.data, np.int8).astype(np.float32)
    sums = np.empty(len(rows), np.float64)
    for start in range(0, len(rows), BLOCK):
        sums[start : start + BLOCK] = rows[start : start + BLOCK].astype(np.float32) @ question
    cosines = sums * scales.astype(np.float64) * (asked.scale * MILLION)
    return np.rint(cosines).astype(np.int64)
