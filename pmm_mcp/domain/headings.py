"""What stands around a text: when it was, in which conversation, what its source is called.

Such facts are searched apart from the text, so that they never make a passage longer.
"""

import re
from collections.abc import Iterable
from typing import Final

from pmm_mcp.domain.words import is_content_word, query_terms, stem

TERMS_MAX: Final = 16
MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip

_DAY_DIGITS: Final = 2
_IN_MAY: Final = re.compile(
    r"\b(?:in|of|since|until|by|before|after|during|last|this|next|early|late|mid)[\s-]+may\b"
    r"|\bmay[\s,]+\d|\d(?:st|nd|rd|th)?\s+may\b",
    re.IGNORECASE,
)
_DAY: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)")


def day_of(instant: str) -> str:
    """Return the day of an instant in UTC, as `2026-11-30`; empty where there is none."""
    match = _DAY.match(instant)
    return match[0] if match else ""


def heading_terms(*, day: str, conversation: str) -> tuple[str, ...]:
    """Return what a day and a conversation may be asked by: `8`, `may`, `2023`, and the words of a title."""
    match = _DAY.fullmatch(day)
    date = (str(int(match[3])), MONTHS[int(match[2]) - 1], match[1]) if match else ()
    return _terms((*date, *query_terms(conversation)))


def source_terms(source: str) -> tuple[str, ...]:
    """Return what a source may be asked by: the words of a path, a URL or a title."""
    return _terms(query_terms(source))


def asked_terms(text: str, terms: Iterable[str]) -> tuple[str, ...]:
    """Return the terms of a question as headings hold them.

    A small number is a day only beside a month, and "may" a month only where it can be no verb.
    """
    is_may = _IN_MAY.search(text) is not None
    asked = [term for term in terms if term != "may" or is_may]
    has_month = any(term in MONTHS for term in asked)
    return _terms(term for term in asked if has_month or not (term.isdigit() and len(term) <= _DAY_DIGITS))


def _terms(terms: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct stems of what says something, the last ones where there are many."""
    stems = dict.fromkeys(stem(term) for term in terms if is_content_word(term))
    return tuple(stems)[-TERMS_MAX:]
