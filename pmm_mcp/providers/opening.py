"""A client that is built when it is first needed, off the event loop, and closed once."""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio
from anyio import to_thread

T = TypeVar("T")


class ClosedError(Exception):
    """The model was closed; whoever closed it does not need the answer."""


class MisconfiguredError(Exception):
    """An address or a key in the environment is not one."""


class Opening(Generic[T]):
    """Something slow to build: importing a client takes a third of a second."""

    def __init__(self, build: Callable[[], T], close: Callable[[T], Awaitable[None]]) -> None:
        """Take how to build it, in a thread, and how to close it again."""
        self._build = build
        self._close = close
        self._value: T | None = None
        self._closed = False
        self._lock = anyio.Lock()

    async def get(self) -> T:
        """Return it; built once, however many ask.

        Raises:
            ClosedError: it was closed.
            MisconfiguredError: it cannot be built from what the environment says.

        """
        async with self._lock:
            if self._closed:
                raise ClosedError
            if self._value is None:
                try:
                    self._value = await to_thread.run_sync(self._build, abandon_on_cancel=True)
                except ValueError as error:
                    raise MisconfiguredError from error
            return self._value

    async def aclose(self) -> None:
        """Close it, if it was ever built."""
        async with self._lock:
            self._closed = True
            value, self._value = self._value, None
        if value is not None:
            await self._close(value)
