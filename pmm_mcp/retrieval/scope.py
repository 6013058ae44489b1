"""What a search may look at, and what it finds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from pmm_mcp.ports import View
from pmm_mcp.retrieval.grammar import SearchText

CANDIDATES: Final = 400
"""How many of the best documents are looked at, where not fewer are asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a document must be. `equal` maps a column to its value; empty parts do not filter."""

    kinds: tuple[str, ...] = ()
    equal: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    since: str = ""
    until: str = ""
    before: int = 0
    without_statuses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A document that matched, with its best passage; `score` in millionths of the best."""

    doc: int
    kind: str
    anchor: str
    conversation: str
    speaker: str | None
    ts: str
    source: str | None
    tier: str | None
    status: str | None
    passage: str
    score: int


class Lexical(Protocol):
    """Finds documents by their words, on one engine."""

    async def search(
        self,
        view: View,
        search: SearchText,
        *,
        anchors: Sequence[str] | None,
        filters: Filters,
        limit: int = CANDIDATES,
    ) -> tuple[Found, ...]:
        """Return the best documents, best first; `anchors` None looks everywhere, few are found sooner."""
        ...
