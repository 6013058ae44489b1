"""Where calls come in: the app, opened once, off the handshake's path."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pmm_mcp.domain.errors import PmmError

if TYPE_CHECKING:
    from pmm_mcp.bootstrap import App

logger = logging.getLogger(__name__)

Opener = Callable[[], AbstractAsyncContextManager["App"]]


@dataclass(slots=True)
class Desk:
    """Opens the app when it is first needed; while it cannot be opened, every call says why.

    Leaving the desk closes the app; both happen in one task of their own, whoever asks.
    """

    opener: Opener
    _opened: "asyncio.Future[App] | None" = None
    _keeping: "asyncio.Task[None] | None" = None
    _closing: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aenter__(self) -> Self:
        """Be there; nothing is opened yet."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the app, if it was opened."""
        self._closing.set()
        if self._keeping is None or self._opened is None:
            return
        if not self._opened.done():
            self._keeping.cancel()
        await asyncio.gather(self._keeping, return_exceptions=True)

    def begin(self) -> None:
        """Begin to open the app ahead of the first call; what goes wrong is told to the calls."""
        if self._opened is None:
            self._begin()

    async def app(self) -> "App":
        """Return the app, opening it if need be.

        Raises:
            PmmError: it cannot be opened now; the next call tries again.

        """
        opened = self._opened
        if opened is None or (opened.done() and (opened.cancelled() or opened.exception() is not None)):
            opened = self._begin()
        return await asyncio.shield(opened)

    def _begin(self) -> "asyncio.Future[App]":
        opened: asyncio.Future[App] = asyncio.get_running_loop().create_future()
        opened.add_done_callback(lambda one: one.cancelled() or one.exception())  # Perhaps nobody asks.
        self._opened = opened
        self._keeping = asyncio.create_task(self._keep(opened))
        return opened

    async def _keep(self, opened: "asyncio.Future[App]") -> None:
        try:
            async with self.opener() as app:
                opened.set_result(app)
                await self._closing.wait()
        except asyncio.CancelledError:
            opened.cancel()
            raise
        except PmmError as error:
            self._failed(opened, error)
        except Exception as error:
            logger.exception("the app failed")
            self._failed(opened, error)

    def _failed(self, opened: "asyncio.Future[App]", error: Exception) -> None:
        logger.warning("the ledger is not available: %s", error)
        if not opened.done():
            opened.set_exception(error)
