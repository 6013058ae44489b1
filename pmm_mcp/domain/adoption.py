"""Readiness: whether signals from enough different sessions say that something may be given more power.

One session cannot certify itself: signals count by distinct pairs of a session and a context that this
server handed out, from at least two sessions. The gates only report; nothing switches itself on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pmm_mcp.domain.events.adoption import Signal, Track

NEWEST_MAX: Final = 10_000
SESSIONS_MIN: Final = 2
ROLLBACK_FACTOR: Final = 3
"""So many times the minimum of newer signals, from other sessions, outweigh a rollback nobody resolved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessRule:
    """What a gate asks for."""

    track: Track
    signal: Signal
    minimum: int
    blockers: tuple[Signal, ...]
    accepted_outweighs_rejected: bool = False


READINESS: Final[Mapping[str, ReadinessRule]] = {
    "card-context-default": ReadinessRule(
        track=Track.CARD_CONTEXT,
        signal=Signal.ACCEPTED,
        minimum=3,
        blockers=(Signal.ROLLBACK,),
        accepted_outweighs_rejected=True,
    ),
    "card-embeddings": ReadinessRule(
        track=Track.CARD_EMBEDDING, signal=Signal.MISS, minimum=3, blockers=(Signal.ROLLBACK,)
    ),
    "evaluator-api": ReadinessRule(
        track=Track.EVALUATOR,
        signal=Signal.ACCEPTED,
        minimum=3,
        blockers=(Signal.ROLLBACK, Signal.CONTRADICTION),
    ),
    "research-adapter": ReadinessRule(
        track=Track.RESEARCH_ADAPTER,
        signal=Signal.ACCEPTED,
        minimum=1,
        blockers=(Signal.CONTRADICTION, Signal.ROLLBACK),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A signal as readiness counts it. Without a context of ours it counts for nothing."""

    seq: int
    signal: Signal
    session: str
    context: str | None
    is_ours: bool
    is_from_command_line: bool
    is_resolved: bool = False

    @property
    def pair(self) -> tuple[str, str] | None:
        """What makes it distinct; None where it does not count."""
        if self.context is None or not self.is_ours or self.is_from_command_line:
            return None
        return self.session, self.context


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """What a gate says, with every reason and what is missing."""

    ready: bool
    reasons: tuple[str, ...]
    missing: tuple[str, ...]


def judge_readiness(rule: ReadinessRule, signals: Sequence[Said]) -> Readiness:
    """Return what a gate says to the signals of its track, oldest first."""
    counted = distinct(signals, rule.signal)
    sessions = {session for session, _ in counted}
    reasons: list[str] = []
    missing: list[str] = []
    if len(counted) < rule.minimum:
        reasons.append(f"{len(counted)} of {rule.minimum} {rule.signal}, by session and context")
        missing.append(
            f"{rule.minimum - len(counted)} {rule.signal} from contexts of their own (pass the context_id)"
        )
    if len(sessions) < SESSIONS_MIN:
        reasons.append(f"{len(sessions)} of {SESSIONS_MIN} sessions")
        missing.append(f"{rule.signal} from another session: another server process, or another day")
    if rule.accepted_outweighs_rejected:
        rejected = len(distinct(signals, Signal.REJECTED))
        if rejected > len(counted):
            reasons.append(f"{rejected} rejected, {len(counted)} accepted")
            missing.append("more accepted than rejected")
    for blocker in rule.blockers:
        if standing := [one for one in signals if one.signal is blocker and not _is_over(one, rule, signals)]:
            reasons.append(f"{len(standing)} {blocker}, the last at event {standing[-1].seq}")
            missing.append(
                f"each {blocker} resolved by a reviewer (pmm-mcp adoption resolve), or outweighed by "
                f"{ROLLBACK_FACTOR * rule.minimum} newer {rule.signal} from other sessions"
            )
    return Readiness(ready=not reasons, reasons=tuple(reasons), missing=tuple(missing))


def distinct(signals: Sequence[Said], signal: Signal) -> frozenset[tuple[str, str]]:
    """Return the distinct pairs of session and context that said something."""
    return frozenset(one.pair for one in signals if one.signal is signal and one.pair is not None)


def _is_over(blocker: Said, rule: ReadinessRule, signals: Sequence[Said]) -> bool:
    """Say whether a rollback no longer stands; a contradiction ends only by a reviewer, or as one."""
    if blocker.is_resolved:
        return True
    newer = [one for one in signals if one.seq > blocker.seq and one.session != blocker.session]
    return len(distinct(newer, rule.signal)) >= ROLLBACK_FACTOR * rule.minimum
