"""The turns that this process is answering: followed, handed back when they take long, never left open."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pmm_mcp.domain.errors import PmmError
from pmm_mcp.domain.ids import public_id

Work = Coroutine[Any, Any, None]


@dataclass(slots=True)
class RunningTurns:
    """The tasks that answer turns. `aclose` interrupts them, and waits until that is on record."""

    _tasks: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    _handed_back: set[int] = field(default_factory=set)
    _finished: list[str] = field(default_factory=list)
    _closing: set[asyncio.Task[None]] = field(default_factory=set)

    def start(self, turn: int, answering: Work, *, interrupt: Callable[[], Work]) -> None:
        """Answer a turn; when that is cancelled, `interrupt` closes it."""
        task = asyncio.create_task(answering)
        self._tasks[turn] = task

        def ended(task: asyncio.Task[None]) -> None:
            del self._tasks[turn]
            if task.cancelled():  # Perhaps before its first step.
                self.later(interrupt())
            if turn in self._handed_back:
                self._handed_back.discard(turn)
                self._finished.append(public_id("turn", turn))
                if not task.cancelled():
                    task.exception()  # Nobody else asks for it.

        task.add_done_callback(ended)

    async def wait_for(self, turn: int, *, patience_s: float) -> bool:
        """Wait until a turn has ended; False when that takes longer than a call may.

        A caller who leaves takes the turn along.
        """
        task = self._tasks.get(turn)
        if task is None:
            return True
        try:
            done, _ = await asyncio.wait({task}, timeout=patience_s)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not done:
            self._handed_back.add(turn)
            return False
        if task.cancelled():
            await asyncio.gather(*self._closing)
        else:
            task.result()
        return True

    def later(self, work: Work) -> None:
        """Do what is left to do for a turn that nobody waits for any more."""

        async def close() -> None:
            with suppress(PmmError):
                await work

        task = asyncio.create_task(close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def take_finished(self) -> str | None:
        """Say, once, which turns that were handed back as running have ended since."""
        finished, self._finished = self._finished, []
        return f"finished meanwhile: {', '.join(finished)}" if finished else None

    async def aclose(self) -> None:
        """Interrupt what is running, and wait until all is on record."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*self._closing, return_exceptions=True)
