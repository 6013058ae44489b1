"""Guidance, through the service and through a real client, against one query to the same FTS5 index."""

import shutil
import sqlite3
import sys
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Final

import pytest
from mcp import Client, StdioServerParameters

from pmm_mcp.bootstrap import App
from pmm_mcp.retrieval.grammar import plain
from pmm_mcp.services.context import ContextInput
from tests.bench.beliefs import believe
from tests.bench.conftest import Board
from tests.bench.ledgers import CALL, DOCUMENTS, Words, copy_of, ledger_of
from tests.bench.minds import app_on
from tests.bench.peers import OURS, environment
from tests.bench.report import ROOT, Row
from tests.bench.timing import MILLI, Subject, side_by_side

pytestmark = pytest.mark.bench

ROUNDS: Final = 100
ITEMS: Final = 10_000
P50_MS_MAX: Final = {100_000: 10, 1_000_000: 25}

_ONE_QUERY = "SELECT rowid FROM passages_fts WHERE passages_fts MATCH ? ORDER BY rank LIMIT 10"


def context_of(app: App, words: Words) -> Subject:
    async def context() -> None:
        await app.context.context(ContextInput(query=words.text(4, 12)), call=CALL)

    return context


def tool_of(client: Client, words: Words, cwd: Path) -> Subject:
    async def tool() -> None:
        result = await client.call_tool("pmm_context", {"query": words.text(4, 12), "cwd": str(cwd)})
        assert not result.is_error

    return tool


def query_of(db: sqlite3.Connection, words: Words) -> Subject:
    async def query() -> None:
        if match := " OR ".join(f'"{term}"' for term in plain(words.text(4, 12)).terms):
            db.execute(_ONE_QUERY, (match,)).fetchall()

    return query


def server_on(path: Path, home: Path) -> StdioServerParameters:
    env = environment(home, db=str(path))
    return StdioServerParameters(command=sys.executable, args=[*OURS], env=env, cwd=ROOT)


@pytest.mark.parametrize("documents", [size for size in DOCUMENTS if size in P50_MS_MAX])
async def test_context(board: Board, scratch: Path, documents: int) -> None:
    """The same questions of four to twelve words; the floor finds passages, and no more."""
    path = await copy_of(await ledger_of(documents=documents), scratch / "ledger.db")
    await believe(path, items=ITEMS)
    shutil.copyfile(path, scratch / "served.db")
    async with AsyncExitStack() as stack:
        (app,) = await stack.enter_async_context(app_on(path))
        client = await stack.enter_async_context(Client(server_on(scratch / "served.db", scratch)))
        db = stack.enter_context(closing(sqlite3.connect(path)))
        times = await side_by_side(
            {
                "floor": query_of(db, Words("queries")),
                "context": context_of(app, Words("queries")),
                "pmm_context": tool_of(client, Words("queries"), scratch),
            },
            rounds=ROUNDS,
        )
    found, asked, floor = times["context"], times["pmm_context"], times["floor"]
    board.add(
        Row(
            what=f"context, {ITEMS} items among {documents} documents",
            measured=found.ms(),
            floor=f"one query {floor.p50_ms()}",
            figure=f"{found.p50_s / floor.p50_s:.1f} ×",
            target=f"p50 ≤ {P50_MS_MAX[documents]} ms",
            met=found.p50_s * MILLI <= P50_MS_MAX[documents],
            numbers={**found.numbers("context"), **floor.numbers("query")},
        )
    )
    board.add(
        Row(
            what="pmm_context over stdio, asked by the SDK's client",
            measured=asked.ms(),
            floor=f"the service {found.p50_ms()}",
            figure=f"+{(asked.p50_s - found.p50_s) * MILLI:.1f} ms",
            numbers=asked.numbers("pmm_context"),
        )
    )
