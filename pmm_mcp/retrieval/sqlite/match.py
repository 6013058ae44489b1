"""A search as an FTS5 MATCH expression; no character of the user's is ever FTS5 syntax."""

from collections.abc import Iterable
from itertools import groupby

from pmm_mcp.domain.words import is_cjk
from pmm_mcp.retrieval.grammar import SearchText


def match_expression(search: SearchText) -> str | None:
    """Return the expression for a table `fts5(body, extra, tokenize='porter unicode61')`.

    None when there is nothing to look for: FTS5 cannot say "everything but".
    """
    if search.empty:
        return None
    phrases = [_phrase(phrase) for phrase in search.phrases]
    # A phrase is among the alternatives too, so that words beside it rank but are not required.
    wanted = _any([*map(_quoted, search.terms), *phrases] if search.terms else [])
    expression = " AND ".join(filter(None, (*phrases, wanted)))
    if search.excluded:
        return f"({expression}) NOT {_any(map(_phrase, search.excluded))}"
    return expression


def _phrase(terms: Iterable[str]) -> str:
    """Return a phrase; CJK words stand in another column than the rest, so each script is asked for alone."""
    runs = [" ".join(run) for _, run in groupby(terms, key=is_cjk)]
    return _quoted(runs[0]) if len(runs) == 1 else f"({' AND '.join(map(_quoted, runs))})"


def _any(expressions: Iterable[str]) -> str:
    joined = " OR ".join(expressions)
    return f"({joined})" if joined else ""


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
