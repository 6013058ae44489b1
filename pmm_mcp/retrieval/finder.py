"""Finding documents: candidates by their words, then everything that ranks them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pmm_mcp.domain.headings import asked_terms
from pmm_mcp.domain.tiers import ACTIVE
from pmm_mcp.ports import View
from pmm_mcp.retrieval.grammar import SearchText
from pmm_mcp.retrieval.people import People, people_of
from pmm_mcp.retrieval.ranking import ALL, DEFAULT, Player, Ranked, Weights, fuse
from pmm_mcp.retrieval.scope import (
    Compared,
    Filters,
    Found,
    Heading,
    Lexical,
    Meaning,
    Neighbour,
    Surroundings,
)

CANDIDATES: Final = 80
"""How many documents are looked at for their words."""
SEEDS: Final = 25
"""Of how many of them the neighbours come into play."""
HEADINGS_OPENED: Final = 3
"""Of how many of the best headings the documents are looked at, whatever their words."""
_DIRECTIVES: Final = ("always ", "never ", "from now on")


@dataclass(slots=True)
class _Field:
    """What is in play, and what is known about it."""

    found: dict[int, Found]
    who: People
    compared: Compared | None = None
    cosines: Mapping[int, int] = field(default_factory=dict)
    headings: Mapping[Heading, int] = field(default_factory=dict)
    beside: Sequence[Neighbour] = ()

    def enter(self, more: Sequence[Found]) -> None:
        """Let documents join that are not there yet."""
        for hit in more:
            self.found.setdefault(hit.doc, hit)

    def players(self, anchors: Sequence[str] | None) -> dict[int, Player]:
        """Return what ranks them."""
        worth = 0.0 if self.compared is None else self.compared.weight
        distance = {anchor: n for n, anchor in enumerate(anchors or ())}
        speaker = self.who.speaker or None
        return {
            doc: Player(
                doc,
                (hit.anchor, hit.conversation) if hit.conversation else None,
                hit.score,
                self._heading(hit) if self.headings else 0,
                round(worth * self.cosines.get(doc, 0)),
                is_of_speaker=speaker is not None and hit.speaker == speaker,
                is_directive=hit.passage[:16].lower().startswith(_DIRECTIVES),
                is_believed=hit.status is not None and hit.status in ACTIVE,
                distance=distance.get(hit.anchor, 0),
            )
            for doc, hit in self.found.items()
        }

    def _heading(self, hit: Found) -> int:
        shared = Heading(hit.anchor, hit.conversation or "", hit.day)
        own = Heading(hit.anchor, "", "", hit.doc)
        return max(self.headings.get(shared, 0), self.headings.get(own, 0))

    def pairs(self, distance: int) -> list[tuple[int, int]]:
        """Return which of them stand so far from each other, each pair once.

        What stands one and two apart from a document on the same side stands beside each other.
        """
        stretches: dict[int, dict[int, int]] = {}
        for one in self.beside:
            side = 1 if one.found.doc > one.doc else -1
            stretches.setdefault(one.doc, {0: one.doc})[side * one.distance] = one.found.doc
        return sorted(
            {
                (stretch[place], stretch[place + distance])
                for stretch in stretches.values()
                for place in stretch
                if place + distance in stretch
            }
        )


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds documents in one view of the ledger; the same question there has the same answer."""

    lexical: Lexical
    around: Surroundings
    meaning: Meaning | None = None
    weights: Weights = field(default=DEFAULT)

    async def find(
        self,
        view: View,
        search: SearchText,
        *,
        anchors: Sequence[str] | None,
        filters: Filters,
        limit: int = ALL,
    ) -> tuple[Found, ...]:
        """Return the best of what is in play, best first, ties by seq; `anchors` None looks everywhere."""
        if search.empty:
            return ()
        speakers = await self.around.speakers(view, anchors=anchors)
        who = people_of(search.text, search.terms, speakers=speakers)
        words = tuple(term for term in search.terms if term not in who.names)
        asked = replace(search, terms=words) if words else search
        hits = await self.lexical.search(view, asked, anchors=anchors, filters=filters, limit=CANDIDATES)
        play = _Field({hit.doc: hit for hit in hits}, who)
        if self.meaning is not None:
            play.compared = await self.meaning.compared(view, search.text)
        # What must be there, or must not, only the words can say: then nothing joins them.
        if not (search.phrases or search.excluded):
            await self._join(view, play, asked, anchors=anchors, filters=filters)
        if play.compared is not None:
            play.cosines = play.compared.cosines(play.found)
        players = play.players(anchors)
        ranked = fuse(players, next_to=play.pairs(1), near=play.pairs(2), weights=self.weights, limit=limit)
        unread = [one.doc for one in ranked if not play.found[one.doc].passage]
        passages = await self.around.passages(view, unread) if unread else {}
        return tuple(
            _shown(play.found[one.doc], players[one.doc], one, passages.get(one.doc, "")) for one in ranked
        )

    async def _join(
        self,
        view: View,
        play: _Field,
        search: SearchText,
        *,
        anchors: Sequence[str] | None,
        filters: Filters,
    ) -> None:
        """Bring into play what the words did not find: by heading, by meaning, by what stands beside."""
        seeds = list(play.found)[:SEEDS]
        terms = asked_terms(search.text, search.terms)
        play.headings = await self.around.headings(view, terms, anchors=anchors)
        opened = [one for one in play.headings if one.doc or one.conversation][:HEADINGS_OPENED]
        if opened:
            play.enter(await self.around.under(view, opened, anchors=anchors, filters=filters))
        if play.compared is not None:
            nearest = await play.compared.nearest()
            new = nearest.keys() - play.found.keys()
            if new:
                play.enter(await self.around.described(view, new, anchors=anchors, filters=filters))
            seeds += [doc for doc in new if doc in play.found]
        if seeds:
            play.beside = await self.around.neighbours(view, seeds, anchors=anchors, filters=filters)
            play.enter([one.found for one in play.beside])


def _shown(hit: Found, player: Player, ranked: Ranked, passage: str) -> Found:
    legs = [leg for leg in ("lexical", "heading", "meaning") if getattr(player, leg) > 0]
    if ranked.steps["neighbours"]:
        legs.append("beside")
    passage = hit.passage or passage
    return replace(hit, passage=passage, score=ranked.score, legs=tuple(legs), steps=ranked.steps)
