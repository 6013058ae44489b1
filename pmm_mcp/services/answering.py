"""Asking a model: what it is shown, what it says, and how that is put on record."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from pmm_mcp.context.pack import Pack, document_id
from pmm_mcp.context.quoting import tokens_of
from pmm_mcp.context.render import render
from pmm_mcp.context.select import Selector
from pmm_mcp.domain.admission import TEXT_BYTES_MAX, Admitted
from pmm_mcp.domain.control_lines import Parsed
from pmm_mcp.domain.errors import LedgerBusyError, PmmError, SecretRefusedError, TooLargeError
from pmm_mcp.domain.events.turn import AssistantMessage, GenerationFailure, TurnMetrics
from pmm_mcp.domain.names import as_name
from pmm_mcp.domain.records import Actor, Call
from pmm_mcp.ports import ChatModel, Clock, Ledger, ModelReply, OtherLedgers, Prompt, Transaction
from pmm_mcp.services.boundary import ON_THE_LOOP_CHARS_MAX, Boundary
from pmm_mcp.turn.effects import references
from pmm_mcp.turn.ending import Answered, Ending, Unanswered, open_turn, selection_of
from pmm_mcp.turn.parse import parse
from pmm_mcp.turn.prompt import system_prompt
from pmm_mcp.turn.recovery import interruption

_NOTHING_SAID: Final = Parsed(visible="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """Gets a turn its reply. No lease is held while a model thinks."""

    ledger: Ledger
    selector: Selector
    boundary: Boundary
    others: OtherLedgers
    clock: Clock
    deadline_s: float

    async def answer(self, turn: int, prompt: str, chat: ChatModel, budget: int, call: Call) -> None:
        """Select what to show, ask the model, and write the end of the turn: its reply, or how it failed."""
        try:
            async with self.ledger.reader.view() as view:
                pack = await self.selector.select(
                    view, prompt, place=call.place, conversation=call.conversation, before=turn
                )
            context = render(pack)
            system = system_prompt(context)
            started = self.clock.monotonic()
            asked = Prompt(system=system, user=prompt, budget_tokens=budget, quotable=_quotable(pack))
            reply = await chat.ask(asked)
            spent_ms = max(0, round((self.clock.monotonic() - started) * 1_000))
            ending = Ending(
                turn=turn,
                said=await self._said(reply, chat, pack, spent_ms),
                model=_speaking(chat.name, call),
                runtime=runtime_of(call),
                selection=selection_of(pack, tokens=tokens_of(context)),
                metrics=TurnMetrics(
                    model_ms=spent_ms,
                    prompt_tokens=reply.prompt_tokens,
                    system_tokens=tokens_of(system),
                    reply_tokens=reply.reply_tokens,
                ),
            )
            await self._end(ending, call)
        except BaseException as error:
            reason = "cancelled" if isinstance(error, asyncio.CancelledError) else "internal"
            with suppress(PmmError):
                await asyncio.shield(self.interrupt(turn, reason, call))
            raise

    async def _end(self, ending: Ending, call: Call) -> None:
        """Write the end of a turn; a reply is dear, so its words are kept even where its effects cannot be.

        While the ledger is busy, as during an import, it is tried again until the turn's deadline.
        """
        until = self.clock.monotonic() + self.deadline_s
        while True:
            try:
                await self.ledger.write(ending.write, call=_unkeyed(call))
                return
            except LedgerBusyError as busy:
                if self.clock.monotonic() >= until:
                    raise
                await asyncio.sleep((busy.retry_after_ms or 0) / 1_000)
            except PmmError as error:
                if isinstance(ending.said, Unanswered):
                    raise
                ending = replace(ending, said=_without_effects(ending.said, reason=error.code))

    async def _said(
        self, reply: ModelReply, chat: ChatModel, pack: Pack, spent_ms: int
    ) -> Answered | Unanswered:
        label = as_name(chat.name, otherwise="model")
        try:
            text = await self.boundary.admit(reply.text, field="reply")
        except TooLargeError:
            head = reply.text.encode("utf-8", "replace")[:TEXT_BYTES_MAX].decode("utf-8", "ignore")
            cut_off = replace(reply, status="truncated", reason="too_large", text=head)
            return await self._said(cut_off, chat, pack, spent_ms)
        except SecretRefusedError:
            return Unanswered(
                event=GenerationFailure(
                    status="indeterminate", reason="secret_refused", model=label, latency_ms=spent_ms
                )
            )
        if reply.status == "complete" and text.value.strip():
            event = AssistantMessage(model=label, quotation=reply.quotation, latency_ms=spent_ms)
            return await self.read(event, text, shown=pack.shown, quotation=reply.quotation)
        status = "empty" if reply.status == "complete" else reply.status
        return Unanswered(
            event=GenerationFailure(
                status=status,
                reason=reply.reason or status,
                category=reply.category or None,
                model=label,
                size_bytes=len(text.value.encode()),
                latency_ms=spent_ms,
            ),
            partial=text,
        )

    async def read(
        self, event: AssistantMessage, reply: Admitted, *, shown: frozenset[int], quotation: bool
    ) -> Answered:
        """Return a reply, read; a quotation has no effects, whatever it holds."""
        if quotation:
            return Answered(event=event, reply=reply, parsed=_NOTHING_SAID)
        if len(reply.value) > ON_THE_LOOP_CHARS_MAX:
            parsed = await asyncio.to_thread(parse, reply.value)
        else:
            parsed = parse(reply.value)
        return Answered(
            event=event,
            reply=reply,
            parsed=parsed,
            shown=shown,
            hashes=await self._hashes(parsed),
            secrets=self.boundary.secrets,
        )

    async def _hashes(self, parsed: Parsed) -> Mapping[tuple[str, int], str]:
        found = {target: await self.others.hash_of(*target) for target in references(parsed)}
        return {target: digest for target, digest in found.items() if digest is not None}

    async def interrupt(self, turn: int, reason: str, call: Call) -> None:
        """Close a turn that will get no reply, if it is still open."""

        def work(tx: Transaction) -> None:
            found = open_turn(tx, turn)
            if found.status == "open":
                tx.append(interruption(found, reason=reason, session=call.actor.session))

        await self.ledger.write(work, call=_unkeyed(call))


def _without_effects(said: Answered, *, reason: str) -> Unanswered:
    event = GenerationFailure(
        status="indeterminate",
        reason=reason,
        model=said.event.model,
        size_bytes=len(said.reply.value.encode()),
        latency_ms=said.event.latency_ms,
    )
    return Unanswered(event=event, partial=said.reply)


def _quotable(pack: Pack) -> list[tuple[str, str]]:
    return [(document_id(hit.kind, hit.doc), hit.passage) for hit in pack.found]


def _speaking(model: str, call: Call) -> Actor:
    return Actor(kind="model", name=as_name(model, otherwise="model"), session=call.actor.session)


def runtime_of(call: Call) -> Actor:
    """Return the part of the program that notes what becomes of a turn."""
    return Actor(kind="runtime", name="turn", session=call.actor.session)


def _unkeyed(call: Call) -> Call:
    """The request id belongs to the write that opened the turn, not to the one that ends it."""
    return Call(actor=call.actor, place=call.place, conversation=call.conversation)
