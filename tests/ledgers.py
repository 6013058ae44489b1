"""The small change of writing to a ledger in tests, and of asking what became of it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.events.ledger import TextRedacted
from pmm_mcp.domain.events.memory import EvidenceRecorded
from pmm_mcp.domain.records import Actor, Call, Draft, Recorded
from pmm_mcp.ports import Ledger, Transaction
from pmm_mcp.queries import events

AGENT = Call(actor=Actor(kind="agent", name="test", session="one"))
HUMAN = Call(actor=Actor(kind="human", name="owner", session="cli"))

Work = Callable[[Transaction], int]


def evidence(text: str) -> Draft:
    return Draft(EvidenceRecorded(), {"content": Admitted(text)})


def note(text: str) -> Work:
    """Work that records one piece of evidence and answers with its seq."""
    return lambda tx: tx.append(evidence(text))[0].seq


def redact(target: int) -> Work:
    """Work that removes the content of a piece of evidence."""

    def work(tx: Transaction) -> int:
        recorded = tx.ask(events.by_seq(target))
        assert recorded is not None
        event = TextRedacted(target=target, field="content", anchor=recorded.anchor, documents=1)
        (record,) = tx.append(Draft(event, {"reason": Admitted("a secret")}))
        tx.forget(target, "content")
        return record.seq

    return work


def roll_back(tx: Transaction) -> None:
    """End the transaction, as SQLite does by itself after some failures of the disk."""
    cast(Any, tx)._db.execute("ROLLBACK")


async def history(ledger: Ledger) -> tuple[Recorded, ...]:
    """Every event, in order."""
    async with ledger.reader.view() as view:
        return await view.ask(events.page(limit=1_000_000))


async def kinds(ledger: Ledger) -> list[str]:
    return [record.kind for record in await history(ledger)]


async def notes(ledger: Ledger) -> list[str | None]:
    """The contents of all evidence, in order; None where it was removed."""
    return [record.texts["content"] for record in await history(ledger) if record.kind == "evidence_recorded"]


@dataclass(frozen=True)
class Answer:
    """How a call ended."""

    result: Any = None
    error: BaseException | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


async def outcomes(calls: Iterable[Awaitable[Any]]) -> list[Answer]:
    """Wait for all calls, and say how each one ended."""
    ended = await asyncio.gather(*calls, return_exceptions=True)
    return [Answer(error=end) if isinstance(end, BaseException) else Answer(end) for end in ended]
