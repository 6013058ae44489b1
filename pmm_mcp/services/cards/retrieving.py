"""Finding cards by their evidence: what was seen is searched, and its links lead to what is believed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pmm_mcp.context.quoting import one_line
from pmm_mcp.domain.anchors import Anchor
from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.domain.events.memory import Domain
from pmm_mcp.domain.ids import public_id
from pmm_mcp.domain.knowledge import Item
from pmm_mcp.domain.names import name
from pmm_mcp.domain.records import Call, Recorded
from pmm_mcp.domain.sizes import cut, fitting
from pmm_mcp.domain.tiers import GLOSSES, Role
from pmm_mcp.ports import Ledger, Plan
from pmm_mcp.queries import events, knowledge, memory
from pmm_mcp.queries.knowledge import Link
from pmm_mcp.retrieval.grammar import SearchText, plain
from pmm_mcp.retrieval.scope import Filters, Lexical
from pmm_mcp.services.results import Part, Result

TOP_K_MAX: Final = 20
EVIDENCE_MAX: Final = 100
"""How many of the best pieces of evidence are followed."""
LOADED_AT_ONCE: Final = 25
COUNTER_SHARE: Final = 500_000
"""How much of the score of a counterexample that was found is taken away, in millionths."""
CITATIONS_MAX: Final = 12
CONTENT_BYTES: Final = 600
CARDS_BYTES: Final = 7_600
_MILLION: Final = 1_000_000


class CardCitation(Part):
    """A piece of evidence of a card; `score` when the query found it."""

    id: str
    role: str
    source: str | None = None
    score: float | None = None


class CardFound(Part):
    """An active card, by its best supporting, verifying or teaching evidence; what speaks against it too."""

    id: str
    statement: str
    content: str
    tier: str
    gloss: str
    status: str
    anchor: str
    score: float
    contested: bool | None = None
    citations: list[CardCitation]


class CardsFound(Result):
    """Active cards that are visible here, best first."""

    cards: list[CardFound]


@dataclass(frozen=True, slots=True)
class RetrieveService:
    """Finds cards."""

    ledger: Ledger
    lexical: Lexical

    async def retrieve(self, query: str, *, domain: str, field: str, top_k: int, call: Call) -> CardsFound:
        """Return the cards whose evidence is about a query.

        Raises:
            InvalidArgumentError: an argument has a value that is not allowed.

        """
        if not 1 <= top_k <= TOP_K_MAX:
            raise InvalidArgumentError(
                f"top_k: {top_k} is not allowed", hint=f"It is a number from 1 to {TOP_K_MAX}."
            )
        if domain.strip() and domain.strip() not in tuple(Domain):
            raise InvalidArgumentError(f"domain: {domain[:40]!r} is not one", hint=", ".join(Domain))
        wanted_field = name(field, argument="field")
        anchors = call.place.visible
        search = plain(query)
        async with self.ledger.reader.view() as view:
            head = await view.ask(events.head())
            wanted = _Wanted(search, anchors, domain.strip(), wanted_field, top_k)
            cards = await view.carry_out(self._found(wanted))
        notice = None
        if search.empty:
            notice = "the query holds no words, so nothing was searched"
        elif not cards:
            notice = "no active card has evidence about this here"
        return CardsFound(cards=fitting(cards, bytes_max=CARDS_BYTES, least=1), notice=notice, head=head)

    def _found(self, wanted: "_Wanted") -> Plan[list[CardFound]]:
        found = yield from self.lexical.search(
            wanted.search, anchors=wanted.anchors, filters=Filters(kinds=("evidence",)), limit=EVIDENCE_MAX
        )
        hits = {hit.doc: hit.score for hit in found}
        links: Sequence[Link] = yield knowledge.cards_linked(list(hits), anchors=wanted.anchors)
        scores = _scores(links, hits)
        chosen = yield from _best(scores, wanted)
        return (yield from _shown(chosen, scores, hits))


@dataclass(frozen=True, slots=True)
class _Wanted:
    search: SearchText
    anchors: Sequence[Anchor]
    domain: str
    field: str
    top_k: int


def _best(scores: Mapping[int, int], wanted: _Wanted) -> Plan[list[Item]]:
    """Find the best cards of a domain and a field, a few at a time: most are never looked at."""
    ranked = sorted(scores, key=lambda item: (-scores[item], item))
    best: list[Item] = []
    for first in range(0, len(ranked), LOADED_AT_ONCE):
        some = ranked[first : first + LOADED_AT_ONCE]
        items: Mapping[int, Item] = yield knowledge.at(some)
        found = (items[seq] for seq in some if seq in items)
        best += [
            one for one in found if wanted.domain in ("", one.domain) and wanted.field in ("", one.field)
        ]
        if len(best) >= wanted.top_k:
            break
    return best[: wanted.top_k]


def _scores(links: Sequence[Link], hits: Mapping[int, int]) -> dict[int, int]:
    """Return the score of each card: of its best evidence, less a share of what was found against it."""
    best: dict[int, int] = {}
    against: dict[int, int] = {}
    for link in links:
        scores = against if link.role is Role.COUNTEREXAMPLE else best
        scores[link.item] = max(scores.get(link.item, 0), hits[link.evidence])
    return {
        item: max(0, score - against.get(item, 0) * COUNTER_SHARE // _MILLION) for item, score in best.items()
    }


def _shown(
    items: Sequence[Item], scores: Mapping[int, int], hits: Mapping[int, int]
) -> Plan[list[CardFound]]:
    seqs = [item.item for item in items]
    links: Sequence[Link] = yield knowledge.links(seqs)
    births: Mapping[int, Recorded] = yield events.by_seqs(seqs)
    contested: Collection[int] = yield knowledge.contested(seqs)
    rows: Mapping[int, memory.EvidenceRow] = yield memory.evidence_by(
        sorted({link.evidence for link in links})
    )
    cards = []
    for item in items:
        of_card = [link for link in links if link.item == item.item]
        of_card.sort(key=lambda link: (-hits.get(link.evidence, 0), link.evidence))
        cards.append(
            CardFound(
                id=item.id,
                statement=item.statement or "(removed)",
                content=cut(births[item.item].texts.get("content") or "", bytes_max=CONTENT_BYTES),
                tier=item.tier,
                gloss=GLOSSES[item.tier],
                status=item.status,
                anchor=item.anchor,
                score=scores[item.item] / _MILLION,
                contested=item.item in contested or None,
                citations=[
                    CardCitation(
                        id=public_id("ev", link.evidence),
                        role=link.role,
                        source=one_line(source, chars_max=120)
                        if (source := rows[link.evidence].source)
                        else None,
                        score=hits[link.evidence] / _MILLION if link.evidence in hits else None,
                    )
                    for link in of_card[:CITATIONS_MAX]
                ],
            )
        )
    return cards
