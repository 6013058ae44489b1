"""What the writer is asked to do, and how whoever waits is answered."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from pmm_mcp.domain.records import Call, Recorded
from pmm_mcp.ports import Transaction


def _answer() -> "asyncio.Future[Any]":
    return asyncio.get_running_loop().create_future()


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of work, whose it is, and who waits for it."""

    work: Callable[[Transaction], Any]
    call: Call
    again: Callable[[Transaction, Recorded], Any] | None = None
    answer: "asyncio.Future[Any]" = field(default_factory=_answer)


@dataclass(frozen=True, slots=True)
class Chore:
    """Something done with the connection between groups, outside any transaction of ours."""

    run: Callable[[sqlite3.Connection], Any]
    answer: "asyncio.Future[Any]" = field(default_factory=_answer)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an item."""

    item: Job | Chore
    result: Any = None
    error: BaseException | None = None


def is_wanted(item: Job | Chore) -> bool:
    """Say whether someone still waits: what was cancelled in the queue is dropped.

    Asked once, when the item is about to start; from then on it is carried out, waited for or not.
    """
    return not item.answer.cancelled()


def deliver(outcomes: Iterable[Outcome]) -> None:
    """Answer from the writer's thread: each event loop is woken once for all of its callers."""
    for loop, group in groupby(outcomes, key=lambda outcome: outcome.item.answer.get_loop()):
        # A loop that was closed has nobody left who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, tuple(group))


def _settle(outcomes: Iterable[Outcome]) -> None:
    for outcome in outcomes:
        answer = outcome.item.answer
        if answer.done():
            continue
        if outcome.error is not None:
            answer.set_exception(outcome.error)
        else:
            answer.set_result(outcome.result)
