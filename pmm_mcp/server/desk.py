"""Where calls come in: the app, opened when it is first needed, and who is calling from where."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pmm_mcp.bootstrap import App
from pmm_mcp.domain.errors import PmmError
from pmm_mcp.domain.names import as_name, name
from pmm_mcp.domain.records import Actor, Call

logger = logging.getLogger(__name__)

Opener = Callable[[], AbstractAsyncContextManager[App]]


@dataclass(slots=True)
class Desk:
    """Opens the app once, off the handshake's path; while it cannot be opened, every call says why.

    `session` names this server process; a new day makes a new session of it.
    """

    opener: Opener
    session: str
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _app: App | None = None

    async def app(self) -> App:
        """Return the app, opening it if need be.

        Raises:
            PmmError: it cannot be opened now; the next call tries again.

        """
        if self._app is None:
            async with self._lock:
                if self._app is None:
                    self._app = await self._stack.enter_async_context(self.opener())
        return self._app

    async def warm_up(self) -> None:
        """Open the app ahead of the first call; what goes wrong is told to that call."""
        try:
            await self.app()
        except PmmError as error:
            logger.warning("the ledger is not available: %s", error)

    async def aclose(self) -> None:
        """Close the app, if it was opened."""
        async with self._lock:
            self._app = None
            await self._stack.aclose()


@dataclass(frozen=True, slots=True)
class Visit:
    """One call: who makes it, and what it may use. The first argument of every tool."""

    desk: Desk
    client: str
    session: str = ""

    async def app(self) -> App:
        """Return the app."""
        return await self.desk.app()

    async def call(self, *, cwd: str = "", conversation: str = "", request_id: str = "") -> Call:
        """Return who calls from where, as the ledger records it.

        Raises:
            InvalidArgumentError: an argument is malformed.

        """
        app = await self.desk.app()
        day = datetime.fromtimestamp(app.clock.now_us() / 1_000_000, UTC)
        return Call(
            actor=Actor(
                kind="agent",
                name=as_name(self.client, otherwise="client"),
                session=f"{self.session or self.desk.session}-{day:%Y%m%d}",
            ),
            place=await app.places.find(cwd.strip() or None),
            conversation=name(conversation, argument="conversation"),
            request_id=name(request_id, argument="request_id"),
        )
