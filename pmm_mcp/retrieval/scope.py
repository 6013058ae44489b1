"""What a search may look at, and what it finds."""

from collections.abc import Collection, Mapping, Sequence
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
    day: str = ""
    legs: tuple[str, ...] = ("lexical",)
    """What found it: its words, its heading, its meaning, or what stands beside it."""
    steps: Mapping[str, int] = field(default_factory=dict)
    """What each step of the ranking brought, in millionths."""


@dataclass(frozen=True, slots=True)
class Heading:
    """What a conversation's day has in common; `doc` instead of 0 for what belongs to one document."""

    anchor: str
    conversation: str
    day: str
    doc: int = 0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """What stands beside a document in its conversation, next to it or one apart; without its passage."""

    doc: int
    distance: int
    found: Found


class Surroundings(Protocol):
    """Looks at what stands around documents, on one engine."""

    async def speakers(self, view: View, *, anchors: Sequence[str] | None) -> tuple[str, ...]:
        """Return who speaks at these places, those who say most first."""
        ...

    async def headings(
        self, view: View, terms: Sequence[str], *, anchors: Sequence[str] | None
    ) -> Mapping[Heading, int]:
        """Return the headings that hold some of these terms, best first, with their share of the question."""
        ...

    async def under(
        self, view: View, headings: Collection[Heading], *, anchors: Sequence[str] | None, filters: Filters
    ) -> tuple[Found, ...]:
        """Return the first documents under these headings, as far as the filters let them through."""
        ...

    async def described(
        self, view: View, docs: Collection[int], *, anchors: Sequence[str] | None, filters: Filters
    ) -> tuple[Found, ...]:
        """Return documents by seq, as far as the filters let them through."""
        ...

    async def neighbours(
        self, view: View, docs: Collection[int], *, anchors: Sequence[str] | None, filters: Filters
    ) -> tuple[Neighbour, ...]:
        """Return what stands beside documents in their conversations, as the filters let it through."""
        ...

    async def passages(self, view: View, docs: Collection[int]) -> Mapping[int, str]:
        """Return how documents begin."""
        ...


class Compared(Protocol):
    """A question beside all documents that have vectors; cosines are in millionths."""

    @property
    def weight(self) -> float:
        """How much a cosine counts, beside a lexical score of at most 1."""
        ...

    async def nearest(self) -> Mapping[int, int]:
        """Return the documents nearest to it, wherever they are."""
        ...

    def cosines(self, docs: Collection[int]) -> Mapping[int, int]:
        """Return how near documents are; those without a vector are absent."""
        ...


class Meaning(Protocol):
    """Compares what is asked with what documents mean, as far as they have vectors."""

    async def compared(self, view: View, text: str) -> Compared | None:
        """Return a text beside the documents; None where no vectors serve."""
        ...


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
