"""Turns that were left open: by a process that is gone, or past their deadline."""

from typing import Final

from pmm_mcp.domain.anchors import Anchor
from pmm_mcp.domain.events.turn import GenerationFailure
from pmm_mcp.domain.records import Actor, Call, Draft
from pmm_mcp.ports import Transaction
from pmm_mcp.queries import turns

CLOSED_MAX: Final = 20
"""How many are closed with one write: they ride along with somebody else's, which must not grow too large."""


def close_abandoned(tx: Transaction, call: Call) -> None:
    """Close, exactly once, turns whose owner is dead or whose deadline has passed: a few with every write."""
    for turn in tx.ask(turns.perhaps_abandoned(now_us=tx.now_us, limit=CLOSED_MAX)):
        if turn.deadline_us <= tx.now_us:
            reason = "deadline_passed"
        elif turn.holder is not None and tx.is_dead(turn.holder):
            reason = "owner_died"
        else:
            continue
        tx.append(interruption(turn, reason=reason, session=call.actor.session))


def interruption(turn: turns.Turn, *, reason: str, session: str) -> Draft:
    """Return the end of a turn that got no reply."""
    return Draft(
        GenerationFailure(status="interrupted", reason=reason, model=turn.model),
        turn=turn.turn,
        actor=Actor(kind="runtime", name="recovery", session=session),
        anchor=Anchor(turn.anchor),
        conversation=turn.conversation,
    )
