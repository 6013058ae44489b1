"""Reading files off the event loop, for a bounded time: a dead network drive must not hold a call."""

from collections.abc import Callable
from typing import Final, TypeVar

import anyio
from anyio import to_thread

T = TypeVar("T")

READ_LIMIT_S: Final = 2.0


async def in_time(work: Callable[[], T], *, otherwise: T) -> T:
    """Return what `work` returns, or `otherwise` when it takes too long."""
    with anyio.move_on_after(READ_LIMIT_S):
        return await to_thread.run_sync(work, abandon_on_cancel=True)
    return otherwise
