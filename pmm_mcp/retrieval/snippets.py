"""What is shown of a document: the passages that say most of what was asked, and which words those are."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
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
    asked = frozenset(stem(term) for term in terms if is_content_word(term))
    words = [tuple(_holding(asked, passage)) for passage in passages]
    held = [len(asked & frozenset().union(*map(_stems, matching))) for matching in words]
    best = sorted(range(len(passages)), key=lambda n: (-held[n], n))[:PASSAGES_SHOWN]
    if len(best) > 1 and not held[best[1]]:
        best = best[:1]
    shown = sorted(best)
    return Snippet(
        passages=tuple(passages[n] for n in shown),
        left_out=sum(len(passage) for n, passage in enumerate(passages) if n not in best),
        highlights=tuple(dict.fromkeys(word for n in shown for word in words[n]))[:HIGHLIGHTS_MAX],
    )


def _holding(asked: frozenset[str], passage: str) -> Iterator[str]:
    """Yield the words of a passage that hold something asked for."""
    # Most words hold none of it, which is seen at once; in other scripts a word may be written in two ways.
    lowered = passage.lower()
    present = tuple(term for term in asked if term in lowered) if passage.isascii() else ()
    if passage.isascii() and not present:
        return
    for word in _WORD.findall(passage):
        seen = word.lower()
        if present and not any(term in seen for term in present):
            continue
        if _stems(word) & asked:
            yield word


@lru_cache(maxsize=8_192)
def _stems(word: str) -> frozenset[str]:
    return frozenset(map(stem, query_terms(word)))
