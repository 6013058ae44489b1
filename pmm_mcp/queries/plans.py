"""Questions that depend on the answers before them, as data: a view and a write can both carry them out."""

from collections.abc import Generator
from typing import Any, TypeVar

from pmm_mcp.ports import Asker, Query, View

T = TypeVar("T")
Plan = Generator[Query[Any], Any, T]
"""Yields queries, is sent their answers, and returns what was to be found out."""


def carry_out(asker: Asker, plan: Plan[T]) -> T:
    """Answer a plan inside a write."""
    try:
        query = next(plan)
        while True:
            query = plan.send(asker.ask(query))
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]  # what a generator returns, the type says


async def carried_out(view: View, plan: Plan[T]) -> T:
    """Answer a plan on a view."""
    try:
        query = next(plan)
        while True:
            query = plan.send(await view.ask(query))
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]  # what a generator returns, the type says
