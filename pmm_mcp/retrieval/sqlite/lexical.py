"""Finding documents by their words, with FTS5."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pmm_mcp.ports import Plan, Query, Row
from pmm_mcp.queries import counters
from pmm_mcp.retrieval.grammar import SearchText
from pmm_mcp.retrieval.scope import CANDIDATES, Filters, Found
from pmm_mcp.retrieval.sqlite.conditions import conditions_of
from pmm_mcp.retrieval.sqlite.match import match_expression

MANY_DOCUMENTS: Final = 50_000
"""From here on a search keeps to its rarest terms."""
POSTINGS_MAX: Final = 3_000
"""How many passages the terms that are kept may occur in, together: to rank one takes two microseconds."""

# Each document by its best passage before any is left out: one long text cannot crowd out the rest.
# What is sorted is narrow, its LIMIT keeps the order, and only as many documents are looked at as are let
# through.
_FOUND: Final = """
WITH hits AS MATERIALIZED (
  SELECT rowid AS id, -bm25(passages_fts) AS score FROM passages_fts WHERE passages_fts MATCH :match
), best AS MATERIALIZED (
  SELECT id / 1000 AS doc, id, MAX(score) AS score FROM hits GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT -1
)
SELECT d.doc, d.kind, d.anchor, d.conversation, d.speaker, d.ts, d.source, d.tier, d.status, p.body, d.day,
  best.score
FROM best CROSS JOIN documents AS d ON d.doc = best.doc CROSS JOIN passages AS p ON p.id = best.id
WHERE 1 = 1 {conditions} LIMIT :limit
"""


class FtsLexical:
    """A `Lexical` on the passages table and its index."""

    def search(
        self,
        search: SearchText,
        *,
        anchors: Sequence[str] | None,
        filters: Filters,
        limit: int = CANDIDATES,
    ) -> Plan[tuple[Found, ...]]:
        """Find the documents with the best passages, best first; ties by seq."""
        documents: int = yield counters.documents(None)
        if documents > MANY_DOCUMENTS and len(search.terms) > 1:
            occurrences: tuple[int, ...] = yield _occurrences(search.terms)
            search = replace(search, terms=_rarest(search.terms, occurrences, most=_postings(limit)))
        match = match_expression(search)
        if match is None:
            return ()
        conditions, params = conditions_of(anchors, filters)
        params |= {"match": match, "limit": limit}
        found: tuple[Found, ...] = yield Query(_FOUND.format(conditions=conditions), params, _scaled)
        return found


def _occurrences(terms: Sequence[str]) -> Query[tuple[int, ...]]:
    """Ask in how many passages each term occurs, counting no further than matters."""
    counts = ", ".join(
        "(SELECT COUNT(*) FROM (SELECT 1 FROM passages_fts "
        f"WHERE passages_fts MATCH :term{n} LIMIT {POSTINGS_MAX + 1}))"
        for n in range(len(terms))
    )
    matches = {f"term{n}": match_expression(SearchText(terms=(term,))) for n, term in enumerate(terms)}
    return Query(f"SELECT {counts}", matches, lambda rows: tuple(rows[0]))


def _postings(limit: int) -> int:
    """Return how many passages may be ranked: for a few documents, a third of them will do."""
    return POSTINGS_MAX if limit >= CANDIDATES else POSTINGS_MAX // 3


def _rarest(terms: Sequence[str], occurrences: Sequence[int], *, most: int) -> tuple[str, ...]:
    """Return, in their order, the rarest terms that together occur seldom enough; at least the rarest."""
    kept: set[str] = set()
    total = 0
    for count, term in sorted(zip(occurrences, terms, strict=True)):
        total += count
        if count and kept and total > most:
            break
        if count:
            kept.add(term)
    return tuple(term for term in terms if term in kept) or tuple(terms[:1])


def _scaled(rows: Sequence[Row]) -> tuple[Found, ...]:
    """Scale scores so that the best is a million; those that come out equal stand by seq."""
    top = max((row[-1] for row in rows), default=0.0)
    found: list[Found] = []
    for doc, kind, anchor, conversation, speaker, ts, source, tier, status, passage, day, score in rows:
        share = round(1_000_000 * score / top) if top > 0 else 1_000_000
        found.append(
            Found(
                doc, kind, anchor, conversation, speaker, ts, source, tier, status, passage, share, day or ""
            )
        )
    return tuple(sorted(found, key=lambda hit: (-hit.score, hit.doc)))
