"""Checking a selection: does what was recorded add up to what was shown, and is it still there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pmm_mcp.domain.errors import NotFoundError
from pmm_mcp.domain.events.turn import RetrievalSelection, Selected
from pmm_mcp.domain.ids import event_id, parse_id
from pmm_mcp.domain.records import Recorded
from pmm_mcp.ports import Ledger
from pmm_mcp.queries import events
from pmm_mcp.retrieval.ranking import MILLION, VERSION, total_of
from pmm_mcp.services.results import Part, Result

ROUNDED: Final = 16
"""By how many millionths sums of rounded steps may differ from the rounded sum."""


class Candidate(Part):
    """A document that was looked at: what each step brought, and what that adds up to."""

    id: str
    shown: bool
    score: float
    steps: dict[str, int]
    recomputed: int
    is_gone: bool = False


class RetrievalVerified(Result):
    """Whether the recorded steps give the recorded order; `problems` says where not."""

    turn: str
    ok: bool
    ranking: int
    vectors: str | None = None
    watermark: int
    candidates: list[Candidate]
    problems: list[str] = []
    gone: list[str] = []


@dataclass(frozen=True, slots=True)
class RetrievalService:
    """Explains what turns were shown."""

    ledger: Ledger

    async def verify(self, turn: str) -> RetrievalVerified:
        """Score again what a turn's context was chosen from, by the numbers that were recorded.

        Raises:
            NotFoundError: there is no such turn, or nothing was selected for it.

        """
        _, seq = parse_id(turn, "turn")
        async with self.ledger.reader.view() as view:
            records = await view.ask(events.of_turn(seq))
            found = next((one.event for one in records if isinstance(one.event, RetrievalSelection)), None)
            if found is None:
                raise NotFoundError(f"nothing was selected for {turn}", hint="Is it the id of a turn?")
            looked_at = [*found.selected, *found.passed_over]
            documents = await view.ask(events.by_seqs([one.doc for one in looked_at]))
            head = await view.ask(events.head())
        problems = list(_problems(found)) if found.ranking else ["the steps of its ranking were not recorded"]
        shown = {one.doc for one in found.selected}
        candidates = [
            Candidate(
                id=_id(documents, one.doc),
                shown=one.doc in shown,
                score=one.score / MILLION,
                steps=_steps(one),
                recomputed=total_of(_steps(one)),
                is_gone=_is_gone(documents, one.doc),
            )
            for one in sorted(looked_at, key=lambda one: (-one.score, one.doc))
        ]
        return RetrievalVerified(
            turn=turn,
            ok=not problems,
            ranking=found.ranking,
            vectors=found.vectors,
            watermark=found.watermark,
            candidates=candidates,
            problems=problems,
            gone=[one.id for one in candidates if one.is_gone],
            head=head,
        )


def _problems(found: RetrievalSelection) -> Iterator[str]:
    if found.ranking != VERSION:
        yield f"ranked by version {found.ranking}; this program has version {VERSION}"
    looked_at: Sequence[Selected] = sorted(
        (*found.selected, *found.passed_over), key=lambda one: (-one.score, one.doc)
    )
    for one in looked_at:
        if abs(total_of(_steps(one)) - one.total) > ROUNDED:
            yield f"event {one.doc}: its steps add up to {total_of(_steps(one))}, recorded was {one.total}"
    totals = [one.total for one in looked_at]
    if totals != sorted(totals, reverse=True):
        yield "the order is not that of the totals"


def _steps(one: Selected) -> dict[str, int]:
    return one.model_dump(exclude={"doc", "score"})


def _id(documents: Mapping[int, Recorded], doc: int) -> str:
    return event_id(documents[doc].kind if doc in documents else "", doc)


def _is_gone(documents: Mapping[int, Recorded], doc: int) -> bool:
    record = documents.get(doc)
    return record is None or all(text is None for text in record.texts.values())
