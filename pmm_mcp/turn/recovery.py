"""Turns that were left open: by a process that is gone, or past their deadline."""

from pmm_mcp.domain.anchors import Anchor
from pmm_mcp.domain.events.turn import GenerationFailure
from pmm_mcp.domain.records import Actor, Call, Draft
from pmm_mcp.ports import Transaction
from pmm_mcp.queries import turns


def close_abandoned(tx: Transaction, call: Call) -> None:
    """Close, exactly once, every turn whose owner is dead or whose deadline has passed."""
    for turn in tx.ask(turns.unfinished()):
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
