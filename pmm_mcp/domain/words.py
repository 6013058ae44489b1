"""Words of a text as the search index sees them; the index and the query side share this file.

FTS5's `porter unicode61` finds plain words by itself. What it misses (parts of `getUserName`, words
of languages written without spaces) is written beside the text and asked for by the same rules.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

PASSAGES_MAX: Final = 1000
GOVERNED_TERM: Final = "pmmgoverned"
"""Written beside every passage of governed knowledge, so that a search can keep to those."""

# Weights are half words, so that a CJK character can count as half a word.
_PASSAGE_WEIGHT: Final = 2 * 40
_BREAK_WEIGHT_MIN: Final = 2 * 10
_UNIT_CHARS_MAX: Final = 240
_CHARS_A_WORD: Final = 24
_SHORT_CHARS: Final = 960

_CJK: Final = (
    "\u1100-\u11ff\u3005\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3131-\u318e\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufaff\uff66-\uff9d\uffa1-\uffdc"
    "\U00020000-\U0003ffff"
)
_UNIT: Final = re.compile(
    rf"(?:(?P<cjk>[{_CJK}]{{1,8}})"
    rf"|[^\s{_CJK}。！？]{{0,{_UNIT_CHARS_MAX}}}[。！？]"
    rf"|[^\s{_CJK}。！？]{{1,{_UNIT_CHARS_MAX}}})(?P<gap>\s*)"
)
_SENTENCE_ENDS: Final = frozenset(".!?…:;。！？")
_CLOSING: Final = "\"'”’)]"

# Combining marks stay with their letter: FTS5 strips them, it does not split there.
_TOKEN: Final = re.compile(r"(?:[^\W_]|[\u0300-\u036f])+")
_RUN: Final = re.compile(rf"(?P<cjk>[{_CJK}]+)|[^{_CJK}]+")
_PART: Final = re.compile(
    r"[A-Z]{2,}s(?![^\W\d_A-Z])|[A-Z]+(?=[A-Z][^\W\d_A-Z])|[A-Z]?(?:[^\W\d_A-Z]|[\u0300-\u036f])+|[A-Z]+|\d+"
)
_ASCII_BOUNDARY: Final = re.compile(r"[a-z][A-Z0-9]|[A-Z]{2}[a-z]|[A-Z][0-9]|[0-9][A-Za-z]")
# A hash has a boundary at every other character; its parts would be noise.
_PARTS_OF_A_NAME_MAX: Final = 4
_PART_CHARS_MIN: Final = 2.5

_ENDING: Final = re.compile(r"(?<=[a-z]{3})(?:ings?|ed|es|e|s)\Z")

_MILLION: Final = 1_000_000

_FUNCTION_WORDS: Final = """
    a about above after again against ain all also am an and any are aren as at be because been before
    being below between both but by can cannot could couldn d did didn do does doesn doing don down
    during each few for from further had hadn has hasn have haven having he her here hers herself him
    himself his how i if in into is isn it its itself just ll m me mightn more most mustn my myself
    needn no nor not now o of off on once only or other our ours ourselves out over own re s same shan
    she should shouldn so some such t than that the their theirs them themselves then there these they
    this those through to too under until up us ve very was wasn we were weren what when where which
    while who whom whose why will with won would wouldn y you your yours yourself yourselves
"""
FUNCTION_WORDS: Final = frozenset(_FUNCTION_WORDS.split())


class _Run(NamedTuple):
    """A stretch of one script; `glued` when the word goes on in another."""

    text: str
    cjk: bool = False
    glued: bool = False


def passages(text: str) -> tuple[str, ...]:
    """Split a text into passages of about 40 words, at sentence and line ends where there are any.

    There are at most `PASSAGES_MAX`, longer ones in a longer text; only white space around them is lost.
    """
    if text.isascii() and len(text) <= _SHORT_CHARS and len(text.split()) * 2 <= _PASSAGE_WEIGHT:
        short = text.strip()
        return (short,) if short else ()
    spans = tuple(_spans(text))
    together = -(-len(spans) // PASSAGES_MAX) or 1
    groups = (spans[n : n + together] for n in range(0, len(spans), together))
    return tuple(text[group[0][0] : group[-1][1]].strip() for group in groups)


def extra_terms(passage: str) -> str:
    """Return, space-joined, the terms of a passage that FTS5's tokenizer does not find by itself."""
    if passage.isascii() and not _ASCII_BOUNDARY.search(passage):
        return ""
    return " ".join(_extras(passage))


def query_terms(text: str) -> tuple[str, ...]:
    """Return the distinct terms to look for, in order; each finds a text through its words or its extras."""
    terms: dict[str, None] = {}
    for run in _runs(text):
        found = _bigrams(run.text) if run.cjk else (run.text.lower(), *_parts(run.text))
        terms.update(dict.fromkeys(found))
    return tuple(terms)


def phrase_terms(text: str) -> tuple[str, ...]:
    """Return the terms of a phrase: every one in its place, repeated ones too, names undivided."""
    terms: list[str] = []
    for run in _runs(text):
        terms.extend(_bigrams(run.text) if run.cjk else (run.text.lower(),))
    return tuple(terms)


def is_cjk(term: str) -> bool:
    """Tell whether a term was cut from a text written without spaces."""
    run = _RUN.match(term)
    return run is not None and run["cjk"] is not None


def is_content_word(term: str) -> bool:
    """Tell whether a term says what a text is about; English function words do not."""
    return term not in FUNCTION_WORDS


def stem(term: str) -> str:
    """Return a term without what the commonest forms of an English word differ in.

    The index itself stems after Porter (1980); this is for what is compared outside of it.
    """
    return _ENDING.sub("", term)


def compare_words(a: str, b: str) -> int:
    """Return how alike two texts are, in millionths: shared terms to all terms, 0 when neither has any."""
    ours, theirs = frozenset(query_terms(a)), frozenset(query_terms(b))
    return len(ours & theirs) * _MILLION // (len(ours | theirs) or 1)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where passages begin and end: before the limit, at the last good break if it is not too early."""
    start = weight = break_at = break_weight = 0
    for unit in _UNIT.finditer(text):
        cjk = unit["cjk"]
        unit_weight = len(cjk) if cjk else 2 * (1 + (unit.end() - unit.start()) // _CHARS_A_WORD)
        if weight and weight + unit_weight > _PASSAGE_WEIGHT:
            cut, cut_weight = unit.start(), weight
            if break_weight >= _BREAK_WEIGHT_MIN:
                cut, cut_weight = break_at, break_weight
            yield start, cut
            start, weight, break_weight = cut, weight - cut_weight, 0
        weight += unit_weight
        if _ends_well(unit):
            break_at, break_weight = unit.end(), weight
    if weight:
        yield start, len(text)


def _ends_well(unit: re.Match[str]) -> bool:
    """Tell whether a sentence or a line ends here."""
    gap = unit["gap"]
    if "\n" in gap:
        return True
    word = unit[0].rstrip()
    return word[-1] in "。！？" or (bool(gap) and word.rstrip(_CLOSING)[-1:] in _SENTENCE_ENDS)


def _runs(text: str) -> Iterator[_Run]:
    """Yield the words of a text, cut where CJK and other scripts meet."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)  # macOS hands out Hangul and kana in pieces
    for token in _TOKEN.findall(text):
        if token.isascii():
            yield _Run(token)
            continue
        for run in _RUN.finditer(token):
            yield _Run(run[0], cjk=run["cjk"] is not None, glued=len(run[0]) < len(token))


def _extras(passage: str) -> Iterator[str]:
    # Repeated bigrams stay: a phrase is found by neighbours, so none may be missing.
    for run in _runs(passage):
        if run.cjk:
            yield from _bigrams(run.text)
            continue
        if run.glued:
            yield run.text.lower()
        yield from _parts(run.text)


def _bigrams(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for n in range(len(run) - 1):
        yield run[n : n + 2]


def _parts(word: str) -> tuple[str, ...]:
    """Return the parts of a compound name in lower case; nothing for a plain word."""
    if word.isdigit() or (word.isalpha() and (word.islower() or word.istitle())):
        return ()
    parts = _PART.findall(word)
    like_a_hash = len(parts) > _PARTS_OF_A_NAME_MAX and len(word) < _PART_CHARS_MIN * len(parts)
    if len(parts) <= 1 or like_a_hash:
        return ()
    return tuple(part.lower() for part in parts if len(part) > 1 or part.isdigit())
