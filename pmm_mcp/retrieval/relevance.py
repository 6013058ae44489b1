"""How much governed knowledge has to do with a question, on a scale that does not depend on the best.

A search ranks and always finds something. Knowledge that is put before an agent must be about the
question, so its score is absolute: 1 says that all words of the question are in the statement, or all
words of the statement in the question.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Final, Protocol

from pmm_mcp.domain.ids import SEQ_MAX, public_id
from pmm_mcp.domain.knowledge import Form
from pmm_mcp.domain.tiers import Status, Tier
from pmm_mcp.domain.words import stem
from pmm_mcp.ports import Plan

MILLION: Final = 1_000_000

FLOOR: Final = 300_000
"""Below it an item is not about the question: it shares less than a third of what either says."""

PRIOR_ITEMS: Final = 100
"""Items a ledger is taken to hold beside its own: in the first ten, no word is rare or frequent yet."""

WEAK_SHARE: Final = 250_000
"""What a word counts that stands in any request."""

CONTENT_SHARE: Final = 600_000
"""What a word of the question counts that stands in the reasons of an item, and not in its statement."""

_WEAK_WORDS: Final = """
    add added always approach avoid best better change choose code create current decide default different
    doing done everything file files find fix following get getting give go going good handle happen help
    implement kind know let like look made make makes making many may might much must need needed needs never
    new old one ones people please prefer problem project put question really right run running said say see
    set should show something start still stuff sure take tell thing things think time try two update use
    used uses using want wants way ways well work working works write
"""
WEAK_WORDS: Final = frozenset(_WEAK_WORDS.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Among:
    """Which knowledge is looked at: as it stood when the head was at `as_of`, at these places."""

    anchors: Sequence[str]
    statuses: Sequence[Status]
    forms: Sequence[Form] = ("kn",)
    domain: str = ""
    as_of: int = SEQ_MAX


@dataclass(frozen=True, slots=True)
class Relevant:
    """An item that is about the question; `score` in millionths."""

    item: int
    score: int
    tier: Tier
    status: Status
    field: str
    anchor: str
    form: Form = "kn"

    @property
    def id(self) -> str:
        """What a caller calls it."""
        return public_id(self.form, self.item)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best items above the floor, of each tier and status, best first; and how many there are in all."""

    best: tuple[Relevant, ...] = ()
    totals: Mapping[Status, int] = field(default_factory=dict)


class Relevance(Protocol):
    """Judges governed knowledge by a question, on one engine."""

    def rank(self, terms: Sequence[str], *, among: Among) -> Plan[Ranking]:
        """Find what is about these terms; ties by seq."""
        ...


def distinct(terms: Iterable[str]) -> tuple[str, ...]:
    """Return the terms, of forms of one word only the first: the index finds each by the others."""
    kept: dict[str, str] = {}
    for term in terms:
        kept.setdefault(stem(term), term)
    return tuple(kept.values())


def weights_of(occurrences: Mapping[str, int], *, items: int) -> Mapping[str, int]:
    """Return what each term weighs, in millionths: the rarer among so many items, the more."""
    return {
        term: _weight(term, min(count, items), items + PRIOR_ITEMS) for term, count in occurrences.items()
    }


def is_weak(term: str) -> bool:
    """Say whether a term stands in any request, and so says little about this one."""
    return term in WEAK_WORDS


def strong(terms: Iterable[str]) -> tuple[str, ...]:
    """Return the terms that say what a question is about."""
    return tuple(term for term in terms if not is_weak(term))


def _weight(term: str, count: int, total: int) -> int:
    """Inverse document frequency as BM25 has it (Robertson and Zaragoza 2009), always above nothing."""
    rarity = round(MILLION * log(1 + (total - count + 0.5) / (count + 0.5)))
    return rarity * WEAK_SHARE // MILLION if is_weak(term) else rarity
