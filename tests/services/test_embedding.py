"""Vectors: every document gets one of each set, once, whoever is killed; and they go with their text."""

import asyncio
import os
import sqlite3
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pmm_mcp.domain.errors import EmbedderUnavailableError
from pmm_mcp.domain.events.retrieval import EmbeddingSetChanged, EmbeddingsRecorded
from pmm_mcp.domain.vectors import Vector
from pmm_mcp.domain.words import query_terms, stem
from pmm_mcp.embedders import StaticEmbedder
from pmm_mcp.ports import Embedder
from pmm_mcp.retrieval.grammar import parse
from pmm_mcp.retrieval.meaning import VectorMeaning
from pmm_mcp.retrieval.scope import Filters
from pmm_mcp.services.embedding import EmbeddingService
from tests.apps import Mind, mind_of
from tests.ledgers import HUMAN, redact

SYNONYMS = {"db": "database", "quick": "fast", "car": "automobile", "fish": "otter"}
DIMENSIONS = 1_000


@dataclass
class ByWords:
    """An embedder that knows a few synonyms; it can be told to fail."""

    name: str = "test:words"
    weight: float = 0.5
    fails: bool = False
    embedded: int = 0

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.fails:
            raise EmbedderUnavailableError("away", hint="Wait.")
        self.embedded += len(texts)
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        steps = bytearray(DIMENSIONS)
        for term in query_terms(text):
            word = SYNONYMS.get(term, term)
            steps[int.from_bytes(sha256(f"{self.name} {stem(word)}".encode()).digest()[:4]) % DIMENSIONS] = 40
        return Vector(1 / (40 * max(1, steps.count(40)) ** 0.5), bytes(steps))

    async def aclose(self) -> None:
        """Nothing is open."""


@dataclass
class Known:
    """The embedders there are; the last is wanted."""

    embedders: tuple[Embedder, ...]

    @property
    def wanted(self) -> Embedder | None:
        return self.embedders[-1] if self.embedders else None

    def of_set(self, name: str) -> Embedder | None:
        return next((one for one in self.embedders if one.name == name), None)


@asynccontextmanager
async def mind_with(directory: Path, *embedders: Embedder, **given: Any) -> AsyncGenerator[Mind]:
    """A mind whose search compares by these embedders."""
    async with mind_of(directory, **given) as mind:
        known = Known(embedders)
        service = EmbeddingService(mind.app.ledger, known)
        meaning = VectorMeaning(known)
        finder = replace(mind.app.search.finder, meaning=meaning)
        search = replace(mind.app.search, finder=finder, embedding=service)
        records = replace(mind.app.records, meaning=meaning)
        yield replace(mind, app=replace(mind.app, embedding=service, search=search, records=records))


async def batches(mind: Mind) -> list[EmbeddingsRecorded]:
    return [one.event for one in await mind.history() if isinstance(one.event, EmbeddingsRecorded)]


def stored(directory: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(directory / "l.db")) as db:
        return db.execute(
            "SELECT set_name, from_seq, to_seq, docs, scales, data FROM vectors ORDER BY to_seq"
        ).fetchall()


async def test_what_no_word_says_is_found_by_its_meaning(tmp_path: Path) -> None:
    async with mind_with(tmp_path, ByWords()) as mind:
        wanted = await mind.record("the automobile is fast")
        await mind.record("the otter swims")
        before = await mind.found("quick car")
        assert await mind.app.embedding.catch_up() == 2
        after = await mind.search("quick car")
    assert before == []
    assert [(one.id, one.matched) for one in after.results] == [(wanted.id, ["meaning"])]
    assert after.degraded is None


async def test_what_stands_beside_a_match_comes_with_its_text_too(tmp_path: Path) -> None:
    said = ("the otter swims", "it is fast", "and far")
    async with mind_with(tmp_path, ByWords()) as mind:
        for text in said:
            await mind.at(conversation="one").record(text)
        await mind.app.embedding.catch_up()
        async with mind.app.ledger.reader.view() as view:
            finder = mind.app.search.finder
            question = await finder.question(view, "otter")
            plan = finder.find(parse("otter"), question, anchors=None, filters=Filters())
            found = await view.carry_out(plan)
    assert [one.passage for one in found] == list(said)


async def test_a_text_that_means_the_same_is_mentioned(tmp_path: Path) -> None:
    async with mind_with(tmp_path, ByWords()) as mind:
        first = await mind.record("the pool of the db is a quick car")
        await mind.app.embedding.catch_up()
        again = await mind.record("the pool of the database is a fast automobile")
        other = await mind.record("the pool is closed for the weather")
    assert [one.id for one in again.near] == [first.id]
    assert other.near == []


async def test_pain_37_a_long_note_is_found_by_its_end_and_asked_with_a_pasted_document(
    tmp_path: Path,
) -> None:
    pasted = "nothing of it says anything. " * 3_000
    async with mind_with(tmp_path, ByWords()) as mind:
        note = await mind.record(f"{'filler words go on. ' * 5_000} The relay is called marigold.")
        short = await mind.record("the automobile is fast")
        await mind.app.embedding.catch_up()
        at_the_end = await mind.found("marigold")
        asked = await mind.search(f"{pasted} Which automobile?")
    assert at_the_end == [note.id]
    assert [one.id for one in asked.results] == [short.id]
    assert asked.notice is not None


async def test_each_batch_is_recorded_with_the_digest_of_what_is_stored(tmp_path: Path) -> None:
    async with mind_with(tmp_path, ByWords()) as mind:
        for n in range(5):
            await mind.record(f"word{n} and more")
        await mind.app.embedding.catch_up()
        await mind.record("one more")
        await mind.app.embedding.catch_up()
        events = await batches(mind)
        assert await mind.is_sound()
    rows = stored(tmp_path)
    assert [(one.from_seq, one.to_seq) for one in events] == [(row[1], row[2]) for row in rows]
    assert [one.digest for one in events] == [sha256(b"".join(row[3:])).hexdigest() for row in rows]
    assert [one.count for one in events] == [5, 1]
    assert events[1].from_seq == events[0].to_seq + 1


async def test_two_servers_give_each_document_one_vector(tmp_path: Path) -> None:
    async with mind_with(tmp_path, ByWords()) as one, mind_with(tmp_path, ByWords(), seed="2") as other:
        for n in range(700):
            await one.record(f"word{n} stands alone")
        await asyncio.gather(*(mind.app.embedding.catch_up() for mind in (one, other, one)))
        events = await batches(one)
    docs = [doc for row in stored(tmp_path) for doc in memoryview(row[3]).cast("q").tolist()]
    assert sorted(docs) == sorted(set(docs))
    assert sum(event.count for event in events) == len(docs) == 700


async def test_a_removed_or_withdrawn_text_takes_its_vector_along(tmp_path: Path) -> None:
    async with mind_with(tmp_path, ByWords()) as mind:
        removed, withdrawn = await mind.record("the automobile"), await mind.record("the otter")
        await mind.record("kept")
        await mind.app.embedding.catch_up()
        await mind.app.ledger.write(redact(int(removed.id[3:])), call=HUMAN)
        await mind.app.withdrawing.withdraw(withdrawn.id, reason="wrong", call=mind.call)
        found = [await mind.found(word) for word in ("car", "fish")]
        assert await mind.is_sound()
    ((*_, scales, data),) = stored(tmp_path)
    assert found == [[], []]
    assert scales[:8] == bytes(8)
    assert not any(data[: 2 * DIMENSIONS])
    assert any(data[2 * DIMENSIONS :])


async def test_the_old_set_serves_until_the_new_one_reaches_as_far_and_they_never_mix(tmp_path: Path) -> None:
    old, new = ByWords("test:old"), ByWords("test:new")
    async with mind_with(tmp_path, old) as mind:
        for n in range(300):
            await mind.record(f"word{n} stands alone")
        wanted = await mind.record("the automobile is fast")
        await mind.app.embedding.catch_up()
    async with mind_with(tmp_path, old, new) as mind:
        waiting = await mind.search("quick car")
        step = mind.app.embedding._step(new, least=1)  # One batch of two.
        await step
        half = await mind.search("quick car")
        await mind.app.embedding.catch_up()
        done = await mind.search("quick car")
        sets = [one.event.set for one in await mind.history() if isinstance(one.event, EmbeddingSetChanged)]
        assert await mind.is_sound()
    assert sets == ["test:old", "test:new"]
    for result in (waiting, half, done):
        assert result.results[0].id == wanted.id
    assert [result.degraded for result in (waiting, half, done)] == ["embedding", "embedding", None]
    assert {row[0] for row in stored(tmp_path)} == {"test:old", "test:new"}


async def test_an_embedder_that_is_away_leaves_the_words(tmp_path: Path) -> None:
    embedder = ByWords()
    async with mind_with(tmp_path, embedder) as mind:
        wanted = await mind.record("the automobile is fast")
        await mind.app.embedding.catch_up()
        embedder.fails = True
        assert await mind.found("fast") == [wanted.id]
        assert await mind.found("quick car") == []
        await mind.record("more")
        with pytest.raises(EmbedderUnavailableError):
            await mind.app.embedding.catch_up()
        assert await mind.is_sound()


async def test_the_same_question_has_the_same_answer_in_every_process(tmp_path: Path) -> None:
    async with mind_with(tmp_path, ByWords()) as mind:
        for n in range(120):
            await mind.record(f"automobile word{n % 7} fast otter{n % 3} number {n}")
        await mind.app.embedding.catch_up()
        first = await mind.search("quick car word3", limit=20)
        again = await mind.search("quick car word3", limit=20)
    async with mind_with(tmp_path, ByWords(), seed="2") as other:
        elsewhere = await other.search("quick car word3", limit=20)
    assert first.results == again.results == elsewhere.results


async def test_a_server_keeps_up_by_itself(tmp_path: Path) -> None:
    async with mind_with(tmp_path, ByWords()) as mind:
        for n in range(70):
            await mind.record(f"word{n}")
        running = asyncio.create_task(mind.app.embedding.run(look_s=0))
        async with asyncio.timeout(20):
            while not await batches(mind):  # Reading gives the task its turn.
                pass
        running.cancel()
        await asyncio.wait({running})
        async with mind.app.ledger.reader.view() as view:
            coverage = await view.carry_out(mind.app.embedding.coverage())
    assert coverage.pending == 0


async def test_no_embedder_is_no_trouble(tmp_path: Path) -> None:
    async with mind_with(tmp_path) as mind:
        wanted = await mind.record("the automobile")
        assert await mind.app.embedding.catch_up() == 0
        await mind.app.embedding.run(look_s=0)
        result = await mind.search("automobile")
    assert ([one.id for one in result.results], result.degraded) == ([wanted.id], None)


@pytest.mark.skipif(not StaticEmbedder.is_there(), reason="pmm-mcp[static] is not installed")
async def test_a_process_killed_while_it_embeds_loses_nothing_and_another_goes_on(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        for n in range(1_500):
            await mind.record(f"word{n} stands alone among many others", source=f"notes/{n}.md")
        documents = len(await mind.history())
    for batch in (1, 3):
        command = (sys.executable, "-m", "pmm_mcp", "--db", str(tmp_path / "l.db"), "embed")
        process = await asyncio.create_subprocess_exec(
            *command, env={**os.environ, "PMM_MCP_EMBEDDER": "static"}, stderr=asyncio.subprocess.DEVNULL
        )
        async with asyncio.timeout(60):
            while len(await asyncio.to_thread(stored, tmp_path)) < batch and process.returncode is None:
                pass
        process.kill()
        await process.wait()
    async with mind_of(tmp_path, seed="2", embedder="static") as mind:
        assert await mind.is_sound()
        await mind.app.embedding.catch_up()
        assert await mind.is_sound()
        events = await batches(mind)
        history = len(await mind.history())
    spans = [(event.from_seq, event.to_seq) for event in events]
    docs = [doc for row in stored(tmp_path) for doc in memoryview(row[3]).cast("q").tolist()]
    assert all(before[1] + 1 == after[0] for before, after in pairwise(spans))
    assert len(docs) == len(set(docs)) == 1_500
    assert history > documents
