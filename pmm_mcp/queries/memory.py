"""Documents and evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pmm_mcp.domain.ids import Prefix, public_id
from pmm_mcp.ports import Query, SqlValue
from pmm_mcp.projections.memory import content_hash
from pmm_mcp.queries.rows import column, named, scalar

DOCUMENT_PREFIX: Final[Mapping[str, Prefix]] = {
    "message": "msg",
    "evidence": "ev",
    "claim": "cl",
    "commitment": "co",
    "reflection": "rf",
}
"""How the documents of each kind are named."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A piece of evidence, as lists show it; a text that was removed is None."""

    evidence: int
    content: str | None
    source: str | None
    anchor: str
    importance: int

    @property
    def id(self) -> str:
        """What a caller calls it."""
        return public_id("ev", self.evidence)


def same_evidence(
    content: str, *, anchor: str, domain: str, field: str, source: str | None, answers: int | None
) -> Query[int | None]:
    """Ask for the first piece with exactly this content, at this place, of this domain, field and source.

    With `answers`, it must also answer that piece of evidence.
    """
    conditions = ["source IS NULL" if source is None else "source = :source"]
    params: dict[str, SqlValue] = {} if source is None else {"source": source}
    if answers is not None:
        conditions.append(
            "EXISTS (SELECT 1 FROM citations "
            "WHERE citing = evidence AND cited = :answers AND role = 'answers')"
        )
        params["answers"] = answers
    return Query(
        f"""
        SELECT evidence FROM evidence
        WHERE content_hash = :hash AND anchor = :anchor AND domain = :domain AND field = :field
          AND {" AND ".join(conditions)}
        ORDER BY evidence LIMIT 1
        """,
        {"hash": content_hash(content), "anchor": anchor, "domain": domain, "field": field, **params},
        scalar,
    )


def most_important(anchors: Sequence[str], *, limit: int) -> Query[tuple[Evidence, ...]]:
    """Ask for the most important evidence at these places, newest first among equals."""
    places, params = named(anchors, prefix="a")
    return Query(
        f"""
        SELECT e.evidence, t.text, e.source, e.anchor, e.importance
        FROM evidence AS e LEFT JOIN event_text AS t ON t.seq = e.evidence AND t.field = 'content'
        WHERE e.anchor IN ({places}) AND t.text IS NOT NULL
        ORDER BY e.importance DESC, e.evidence DESC LIMIT :limit
        """,
        {**params, "limit": limit},
        lambda rows: tuple(Evidence(*row) for row in rows),
    )


def labels_of(*, anchors: Sequence[str] | None, limit: int = 20) -> Query[tuple[str, ...]]:
    """Ask which labels the documents at these places have."""
    places, params = named(anchors or (), prefix="a")
    scope = "" if anchors is None else f"WHERE d.anchor IN ({places})"
    return Query(
        f"SELECT DISTINCT l.label FROM labels AS l JOIN documents AS d ON d.doc = l.doc {scope} "
        "ORDER BY l.label LIMIT :limit",
        {**params, "limit": limit},
        column,
    )


def values_of(name: str, *, anchors: Sequence[str] | None, limit: int = 20) -> Query[tuple[str, ...]]:
    """Ask which values a column of the documents has at these places: kind, domain, field, conversation."""
    if name not in {"kind", "domain", "field", "conversation", "provenance", "source"}:
        raise ValueError(name)
    places, params = named(anchors or (), prefix="a")
    scope = "" if anchors is None else f"AND anchor IN ({places})"
    return Query(
        f"SELECT DISTINCT {name} FROM documents WHERE {name} IS NOT NULL {scope} "
        f"ORDER BY {name} LIMIT :limit",
        {**params, "limit": limit},
        column,
    )
