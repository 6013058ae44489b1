"""Sharing room among sections, so that none starves the others."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from pmm_mcp.domain.tiers import Tier

T = TypeVar("T")

Queues = Mapping[str, Sequence[T]]
"""By section, in the order of the sections: what wants in, first things first."""


def reserves(room: int, *, sections: Collection[str]) -> Mapping[str, int]:
    """Return what tiers may count on: methods and tools that exist a third each, laws a quarter of the rest.

    A third is rounded up while something is left for the tiers above; of a single place it is all.
    """
    third = -(-room // 3)
    concrete = [tier for tier in (Tier.SHU, Tier.QI) if tier in sections]
    both = min(len(concrete) * third, max(third, room - 1)) if concrete else 0
    rest = room - both
    return {
        Tier.DAO_REN: (rest + 2) // 4,
        **{tier: (both + place) // len(concrete) for place, tier in enumerate(reversed(concrete))},
    }


def share_out(
    queues: Queues[T],
    *,
    room: int,
    price: Callable[[T], int] = lambda _: 1,
    opening: Callable[[str], int] = lambda _: 0,
) -> dict[str, list[T]]:
    """Return what gets in, each section in its order: first from its reserve, then from what is left.

    `price` is what one takes, `opening` what a section takes with its first. What is too big is passed over.
    """
    reserved = reserves(room, sections=[name for name, queue in queues.items() if queue])
    taken: dict[str, set[int]] = {name: set() for name in queues}
    left = room
    for own in (reserved, dict.fromkeys(queues, room)):
        for name, queue in queues.items():
            share = min(own.get(name, 0), left)
            for place, one in enumerate(queue):
                cost = price(one) + (0 if taken[name] else opening(name))
                if place not in taken[name] and cost <= share:
                    taken[name].add(place)
                    share -= cost
                    left -= cost
    return {name: [one for n, one in enumerate(queue) if n in taken[name]] for name, queue in queues.items()}
