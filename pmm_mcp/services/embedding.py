"""Giving vectors to what was said: in the background, in batches, each recorded with its digest."""

import asyncio
from dataclasses import dataclass
from typing import Final

from pmm_mcp.domain.anchors import UNSCOPED, Place
from pmm_mcp.domain.errors import EmbedderUnavailableError, PmmError
from pmm_mcp.domain.events.retrieval import EmbeddingSetChanged, EmbeddingsRecorded
from pmm_mcp.domain.records import Actor, Call, Draft
from pmm_mcp.domain.vectors import Batch, batch_of
from pmm_mcp.ports import Embedder, Embedders, Ledger, Plan, Progress, Transaction
from pmm_mcp.queries import embeddings

BATCH: Final = 256
ENOUGH: Final = 64
"""So many documents are worth a batch; fewer wait until they have waited long enough."""
WAIT_S: Final = 60.0
LOOK_S: Final = 5.0
"""How often is looked whether something waits."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which set of vectors serves, which is wanted, and how many documents have none of the latter yet."""

    active: str | None = None
    wanted: str | None = None
    pending: int = 0
    problem: str = ""

    @property
    def degraded(self) -> str | None:
        """Why meaning plays no part in a search, or not yet for everything."""
        is_behind = self.wanted is not None and (
            self.pending > BATCH or self.active not in (self.wanted, None)
        )
        return self.problem or ("embedding" if is_behind else None)


@dataclass(frozen=True, slots=True)
class EmbeddingService:
    """Gives vectors to documents; any process may do it, and none does what another has done."""

    ledger: Ledger
    embedders: Embedders

    def coverage(self) -> Plan[Coverage]:
        """Find how far the vectors reach."""
        try:
            wanted = self.embedders.wanted
        except EmbedderUnavailableError as error:
            return Coverage(problem=error.code)
        if wanted is None:
            return Coverage()
        reach: embeddings.Reach = yield embeddings.reach(wanted.name)
        return Coverage(reach.active, wanted.name, reach.pending)

    async def catch_up(self, *, progress: Progress | None = None) -> int:
        """Give vectors to every document that has none of the wanted set; return how many got one.

        Raises:
            EmbedderUnavailableError: the embedder cannot be used here.

        """
        embedder = self.embedders.wanted
        if embedder is None:
            return 0
        async with self.ledger.reader.view() as view:
            total = (await view.carry_out(self.coverage())).pending
        done = 0
        while count := await self._step(embedder, least=1):
            done += count
            if progress is not None:
                progress(done, max(total, done))
        return done

    async def run(self, *, look_s: float = LOOK_S) -> None:
        """Keep up with what is said, until cancelled; what goes wrong is tried again later.

        It rests as long as it works: whoever waits for an answer meanwhile comes first.
        """
        clock = asyncio.get_running_loop().time
        waited = 0.0
        while True:
            await asyncio.sleep(look_s)
            waited += look_s
            try:
                embedder = self.embedders.wanted
                if embedder is None:
                    return
                began = clock()
                while await self._step(embedder, least=1 if waited >= WAIT_S else ENOUGH):
                    waited = 0.0
                    await asyncio.sleep(clock() - began)
                    began = clock()
            except PmmError:
                # Another process writes, the disk is full, a server is away: the words still find.
                await asyncio.sleep(WAIT_S)
            if waited >= WAIT_S:
                waited = 0.0

    async def _step(self, embedder: Embedder, *, least: int) -> int:
        """Give vectors to the next documents, if so many wait; return how many got one."""
        async with self.ledger.reader.view() as view:
            after = await view.ask(embeddings.watermark(embedder.name))
            docs = await view.ask(embeddings.pending(after=after, limit=BATCH))
            texts = await view.ask(embeddings.texts(docs)) if len(docs) >= least else {}
        if len(docs) < least or not docs:
            return 0
        vectors = await embedder.embed([texts.get(doc, "") for doc in docs])
        batch = batch_of(embedder.name, from_seq=after + 1, to_seq=docs[-1], docs=docs, vectors=vectors)
        return await self.ledger.write(lambda tx: _recorded(tx, batch), call=_OURS)


def _recorded(tx: Transaction, batch: Batch) -> int:
    """Record a batch, unless another process was faster: then nothing is written."""
    if tx.ask(embeddings.watermark(batch.set)) != batch.from_seq - 1:
        return batch.count
    there = tx.ask(embeddings.pending(after=batch.from_seq - 1, limit=batch.count))
    for doc in sorted({*batch.seqs()} - {*there}):  # Withdrawn or removed while its vector was computed.
        batch = batch.without(doc)
    event = EmbeddingsRecorded(
        set=batch.set, from_seq=batch.from_seq, to_seq=batch.to_seq, count=batch.count, digest=batch.digest
    )
    tx.append(Draft(event))
    tx.keep_vectors(batch)
    before = tx.ask(embeddings.active_set())
    reached = batch.to_seq >= (tx.ask(embeddings.watermark(before)) if before is not None else 0)
    if before != batch.set and reached:
        tx.append(Draft(EmbeddingSetChanged(set=batch.set, before=before)))
    return batch.count


_OURS: Final = Call(
    actor=Actor(kind="runtime", name="embedding", session=""), place=Place(worktree=None, repo=UNSCOPED)
)
