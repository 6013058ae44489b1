"""Finding documents: candidates by their words, then everything that ranks them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pmm_mcp.domain.headings import asked_terms
from pmm_mcp.domain.tiers import ACTIVE
from pmm_mcp.ports import Plan, View
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
    Question,
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
    headings: Mapping[Heading, int] = field(default_factory=dict)
    beside: Sequence[Neighbour] = ()

    def enter(self, more: Sequence[Found]) -> None:
        """Let documents join that are not there yet."""
        for hit in more:
            self.found.setdefault(hit.doc, hit)

    def seeds(self) -> list[int]:
        """Return the documents that say most by themselves: what stands beside them may be meant."""
        near = self._meanings(self.found)
        says = {doc: hit.score + near.get(doc, 0) for doc, hit in self.found.items()}
        return sorted(says, key=lambda doc: (-says[doc], doc))[:SEEDS]

    def players(self, anchors: Sequence[str] | None) -> dict[int, Player]:
        """Return what ranks them."""
        known: dict[int, Found | Neighbour] = {one.doc: one for one in self.beside} | self.found
        near = self._meanings(known)
        distance = {anchor: n for n, anchor in enumerate(anchors or ())}
        speaker = self.who.speaker or None
        players: dict[int, Player] = {}
        for doc, one in known.items():
            hit = self.found.get(doc)
            players[doc] = Player(
                doc,
                (one.anchor, one.conversation) if one.conversation else None,
                hit.score if hit else 0,
                self._heading(one) if self.headings else 0,
                near.get(doc, 0),
                is_of_speaker=speaker is not None and one.speaker == speaker,
                is_directive=hit is not None and hit.passage[:16].lower().startswith(_DIRECTIVES),
                is_believed=one.status is not None and one.status in ACTIVE,
                distance=distance.get(one.anchor, 0),
            )
        return players

    def _meanings(self, docs: Collection[int]) -> Mapping[int, int]:
        if self.compared is None:
            return {}
        weight = self.compared.weight
        return {doc: round(weight * cosine) for doc, cosine in self.compared.cosines(docs).items()}

    def _heading(self, hit: Found | Neighbour) -> int:
        shared = Heading(hit.anchor, hit.conversation, hit.day)
        own = Heading(hit.anchor, "", "", hit.doc)
        return max(self.headings.get(shared, 0), self.headings.get(own, 0))

    def pairs(self, distance: int) -> list[tuple[int, int]]:
        """Return which of them stand so far from each other, each pair once.

        What stands one and two apart from a document on the same side stands beside each other.
        """
        stretches: dict[int, dict[int, int]] = {}
        for one in self.beside:
            stretches.setdefault(one.of, {0: one.of})[one.place] = one.doc
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

    async def question(self, view: View, text: str) -> Question | None:
        """Return what a text means, for `find`; None where documents are found by their words alone."""
        return None if self.meaning is None else await self.meaning.question(view, text)

    def find(
        self,
        search: SearchText,
        question: Question | None,
        *,
        anchors: Sequence[str] | None,
        filters: Filters,
        limit: int = ALL,
    ) -> Plan[tuple[Found, ...]]:
        """Find the best of what is in play, best first, ties by seq; `anchors` None looks everywhere."""
        if search.empty:
            return ()
        speakers: Sequence[str] = yield self.around.speakers(anchors=anchors)
        who = people_of(search.text, search.terms, speakers=speakers)
        words = tuple(term for term in search.terms if term not in who.names)
        asked = replace(search, terms=words) if words else search
        hits = yield from self.lexical.search(asked, anchors=anchors, filters=filters, limit=CANDIDATES)
        compared = None if question is None else (yield from question.compared())
        play = _Field({hit.doc: hit for hit in hits}, who, compared)
        # What must be there, or must not, only the words can say: then nothing joins them.
        if not (search.phrases or search.excluded):
            yield from self._join(play, asked, anchors=anchors, filters=filters)
        players = play.players(anchors)
        ranked = fuse(players, next_to=play.pairs(1), near=play.pairs(2), weights=self.weights, limit=limit)
        unknown = [one.doc for one in ranked if one.doc not in play.found]
        if unknown:
            play.enter((yield self.around.described(unknown, anchors=anchors, filters=filters)))
        return tuple(_shown(play.found[one.doc], players[one.doc], one) for one in ranked)

    def _join(
        self, play: _Field, search: SearchText, *, anchors: Sequence[str] | None, filters: Filters
    ) -> Plan[None]:
        """Bring into play what the words did not find: by heading, by meaning, by what stands beside."""
        terms = asked_terms(search.text, search.terms)
        play.headings = yield from self.around.headings(terms, anchors=anchors)
        opened = [one for one in play.headings if one.doc or one.conversation][:HEADINGS_OPENED]
        if opened:
            play.enter((yield self.around.under(opened, anchors=anchors, filters=filters)))
        nearest = {} if play.compared is None else play.compared.nearest()
        if new := nearest.keys() - play.found.keys():
            play.enter((yield self.around.described(new, anchors=anchors, filters=filters)))
        if seeds := play.seeds():
            play.beside = yield self.around.neighbours(seeds, anchors=anchors, filters=filters)


def _shown(hit: Found, player: Player, ranked: Ranked) -> Found:
    legs = [leg for leg in ("lexical", "heading", "meaning") if getattr(player, leg) > 0]
    if ranked.steps["neighbours"]:
        legs.append("beside")
    return hit._replace(score=ranked.score, legs=tuple(legs), steps=ranked.steps)
