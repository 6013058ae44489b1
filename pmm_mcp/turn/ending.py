"""How a turn ends: the reply, all its effects and its measures in one write, or a failure, exactly once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pmm_mcp.context.pack import Pack
from pmm_mcp.domain.admission import Admitted, SecretsMode
from pmm_mcp.domain.control_lines import Parsed
from pmm_mcp.domain.errors import NotFoundError
from pmm_mcp.domain.events.adoption import AdoptionRecorded, Signal, Track
from pmm_mcp.domain.events.turn import (
    AssistantMessage,
    GenerationFailure,
    LateReply,
    RetrievalSelection,
    Selected,
    TurnMetrics,
)
from pmm_mcp.domain.ids import public_id
from pmm_mcp.domain.records import Actor
from pmm_mcp.ports import Transaction
from pmm_mcp.queries import adoption, commitments, events, knowledge, turns
from pmm_mcp.retrieval.ranking import VERSION as RANKING_VERSION
from pmm_mcp.retrieval.scope import Found
from pmm_mcp.turn.effects import Speaker, apply_reply
from pmm_mcp.turn.outcome import TurnResult, cited_events, closed_commitments, guiding_items, result_of
from pmm_mcp.turn.recovery import interruption

LATE_REPLIES_MAX = 100

ANOTHER_REPLY: Final = (
    "this turn had its reply already, and this is its result; yours is another one and was kept as a late "
    "reply, without effects"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A reply, read. `shown` holds the events it may cite."""

    event: AssistantMessage
    reply: Admitted
    parsed: Parsed
    shown: frozenset[int] = frozenset()
    hashes: Mapping[tuple[str, int], str] = field(default_factory=dict)
    secrets: SecretsMode = SecretsMode.MASK


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """No complete reply; `partial` is what there was of one."""

    event: GenerationFailure
    partial: Admitted = field(default=Admitted(""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The end of a turn, to be written once."""

    turn: int
    said: Answered | Unanswered
    model: Actor
    runtime: Actor
    selection: RetrievalSelection | None = None
    """What the model was shown; None when it stands in the ledger already."""
    metrics: TurnMetrics | None = None

    def write(self, tx: Transaction) -> TurnResult | None:
        """End the turn, or keep a late reply; None when the turn was closed for want of a reply.

        A turn that was answered already keeps that: its first result is returned, as repeated. Another
        reply is kept as a late one all the same, and the result says so.
        """
        turn = open_turn(tx, self.turn)
        is_overdue = turn.status == "open" and turn.deadline_us <= tx.now_us
        if is_overdue:
            tx.append(interruption(turn, reason="deadline_passed", session=self.runtime.session))
        if is_overdue or turn.status == "interrupted":
            self._keep_late(tx, turn)
            return None
        if turn.status != "open":
            first = read_result(tx, self.turn).model_copy(update={"repeated": True})
            if self._said_so_before(tx, turn):
                return first
            self._keep_late(tx, turn)
            return first.model_copy(update={"notice": ANOTHER_REPLY})
        speaker = Speaker(turn=turn, model=self.model, runtime=self.runtime)
        match self.said:
            case Answered() as said:
                tx.append(speaker.draft(said.event, {"reply": said.reply}))
                apply_reply(
                    tx,
                    said.parsed,
                    speaker=speaker,
                    shown=said.shown,
                    hashes=said.hashes,
                    secrets=said.secrets,
                )
            case Unanswered() as said:
                texts = {"partial": said.partial} if said.partial.value else {}
                tx.append(speaker.draft(said.event, texts, runtime=True))
        for event in (self.selection, self.metrics):
            if event is not None:
                tx.append(speaker.draft(event, runtime=True))
        if isinstance(self.said, Answered):
            note_use(tx, self.turn, self.said.reply.value, speaker)
        return read_result(tx, self.turn)

    def _said_so_before(self, tx: Transaction, turn: turns.Turn) -> bool:
        end = None if turn.terminal is None else tx.ask(events.by_seq(turn.terminal))
        ours = self.said.reply.value if isinstance(self.said, Answered) else ""
        return end is not None and end.texts.get("reply", "") in (ours, None)

    def _keep_late(self, tx: Transaction, turn: turns.Turn) -> None:
        if not isinstance(self.said, Answered):
            return
        kept = tx.ask(events.page(turn=self.turn, kinds=("late_reply",), limit=LATE_REPLIES_MAX))
        known = {record.texts.get("reply") for record in kept}
        if self.said.reply.value not in known and len(kept) < LATE_REPLIES_MAX:
            speaker = Speaker(turn=turn, model=self.model, runtime=self.runtime)
            tx.append(speaker.draft(LateReply(model=self.said.event.model), {"reply": self.said.reply}))


def open_turn(tx: Transaction, turn: int) -> turns.Turn:
    """Return the turn as it stands.

    Raises:
        NotFoundError: there is no such turn.

    """
    found = tx.ask(turns.by_seq(turn))
    if found is None:
        raise NotFoundError(
            f"there is no {public_id('turn', turn)}", hint="Use the id that pmm_turn_begin returned."
        )
    return found


def read_result(tx: Transaction, turn: int, *, include_events: bool = False) -> TurnResult:
    """Return what came of a turn, read inside a write."""
    records = tx.ask(events.of_turn(turn))
    kinds = tx.ask(events.kinds_of(cited_events(records)))
    promises = {seq: tx.ask(commitments.text_of(seq)) for seq in closed_commitments(records)}
    result = result_of(
        records,
        kinds=kinds,
        promises=promises,
        secret=tx.ask(adoption.secret()),
        adoption=tx.ask(adoption.totals_of(guiding_items(records))),
        include_events=include_events,
    )
    return result.model_copy(update={"head": tx.next_seq - 1})


def note_use(tx: Transaction, turn: int, reply: str, speaker: Speaker) -> None:
    """Record that a reply used the governed items it cites, of those its context showed."""
    records = tx.ask(events.of_turn(turn))
    shown = guiding_items(records)
    if not shown:
        return
    items = tx.ask(knowledge.at(shown))
    context = read_result(tx, turn).context
    for seq in shown:
        item = items.get(seq)
        if item is None or re.search(rf"\b{item.id}\b", reply) is None:
            continue
        used = AdoptionRecorded(
            track=Track.RUNTIME_ADOPTION,
            signal=Signal.USED,
            feature="turn",
            item=seq,
            context=None if context is None else context.context_id,
            is_ours=context is not None,
        )
        tx.append(speaker.draft(used, runtime=True))


def selection_of(pack: Pack, *, tokens: int) -> RetrievalSelection:
    """Return the event that records what was shown."""
    return RetrievalSelection(
        watermark=max(1, pack.head),
        selected=tuple(map(_selected, pack.found)),
        passed_over=tuple(map(_selected, pack.passed_over)),
        ranking=RANKING_VERSION,
        vectors=pack.vectors,
        pairs=tuple(seq for pair in pack.pairs for seq in (pair.turn, pair.terminal)),
        commitments=tuple(commitment.commitment for commitment in pack.commitments),
        guidance=tuple(advice.seq for advice in pack.guidance.advice),
        tokens=tokens,
    )


def _selected(hit: Found) -> Selected:
    return Selected(doc=hit.doc, score=hit.score, **hit.steps)
