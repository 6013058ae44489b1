"""Small readers of rows, shared by the queries."""

from collections.abc import Sequence
from typing import Any

from pmm_mcp.ports import Row


def scalar(rows: Sequence[Row]) -> Any:
    """Return the only value, or None when there is no row."""
    return rows[0][0] if rows else None


def number(rows: Sequence[Row]) -> int:
    """Return the only value as a number, 0 when there is none."""
    return int(rows[0][0] or 0) if rows else 0


def column(rows: Sequence[Row]) -> tuple[Any, ...]:
    """Return the first column."""
    return tuple(row[0] for row in rows)


def named(values: Sequence[str | int], *, prefix: str) -> tuple[str, dict[str, str | int]]:
    """Return `:p0, :p1, …` and its parameters, for a list of values in SQL."""
    params: dict[str, str | int] = {f"{prefix}{n}": value for n, value in enumerate(values)}
    return ", ".join(f":{name}" for name in params), params
