"""Retrieving cards through their evidence, against one query to the same FTS5 index."""

import sqlite3
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Final

import pytest

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.events.cards import CardCreated, CardPromoted
from pmm_mcp.domain.gate import RULES_VERSION
from pmm_mcp.domain.records import Draft
from pmm_mcp.domain.tiers import Status, Tier
from pmm_mcp.ledger.sqlite.ledger import open_ledger
from pmm_mcp.ports import Transaction
from pmm_mcp.retrieval.grammar import plain
from tests.bench.conftest import Board
from tests.bench.ledgers import CALL, PLACE, Words, copy_of, ledger_of
from tests.bench.minds import app_on
from tests.bench.report import Row
from tests.bench.timing import MILLI, Subject, side_by_side
from tests.clocks import ManualClock, SeededIds

pytestmark = pytest.mark.bench

ROUNDS: Final = 100
CARDS: Final = 10_000
DOCUMENTS: Final = 100_000
CARDS_A_WRITE: Final = 100
P50_MS_MAX: Final = 15

_ONE_QUERY = "SELECT rowid FROM passages_fts WHERE passages_fts MATCH ? ORDER BY rank LIMIT 10"


def make(words: Words, evidence: Sequence[int], count: int) -> list[tuple[CardCreated, str, str]]:
    """Cards with three pieces of evidence each."""
    return [
        (
            CardCreated(tier=Tier.QI, supporting=tuple(sorted(set(words.random.choices(evidence, k=3))))),
            " ".join(words.some(7, 16)),
            words.text(15, 60),
        )
        for _ in range(count)
    ]


async def make_cards(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        evidence = [row[0] for row in db.execute("SELECT evidence FROM evidence ORDER BY evidence")]
    words = Words("cards")
    async with open_ledger(path, clock=ManualClock(), ids=SeededIds("cards"), role="bench") as ledger:
        for _ in range(CARDS // CARDS_A_WRITE):
            cards = make(words, evidence, CARDS_A_WRITE)

            def work(tx: Transaction, cards: list[tuple[CardCreated, str, str]] = cards) -> None:
                for event, statement, content in cards:
                    texts = {"statement": Admitted(statement), "content": Admitted(content)}
                    (record,) = tx.append(Draft(event, texts, anchor=PLACE.repo))
                    promoted = CardPromoted(
                        item=record.seq,
                        from_status=Status.CANDIDATE,
                        to_status=Status.PROMOTED,
                        tier=event.tier,
                        rules=RULES_VERSION,
                    )
                    tx.append(Draft(promoted, {"reason": Admitted("bench")}, anchor=PLACE.repo))

            await ledger.write(work, call=CALL)


async def test_retrieving_cards(board: Board, scratch: Path) -> None:
    """The same questions of four to twelve words; the floor finds passages, and no more."""
    path = await copy_of(await ledger_of(documents=DOCUMENTS), scratch / "ledger.db")
    await make_cards(path)
    async with AsyncExitStack() as stack:
        (app,) = await stack.enter_async_context(app_on(path))
        db = stack.enter_context(closing(sqlite3.connect(path)))

        def retrieving(words: Words) -> Subject:
            async def retrieve() -> None:
                await app.card_search.retrieve(words.text(4, 12), domain="", field="", top_k=5, call=CALL)

            return retrieve

        def querying(words: Words) -> Subject:
            async def query() -> None:
                if match := " OR ".join(f'"{term}"' for term in plain(words.text(4, 12)).terms):
                    db.execute(_ONE_QUERY, (match,)).fetchall()

            return query

        times = await side_by_side(
            {"floor": querying(Words("queries")), "cards": retrieving(Words("queries"))}, rounds=ROUNDS
        )
    found, floor = times["cards"], times["floor"]
    board.add(
        Row(
            what=f"card retrieval, {CARDS} cards among {DOCUMENTS} documents",
            measured=found.ms(),
            floor=f"one query {floor.p50_ms()}",
            figure=f"{found.p50_s / floor.p50_s:.1f} ×",
            target=f"p50 ≤ {P50_MS_MAX} ms",
            met=found.p50_s * MILLI <= P50_MS_MAX,
            numbers={**found.numbers("cards"), **floor.numbers("query")},
        )
    )
