"""Facts as triples: when two are about the same, when they contradict, and which names look alike."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

from pmm_mcp.domain.words import FUNCTION_WORDS

WORDS_MAX: Final = 2_000
NAME_CHARS_MIN: Final = 4
ALIKE: Final = 0.84
"""How alike two names must look to be taken for a slip, as the share of characters in common blocks."""

_SPACE: Final = re.compile(r"\s+")
_WORD: Final = re.compile(r"[\w.+-]*\w", re.UNICODE)

IssueKind = Literal["contradiction", "ended", "look_alike"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A triple and the time it holds, in microseconds: from `from_us` up to, but not at, `to_us`."""

    fact: int
    subject: str | None
    predicate: str | None
    object: str | None
    anchor: str
    from_us: int
    to_us: int | None
    single_valued: bool
    confidence_pct: int
    source: int

    def holds_at(self, now_us: int) -> bool:
        """Say whether it holds at a moment."""
        return self.from_us <= now_us and (self.to_us is None or now_us < self.to_us)


@dataclass(frozen=True, slots=True)
class Issue:
    """Something in a text that does not go with a fact."""

    kind: IssueKind
    mentioned: str
    known: str
    fact: int


def fact_key(text: str) -> str:
    """Return what two spellings of one subject, predicate or object have in common."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _SPACE.sub(" ", folded.replace("_", " ").replace("-", " ")).strip(" .")


def check_text(text: str, facts: Sequence[Fact], *, now_us: int) -> Iterator[Issue]:
    """Yield where a text names the subject and the predicate of a fact, and another object than it has.

    Ordinary prose raises nothing: a subject must be named, and a name only looks like another when it is
    long, no common word, and known to nobody.
    """
    said = f" {fact_key(' '.join(_WORD.findall(text)[:WORDS_MAX]))} "
    known = {fact_key(word) for fact in facts for word in (fact.subject, fact.object) if word}
    for fact in facts:
        if fact.subject is None or fact.predicate is None or fact.object is None:
            continue
        if f" {fact_key(fact.subject)} " not in said or f" {fact_key(fact.predicate)} " not in said:
            continue
        names_it = f" {fact_key(fact.object)} " in said
        if names_it and not fact.holds_at(now_us):
            yield Issue("ended", fact.object, _sentence(fact), fact.fact)
        others = [
            other.object
            for other in facts
            if other.object is not None
            and other.fact != fact.fact
            and fact_key(other.subject or "") == fact_key(fact.subject)
            and fact_key(other.predicate or "") == fact_key(fact.predicate)
        ]
        if fact.holds_at(now_us) and fact.single_valued and not names_it:
            mentioned = next((one for one in others if f" {fact_key(one)} " in said), None)
            mentioned = mentioned or _object_said(said, fact)
            if mentioned:
                yield Issue("contradiction", mentioned, _sentence(fact), fact.fact)
    yield from _look_alikes(text, facts, known)


def _object_said(said: str, fact: Fact) -> str:
    """Return what a text says the object is: the words after "subject predicate", as many as it has."""
    opening = f" {fact_key(fact.subject or '')} {fact_key(fact.predicate or '')} "
    at = said.find(opening)
    if at < 0:
        return ""
    length = len(fact_key(fact.object or "").split())
    words = [word for word in said[at + len(opening) :].split() if word not in FUNCTION_WORDS][:length]
    return " ".join(words) if words and " ".join(words) != fact_key(fact.object or "") else ""


def _look_alikes(text: str, facts: Sequence[Fact], known: set[str]) -> Iterator[Issue]:
    seen: set[str] = set()
    names = {
        fact.subject: fact.fact for fact in facts if fact.subject and len(fact.subject) >= NAME_CHARS_MIN
    }
    for word in _WORD.findall(text)[:WORDS_MAX]:
        key = fact_key(word)
        if len(key) < NAME_CHARS_MIN or key in known or key in FUNCTION_WORDS or key in seen:
            continue
        seen.add(key)
        if not _is_a_name(word):
            continue
        for name, fact in names.items():
            other = fact_key(name)
            if other[:1] == key[:1] and SequenceMatcher(None, key, other).ratio() >= ALIKE:
                yield Issue("look_alike", word, name, fact)
                break


def _is_a_name(word: str) -> bool:
    """Say whether a word is a name, and no word of a language: capital letters, digits, marks inside."""
    return not word.islower() or any(char.isdigit() or char in "._+-" for char in word)


def _sentence(fact: Fact) -> str:
    return f"{fact.subject} {fact.predicate} {fact.object}"
