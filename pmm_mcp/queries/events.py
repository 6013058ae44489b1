"""Events as they were recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pmm_mcp.domain.mapping import decode
from pmm_mcp.domain.records import Recorded
from pmm_mcp.ports import Query, Row, SqlValue
from pmm_mcp.queries.rows import named, number

_WITH_TEXTS = """
SELECT e.seq, e.record, e.hash, t.field, t.text
FROM ({events}) AS e LEFT JOIN event_text AS t ON t.seq = e.seq
ORDER BY e.seq, t.field
"""


@dataclass(frozen=True, slots=True)
class Stored:
    """An event as its bytes lie in the ledger, with the salt and the text of every field that is left."""

    seq: int
    record: bytes
    hash: bytes
    texts: Mapping[str, tuple[bytes, str]]


def head() -> Query[int]:
    """Ask for the last seq; 0 for an empty ledger."""
    return Query("SELECT seq FROM events ORDER BY seq DESC LIMIT 1", {}, number)


def by_seq(seq: int) -> Query[Recorded | None]:
    """Ask for one event."""
    events = "SELECT seq, record, hash FROM events WHERE seq = :seq"
    return Query(_WITH_TEXTS.format(events=events), {"seq": seq}, _first)


def by_seqs(seqs: Sequence[int]) -> Query[Mapping[int, Recorded]]:
    """Ask for several events, by seq; those that do not exist are absent."""
    places, params = named(seqs or (0,), prefix="s")
    events = f"SELECT seq, record, hash FROM events WHERE seq IN ({places})"
    return Query(
        _WITH_TEXTS.format(events=events),
        params,
        lambda rows: {record.seq: record for record in recorded(rows)},
    )


def kinds_of(seqs: Sequence[int]) -> Query[Mapping[int, str]]:
    """Ask of which kind these events are; those that do not exist are absent."""
    places, params = named(seqs or (0,), prefix="s")
    return Query(f"SELECT seq, kind FROM events WHERE seq IN ({places})", params, dict)


def of_turn(turn: int) -> Query[tuple[Recorded, ...]]:
    """Ask for the prompt of a turn and everything that came of it, in order."""
    events = "SELECT seq, record, hash FROM events WHERE seq = :turn OR turn = :turn"
    return Query(_WITH_TEXTS.format(events=events), {"turn": turn}, recorded)


def page(
    *,
    after: int = 0,
    limit: int,
    kinds: Sequence[str] = (),
    turn: int | None = None,
    until: int | None = None,
) -> Query[tuple[Recorded, ...]]:
    """Ask for up to `limit` events after a seq, in order."""
    conditions, params = ["seq > :after"], dict[str, SqlValue]({"after": after})
    if until is not None:
        conditions.append("seq <= :until")
        params["until"] = until
    if turn is not None:
        # A turn has few events, a kind may have millions: the kinds are looked at afterwards.
        where = " AND ".join((*conditions, "(seq = :turn OR turn = :turn)"))
        events = f"SELECT seq, record, hash FROM events WHERE {where}"
        return Query(
            _WITH_TEXTS.format(events=events),
            {**params, "turn": turn},
            lambda rows: tuple(one for one in recorded(rows) if not kinds or one.kind in kinds)[:limit],
        )
    if kinds:
        places, values = named(kinds, prefix="k")
        conditions.append(f"kind IN ({places})")
        params |= values
    where = " AND ".join(conditions)
    events = f"SELECT seq, record, hash FROM events WHERE {where} ORDER BY seq LIMIT :limit"
    return Query(_WITH_TEXTS.format(events=events), {**params, "limit": limit}, recorded)


def tail(limit: int) -> Query[tuple[Recorded, ...]]:
    """Ask for the last events, oldest first."""
    events = "SELECT seq, record, hash FROM events ORDER BY seq DESC LIMIT :limit"
    return Query(_WITH_TEXTS.format(events=events), {"limit": limit}, recorded)


def of_request(request_id: str) -> Query[tuple[Recorded, ...]]:
    """Ask for the events that carry a request id, oldest first; one per client at most."""
    events = "SELECT seq, record, hash FROM events WHERE request_id = :request_id"
    return Query(_WITH_TEXTS.format(events=events), {"request_id": request_id}, recorded)


def stored(*, after: int, until: int, limit: int) -> Query[tuple[Stored, ...]]:
    """Ask for the bytes of up to `limit` events after a seq, in order, undecoded."""
    sql = """
    SELECT e.seq, e.record, e.hash, t.field, t.salt, t.text
    FROM (SELECT seq, record, hash FROM events WHERE seq > :after AND seq <= :until
          ORDER BY seq LIMIT :limit) AS e
      LEFT JOIN event_text AS t ON t.seq = e.seq
    ORDER BY e.seq, t.field
    """
    return Query(sql, {"after": after, "until": until, "limit": limit}, _stored)


def recorded(rows: Sequence[Row]) -> tuple[Recorded, ...]:
    """Read rows of (seq, record, hash, field, text), a row a text, in order of seq."""
    found: dict[int, tuple[bytes, bytes, dict[str, str]]] = {}
    for seq, record, record_hash, field, text in rows:
        texts = found.setdefault(seq, (record, record_hash, {}))[2]
        if field is not None:
            texts[field] = text
    return tuple(decode(*stored) for stored in found.values())


def _stored(rows: Sequence[Row]) -> tuple[Stored, ...]:
    found: dict[int, tuple[bytes, bytes, dict[str, tuple[bytes, str]]]] = {}
    for seq, record, record_hash, field, salt, text in rows:
        texts = found.setdefault(seq, (record, record_hash, {}))[2]
        if field is not None:
            texts[field] = (salt, text)
    return tuple(Stored(seq, *parts) for seq, parts in found.items())


def _first(rows: Sequence[Row]) -> Recorded | None:
    return next(iter(recorded(rows)), None)
