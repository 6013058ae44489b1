"""Selecting guidance: what is believed here about a question, each tier with a share of the room."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from pmm_mcp.context.advice import CANDIDATES, EVIDENCE, SECTIONS, Advice, Guidance, LeftOut, Reason
from pmm_mcp.context.guidance_render import INTRODUCTION, block, cost_of, title
from pmm_mcp.context.loading import loaded, seen
from pmm_mcp.context.shares import share_out
from pmm_mcp.domain.anchors import Place
from pmm_mcp.domain.knowledge import Item
from pmm_mcp.domain.tiers import ACTIVE, Status, Tier
from pmm_mcp.ports import Plan
from pmm_mcp.queries import knowledge
from pmm_mcp.queries.knowledge import Listing
from pmm_mcp.retrieval.grammar import SearchText, plain
from pmm_mcp.retrieval.relevance import Among, Ranking, Relevance, Relevant, distinct, strong
from pmm_mcp.retrieval.scope import Filters, Lexical

TERMS_MAX: Final = 24
"""Of a long question the last words that say something are looked for."""
EVIDENCE_MAX: Final = 5
LEFT_OUT_MAX: Final = 12
"""How many of those left out are named; all are counted."""

_LOOKED_AT: Final = (Status.CANONICAL, Status.PROMOTED, Status.CANDIDATE)
_GENERAL: Final = "general"

Queue = Sequence[Relevant | Advice]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What guidance is asked for; `as_of` is the head it is seen from. An empty domain is any."""

    query: str
    place: Place
    as_of: int
    domain: str = ""
    field: str = ""
    max_items: int = 12
    token_budget: int = 1_500
    dao_tian_limit: int = 1
    include_evidence: bool = False
    include_candidates: bool = False
    include_cards: bool = False


@dataclass(frozen=True, slots=True)
class Guide:
    """Selects guidance from one view of the ledger."""

    relevance: Relevance
    lexical: Lexical

    def guidance(self, wanted: Wanted) -> Plan[Guidance]:
        """Find what is relevant and fits; when nothing is believed about it, the notice says so."""
        search = plain(wanted.query)
        among = Among(
            anchors=wanted.place.visible,
            statuses=_LOOKED_AT,
            forms=("kn", "card") if wanted.include_cards else ("kn",),
            domain=wanted.domain,
            as_of=wanted.as_of,
        )
        ranking = yield from self.relevance.rank(_terms(search), among=among)
        if wanted.include_cards:
            ranking = yield from _once(ranking)
        queues = _queues(ranking, wanted)
        if wanted.include_evidence:
            queues[EVIDENCE] = yield from self._evidence(search, among)
        over = queues[Tier.DAO_TIAN][wanted.dao_tian_limit :]
        queues[Tier.DAO_TIAN] = queues[Tier.DAO_TIAN][: wanted.dao_tian_limit]
        chosen = share_out(queues, room=wanted.max_items)
        advice = yield from _read(chosen, as_of=wanted.as_of)
        shown = within(advice, tokens=wanted.token_budget)
        left_out = (
            *_missing(advice, shown, "token_budget"),
            *_missing(queues, chosen, "max_items"),
            *(LeftOut(_id(one), "dao_tian_limit") for one in over),
        )
        guidance = Guidance(
            advice=tuple(chain.from_iterable(shown.values())),
            left_out=left_out[:LEFT_OUT_MAX],
            left_out_total=_unranked(ranking, wanted) + len(left_out),
        )
        if any(shown[tier] for tier in Tier):
            return guidance
        return replace(guidance, notice=(yield from _why(wanted, search, ranking)))

    def _evidence(self, search: SearchText, among: Among) -> Plan[tuple[Advice, ...]]:
        """Find what was seen that holds the words which say something."""
        terms = strong(search.terms)
        if not terms:
            return ()
        filters = Filters(
            kinds=("evidence",),
            equal={"domain": among.domain} if among.domain else {},
            before=among.as_of + 1,
        )
        search = replace(search, terms=terms)
        found = yield from self.lexical.search(search, anchors=among.anchors, filters=filters)
        return tuple(map(seen, found[:EVIDENCE_MAX]))


def _once(ranking: Ranking) -> Plan[Ranking]:
    """Leave out the cards whose knowledge is there as well: what is believed appears once."""
    cards = [one.item for one in ranking.best if one.form == "card"]
    known: Mapping[int, Item] = yield knowledge.at(cards)
    there = {one.item for one in ranking.best}
    best = [one for one in ranking.best if one.item not in known or known[one.item].made_from not in there]
    dropped = Counter(one.status for one in ranking.best) - Counter(one.status for one in best)
    totals = {status: total - dropped[status] for status, total in ranking.totals.items()}
    return Ranking(tuple(best), totals)


def _terms(search: SearchText) -> tuple[str, ...]:
    """Return what is looked for; weak words are the first to go when there are too many."""
    terms = distinct(search.terms)
    return terms if len(terms) <= TERMS_MAX else (strong(terms) or terms)[-TERMS_MAX:]


def _queues(ranking: Ranking, wanted: Wanted) -> dict[str, Queue]:
    """Return what is relevant by section, each in its order."""
    places: dict[str, int] = {anchor: n for n, anchor in enumerate(wanted.place.visible)}

    def rank(one: Relevant) -> tuple[int, ...]:
        is_free = not wanted.field or one.tier is Tier.DAO_TIAN
        distance = 0 if is_free or one.field == wanted.field else 1 if one.field == _GENERAL else 2
        return (distance, places[one.anchor], one.status is not Status.CANONICAL, -one.score, one.item)

    ordered = sorted(ranking.best, key=rank)
    queues: dict[str, Queue] = dict.fromkeys(SECTIONS, ())
    for tier in Tier:
        queues[tier] = tuple(one for one in ordered if one.tier is tier and one.status in ACTIVE)
    if wanted.include_candidates:
        proposed = (one for one in ordered if one.status not in ACTIVE)
        queues[CANDIDATES] = tuple(sorted(proposed, key=lambda one: SECTIONS.index(one.tier)))
    return queues


def _read(chosen: Mapping[str, Queue], *, as_of: int) -> Plan[dict[str, Sequence[Advice]]]:
    """Find what was chosen, as it is shown."""
    relevant = [one for one in chain.from_iterable(chosen.values()) if isinstance(one, Relevant)]
    items = yield from loaded(relevant, as_of=as_of)

    def read(queue: Queue) -> Iterator[Advice]:
        for one in queue:
            advice = one if isinstance(one, Advice) else items.get(one.item)
            if advice is not None:
                yield advice

    return {name: tuple(read(queue)) for name, queue in chosen.items()}


def within(advice: Mapping[str, Sequence[Advice]], *, tokens: int) -> Mapping[str, Sequence[Advice]]:
    """Return what fits when all of it is rendered, headings and introduction included."""
    return share_out(
        advice,
        room=max(0, tokens - cost_of(INTRODUCTION)),
        price=lambda one: cost_of(block(one)),
        opening=lambda name: cost_of(title(name)),
    )


def _missing(queues: Mapping[str, Queue], kept: Mapping[str, Queue], reason: Reason) -> Iterator[LeftOut]:
    for name, queue in queues.items():
        yield from (LeftOut(_id(one), reason) for one in queue if one not in kept[name])


def _id(one: Relevant | Advice) -> str:
    return one.id


def _unranked(ranking: Ranking, wanted: Wanted) -> int:
    """Count what is relevant, and so far down that it was not even listed."""
    asked = [status for status in _LOOKED_AT if status in ACTIVE or wanted.include_candidates]
    listed = sum(one.status in asked for one in ranking.best)
    return sum(ranking.totals.get(status, 0) for status in asked) - listed


def _why(wanted: Wanted, search: SearchText, ranking: Ranking) -> Plan[str]:
    """Say why nothing is shown that is believed."""
    if search.empty:
        return "the query holds no words, so nothing was looked for"
    if any(ranking.totals.get(status) for status in ACTIVE):
        return "what is known about this does not fit: raise token_budget, max_items or dao_tian_limit"
    if proposed := ranking.totals.get(Status.CANDIDATE, 0):
        what = "candidate is" if proposed == 1 else "candidates are"
        see = "" if wanted.include_candidates else "; include_candidates shows what is proposed"
        return f"nothing believed here is about this, {proposed} {what}{see}"
    listing = Listing(
        anchors=wanted.place.visible,
        statuses=tuple(sorted(ACTIVE)),
        domain=wanted.domain,
        as_of=wanted.as_of,
    )
    believed: Sequence[Item] = yield knowledge.page(listing, limit=1)
    return "nothing believed here is about this" if believed else "nothing is believed here yet"
