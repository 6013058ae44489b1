"""Instants: microseconds since the epoch as integers, and RFC 3339 in UTC as text."""

import datetime as dt
from typing import Final

from pmm_mcp.domain.errors import InvalidArgumentError

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def timestamp(us: int) -> str:
    """Return microseconds since the epoch as `YYYY-MM-DDTHH:MM:SS.ffffffZ`."""
    moment = _EPOCH + dt.timedelta(microseconds=us)
    return f"{moment.year:04}-{moment:%m-%dT%H:%M:%S.%fZ}"  # %Y is not padded everywhere


def microseconds(ts: str) -> int:
    """Return a timestamp of the ledger as microseconds since the epoch."""
    moment = dt.datetime.fromisoformat(ts)
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)


def instant(text: str, *, argument: str) -> str:
    """Return an RFC 3339 date and time in the form of the ledger's own timestamps.

    Raises:
        InvalidArgumentError: it is not one, or names no offset from UTC.

    """
    try:
        moment = dt.datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            raise ValueError(text)
        return timestamp((moment - _EPOCH) // dt.timedelta(microseconds=1))
    except (ValueError, OverflowError) as error:
        raise InvalidArgumentError(
            f"{argument}: {text[:80]!r} is not a date and time",
            hint="Use RFC 3339, such as 2026-11-30T12:00:00Z.",
        ) from error
