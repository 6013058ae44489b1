"""Judging governed knowledge by a question, with FTS5."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from pmm_mcp.domain.tiers import Status, Tier
from pmm_mcp.domain.words import GOVERNED_TERM
from pmm_mcp.ports import Plan, Query, Row, SqlValue
from pmm_mcp.queries.rows import named
from pmm_mcp.retrieval.grammar import SearchText
from pmm_mcp.retrieval.relevance import (
    CONTENT_SHARE,
    FLOOR,
    MILLION,
    WEAK_SHARE,
    Among,
    Ranking,
    Relevant,
    is_weak,
    weights_of,
)
from pmm_mcp.retrieval.sqlite.match import match_expression

TERMS_MIN: Final = 3
"""So many terms are looked for, however frequent they are."""
POSTINGS_MAX: Final = 2_000
"""How many passages the terms that are kept may stand in, together: a passage costs a microsecond or two."""
BEST_OF_EACH: Final = 50
"""How many items are returned of each tier and status: as many as a pack may hold."""

# Every hit carries what its term weighs. An item may hold a term in several passages, but says it once.
_RANKED: Final = f"""
WITH hits AS ({{hits}}
), said AS (
  SELECT item, term, MAX(stated) AS stated, weight, share FROM hits GROUP BY item, term
), matched AS MATERIALIZED (
  SELECT item, SUM(CASE WHEN stated THEN weight ELSE weight * {CONTENT_SHARE} / {MILLION} END) AS weight,
    SUM(CASE WHEN stated THEN share ELSE 0 END) AS share
  FROM said GROUP BY item
), judged AS (
  SELECT m.item, s.tier, s.status, s.field, s.anchor, s.form, MAX(
    m.weight * {MILLION} / :total,
    CASE WHEN m.share >= {2 * MILLION} AND k.statement_terms > 0 THEN m.share / k.statement_terms ELSE 0 END
  ) AS score
  FROM matched AS m CROSS JOIN knowledge_states AS s ON s.item = m.item
    AND s.from_seq <= :as_of AND (s.to_seq IS NULL OR s.to_seq > :as_of)
    CROSS JOIN knowledge AS k ON k.item = m.item
  WHERE (m.weight * {MILLION} >= :total * {FLOOR} OR m.share >= {2 * MILLION}) {{conditions}}
), placed AS (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY tier, status ORDER BY score DESC, item) AS place,
    COUNT(*) OVER (PARTITION BY tier, status) AS among
  FROM judged WHERE score >= {FLOOR}
)
SELECT item, score, tier, status, field, anchor, form, among, place FROM placed WHERE place <= {BEST_OF_EACH}
ORDER BY score DESC, item
"""
_BORN: Final = (
    "SELECT (SELECT COALESCE(SUM(total), 0) FROM kind_counts "
    "WHERE kind IN ('knowledge_distilled', 'knowledge_raised', 'card_created', 'card_raised'))"
)
_HITS: Final = (
    "\n  SELECT rowid / 1000 AS item, rowid % 1000 = 0 AS stated, {n} AS term, :weight{n} AS weight, "
    ":share{n} AS share FROM passages_fts WHERE passages_fts MATCH :term{n}"
)


class FtsRelevance:
    """A `Relevance` on the passages table and its index."""

    def rank(self, terms: Sequence[str], *, among: Among) -> Plan[Ranking]:
        """Find what is about these terms, by their share of the question or of the statement; ties by seq.

        Where many items hold them, only the rarest terms are looked for.
        """
        terms = [term for term in terms if term != GOVERNED_TERM]  # All of them hold that.
        if not terms:
            return Ranking()
        items, *counts = yield _occurrences(terms)
        occurrences = dict(zip(terms, counts, strict=True))
        kept = _rarest(occurrences)
        weights = weights_of({term: occurrences[term] for term in kept}, items=items)
        held = [term for term in kept if occurrences[term]]
        if not held:
            return Ranking()
        ranking: Ranking = yield _ranked(held, weights, among)
        return ranking


def _occurrences(terms: Sequence[str]) -> Query[tuple[int, ...]]:
    """Ask how many items were ever proposed, and in how many passages of theirs each term stands.

    Passages are counted no further than matters.
    """
    counts = "".join(
        ", (SELECT COUNT(*) FROM (SELECT 1 FROM passages_fts "
        f"WHERE passages_fts MATCH :term{n} LIMIT {POSTINGS_MAX + 1}))"
        for n in range(len(terms))
    )
    return Query(f"{_BORN}{counts}", _matches(terms), lambda rows: tuple(rows[0]))


def _rarest(occurrences: Mapping[str, int]) -> tuple[str, ...]:
    """Return the rarest terms that together stand in few enough passages, `TERMS_MIN` of them in any case.

    A term that stands nowhere is kept as well: it is a part of the question that no item answers.
    """
    kept: list[str] = []
    total = held = 0
    for term, count in sorted(occurrences.items(), key=lambda found: (found[1], found[0])):
        total += count
        if total > POSTINGS_MAX and held >= TERMS_MIN:
            break
        held += count > 0
        kept.append(term)
    return tuple(kept)


def _ranked(held: Sequence[str], weights: Mapping[str, int], among: Among) -> Query[Ranking]:
    """Ask for the items that hold some of these terms; `weights` also has those that nothing holds."""
    params: dict[str, SqlValue] = {**_matches(held), "total": sum(weights.values()), "as_of": among.as_of}
    conditions = ""
    for column, values in (("anchor", among.anchors), ("status", among.statuses), ("form", among.forms)):
        places, found = named(values, prefix=column)
        conditions += f"AND s.{column} IN ({places}) "
        params |= found
    if among.domain:
        conditions += "AND s.domain = :domain "
        params["domain"] = among.domain
    for n, term in enumerate(held):
        params[f"weight{n}"] = weights[term]
        params[f"share{n}"] = WEAK_SHARE if is_weak(term) else MILLION
    hits = "\n  UNION ALL".join(_HITS.format(n=n) for n in range(len(held)))
    return Query(_RANKED.format(hits=hits, conditions=conditions), params, _ranking)


def _matches(terms: Sequence[str]) -> dict[str, SqlValue]:
    return {
        f"term{n}": f"({match_expression(SearchText(terms=(term,)))}) AND extra : {GOVERNED_TERM}"
        for n, term in enumerate(terms)
    }


def _ranking(rows: Sequence[Row]) -> Ranking:
    totals: Counter[Status] = Counter()
    best: list[Relevant] = []
    for item, score, tier, status, field, anchor, form, among, place in rows:
        if place == 1:
            totals[Status(status)] += among
        best.append(Relevant(item, min(score, MILLION), Tier(tier), Status(status), field, anchor, form))
    return Ranking(tuple(best), totals)
