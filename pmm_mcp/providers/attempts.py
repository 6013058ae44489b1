"""Asking more than once, for a bounded time."""

from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from pmm_mcp.ports import ModelReply
from pmm_mcp.providers.bodies import content_of
from pmm_mcp.providers.failures import Failure, failure_of
from pmm_mcp.providers.replies import failed, overlong
from pmm_mcp.providers.settings import ProviderSettings

BACKOFF_MAX_S: Final = 8.0


async def persist(attempt: Callable[[], Awaitable[ModelReply]], settings: ProviderSettings) -> ModelReply:
    """Return the first reply, or the failure of the last try; never later than `settings.total_s`.

    A server that asks for a longer wait than there is time is not asked again.
    """
    deadline = anyio.current_time() + settings.total_s
    with anyio.move_on_after(settings.total_s):
        for tried in range(settings.retries + 1):
            answer = await _once(attempt)
            if isinstance(answer, ModelReply):
                return answer
            wait_s = _wait_s(answer, tried=tried, settings=settings)
            has_time = anyio.current_time() + wait_s < deadline
            if tried == settings.retries or not answer.worth_another_try or not has_time:
                return _reply_of(answer)
            await anyio.sleep(wait_s)
    return failed("timeout", category="TimeoutError")


async def _once(attempt: Callable[[], Awaitable[ModelReply]]) -> ModelReply | Failure:
    try:
        return await attempt()
    except Exception as error:  # noqa: BLE001 - whatever a foreign client trips over is a failed try
        return failure_of(error)


def _wait_s(failure: Failure, *, tried: int, settings: ProviderSettings) -> float:
    if failure.retry_after_s is not None:
        return failure.retry_after_s
    return float(min(settings.backoff_s * 2**tried, BACKOFF_MAX_S))


def _reply_of(failure: Failure) -> ModelReply:
    if failure.reason == "too_large":
        return overlong(content_of(failure.head))
    return failed(failure.reason, category=failure.category)
