"""What is shown of a document: the passages that say most of what was asked, and which words those are."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pmm_mcp.domain.words import is_content_word, query_terms, stem

PASSAGES_SHOWN: Final = 2
HIGHLIGHTS_MAX: Final = 12

_WORD: Final = re.compile(r"[^\W_]+(?:['’.:/_-]+[^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Snippet:
    """The best passages in their order, how many characters are not shown, and the words that matched."""

    passages: tuple[str, ...]
    left_out: int = 0
    highlights: tuple[str, ...] = ()


def snippet(passages: Sequence[str], terms: Iterable[str]) -> Snippet:
    """Return the two passages that hold most of these terms, the first ones among equals."""
    asked = {stem(term) for term in terms if is_content_word(term)}
    held = [_held(passage, asked) for passage in passages]
    best = sorted(range(len(passages)), key=lambda n: (-len(held[n]), n))[:PASSAGES_SHOWN]
    if len(best) > 1 and not held[best[1]]:
        best = best[:1]
    shown = sorted(best)
    return Snippet(
        passages=tuple(passages[n] for n in shown),
        left_out=sum(len(passage) for n, passage in enumerate(passages) if n not in best),
        highlights=_words([passages[n] for n in shown], asked),
    )


def _held(passage: str, asked: set[str]) -> set[str]:
    return asked.intersection(map(stem, query_terms(passage)))


def _words(passages: Iterable[str], asked: set[str]) -> tuple[str, ...]:
    """Return the words of passages that match, as they are written, each once."""
    found: dict[str, None] = {}
    for passage in passages:
        for word in _WORD.findall(passage):
            if asked.intersection(map(stem, query_terms(word))):
                found.setdefault(word)
    return tuple(found)[:HIGHLIGHTS_MAX]
