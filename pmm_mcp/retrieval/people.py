"""Who a question is about: one speaker it names, or the one who asks."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from pmm_mcp.domain.words import query_terms

ROLES: Final = frozenset({"agent", "assistant", "human", "model", "system", "tool", "user"})
"""Labels that are no names: what stands in a text about them is a word like any other."""
USER: Final = "user"

_FIRST_PERSON: Final = re.compile(r"\b(?:i|i'(?:m|ve|d|ll)|my|mine|me|myself)\b", re.IGNORECASE)
# "How do I run the tests?" asks for a way, and not for what was said.
_ASKS_FOR_A_WAY: Final = re.compile(
    r"\b(?:do|can|could|should|must|may|shall|would|will)(?:n't)? i\b|\b(?:tell|show|give|help|let) me\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class People:
    """The speaker whose words count for more, and the names that are no search terms."""

    speaker: str = ""
    names: frozenset[str] = frozenset()


def people_of(text: str, terms: Sequence[str], *, speakers: Collection[str]) -> People:
    """Return who a question is about, among the speakers that can be heard where is searched.

    One index serves all places, so the name of someone who speaks everywhere here is rare in it, and
    would outweigh what is asked; a name says who, and not what.
    """
    asked = set(terms)
    named: dict[str, set[str]] = {}
    for speaker in speakers:
        parts = set(query_terms(speaker))
        if speaker.lower() not in ROLES and parts & asked:
            named[speaker] = parts & asked
    names = frozenset(name for parts in named.values() for name in parts)
    if len(named) == 1:
        return People(next(iter(named)), names)
    if not named and USER in speakers and _FIRST_PERSON.search(_ASKS_FOR_A_WAY.sub(" ", text)):
        return People(USER)
    return People(names=names)
