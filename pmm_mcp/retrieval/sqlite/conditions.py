"""What a document must be, as SQL."""

from collections.abc import Sequence

from pmm_mcp.ports import SqlValue
from pmm_mcp.queries.rows import named
from pmm_mcp.retrieval.scope import Filters


def conditions_of(anchors: Sequence[str] | None, filters: Filters) -> tuple[str, dict[str, SqlValue]]:
    """Return the conditions on `documents AS d`, each behind an AND, and their parameters."""
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
    else:
        # A card is found by its evidence, or by the knowledge it carries.
        conditions.append("d.kind <> 'card'")
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
    if filters.without_statuses:
        places, without = named(filters.without_statuses, prefix="without")
        conditions.append(f"(d.status IS NULL OR d.status NOT IN ({places}))")
        params.update(without)
    if filters.before:
        conditions.append("d.doc < :before")
        params["before"] = filters.before
    return "".join(f"AND {condition} " for condition in conditions), params
