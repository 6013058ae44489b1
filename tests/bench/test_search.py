"""Searching through the service, against one query to the same FTS5 index."""

import sqlite3
from contextlib import closing
from pathlib import Path

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


async def test_search(board: Board, scratch: Path) -> None:
    """The same questions of four to twelve words; the floor knows no scope, no filters, and no texts."""
    paths = [
        await copy_of(await ledger_of(documents=documents), scratch / f"{documents}.db")
        for documents in DOCUMENTS
    ]
    async with app_on(*paths) as apps:
        for app in apps:  # As it is shipped: with the vectors of the default embedder.
            await app.embedding.catch_up()
        for documents, path, app in zip(DOCUMENTS, paths, apps, strict=True):
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
                    numbers={**found.numbers("search"), **floor.numbers("query")},
                )
            )
