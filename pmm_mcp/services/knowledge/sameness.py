"""What says the same: believed once at a place, and spoken against wherever it is said."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pmm_mcp.domain.anchors import Anchor
from pmm_mcp.domain.knowledge import Item
from pmm_mcp.domain.tiers import Role, Status
from pmm_mcp.ports import Plan
from pmm_mcp.queries import knowledge

_GONE: Final = frozenset({Status.DEMOTED, Status.RETIRED})


@dataclass(frozen=True, slots=True)
class Against:
    """What spoke against a sentence before: the items that said it, and the evidence."""

    items: tuple[int, ...] = ()
    evidence: tuple[int, ...] = ()


def said_here(statement: str, *, anchor: Anchor, besides: Item | None = None) -> Plan[tuple[Item, ...]]:
    """Find the living items that say this at a place, knowledge before cards.

    `besides` one item: without it, what carries its belief, and what it was raised from.
    """
    same: tuple[Item, ...] = yield knowledge.same_statement(statement, anchor=anchor)
    family: set[int] = set()
    if besides is not None:
        family = {besides.item, besides.made_from, besides.origin} - {0}
        if besides.origin:
            origin: Item | None = yield knowledge.by_seq(besides.origin)
            family |= {origin.made_from} - {0} if origin is not None else set()
    living = [
        one
        for one in same
        if one.status not in _GONE and one.item not in family and one.made_from not in family
    ]
    return tuple(sorted(living, key=lambda item: item.form != "kn"))


def spoken_against(statement: str, *, anchor: Anchor, origin: int = 0) -> Plan[Against]:
    """Find what spoke against this sentence here, in a wider place or a narrower one.

    With `origin`: also what spoke against the item it is raised from, and against those raised before it.
    """
    same: tuple[Item, ...] = yield knowledge.same_statement_around(statement, anchor=anchor)
    items = {item.item for item in same}
    if origin:
        raised: tuple[Item, ...] = yield knowledge.raised_from(origin)
        items |= {origin} | {item.item for item in raised if item.status in _GONE}
    links: Iterable[knowledge.Link] = yield knowledge.links(sorted(items))
    against = [link for link in links if link.role is Role.COUNTEREXAMPLE]
    return Against(
        items=tuple(sorted({link.item for link in against})),
        evidence=tuple(sorted({link.evidence for link in against})),
    )
