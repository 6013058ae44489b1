"""Counters, so that no count on the hot path is a scan."""

from collections.abc import Iterator

from pmm_mcp.domain.records import Recorded
from pmm_mcp.projections.changes import INTEGER, TEXT, Change, Increment, Table

VERSION = 1

KIND_COUNTS = Table(name="kind_counts", key=("kind",), columns={"kind": TEXT, "total": INTEGER})

TABLES = (KIND_COUNTS,)


def project(record: Recorded) -> Iterator[Change]:
    """Count every event by its kind."""
    yield Increment(KIND_COUNTS, {"kind": record.kind}, "total")
