"""A disk that fills up, at every size: what was answered is there, what failed left no trace."""

from contextlib import suppress
from pathlib import Path

import pytest

from pmm_mcp.domain.errors import LedgerIoError
from pmm_mcp.ledger.sqlite.writer import WriterSettings
from pmm_mcp.ports import Transaction
from tests.ledger.conftest import Open
from tests.ledgers import AGENT, evidence, kinds, note, notes, outcomes, roll_back


@pytest.mark.parametrize("pages", range(79, 122, 3))
async def test_a_full_disk_loses_nothing_acknowledged(tmp_path: Path, open_one: Open, pages: int) -> None:
    full = await open_one(settings=WriterSettings(max_page_count=pages))
    texts = [f"{n} {'word ' * 200}" for n in range(30)]
    answers = []
    for first in range(0, 30, 6):
        answers += await outcomes(full.write(note(text), call=AGENT) for text in texts[first : first + 6])
    await full.aclose()

    roomy = await open_one()
    kept = [text for text, answer in zip(texts, answers, strict=True) if answer.ok]
    assert await notes(roomy) == kept
    assert len(kept) < 30
    errors = {type(answer.error) for answer in answers if not answer.ok}
    assert errors == {LedgerIoError}
    await roomy.write(note("after"), call=AGENT)
    found = await roomy.verify(projections=True)
    assert found.problems == ()


@pytest.mark.parametrize("pages", [3, 12, 24, 36])
async def test_a_ledger_that_has_no_room_to_begin_is_refused_and_begins_later(
    open_one: Open, pages: int
) -> None:
    with pytest.raises(LedgerIoError):
        await open_one(settings=WriterSettings(max_page_count=pages))

    assert await (await open_one()).write(note("first"), call=AGENT) == 2


async def test_the_next_write_recovers_by_itself(open_one: Open) -> None:
    ledger = await open_one(settings=WriterSettings(max_page_count=110))
    big, small = note("word " * 100_000), note("small")

    answers = await outcomes(ledger.write(work, call=AGENT) for work in (small, big, small))
    after = await ledger.write(small, call=AGENT)

    assert isinstance(answers[1].error, LedgerIoError)
    assert answers[1].error.retryable
    assert after == 2 + sum(answer.ok for answer in answers)
    assert (await ledger.verify(projections=True)).ok


async def test_work_cannot_go_on_after_sqlite_has_ended_the_transaction(open_one: Open) -> None:
    """Everything after the end would be outside of the group, of its lease and of its savepoints."""
    ledger = await open_one()

    def stubborn(tx: Transaction) -> None:
        tx.append(evidence("before"))
        roll_back(tx)
        with suppress(LedgerIoError):
            tx.append(evidence("outside"))

    answers = await outcomes(
        [
            ledger.write(note("a"), call=AGENT),
            ledger.write(stubborn, call=AGENT),
            ledger.write(note("b"), call=AGENT),
        ]
    )

    assert isinstance(answers[1].error, LedgerIoError)
    # What shared its group failed with it; what came in a later one did not.
    assert len(await notes(ledger)) == sum(answer.ok for answer in answers)
    await ledger.write(note("after"), call=AGENT)
    assert (await kinds(ledger))[0] == "ledger_opened"
    assert (await ledger.verify(projections=True)).ok
