"""Documents and evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pmm_mcp.domain.events.memory import Origin, Provenance
from pmm_mcp.domain.ids import Prefix, public_id
from pmm_mcp.ports import Query, Row, SqlValue
from pmm_mcp.projections.memory import content_hash
from pmm_mcp.queries.rows import column, named, scalar

DOCUMENT_PREFIX: Final[Mapping[str, Prefix]] = {
    "message": "msg",
    "evidence": "ev",
    "knowledge": "kn",
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


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """A piece of evidence as decisions look at it; `source_key` is None where its source was not resolved."""

    evidence: int
    anchor: str
    domain: str
    field: str
    provenance: Provenance
    origin: Origin
    source_key: str | None
    blob: str | None
    session: str
    commit_id: str | None
    answers: int | None
    ts: str
    withdrawn_at: int | None
    redacted_at: int | None
    source: str | None


def evidence_by(seqs: Sequence[int]) -> Query[Mapping[int, EvidenceRow]]:
    """Ask for pieces of evidence; those that do not exist are absent."""
    places, params = named(seqs or (0,), prefix="e")
    return Query(
        "SELECT evidence, anchor, domain, field, provenance, origin, source_key, blob, session, commit_id, "
        "answers, ts, withdrawn_at, redacted_at, source "
        f"FROM evidence WHERE evidence IN ({places}) ORDER BY evidence",
        params,
        lambda rows: {
            seq: EvidenceRow(seq, anchor, domain, field, Provenance(provenance), Origin(origin), *rest)
            for seq, anchor, domain, field, provenance, origin, *rest in rows
        },
    )


def same_evidence(
    content: str,
    *,
    anchor: str,
    domain: str,
    field: str,
    source: str | None,
    source_key: str | None,
    answers: int | None,
    session: str,
) -> Query[int | None]:
    """Ask for the first piece with exactly this content, at this place, of this domain, field and source.

    Two ranges of one file are one source. With `answers`, it must also answer that piece of evidence, and
    have been recorded in the same session: two sessions that say the same are two answers.
    """
    conditions: list[str] = []
    params: dict[str, SqlValue] = {}
    if source_key is not None and source_key.startswith("file:"):
        conditions.append("source_key = :source_key")
        params["source_key"] = source_key
    elif source is None:
        conditions.append("source IS NULL")
    else:
        conditions.append("source = :source")
        params["source"] = source
    if answers is not None:
        conditions.append("answers = :answers AND session = :session")
        params |= {"answers": answers, "session": session}
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
        WHERE e.anchor IN ({places}) AND t.text IS NOT NULL AND e.withdrawn_at IS NULL
        ORDER BY e.importance DESC, e.evidence DESC LIMIT :limit
        """,
        {**params, "limit": limit},
        lambda rows: tuple(Evidence(*row) for row in rows),
    )


def passages_of(docs: Sequence[int], *, most: int) -> Query[Mapping[int, tuple[str, ...]]]:
    """Ask for the first passages of documents, in their order."""
    spans = " UNION ALL ".join(
        "SELECT id, body FROM (SELECT id, body FROM passages "
        f"WHERE id >= :d{n} AND id < :d{n} + 1000 ORDER BY id LIMIT {most})"
        for n in range(len(docs))
    )
    return Query(
        spans or "SELECT 0, '' WHERE 0",
        {f"d{n}": doc * 1_000 for n, doc in enumerate(docs)},
        _by_document,
    )


def _by_document(rows: Sequence[Row]) -> Mapping[int, tuple[str, ...]]:
    found: dict[int, list[str]] = {}
    for passage, body in sorted(rows):
        found.setdefault(passage // 1_000, []).append(body)
    return {doc: tuple(bodies) for doc, bodies in found.items()}


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
    if name not in {"kind", "domain", "field", "conversation", "provenance", "source", "tier", "status"}:
        raise ValueError(name)
    places, params = named(anchors or (), prefix="a")
    scope = "" if anchors is None else f"AND anchor IN ({places})"
    return Query(
        f"SELECT DISTINCT {name} FROM documents WHERE {name} IS NOT NULL {scope} "
        f"ORDER BY {name} LIMIT :limit",
        {**params, "limit": limit},
        column,
    )
