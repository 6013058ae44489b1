"""Searching through the service, against one query to the same FTS5 index; and what it takes in memory."""

import sqlite3
from contextlib import closing
from pathlib import Path
from time import perf_counter

import pytest

from pmm_mcp.bootstrap import App
from pmm_mcp.retrieval.grammar import parse
from pmm_mcp.services.search import SearchInput
from tests.bench.conftest import Board
from tests.bench.ledgers import CALL, DOCUMENTS, Words, copy_of, ledger_of
from tests.bench.minds import app_on
from tests.bench.report import Row
from tests.bench.timing import MILLI, Subject, side_by_side

pytestmark = pytest.mark.bench

ROUNDS = 100
P50_MS_MAX = {10_000: 6, 100_000: 15, 1_000_000: 60}

_ONE_QUERY = "SELECT rowid FROM passages_fts WHERE passages_fts MATCH ? ORDER BY rank LIMIT 10"


def search_of(app: App, words: Words) -> Subject:
    async def search() -> None:
        await app.search.search(SearchInput(query=words.text(4, 12)), call=CALL)

    return search


def query_of(db: sqlite3.Connection, words: Words) -> Subject:
    async def query() -> None:
        match = " OR ".join(f'"{term}"' for term in parse(words.text(4, 12)).terms)
        if match:
            db.execute(_ONE_QUERY, (match,)).fetchall()

    return query


def resident_mb() -> float:
    """What of this process is in memory; 0 where the system does not say."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))
    except (OSError, StopIteration):
        return 0.0


@pytest.mark.parametrize("documents", DOCUMENTS)
async def test_search(board: Board, scratch: Path, documents: int) -> None:
    """The same questions of four to twelve words; the floor knows no scope, no filters, and no texts.

    As it is shipped: with the vectors of the default embedder.
    """
    path = await copy_of(await ledger_of(documents=documents), scratch / "ledger.db")
    async with app_on(path) as (app,):
        begun = perf_counter()
        embedded = await app.embedding.catch_up()
        board.add(
            Row(
                what=f"embedding, {documents} documents",
                measured=f"{embedded / (perf_counter() - begun):,.0f}/s, recorded and stored",
                numbers={"embedded": embedded, "seconds": perf_counter() - begun},
            )
        )
    async with app_on(path) as (app,):
        before, begun = resident_mb(), perf_counter()
        await search_of(app, Words("first"))()
        first_s, memory = perf_counter() - begun, resident_mb() - before
        with closing(sqlite3.connect(path)) as db:
            times = await side_by_side(
                {"floor": query_of(db, Words("queries")), "search": search_of(app, Words("queries"))},
                rounds=ROUNDS,
            )
        found, floor = times["search"], times["floor"]
        board.add(
            Row(
                what=f"search, {documents} documents",
                measured=found.ms(),
                floor=f"one query {floor.p50_ms()}",
                figure=f"{found.p50_s / floor.p50_s:.1f} ×",
                target=f"p50 ≤ {P50_MS_MAX[documents]} ms",
                met=found.p50_s * MILLI <= P50_MS_MAX[documents],
                numbers={
                    "documents": documents,
                    "first_ms": first_s * MILLI,
                    "memory_mb": memory,
                    **found.numbers("search"),
                    **floor.numbers("query"),
                },
            )
        )
        board.add(
            Row(
                what=f"first search, {documents} documents",
                measured=f"{first_s * MILLI:,.0f} ms, {memory:,.0f} MB more",
            )
        )
