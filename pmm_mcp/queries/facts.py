"""Facts as they hold, or held."""

from collections.abc import Sequence

from pmm_mcp.domain.facts import Fact, fact_key
from pmm_mcp.domain.ids import SEQ_MAX
from pmm_mcp.ports import Query, Row, SqlValue
from pmm_mcp.queries.rows import named

_COLUMNS = "fact, subject, predicate, object, anchor, from_us, to_us, single_valued, confidence_pct, source"


def by_seq(fact: int) -> Query[Fact | None]:
    """Ask for one fact."""
    return Query(f"SELECT {_COLUMNS} FROM facts WHERE fact = :fact", {"fact": fact}, _first)


def about(
    *,
    anchors: Sequence[str],
    subject: str = "",
    predicate: str = "",
    object: str = "",
    at_us: int | None = None,
    before: int = SEQ_MAX,
    limit: int,
) -> Query[tuple[Fact, ...]]:
    """Ask for facts of these places, newest first; with `at_us` those that hold at that moment."""
    places, params = named(anchors, prefix="a")
    conditions = [f"anchor IN ({places})", "fact < :before", "subject IS NOT NULL"]
    values: dict[str, SqlValue] = {**params, "before": before, "limit": limit}
    for column, value in (("subject", subject), ("predicate", predicate), ("object", object)):
        if value:
            conditions.append(f"{column}_key = :{column}")
            values[column] = fact_key(value)
    if at_us is not None:
        conditions.append("from_us <= :at AND (to_us IS NULL OR to_us > :at)")
        values["at"] = at_us
    return Query(
        f"SELECT {_COLUMNS} FROM facts WHERE {' AND '.join(conditions)} ORDER BY fact DESC LIMIT :limit",
        values,
        _facts,
    )


def _facts(rows: Sequence[Row]) -> tuple[Fact, ...]:
    return tuple(
        Fact(
            fact=fact,
            subject=subject,
            predicate=predicate,
            object=object_,
            anchor=anchor,
            from_us=from_us,
            to_us=to_us,
            single_valued=bool(single_valued),
            confidence_pct=confidence_pct,
            source=source,
        )
        for fact, subject, predicate, object_, anchor, from_us, to_us, single_valued, confidence_pct, source
        in rows
    )  # fmt: skip


def _first(rows: Sequence[Row]) -> Fact | None:
    return next(iter(_facts(rows)), None)
