"""Turns: a prompt answered by a model of ours, or by the calling agent itself."""

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from pmm_mcp.context.fit import fitted
from pmm_mcp.context.pack import Pack, context_id
from pmm_mcp.context.quoting import tokens_of
from pmm_mcp.context.select import Selector
from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.errors import (
    InvalidArgumentError,
    NotFoundError,
    RequestIdConflictError,
    TurnClosedError,
)
from pmm_mcp.domain.events.turn import AssistantMessage, GenerationFailure, UserMessage
from pmm_mcp.domain.ids import parse_id, public_id
from pmm_mcp.domain.names import as_name
from pmm_mcp.domain.records import Call, Draft, Recorded
from pmm_mcp.domain.sizes import cut
from pmm_mcp.domain.times import timestamp
from pmm_mcp.ports import ChatModel, ChatModels, Clock, Ledger, OtherLedgers, Transaction
from pmm_mcp.queries import adoption, commitments, events, turns
from pmm_mcp.services.answering import Answering, runtime_of
from pmm_mcp.services.boundary import Boundary
from pmm_mcp.services.results import Result
from pmm_mcp.services.running import RunningTurns
from pmm_mcp.turn.ending import Answered, Ending, Unanswered, read_result, selection_of
from pmm_mcp.turn.outcome import (
    TurnResult,
    citable,
    cited_events,
    closed_commitments,
    guiding_items,
    result_of,
)
from pmm_mcp.turn.prompt import PRIMER, PROTOCOL

__all__ = ["PROTOCOL", "BegunTurn", "TurnResult", "TurnService", "TurnSettings"]

DEADLINE_S_MAX: Final = 86_400
OUTPUT_TOKENS_MAX: Final = 32_768
USER_BYTES: Final = 1_000
CONTEXT_BYTES: Final = 5_400


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSettings:
    """How long things may take, and how much a model may write."""

    patience_s: float = 45.0
    """How long a call waits before it is told that its turn is still running."""
    deadline_s: float = 600.0
    output_tokens: int = 2_048


class BegunTurn(Result):
    """A turn the caller answers by itself: think with these, then call pmm_turn_finish."""

    turn: str
    system: str
    context: str
    user: str
    deadline: str
    context_id: str = ""


@dataclass(frozen=True, slots=True)
class _Opened:
    turn: int
    repeated: bool = False


@dataclass(slots=True)
class TurnService:
    """Runs turns. One instance a process; `aclose` ends what is still running."""

    ledger: Ledger
    selector: Selector
    models: ChatModels
    boundary: Boundary
    others: OtherLedgers
    clock: Clock
    settings: TurnSettings = field(default_factory=TurnSettings)
    _running: RunningTurns = field(default_factory=RunningTurns)
    _answering: Answering = field(init=False)

    def __post_init__(self) -> None:
        """Put together what asks a model."""
        self._answering = Answering(
            ledger=self.ledger,
            selector=self.selector,
            boundary=self.boundary,
            others=self.others,
            clock=self.clock,
            deadline_s=self.settings.deadline_s,
        )

    async def run(
        self,
        prompt: str,
        *,
        call: Call,
        model: str = "",
        output_tokens: int = 0,
        include_events: bool = False,
    ) -> TurnResult:
        """Answer one prompt. It is on record before the model hears it; the reply is, with its effects.

        Raises:
            InvalidArgumentError: the prompt is empty, or the budget is not allowed.
            ModelUnavailableError: the model cannot be used here; nothing was written.

        """
        if not 0 <= output_tokens <= OUTPUT_TOKENS_MAX:
            raise InvalidArgumentError(
                f"output_budget_tokens: {output_tokens} is not allowed",
                hint=f"It is a number from 1 to {OUTPUT_TOKENS_MAX}; 0 takes the default.",
            )
        chat = self.models.get(model)
        admitted = await self._prompt(prompt)
        opened = await self._open(admitted, chat, call)
        if not opened.repeated:
            budget = output_tokens or self.settings.output_tokens
            self._running.start(
                opened.turn,
                self._answering.answer(opened.turn, admitted.value, chat, budget, call),
                interrupt=partial(self._answering.interrupt, opened.turn, "cancelled", call),
            )
        has_ended = await self._running.wait_for(opened.turn, patience_s=self.settings.patience_s)
        result = await self.result(opened.turn, include_events=include_events)
        return self._noticed(result, chat, is_running=not has_ended, is_repeated=opened.repeated)

    async def begin(self, prompt: str, *, call: Call, deadline_s: int = 3_600) -> BegunTurn:
        """Open a turn that the caller answers, and give it what a model would be given.

        Raises:
            InvalidArgumentError: the prompt is empty, or the deadline is not allowed.

        """
        if not 1 <= deadline_s <= DEADLINE_S_MAX:
            raise InvalidArgumentError(
                f"deadline_s: {deadline_s} is not allowed", hint=f"It is a number from 1 to {DEADLINE_S_MAX}."
            )
        admitted = await self._prompt(prompt)
        pack, context = await self._context(admitted.value, call)
        runtime = runtime_of(call)

        def work(tx: Transaction) -> tuple[int, int, bool]:
            deadline_us = tx.now_us + deadline_s * 1_000_000
            (message,) = tx.append(Draft(UserMessage(deadline_us=deadline_us), {"prompt": admitted}))
            tx.append(Draft(selection_of(pack, tokens=tokens_of(context)), turn=message.seq, actor=runtime))
            return message.seq, deadline_us, False

        def again(tx: Transaction, recorded: Recorded) -> tuple[int, int, bool]:
            event = _same_prompt(recorded, admitted, call, model=None)
            return recorded.seq, event.deadline_us, True

        turn, deadline_us, repeated = await self.ledger.write(work, call=call, again=again)
        if repeated:
            pack, context = await self._context(admitted.value, call, before=turn)
        return BegunTurn(
            turn=public_id("turn", turn),
            system=f"{PRIMER}\n\n{PROTOCOL}",
            context=context,
            user=cut(admitted.value, bytes_max=USER_BYTES),
            deadline=timestamp(deadline_us),
            context_id=await self._context_id(pack),
            head=turn,
            repeated=repeated or None,
            notice=self.take_finished(),
        )

    async def finish(self, turn: str, reply: str, *, call: Call, model: str = "") -> TurnResult:
        """End a turn that was begun with the caller's own reply; its effects are decided and written.

        Finishing twice returns the first result.

        Raises:
            InvalidArgumentError: a model of ours answers this turn.
            NotFoundError: there is no such turn.
            TooLargeError: the reply is over 1 MiB; the turn stays open.
            TurnClosedError: the turn ended without this reply, which is kept and has no effects.

        """
        seq = parse_id(turn, "turn")[1]
        admitted = await self.boundary.admit(reply, field="reply")
        label = as_name(model, otherwise=call.actor.name)
        records = await self._records(seq)
        if getattr(records[0].event, "holder", None) is not None:
            raise InvalidArgumentError(
                f"{turn} is answered by the model it was put to", hint="Finish what pmm_turn_begin opened."
            )
        said: Answered | Unanswered
        if admitted.value.strip():
            said = await self._answering.read(
                AssistantMessage(model=label), admitted, shown=citable(records), quotation=False
            )
        else:
            said = Unanswered(event=GenerationFailure(status="empty", reason="empty_reply", model=label))
        ending = Ending(turn=seq, said=said, model=call.actor, runtime=runtime_of(call))

        def again(tx: Transaction, recorded: Recorded) -> TurnResult | None:
            if recorded.turn != seq or recorded.texts.get("reply", "") not in (admitted.value, None):
                raise RequestIdConflictError(recorded.request_id)
            if recorded.kind == "late_reply":
                return None
            return read_result(tx, seq).model_copy(update={"repeated": True})

        result = await self.ledger.write(ending.write, call=call, again=again)
        if result is None:
            raise TurnClosedError(
                f"{turn} has already ended; your reply was kept as a late reply, without effects",
                hint="Begin a new turn with pmm_turn_begin.",
            )
        return result

    async def result(
        self, turn: int, *, include_events: bool = False, until: int | None = None
    ) -> TurnResult:
        """Return what came of a turn so far, or by the event `until`.

        Raises:
            NotFoundError: there is no such turn.

        """
        records = [one for one in await self._records(turn) if until is None or one.seq <= until]
        async with self.ledger.reader.view() as view:
            kinds = await view.ask(events.kinds_of(cited_events(records)))
            promises = {seq: await view.ask(commitments.text_of(seq)) for seq in closed_commitments(records)}
            head = await view.ask(events.head())
            secret = await view.ask(adoption.secret())
            totals = await view.ask(adoption.totals_of(guiding_items(records)))
        result = result_of(
            records,
            kinds=kinds,
            promises=promises,
            secret=secret,
            adoption=totals,
            include_events=include_events,
        )
        return result.model_copy(update={"head": head})

    def take_finished(self) -> str | None:
        """Say, once, which turns that were handed back as running have ended since."""
        return self._running.take_finished()

    async def aclose(self) -> None:
        """Interrupt the turns that are still running, and wait until that is on record."""
        await self._running.aclose()

    async def _context(self, prompt: str, call: Call, *, before: int = 0) -> tuple[Pack, str]:
        """Return what a turn begun now, or at the seq `before`, shows; it fits into an answer."""
        async with self.ledger.reader.view() as view:
            pack = await self.selector.select(
                view,
                prompt,
                place=call.place,
                conversation=call.conversation,
                before=before or await view.ask(events.head()) + 1,
            )
        return fitted(pack, bytes_max=CONTEXT_BYTES)

    async def _context_id(self, pack: Pack) -> str:
        async with self.ledger.reader.view() as view:
            secret = await view.ask(adoption.secret())
        return context_id(head=pack.head, item_ids=pack.item_ids, secret=secret)

    # ------------------------------------------------------------------------------ asking a model

    async def _open(self, prompt: Admitted, chat: ChatModel, call: Call) -> _Opened:
        """Put the prompt on record; when the caller leaves meanwhile, the turn is closed behind it."""
        opening = asyncio.create_task(self._write_prompt(prompt, chat, call))

        async def close() -> None:
            opened = await opening
            if not opened.repeated:
                await self._answering.interrupt(opened.turn, "cancelled", call)

        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            self._running.later(close())
            raise

    async def _write_prompt(self, prompt: Admitted, chat: ChatModel, call: Call) -> _Opened:
        deadline_us = int(self.settings.deadline_s * 1_000_000)
        model = as_name(chat.name, otherwise="model")

        def work(tx: Transaction) -> _Opened:
            event = UserMessage(
                model=model,
                holder=tx.holder,
                deadline_us=tx.now_us + deadline_us,
            )
            (message,) = tx.append(Draft(event, {"prompt": prompt}))
            return _Opened(message.seq)

        def again(_tx: Transaction, recorded: Recorded) -> _Opened:
            _same_prompt(recorded, prompt, call, model=model)
            return _Opened(recorded.seq, repeated=True)

        return await self.ledger.write(work, call=call, again=again)

    # ------------------------------------------------------------------------------------ the rest

    async def _prompt(self, prompt: str) -> Admitted:
        admitted = await self.boundary.admit(prompt, field="prompt")
        if not admitted.value.strip():
            raise InvalidArgumentError("prompt is empty", hint="Say what the mind should answer.")
        return admitted

    async def _records(self, turn: int) -> tuple[Recorded, ...]:
        async with self.ledger.reader.view() as view:
            found = await view.ask(turns.by_seq(turn))
            if found is None:
                raise NotFoundError(
                    f"there is no {public_id('turn', turn)}", hint="Use the id that pmm_turn_begin returned."
                )
            return await view.ask(events.of_turn(turn))

    def _noticed(
        self, result: TurnResult, chat: ChatModel, *, is_running: bool, is_repeated: bool
    ) -> TurnResult:
        still = is_running and result.generation_status == "running"
        running = f'the model is still answering; ask pmm_get(id="{result.turn}") later' if still else None
        offline = (
            "no model is configured, so this quotes the ledger; set PMM_MCP_MODEL "
            "(such as openai:gpt-5.1 or ollama:llama3.2), or answer yourself with pmm_turn_begin"
            if chat.name.startswith("offline:")
            else None
        )
        notices = [notice for notice in (result.notice, running, offline, self.take_finished()) if notice]
        return result.model_copy(
            update={"notice": "; ".join(notices) or None, "repeated": is_repeated or None}
        )


def _same_prompt(recorded: Recorded, prompt: Admitted, call: Call, *, model: str | None) -> UserMessage:
    """Return how this prompt was put before, from the same place; `model` is None when the caller answers.

    Raises:
        RequestIdConflictError: what was recorded is another call.

    """
    event = recorded.event
    if (
        not isinstance(event, UserMessage)
        or recorded.texts["prompt"] not in (prompt.value, None)
        or (recorded.anchor, recorded.conversation) != (call.place.home, call.conversation)
        or (event.holder is not None, event.model) != (model is not None, model)
    ):
        raise RequestIdConflictError(recorded.request_id)
    return event
