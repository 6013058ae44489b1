"""What a person may write into a search field: words, `"exact phrase"`, `-not`, `field:value`.

Any string is a search. What is not grammar is words, and what is not a word is passed over.
"""

import re
from dataclasses import dataclass, field, replace
from typing import Final

from pmm_mcp.domain.normalise import normalise
from pmm_mcp.domain.words import is_content_word, phrase_terms, query_terms

QUERY_CHARS_MAX: Final = 10_000
TERMS_MAX: Final = 64
PHRASES_MAX: Final = 16
FILTER_FIELDS: Final = (
    "kind",
    "domain",
    "field",
    "tier",
    "status",
    "anchor",
    "provenance",
    "source",
    "label",
    "conversation",
    "since",
    "until",
)

# Each form begins where a word begins: `pre-edit` excludes nothing, `"` inside code quotes nothing.
_FORM: Final = re.compile(
    rf'(?<!\S)(?:(?P<field>(?i:{"|".join(FILTER_FIELDS)})):(?:"(?P<quoted>[^"]+)"|(?P<value>[^\s"]\S*))'
    r'|(?P<minus>-)?"(?P<phrase>[^"]*)"'
    r"|-(?P<excluded>[^\W\d_]\S*))"
)


@dataclass(frozen=True, slots=True)
class SearchText:
    """What to search for. Terms rank, phrases must be there, excluded phrases must not."""

    terms: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[tuple[str, ...], ...] = ()
    filters: tuple[tuple[str, str], ...] = ()
    cut: int = 0
    text: str = field(default="", compare=False)
    """What was asked, without what is grammar."""

    @property
    def empty(self) -> bool:
        """Whether no word is looked for; filters may still be there."""
        return not (self.terms or self.phrases)


def parse(text: str) -> SearchText:
    """Read any string as a search; of a very long one the tail, with the number of characters cut."""
    cut = max(0, len(text) - QUERY_CHARS_MAX)
    tail = normalise(text[cut:]).value
    phrases: list[tuple[str, ...]] = []
    excluded: list[tuple[str, ...]] = []
    filters: list[tuple[str, str]] = []
    plain: list[str] = []
    done = 0
    for form in _FORM.finditer(tail):
        plain.append(tail[done : form.start()])
        done = form.end()
        if form["field"]:
            filters.append((form["field"].lower(), form["quoted"] or form["value"]))
        elif form["excluded"] or form["minus"]:
            excluded.append(phrase_terms(form["excluded"] or form["phrase"])[:TERMS_MAX])
        else:
            phrases.append(phrase_terms(form["phrase"])[:TERMS_MAX])
    plain.append(tail[done:])
    kept = _some(phrases)
    return SearchText(
        terms=_terms(" ".join(plain), alone=not kept),
        phrases=kept,
        excluded=_some(excluded),
        filters=tuple(filters[-TERMS_MAX:]),
        cut=cut,
        text=" ".join(plain),
    )


def with_words(search: SearchText, text: str) -> SearchText:
    """Return the search with the words of a text beside its own."""
    terms = dict.fromkeys((*search.terms, *_terms(text, alone=search.empty)))
    return replace(search, terms=tuple(terms)[-TERMS_MAX:], text=f"{search.text} {text}".strip())


def plain(text: str) -> SearchText:
    """Read any string as words alone: nothing in it quotes, excludes or filters."""
    cut = max(0, len(text) - QUERY_CHARS_MAX)
    tail = normalise(text[cut:]).value
    return SearchText(terms=_terms(tail, alone=True), cut=cut, text=tail)


def _terms(text: str, *, alone: bool) -> tuple[str, ...]:
    """Return the last content words; function words only when nothing else is asked for."""
    terms = query_terms(text)
    content = tuple(term for term in terms if is_content_word(term))
    if not content and alone:
        content = terms
    return content[-TERMS_MAX:]


def _some(phrases: list[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Return the last distinct phrases that have words at all."""
    return tuple(dict.fromkeys(phrase for phrase in phrases if phrase))[-PHRASES_MAX:]
