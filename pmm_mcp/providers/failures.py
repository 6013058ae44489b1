"""Why a try failed, as a stable code: told by the class of an error, never by its words.

Classes are known by name, so that this file serves the clients of every provider and imports none.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pmm_mcp.providers.bodies import BodyTooLargeError

_CATEGORY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,63}")
_CHAIN_MAX: Final = 16

_BY_CLASS: Final = {
    "BodyTooLargeError": "too_large",
    "ClosedError": "closed",
    "MisconfiguredError": "misconfigured",
    "ImportError": "not_installed",
    "InvalidURL": "misconfigured",
    "UnsupportedProtocol": "misconfigured",
    "LocalProtocolError": "misconfigured",
    "TimeoutException": "timeout",
    "TimeoutError": "timeout",
    "ConnectionRefusedError": "connection_refused",
    "gaierror": "unknown_host",
    "SSLError": "tls_failed",
    "JSONDecodeError": "broken_json",
    "UnicodeDecodeError": "broken_json",
    "DecodingError": "broken_json",
    "RecursionError": "broken_json",
    "ValidationError": "wrong_shape",
    "ShapeError": "wrong_shape",
    "TooManyRedirects": "http_error",
}
# Read after the table above: what these name is true and less exact. The last are mere wrappers.
_LESS_EXACT: Final = {
    "ConnectError": "connection_failed",
    "ConnectionResetError": "connection_lost",
    "BrokenPipeError": "connection_lost",
    "NetworkError": "connection_lost",
    "RemoteProtocolError": "connection_lost",
}
_WRAPPERS: Final = {"ConnectionError": "connection_failed", "APIConnectionError": "connection_failed"}
_BY_STATUS: Final = {
    400: "bad_request",
    401: "unauthorized",
    403: "unauthorized",
    404: "not_found",
    408: "timeout",
    413: "bad_request",
    422: "bad_request",
    429: "rate_limited",
}
_SERVER_ERRORS: Final = range(500, 600)
_WORTH_ANOTHER_TRY: Final = frozenset({"timeout", "connection_lost", "rate_limited", "server_error"})


class ShapeError(ValueError):
    """A server answered with something that is no reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a try failed.

    `said` is the server's own text, to decide by and never to be kept; `head` the beginning of a body that
    was too large.
    """

    reason: str
    category: str
    retry_after_s: float | None = None
    status_code: int = 0
    said: str = ""
    head: bytes = b""

    @property
    def worth_another_try(self) -> bool:
        """Whether the same question may be answered a little later."""
        return self.reason in _WORTH_ANOTHER_TRY


def failure_of(error: BaseException) -> Failure:
    """Return what an error of a client means."""
    name = type(error).__name__
    category = name if _CATEGORY.fullmatch(name) else "Exception"
    chain = tuple(_chain(error))
    response = next((found for link in chain if (found := getattr(link, "response", None)) is not None), None)
    if response is None:
        head = next((link.head for link in chain if isinstance(link, BodyTooLargeError)), b"")
        return Failure(reason=_reason_of(chain), category=category, head=head)
    said = str(response.text)
    return Failure(
        reason=_reason_of_status(int(response.status_code), said),
        category=category,
        retry_after_s=retry_after_s(response.headers),
        status_code=int(response.status_code),
        said=said,
    )


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return how long a server asks to wait; a date is read against the server's own clock."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            wait_s = float(headers.get(name, "")) * unit_s
        except ValueError:
            continue
        if math.isfinite(wait_s):
            return max(wait_s, 0.0)
    from email.utils import parsedate_to_datetime

    try:
        then, now = (parsedate_to_datetime(headers.get(name, "")) for name in ("retry-after", "date"))
        return max((then - now).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what it came from, the nearest first."""
    found: list[BaseException] = [error]
    for link in found:
        yield link
        parts = link.exceptions if isinstance(link, BaseExceptionGroup) else ()
        inner = (link.__cause__, link.__context__, *parts)
        found.extend(each for each in inner if each is not None and each not in found)
        if len(found) > _CHAIN_MAX:
            return


def _reason_of(chain: tuple[BaseException, ...]) -> str:
    for table in (_BY_CLASS, _LESS_EXACT, _WRAPPERS):
        for link in chain:
            for kind in type(link).__mro__:
                if reason := table.get(kind.__name__):
                    return reason
    return "client_error"


def _reason_of_status(status: int, said: str) -> str:
    if status == 429 and "insufficient_quota" in said:  # noqa: PLR2004 - "too many requests"
        return "quota_exceeded"
    return _BY_STATUS.get(status) or ("server_error" if status in _SERVER_ERRORS else "http_error")
