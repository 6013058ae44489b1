"""What has vectors, and what waits for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pmm_mcp.domain.vectors import Batch
from pmm_mcp.ports import Query, Row
from pmm_mcp.queries.rows import column, number, scalar

PENDING_COUNTED: Final = 100_000
PASSAGES_EMBEDDED: Final = 12
"""How many passages of a document its vector says; the rest is found by its words."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Which set serves, up to where the wanted one reaches, and how many documents wait behind that.

    `pending` is counted no further than `PENDING_COUNTED`.
    """

    active: str | None
    to_seq: int
    pending: int


def active_set() -> Query[str | None]:
    """Ask which set of vectors serves."""
    return Query("SELECT set_name FROM embedding_sets ORDER BY since DESC LIMIT 1", {}, scalar)


def watermark(name: str) -> Query[int]:
    """Ask up to which seq a set of vectors reaches; 0 when it has none."""
    return Query("SELECT MAX(to_seq) FROM embedded WHERE set_name = :name", {"name": name}, number)


def reach(wanted: str) -> Query[Reach]:
    """Ask how far a set of vectors reaches."""
    return Query(
        "SELECT a.set_name, w.to_seq, (SELECT COUNT(*) FROM (SELECT 1 FROM documents "
        f"WHERE doc > w.to_seq AND kind <> 'card' LIMIT {PENDING_COUNTED})) FROM "
        "(SELECT (SELECT set_name FROM embedding_sets ORDER BY since DESC LIMIT 1) AS set_name) AS a, "
        "(SELECT COALESCE(MAX(to_seq), 0) AS to_seq FROM embedded WHERE set_name = :wanted) AS w",
        {"wanted": wanted},
        lambda rows: Reach(*rows[0]),
    )


def pending(*, after: int, limit: int) -> Query[tuple[int, ...]]:
    """Ask for the next documents behind a seq; cards have no vectors, for they are found by evidence."""
    return Query(
        "SELECT doc FROM documents WHERE doc > :after AND kind <> 'card' ORDER BY doc LIMIT :limit",
        {"after": after, "limit": limit},
        column,
    )


def texts(docs: Sequence[int]) -> Query[Mapping[int, str]]:
    """Ask for the beginnings of documents, of which `docs` are in order."""
    first, last = (docs[0], docs[-1]) if docs else (0, 0)
    return Query(
        "SELECT id / 1000, body FROM passages WHERE id >= :first AND id < :last "
        f"AND id % 1000 < {PASSAGES_EMBEDDED} ORDER BY id",
        {"first": first * 1000, "last": (last + 1) * 1000},
        _joined,
    )


def batches(name: str, *, after: int, limit: int) -> Query[tuple[Batch, ...]]:
    """Ask for the vectors of a set behind a seq."""
    return Query(
        "SELECT from_seq, to_seq, docs, scales, data FROM vectors WHERE set_name = :name "
        "AND to_seq > :after ORDER BY to_seq LIMIT :limit",
        {"name": name, "after": after, "limit": limit},
        lambda rows: tuple(
            Batch(set=name, from_seq=from_seq, to_seq=to_seq, docs=docs, scales=scales, data=data)
            for from_seq, to_seq, docs, scales, data in rows
        ),
    )


def _joined(rows: Sequence[Row]) -> Mapping[int, str]:
    found: dict[int, list[str]] = {}
    for doc, body in rows:
        found.setdefault(doc, []).append(body)
    return {doc: "\n".join(bodies) for doc, bodies in found.items()}
