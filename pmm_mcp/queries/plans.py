"""Carrying out plans."""

from contextlib import closing
from typing import TypeVar

from pmm_mcp.ports import Asker, Plan

T = TypeVar("T")


def carry_out(asker: Asker, plan: Plan[T]) -> T:
    """Answer a plan's questions one by one; whatever it holds is let go when one cannot be answered."""
    with closing(plan):
        try:
            query = next(plan)
            while True:
                query = plan.send(asker.ask(query))
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]  # what a generator returns, the type says
