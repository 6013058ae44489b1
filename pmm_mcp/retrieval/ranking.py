"""What ranks documents: words, headings, meaning, who speaks, and what stands beside them.

All steps are sums and factors of a few numbers a document, so that each can be recorded, shown and
recomputed. What each is worth was measured (docs/benchmarks.md); none knows a name, a date or a topic.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

VERSION: Final = 2
"""Rises whenever the same numbers would give another order; every selection records it."""

MILLION: Final = 1_000_000
ALL: Final = 1_000
BEST_OF_A_CONVERSATION: Final = 3
"""How many of its documents say how much a conversation is about a question."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each step counts, beside a lexical score of at most 1."""

    heading: float = 2.0
    """Of the best heading: date, title of the conversation, source."""
    meaning: float = 1.0
    """Of the cosine of the vectors, beside what their embedder is worth."""
    next_to: float = 0.4
    """Of the score of the document before, and of the one after, in the conversation."""
    near: float = 0.25
    """Of the score of the second before and after."""
    alone: float = 1.0
    """Of its own score, for each neighbour a document does not have: it is no worse for standing alone."""
    speaker: float = 1.8
    """Factor of what the one speaker says whom a question names, or the user where it says "I"."""
    conversation: float = 0.5
    """Of the mean of the three best documents of a conversation."""
    directive: float = 1.3
    """Factor of what begins as a standing order: always, never, from now on."""
    belief: float = 1.02
    """Factor of knowledge that is believed: it decides near-ties."""
    place: float = 0.01
    """How much is lost for each step that a place is further away: it decides near-ties."""


DEFAULT: Final = Weights()


@dataclass(slots=True)
class Player:
    """A document in play; scores in millionths, `conversation` None where it has no neighbours."""

    doc: int
    conversation: tuple[str, str] | None = None
    lexical: int = 0
    heading: int = 0
    meaning: int = 0
    ends: tuple[int, int] = (0, 0)
    """How many of the two places next to it, and of the two one apart, are known to be empty."""
    is_of_speaker: bool = False
    is_directive: bool = False
    is_believed: bool = False
    distance: int = 0
    """Of its place: 0 for the nearest anchor that is searched."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document with its share of the best score, and what each step brought; all in millionths.

    `is_beside` says whether anything that stands beside it brought something.
    """

    doc: int
    score: int
    is_beside: bool = False
    steps: Mapping[str, int] = field(default_factory=dict)


def fuse(
    players: Mapping[int, Player],
    *,
    next_to: Collection[tuple[int, int]] = (),
    near: Collection[tuple[int, int]] = (),
    weights: Weights = DEFAULT,
    limit: int = ALL,
) -> tuple[Ranked, ...]:
    """Return the best documents, best first, ties by seq.

    `next_to` and `near` hold pairs of documents that stand beside, or one apart from, each other.
    """
    own = {doc: _own(player, weights) for doc, player in players.items()}
    around = dict.fromkeys(players, 0.0)
    for pairs, weight in ((next_to, weights.next_to), (near, weights.near)):
        for doc, beside in _sums(pairs, own).items():
            around[doc] += weight * beside
    are_beside = {doc for doc, score in around.items() if score}
    for doc, player in players.items():
        ends, far_ends = player.ends
        around[doc] += weights.alone * own[doc] * (weights.next_to * ends + weights.near * far_ends)
    factors = {doc: _factor(player, weights) for doc, player in players.items()}
    total = {doc: (own[doc] + around[doc]) * factor for doc, factor in factors.items()}
    together = _together(players, total, weights)
    final = {doc: total[doc] + together[_conversation(player)] for doc, player in players.items()}
    best = max(final.values(), default=0.0) or 1.0
    scores = {doc: round(MILLION * score / best) for doc, score in final.items()}
    order = sorted(sorted(scores), key=scores.__getitem__, reverse=True)[:limit]

    def steps(player: Player) -> Mapping[str, int]:
        return {
            "lexical": player.lexical,
            "heading": round(weights.heading * player.heading),
            "meaning": round(weights.meaning * max(0, player.meaning)),
            "neighbours": round(around[player.doc]),
            "factor": round(MILLION * factors[player.doc]),
            "conversation": round(together[_conversation(player)]),
            "total": round(final[player.doc]),
        }

    return tuple(Ranked(doc, scores[doc], doc in are_beside, steps(players[doc])) for doc in order)


def total_of(steps: Mapping[str, int]) -> int:
    """Return the total that these steps add up to, as they were recorded: rounded, each for itself."""
    own = steps["lexical"] + steps["heading"] + steps["meaning"] + steps["neighbours"]
    return round(own * steps["factor"] / MILLION) + steps["conversation"]


def _own(player: Player, weights: Weights) -> int:
    """Return what a document says by itself: a whole number, so that sums do not depend on their order."""
    near = player.meaning if player.meaning > 0 else 0
    return round(player.lexical + weights.heading * player.heading + weights.meaning * near)


def _sums(pairs: Collection[tuple[int, int]], own: Mapping[int, int]) -> Mapping[int, int]:
    """Return for each document what those say together that it stands in a pair with."""
    sums: dict[int, int] = {}
    for one, other in pairs:
        sums[one] = sums.get(one, 0) + own[other]
        sums[other] = sums.get(other, 0) + own[one]
    return sums


def _factor(player: Player, weights: Weights) -> float:
    factor = 1.0 - weights.place * player.distance
    if player.is_of_speaker:
        factor *= weights.speaker
    if player.is_directive:
        factor *= weights.directive
    return factor * weights.belief if player.is_believed else factor


def _conversation(player: Player) -> Hashable:
    """Return what a document shares with those it was said with; alone, it is its own conversation."""
    return player.conversation or player.doc


def _together(
    players: Mapping[int, Player], total: Mapping[int, float], weights: Weights
) -> Mapping[Hashable, float]:
    scores: dict[Hashable, list[float]] = {}
    for doc, player in players.items():
        scores.setdefault(_conversation(player), []).append(total[doc])
    return {
        conversation: weights.conversation * _mean(sorted(found, reverse=True), weights.alone)
        for conversation, found in scores.items()
    }


def _mean(best: Sequence[float], alone: float) -> float:
    """Return the mean of the three best; a share of the best stands in for those there are not."""
    missing = max(0, BEST_OF_A_CONVERSATION - len(best))
    return (sum(best[:BEST_OF_A_CONVERSATION]) + missing * alone * best[0]) / BEST_OF_A_CONVERSATION
