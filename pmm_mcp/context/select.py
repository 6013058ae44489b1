"""Selecting what a turn shows: guidance, matched documents, the conversation, promises, last failures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pmm_mcp.context.guidance import Guide, Wanted
from pmm_mcp.context.pack import Failure, Pack
from pmm_mcp.context.quoting import quoted, tokens_of
from pmm_mcp.domain.anchors import Anchor, Place
from pmm_mcp.domain.records import Recorded
from pmm_mcp.ports import Plan, View
from pmm_mcp.queries import commitments, embeddings, events, turns
from pmm_mcp.queries.memory import DOCUMENT_PREFIX
from pmm_mcp.retrieval.finder import Finder
from pmm_mcp.retrieval.grammar import plain
from pmm_mcp.retrieval.scope import Filters, Found, Question

PAIRS: Final = 3
DOCUMENTS_MAX: Final = 8
CANDIDATES_KEPT: Final = 12
"""Of how many of the best it is recorded what ranked them."""
COMMITMENTS_MAX: Final = 10
FAILURES_MAX: Final = 10
DOCUMENT_TOKENS: Final = 1_200
"""The budget of the matched documents together."""
GUIDANCE_ITEMS: Final = 8
GUIDANCE_TOKENS: Final = 600

_KINDS: Final = tuple(kind for kind in DOCUMENT_PREFIX if kind != "knowledge")
"""What is shown as a match; governed knowledge comes as guidance, where only what is believed is."""


@dataclass(frozen=True, slots=True)
class Selector:
    """Selects a pack from one view of the ledger."""

    finder: Finder
    guide: Guide

    async def select(self, view: View, prompt: str, *, place: Place, conversation: str, before: int) -> Pack:
        """Return what a turn at this place should show, looking only at events before a seq."""
        question = await self.finder.question(view, plain(prompt).text)
        plan = self._selected(prompt, question, place=place, conversation=conversation, before=before)
        return await view.carry_out(plan)

    def _selected(
        self, prompt: str, question: Question | None, *, place: Place, conversation: str, before: int
    ) -> Plan[Pack]:
        head: int = yield events.head()
        pairs: tuple[turns.Pair, ...] = yield turns.last_pairs(
            anchor=place.home, conversation=conversation, before=before, limit=PAIRS
        )
        promised = yield commitments.open_at(place.visible, limit=COMMITMENTS_MAX, before=before)
        wanted = Wanted(
            query=prompt,
            place=place,
            as_of=before - 1,
            max_items=GUIDANCE_ITEMS,
            token_budget=GUIDANCE_TOKENS,
        )
        in_pairs = {seq for pair in pairs for seq in (pair.turn, pair.terminal)}
        found, passed_over = yield from self._matching(
            prompt, question, place.visible, before=before, without=in_pairs
        )
        return Pack(
            head=min(head, before - 1),
            found=found,
            passed_over=passed_over,
            vectors=(yield embeddings.active_set()),
            pairs=pairs,
            commitments=promised,
            failures=(yield from _failures(place.home, conversation, before=before)),
            guidance=(yield from self.guide.guidance(wanted)),
        )

    def _matching(
        self,
        prompt: str,
        question: Question | None,
        anchors: Sequence[Anchor],
        *,
        before: int,
        without: set[int],
    ) -> Plan[tuple[tuple[Found, ...], tuple[Found, ...]]]:
        """Find what matches and fits, and the best of what was passed over."""
        found = yield from self.finder.find(
            plain(prompt), question, anchors=anchors, filters=Filters(kinds=_KINDS, before=before)
        )
        kept: list[Found] = []
        left = DOCUMENT_TOKENS
        for hit in found:
            cost = tokens_of(quoted(hit.passage))
            # What only stands beside a match is found by a search, and put before no model unasked.
            if hit.doc in without or cost > left or hit.legs == ("beside",):
                continue
            kept.append(hit)
            left -= cost
            if len(kept) == DOCUMENTS_MAX:
                break
        shown = {hit.doc for hit in kept}
        passed_over = [hit for hit in found[:CANDIDATES_KEPT] if hit.doc not in shown]
        return tuple(kept), tuple(passed_over)


def _failures(anchor: str, conversation: str, *, before: int) -> Plan[tuple[Failure, ...]]:
    last: int | None = yield turns.last_answered(anchor=anchor, conversation=conversation, before=before)
    if last is None:
        return ()
    records: Sequence[Recorded] = yield events.page(
        turn=last, kinds=("validation_failure",), limit=FAILURES_MAX
    )
    return tuple(
        Failure(reason=getattr(record.event, "reason", ""), line=record.texts.get("line") or "")
        for record in records
    )
