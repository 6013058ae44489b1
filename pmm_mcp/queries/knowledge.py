"""Governed knowledge as it stands, or stood."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pmm_mcp.domain.anchors import GLOBAL, UNSCOPED, Anchor
from pmm_mcp.domain.events.memory import Domain
from pmm_mcp.domain.ids import SEQ_MAX
from pmm_mcp.domain.knowledge import Item, statement_key
from pmm_mcp.domain.tiers import Role, Status, Tier
from pmm_mcp.ports import Query, Row, SqlValue
from pmm_mcp.queries.rows import column, named, number, scalar

_COLUMNS = (
    "k.item, k.statement, s.tier, s.status, s.domain, s.field, s.anchor, s.from_seq, k.origin, k.session, "
    "k.worktree, k.commit_id, s.signed, s.for_review, k.form, k.made_from"
)
_SELECT = f"SELECT {_COLUMNS} FROM knowledge AS k CROSS JOIN knowledge_states AS s ON s.item = k.item"
_STANDING = f"SELECT {_COLUMNS} FROM knowledge_states AS s JOIN knowledge AS k ON k.item = s.item"
_THEN = "s.from_seq <= :as_of AND (s.to_seq IS NULL OR s.to_seq > :as_of)"


@dataclass(frozen=True, slots=True)
class Link:
    """A piece of evidence cited by an item; `answered_at` is 0 while a counterexample is not."""

    item: int
    evidence: int
    role: Role
    answered_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a list of items is narrowed to; empty parts do not narrow."""

    anchors: Sequence[str] | None = None
    form: str = ""
    tier: str = ""
    statuses: Sequence[str] = ()
    domain: str = ""
    field: str = ""
    awaiting_review: bool = False
    before: int = SEQ_MAX
    as_of: int = SEQ_MAX


def by_seq(item: int) -> Query[Item | None]:
    """Ask for one item as it is now."""
    return Query(f"{_SELECT} WHERE k.item = :item AND s.to_seq IS NULL", {"item": item}, _first)


def at(items: Sequence[int], *, as_of: int = SEQ_MAX) -> Query[Mapping[int, Item]]:
    """Ask for items as they were when the head was at a seq; those that were not there are absent."""
    places, params = named(items or (0,), prefix="i")
    return Query(
        f"{_SELECT} WHERE k.item IN ({places}) AND {_THEN}",
        {**params, "as_of": as_of},
        lambda rows: {item.item: item for item in _items(rows)},
    )


def page(listing: Listing, *, limit: int) -> Query[tuple[Item, ...]]:
    """Ask for the newest items before a seq, newest first."""
    conditions, params = [_THEN, "s.item < :before"], dict[str, SqlValue]()
    params |= {"as_of": listing.as_of, "before": listing.before, "limit": limit}
    for name, values in (("anchor", listing.anchors), ("status", listing.statuses or None)):
        if values is not None:
            places, found = named(values, prefix=name[:1])
            conditions.append(f"s.{name} IN ({places})")
            params |= found
    for name, value in (
        ("form", listing.form),
        ("tier", listing.tier),
        ("domain", listing.domain),
        ("field", listing.field),
    ):
        if value:
            conditions.append(f"s.{name} = :{name}")
            params[name] = value
    if listing.awaiting_review:
        conditions.append(_AWAITS_REVIEW)
    where = " AND ".join(conditions)
    return Query(f"{_STANDING} WHERE {where} ORDER BY s.item DESC LIMIT :limit", params, _items)


def same_statement(statement: str, *, anchor: str) -> Query[tuple[Item, ...]]:
    """Ask which items say the same at this place, newest first."""
    return Query(
        f"{_SELECT} WHERE k.statement_key = :key AND s.anchor = :anchor AND s.to_seq IS NULL "
        "ORDER BY k.item DESC",
        {"key": statement_key(statement), "anchor": anchor},
        _items,
    )


def same_statement_around(statement: str, *, anchor: str) -> Query[tuple[Item, ...]]:
    """Ask which items say the same here, in a wider place or in a narrower one, oldest first.

    A checkout and its repositories are around each other; what has no place, or all, is around everything.
    """
    return Query(
        f"{_SELECT} WHERE k.statement_key = :key AND s.to_seq IS NULL AND ("
        ":anchor IN (:unscoped, :global) OR s.anchor IN (:anchor, :unscoped, :global) "
        "OR s.anchor IN (SELECT repo FROM places WHERE worktree = :anchor) "
        "OR s.anchor IN (SELECT worktree FROM places WHERE repo = :anchor)) ORDER BY k.item",
        {"key": statement_key(statement), "anchor": anchor, "unscoped": UNSCOPED, "global": GLOBAL},
        _items,
    )


def raised_from(origin: int) -> Query[tuple[Item, ...]]:
    """Ask which items were raised from this one, newest first."""
    return Query(
        f"{_SELECT} WHERE k.origin = :origin AND s.to_seq IS NULL ORDER BY k.item DESC",
        {"origin": origin},
        _items,
    )


def carrying(item: int) -> Query[tuple[Item, ...]]:
    """Ask which cards were made from knowledge, newest first."""
    return Query(
        f"{_SELECT} WHERE k.made_from = :item AND s.to_seq IS NULL ORDER BY k.item DESC",
        {"item": item},
        _items,
    )


def citing(evidence: int) -> Query[tuple[Item, ...]]:
    """Ask which items cite a piece of evidence, in whatever role."""
    return Query(
        f"{_SELECT} WHERE s.to_seq IS NULL AND k.item IN "
        "(SELECT item FROM knowledge_links WHERE evidence = :evidence AND to_seq IS NULL) ORDER BY k.item",
        {"evidence": evidence},
        _items,
    )


def links(items: Sequence[int], *, as_of: int = SEQ_MAX) -> Query[tuple[Link, ...]]:
    """Ask for the evidence of items, as it was when the head was at a seq."""
    places, params = named(items or (0,), prefix="i")
    return Query(
        "SELECT item, evidence, role, CASE WHEN answered_at <= :as_of THEN answered_at ELSE 0 END "
        f"FROM knowledge_links WHERE item IN ({places}) "
        "AND from_seq <= :as_of AND (to_seq IS NULL OR to_seq > :as_of) "
        "ORDER BY item, role, evidence",
        {**params, "as_of": as_of},
        lambda rows: tuple(Link(item, seq, Role(role), answered) for item, seq, role, answered in rows),
    )


def cards_linked(evidence: Sequence[int], *, anchors: Sequence[str]) -> Query[tuple[Link, ...]]:
    """Ask which active cards of these places cite any of these pieces, and as what."""
    pieces, params = named(evidence or (0,), prefix="e")
    places, where = named(anchors, prefix="a")
    return Query(
        "SELECT l.item, l.evidence, l.role, COALESCE(l.answered_at, 0) FROM knowledge_links AS l "
        "CROSS JOIN knowledge_states AS s ON s.item = l.item "
        f"WHERE l.evidence IN ({pieces}) AND l.to_seq IS NULL AND s.to_seq IS NULL AND s.form = 'card' "
        f"AND s.status IN ('promoted', 'canonical') AND s.anchor IN ({places}) "
        "ORDER BY l.item, l.evidence, l.role",
        {**params, **where},
        lambda rows: tuple(Link(item, seq, Role(role), answered) for item, seq, role, answered in rows),
    )


def last_demotion(item: int) -> Query[int]:
    """Ask for the event that last demoted an item; 0 when none did."""
    return Query(
        "SELECT MAX(from_seq) FROM knowledge_states WHERE item = :item AND status = 'demoted'",
        {"item": item},
        number,
    )


def was_active(item: int) -> Query[int]:
    """Ask whether an item was ever believed (1) or not (0)."""
    return Query(
        "SELECT COUNT(*) FROM knowledge_states WHERE item = :item AND status IN ('promoted', 'canonical')",
        {"item": item},
        lambda rows: int(number(rows) > 0),
    )


def same_refusal(item: int, *, session: str, proposal: str, since: int) -> Query[int | None]:
    """Ask whether a gate said exactly this to this session since a seq."""
    return Query(
        "SELECT refused FROM knowledge_refusals WHERE item = :item AND session = :session "
        "AND proposal = :proposal AND refused > :since ORDER BY refused LIMIT 1",
        {"item": item, "session": session, "proposal": proposal, "since": since},
        scalar,
    )


def refusals(item: int, *, session: str, needs_review: bool) -> Query[int]:
    """Ask how often a gate refused an item to a session, for want of a signature alone or of more."""
    return Query(
        "SELECT COUNT(*) FROM knowledge_refusals "
        "WHERE item = :item AND session = :session AND needs_review = :needs_review",
        {"item": item, "session": session, "needs_review": int(needs_review)},
        number,
    )


def proposals(*, item: int = 0, limit: int) -> Query[tuple[int, ...]]:
    """Ask for the refusals that only a signature is missing from, newest of each item and move first.

    Those of an item that has moved since, or that a person has decided, are left out.
    """
    one = "AND r.item = :item" if item else ""
    return Query(
        "SELECT MAX(r.refused) AS refused FROM knowledge_refusals AS r "
        "JOIN knowledge_states AS s ON s.item = r.item AND s.to_seq IS NULL "
        f"WHERE r.needs_review = 1 AND r.refused > s.from_seq AND {_UNDECIDED} {one} "
        "GROUP BY r.item, r.move, r.to_state ORDER BY refused DESC LIMIT :limit",
        {"item": item, "limit": limit} if item else {"limit": limit},
        column,
    )


def contested(items: Sequence[int], *, as_of: int = SEQ_MAX) -> Query[frozenset[int]]:
    """Ask which of these items lean on evidence that is gone, or have a counterexample nobody answered.

    A reviewer who upholds an item settles all that came before.
    """
    places, params = named(items or (0,), prefix="i")
    return Query(
        f"SELECT DISTINCT l.item FROM knowledge_links AS l JOIN evidence AS e ON e.evidence = l.evidence "
        f"WHERE l.item IN ({places}) AND l.from_seq <= :as_of AND (l.to_seq IS NULL OR l.to_seq > :as_of) "
        f"AND {_CONTESTED} ORDER BY l.item",
        {**params, "as_of": as_of},
        lambda rows: frozenset(row[0] for row in rows),
    )


_UNDECIDED = (
    "NOT EXISTS (SELECT 1 FROM reviews AS d WHERE d.item = r.item AND d.move = r.move "
    "AND d.to_state = r.to_state AND d.review > r.refused)"
)
_UPHELD = (
    "COALESCE((SELECT MAX(r.review) FROM reviews AS r WHERE r.item = l.item AND r.move = 'uphold' "
    "AND r.decision = 'approve' AND r.review <= :as_of), 0)"
)
_CONTESTED = (
    "((l.role <> 'counterexample' AND ("
    f"(e.withdrawn_at <= :as_of AND e.withdrawn_at > {_UPHELD}) "
    f"OR (e.redacted_at <= :as_of AND e.redacted_at > {_UPHELD}))) "
    "OR (l.role = 'counterexample' AND (l.answered_at IS NULL OR l.answered_at > :as_of) "
    f"AND l.from_seq > {_UPHELD}))"
)
_AWAITS_REVIEW = (
    "((s.for_review = 1 AND NOT EXISTS (SELECT 1 FROM reviews AS u WHERE u.item = s.item "
    "AND u.move = 'uphold' AND u.review > s.from_seq)) "
    "OR EXISTS (SELECT 1 FROM knowledge_refusals AS r WHERE r.item = s.item "
    f"AND r.needs_review = 1 AND r.refused > s.from_seq AND {_UNDECIDED}) "
    "OR (s.status IN ('promoted', 'canonical') AND EXISTS (SELECT 1 FROM knowledge_links AS l "
    "JOIN evidence AS e ON e.evidence = l.evidence WHERE l.item = s.item AND l.from_seq <= :as_of "
    f"AND (l.to_seq IS NULL OR l.to_seq > :as_of) AND {_CONTESTED})))"
)


def _items(rows: Sequence[Row]) -> tuple[Item, ...]:
    return tuple(
        Item(
            item=item,
            statement=statement,
            tier=Tier(tier),
            status=Status(status),
            domain=Domain(domain),
            field=field,
            anchor=Anchor(anchor),
            since=since,
            origin=origin or 0,
            session=session,
            worktree=worktree,
            commit=commit,
            is_signed=bool(signed),
            for_review=bool(for_review),
            form=form,
            made_from=made_from or 0,
        )
        for item, statement, tier, status, domain, field, anchor, since, origin, session, worktree, commit,
        signed, for_review, form, made_from in rows
    )  # fmt: skip


def _first(rows: Sequence[Row]) -> Item | None:
    return next(iter(_items(rows)), None)
