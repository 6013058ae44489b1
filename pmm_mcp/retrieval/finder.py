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
    meanings: dict[int, int] = field(default_factory=dict)
    headings: Mapping[Heading, int] = field(default_factory=dict)
    seeds: Sequence[int] = ()
    beside: Sequence[Neighbour] = ()

    def enter(self, more: Sequence[Found]) -> None:
        """Let documents join that are not there yet."""
        for hit in more:
            self.found.setdefault(hit.doc, hit)

    def best(self) -> list[int]:
        """Return the documents that say most by themselves: what stands beside them may be meant."""
        self._compare(self.found)
        says = {doc: hit.score + self.meanings.get(doc, 0) for doc, hit in self.found.items()}
        return sorted(sorted(says), key=says.__getitem__, reverse=True)[:SEEDS]

    def players(
        self, stretches: Mapping[int, Mapping[int, int]], anchors: Sequence[str] | None
    ) -> dict[int, Player]:
        """Return what ranks them."""
        known: dict[int, Found | Neighbour] = {one.doc: one for one in self.beside} | self.found
        self._compare(known)
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
                self.meanings.get(doc, 0),
                _ends(stretches[doc]) if doc in stretches else (0, 0) if one.conversation else (2, 2),
                is_of_speaker=speaker is not None and one.speaker == speaker,
                is_directive=hit is not None and hit.passage[:16].lower().startswith(_DIRECTIVES),
                is_believed=one.status is not None and one.status in ACTIVE,
                distance=distance.get(one.anchor, 0),
            )
        return players

    def _compare(self, docs: Collection[int]) -> None:
        """Compare those that have not been compared yet with the question."""
        if self.compared is None:
            return
        weight = self.compared.weight
        cosines = self.compared.cosines([doc for doc in docs if doc not in self.meanings])
        for doc, cosine in cosines.items():
            self.meanings[doc] = round(weight * cosine)

    def _heading(self, hit: Found | Neighbour) -> int:
        shared = Heading(hit.anchor, hit.conversation, hit.day)
        own = Heading(hit.anchor, "", "", hit.doc)
        return max(self.headings.get(shared, 0), self.headings.get(own, 0))

    def stretches(self) -> Mapping[int, Mapping[int, int]]:
        """Return what stands beside each seed, by its place there; the seed stands at 0."""
        stretches: dict[int, dict[int, int]] = {seed: {0: seed} for seed in self.seeds}
        for one in self.beside:
            stretches[one.of][one.place] = one.doc
        return stretches


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
        stretches = play.stretches()
        players = play.players(stretches, anchors)
        next_to, near = _pairs(stretches.values(), apart=1), _pairs(stretches.values(), apart=2)
        ranked = fuse(players, next_to=next_to, near=near, weights=self.weights, limit=limit)
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
        play.seeds = play.best()
        if play.seeds:
            play.beside = yield self.around.neighbours(play.seeds, anchors=anchors, filters=filters)


def _ends(stretch: Mapping[int, int]) -> tuple[int, int]:
    """Return how many places next to a document are empty, and how many one apart."""
    return sum(place not in stretch for place in (-1, 1)), sum(place not in stretch for place in (-2, 2))


def _pairs(stretches: Collection[Mapping[int, int]], *, apart: int) -> Collection[tuple[int, int]]:
    """Return which documents stand so far from each other, each pair once."""
    return {
        (doc, stretch[place + apart])
        for stretch in stretches
        for place, doc in stretch.items()
        if place + apart in stretch
    }


def _shown(hit: Found, player: Player, ranked: Ranked) -> Found:
    legs = [leg for leg in ("lexical", "heading", "meaning") if getattr(player, leg) > 0]
    if ranked.is_beside:
        legs.append("beside")
    return hit._replace(score=ranked.score, legs=tuple(legs), steps=ranked.steps)
