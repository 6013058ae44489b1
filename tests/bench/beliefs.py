"""Governed knowledge for a large ledger: items of three repositories, half of them believed."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from pmm_mcp.domain.anchors import GLOBAL, Anchor
from pmm_mcp.domain.tiers import Status, Tier
from pmm_mcp.ledger.sqlite.ledger import open_ledger
from pmm_mcp.ports import Transaction
from tests.beliefs import ACTIVE, Work, belief
from tests.bench.ledgers import CALL, PLACE, Words
from tests.clocks import ManualClock, SeededIds

ITEMS_A_WRITE: Final = 100
ANCHORS: Final = (
    PLACE.repo,
    Anchor("repo://example.com/bench/second"),
    Anchor("repo://example.com/bench/third"),
)
_STATUSES: Final = (ACTIVE, ACTIVE, ACTIVE, Status.CANDIDATE, Status.DEMOTED, Status.RETIRED)
_TIERS: Final = (Tier.QI, Tier.QI, Tier.QI, Tier.SHU, Tier.SHU, Tier.SHU, Tier.DAO_REN, Tier.DAO_TIAN)


async def believe(path: Path, *, items: int) -> None:
    """Write so many items to a ledger; the same every time."""
    works = islice(_works(Words("beliefs")), items)
    async with open_ledger(path, clock=ManualClock(), ids=SeededIds("beliefs"), role="bench") as ledger:
        while some := tuple(islice(works, ITEMS_A_WRITE)):

            def work(tx: Transaction, some: tuple[Work, ...] = some) -> None:
                for one in some:
                    one(tx)

            await ledger.write(work, call=CALL)


def _works(words: Words) -> Iterator[Work]:
    choose = words.random.choice
    while True:
        tier = choose(_TIERS)
        yield belief(
            " ".join(words.some(7, 16)),
            words.text(15, 60),
            tier=tier,
            status=choose(_STATUSES),
            anchor=GLOBAL if tier is Tier.DAO_TIAN else choose(ANCHORS),
        )
