"""Counts that are kept, not computed."""

from collections.abc import Mapping, Sequence

from pmm_mcp.ports import Query
from pmm_mcp.queries.rows import named, number


def by_kind() -> Query[Mapping[str, int]]:
    """Ask how many events of each kind there are."""
    return Query(
        "SELECT kind, total FROM kind_counts ORDER BY kind", {}, lambda rows: {row[0]: row[1] for row in rows}
    )


def documents(anchors: Sequence[str] | None) -> Query[int]:
    """Ask how many documents can be searched at these places; None for everywhere."""
    if anchors is None:
        return Query("SELECT SUM(total) FROM document_counts", {}, number)
    places, params = named(anchors, prefix="a")
    return Query(f"SELECT SUM(total) FROM document_counts WHERE anchor IN ({places})", params, number)
