"""What stands around documents: who speaks, headings, and the next in a conversation."""

import json
from collections.abc import Collection, Mapping, Sequence
from math import log
from typing import Final

from pmm_mcp.ports import Plan, Query, Row, SqlValue
from pmm_mcp.queries.rows import column, named
from pmm_mcp.retrieval.scope import Filters, Found, Heading, Neighbour
from pmm_mcp.retrieval.sqlite.conditions import conditions_of

MILLION: Final = 1_000_000
HEADINGS_MAX: Final = 1_000
"""A word that more headings hold says nothing."""
HEADINGS_FOUND: Final = 50
DOCUMENTS_OF_A_HEADING: Final = 30
SPEAKERS_MAX: Final = 200
REACH: Final = 2
"""How far a neighbour may stand."""

_DOCUMENT: Final = "d.doc, d.kind, d.anchor, d.conversation, d.speaker, d.ts, d.source, d.tier, d.status"
_WITH_NEIGHBOURS: Final = "('message', 'evidence', 'claim', 'commitment', 'reflection')"


class SqliteSurroundings:
    """The `Surroundings` of documents in the read tables."""

    def speakers(self, *, anchors: Sequence[str] | None) -> Query[tuple[str, ...]]:
        """Ask who speaks at these places, those who say most first."""
        where, params = _at(anchors, word="WHERE")
        return Query(
            f"SELECT speaker FROM speakers {where} GROUP BY speaker ORDER BY SUM(total) DESC, speaker "
            f"LIMIT {SPEAKERS_MAX}",
            params,
            column,
        )

    def headings(self, terms: Sequence[str], *, anchors: Sequence[str] | None) -> Plan[Mapping[Heading, int]]:
        """Find the headings that hold some of these terms, best first, with their share of the question.

        A term weighs the more the fewer headings hold it; shares are in millionths.
        """
        if not terms:
            return {}
        counts: tuple[int, ...] = yield _occurrences(terms, anchors)
        weights = {
            term: round(MILLION * log(1 + HEADINGS_MAX / max(1, count)))
            for term, count in zip(terms, counts, strict=True)
        }
        held = [term for term, count in zip(terms, counts, strict=True) if 0 < count <= HEADINGS_MAX]
        if not held:
            return {}
        found: Mapping[Heading, int] = yield _holding(held, weights, anchors)
        return found

    def under(
        self, headings: Collection[Heading], *, anchors: Sequence[str] | None, filters: Filters
    ) -> Query[tuple[Found, ...]]:
        """Ask for the first documents under these headings, as far as the filters let them through."""
        conditions, params = conditions_of(anchors, filters)
        parts: list[str] = []
        more: dict[str, SqlValue] = {}
        for n, heading in enumerate(headings):
            if heading.doc:
                parts.append(f"SELECT :h{n} AS doc")
                more[f"h{n}"] = heading.doc
            else:
                parts.append(
                    f"SELECT * FROM (SELECT doc FROM documents WHERE anchor = :h{n}a "
                    f"AND conversation = :h{n}c AND day = :h{n}d ORDER BY doc "
                    f"LIMIT {DOCUMENTS_OF_A_HEADING})"
                )
                more |= {f"h{n}a": heading.anchor, f"h{n}c": heading.conversation, f"h{n}d": heading.day}
        return Query(_described(" UNION ".join(parts), conditions), {**params, **more}, _found)

    def described(
        self, docs: Collection[int], *, anchors: Sequence[str] | None, filters: Filters
    ) -> Query[tuple[Found, ...]]:
        """Ask for documents by seq, as far as the filters let them through."""
        conditions, params = conditions_of(anchors, filters)
        chosen = "SELECT value AS doc FROM json_each(:docs)"
        return Query(_described(chosen, conditions), {**params, "docs": json.dumps(sorted(docs))}, _found)

    def neighbours(
        self, docs: Collection[int], *, anchors: Sequence[str] | None, filters: Filters
    ) -> Query[tuple[Neighbour, ...]]:
        """Ask what stands beside documents in their conversations, as the filters let it through."""
        conditions, params = conditions_of(anchors, filters)
        sides = " UNION ALL ".join(
            f"SELECT s.doc AS of, {side} AS side, (SELECT json_group_array(doc) FROM (SELECT n.doc AS doc "
            "FROM documents AS n WHERE n.anchor = s.anchor AND n.conversation = s.conversation "
            f"AND n.doc {comparison} s.doc AND n.kind IN {_WITH_NEIGHBOURS} ORDER BY n.doc {order} "
            f"LIMIT {REACH})) AS docs FROM seeds AS s"
            for side, comparison, order in ((-1, "<", "DESC"), (1, ">", "ASC"))
        )
        return Query(
            "WITH seeds AS MATERIALIZED (SELECT d.doc, d.anchor, d.conversation FROM json_each(:docs) AS j "
            "CROSS JOIN documents AS d ON d.doc = j.value "
            f"WHERE d.conversation <> '' AND d.kind IN {_WITH_NEIGHBOURS}), sides AS MATERIALIZED ({sides}) "
            "SELECT s.of, s.side * (j.key + 1), d.doc, d.anchor, d.conversation, d.speaker, d.status, "
            "COALESCE(d.day, '') FROM sides AS s CROSS JOIN json_each(s.docs) AS j "
            f"CROSS JOIN documents AS d ON d.doc = j.value WHERE 1 = 1 {conditions}",
            {**params, "docs": json.dumps(sorted(docs))},
            lambda rows: tuple(Neighbour(*row) for row in rows),
        )


def _occurrences(terms: Sequence[str], anchors: Sequence[str] | None) -> Query[tuple[int, ...]]:
    """Ask how many headings hold each term, counting no further than matters."""
    where, places = _at(anchors, word="AND")
    counts = ", ".join(
        f"(SELECT COUNT(*) FROM (SELECT 1 FROM headings WHERE term = :t{n} {where} LIMIT {HEADINGS_MAX + 1}))"
        for n in range(len(terms))
    )
    asked = {f"t{n}": term for n, term in enumerate(terms)}
    return Query(f"SELECT {counts}", {**asked, **places}, lambda rows: tuple(rows[0]))


def _holding(
    held: Sequence[str], weights: Mapping[str, int], anchors: Sequence[str] | None
) -> Query[Mapping[Heading, int]]:
    where, places = _at(anchors, word="AND")
    hits = " UNION ALL ".join(
        f"SELECT anchor, conversation, day, doc, {weights[term]} AS weight "
        f"FROM headings WHERE term = :t{n} {where}"
        for n, term in enumerate(held)
    )
    total = sum(weights.values())
    return Query(
        f"SELECT anchor, conversation, day, doc, SUM(weight) AS weight FROM ({hits}) "
        f"GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, doc, anchor, conversation, day LIMIT {HEADINGS_FOUND}",
        {**{f"t{n}": term for n, term in enumerate(held)}, **places},
        lambda rows: {
            Heading(anchor, conversation, day, doc): MILLION * weight // total
            for anchor, conversation, day, doc, weight in rows
        },
    )


def _described(chosen: str, conditions: str) -> str:
    return (
        f"SELECT {_DOCUMENT}, p.body, COALESCE(d.day, '') FROM ({chosen}) AS c "
        "CROSS JOIN documents AS d ON d.doc = c.doc JOIN passages AS p ON p.id = d.doc * 1000 "
        f"WHERE 1 = 1 {conditions} ORDER BY d.doc"
    )


def _found(rows: Sequence[Row]) -> tuple[Found, ...]:
    return tuple(
        Found(doc, kind, anchor, conversation, speaker, ts, source, tier, status, passage, 0, day, ())
        for doc, kind, anchor, conversation, speaker, ts, source, tier, status, passage, day in rows
    )


def _at(anchors: Sequence[str] | None, *, word: str) -> tuple[str, dict[str, str | int]]:
    if anchors is None:
        return "", {}
    places, params = named(anchors, prefix="at")
    return f"{word} anchor IN ({places})", params
