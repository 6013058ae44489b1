"""Finding documents by their words, with FTS5."""

from collections.abc import Sequence
from typing import Final

from pmm_mcp.ports import Query, Row, SqlValue
from pmm_mcp.queries.rows import named
from pmm_mcp.retrieval.grammar import SearchText
from pmm_mcp.retrieval.scope import Filters, Found
from pmm_mcp.retrieval.sqlite.match import match_expression

CANDIDATES: Final = 400
"""How many of the best documents are looked at."""

# Each document by its best passage before any is left out: one long text cannot crowd out the rest.
_BEST: Final = """
WITH hits AS MATERIALIZED (
  SELECT rowid AS id, rowid / 1000 AS doc, -bm25(passages_fts) AS score
  FROM passages_fts WHERE passages_fts MATCH :match
), best AS (SELECT doc, id, MAX(score) AS score FROM hits GROUP BY doc)
"""

_COLUMNS: Final = "d.doc, d.kind, d.anchor, d.conversation, d.speaker, d.ts, d.source"


class FtsLexical:
    """A `Lexical` on the passages table and its index."""

    def search(
        self, search: SearchText, *, anchors: Sequence[str] | None, filters: Filters
    ) -> Query[tuple[Found, ...]]:
        """Ask for the documents with the best passages, best first; ties by seq."""
        match = match_expression(search)
        if match is None:
            return Query("SELECT 1 FROM documents WHERE 1 = 0", {}, lambda _rows: ())
        conditions, params = _conditions(anchors, filters)
        # CROSS JOIN: the index leads, each hit looks up its document.
        return Query(
            f"{_BEST} SELECT {_COLUMNS}, p.body, best.score "
            "FROM best CROSS JOIN documents AS d ON d.doc = best.doc JOIN passages AS p ON p.id = best.id "
            f"WHERE 1 {conditions} ORDER BY best.score DESC, best.doc LIMIT :limit",
            {**params, "match": match, "limit": CANDIDATES},
            _scaled,
        )


def _conditions(anchors: Sequence[str] | None, filters: Filters) -> tuple[str, dict[str, SqlValue]]:
    conditions: list[str] = []
    params: dict[str, SqlValue] = {}

    def one_of(column: str, values: Sequence[str], prefix: str) -> None:
        places, found = named(values, prefix=prefix)
        conditions.append(f"d.{column} IN ({places})")
        params.update(found)

    if anchors is not None:
        one_of("anchor", anchors, "anchor")
    if filters.kinds:
        one_of("kind", filters.kinds, "kind")
    for column, value in filters.equal.items():
        conditions.append(f"d.{column} = :{column}")
        params[column] = value
    if filters.since:
        conditions.append("d.ts >= :since")
        params["since"] = filters.since
    if filters.until:
        conditions.append("d.ts < :until")
        params["until"] = filters.until
    if filters.label:
        conditions.append("EXISTS (SELECT 1 FROM labels AS l WHERE l.doc = d.doc AND l.label = :label)")
        params["label"] = filters.label
    if filters.before:
        conditions.append("d.doc < :before")
        params["before"] = filters.before
    return "".join(f"AND {condition} " for condition in conditions), params


def _scaled(rows: Sequence[Row]) -> tuple[Found, ...]:
    """Scale scores so that the best is a million; those that come out equal stand by seq."""
    top = max((row[-1] for row in rows), default=0.0)
    found: list[Found] = []
    for doc, kind, anchor, conversation, speaker, ts, source, passage, score in rows:
        share = round(1_000_000 * score / top) if top > 0 else 1_000_000
        found.append(Found(doc, kind, anchor, conversation, speaker, ts, source, passage, share))
    return tuple(sorted(found, key=lambda hit: (-hit.score, hit.doc)))
