"""What a search may look at, and what it finds."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from pmm_mcp.ports import Plan, Query, View
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


class Found(NamedTuple):
    """A document that matched, with its best passage; `score` in millionths of the best.

    A tuple, for a search makes hundreds of them.
    """

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
    steps: Mapping[str, int] = MappingProxyType({})
    """What each step of the ranking brought, in millionths."""


class Heading(NamedTuple):
    """What a conversation's day has in common; `doc` instead of 0 for what belongs to one document."""

    anchor: str
    conversation: str
    day: str
    doc: int = 0


class Neighbour(NamedTuple):
    """What stands beside a document in its conversation: `place` 1 after it, -2 the last but one before."""

    of: int
    place: int
    doc: int
    anchor: str
    conversation: str
    speaker: str | None
    status: str | None
    day: str


class Surroundings(Protocol):
    """Looks at what stands around documents, on one engine."""

    def speakers(self, *, anchors: Sequence[str] | None) -> Query[tuple[str, ...]]:
        """Ask who speaks at these places, those who say most first."""
        ...

    def headings(self, terms: Sequence[str], *, anchors: Sequence[str] | None) -> Plan[Mapping[Heading, int]]:
        """Find the headings that hold some of these terms, best first, with their share of the question."""
        ...

    def under(
        self, headings: Collection[Heading], *, anchors: Sequence[str] | None, filters: Filters
    ) -> Query[tuple[Found, ...]]:
        """Ask for the first documents under these headings, as far as the filters let them through."""
        ...

    def described(
        self, docs: Collection[int], *, anchors: Sequence[str] | None, filters: Filters
    ) -> Query[tuple[Found, ...]]:
        """Ask for documents by seq, as far as the filters let them through."""
        ...

    def neighbours(
        self, docs: Collection[int], *, anchors: Sequence[str] | None, filters: Filters
    ) -> Query[tuple[Neighbour, ...]]:
        """Ask what stands beside documents in their conversations, as the filters let it through."""
        ...


class Compared(Protocol):
    """A question beside all documents that have vectors; cosines are in millionths."""

    @property
    def weight(self) -> float:
        """How much a cosine counts, beside a lexical score of at most 1."""
        ...

    def nearest(self) -> Mapping[int, int]:
        """Return the documents nearest to it, wherever they are."""
        ...

    def cosines(self, docs: Collection[int]) -> Mapping[int, int]:
        """Return how near documents are; those without a vector are absent."""
        ...


class Question(Protocol):
    """What a question means, as far as it can be compared."""

    def compared(self) -> Plan[Compared]:
        """Return it beside all documents that have vectors by now."""
        ...


class Meaning(Protocol):
    """Compares what is asked with what documents mean, as far as they have vectors."""

    async def question(self, view: View, text: str) -> Question | None:
        """Return what a text means; None where no vectors serve."""
        ...


class Lexical(Protocol):
    """Finds documents by their words, on one engine."""

    def search(
        self,
        search: SearchText,
        *,
        anchors: Sequence[str] | None,
        filters: Filters,
        limit: int = CANDIDATES,
    ) -> Plan[tuple[Found, ...]]:
        """Find the best documents, best first; `anchors` None looks everywhere, few are found sooner."""
        ...
