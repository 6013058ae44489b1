"""What a reply does: its candidates decided against the ledger, inside the write that records the reply.

Each function asks what it needs, appends what follows, and notes what does not. The order is that of
the page: claims, commitments opened, commitments closed, references, reflections.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from pmm_mcp.domain import commitments as same_promise
from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.anchors import Anchor
from pmm_mcp.domain.claims import Claim, ClaimProblem, check_claim, read_claim
from pmm_mcp.domain.control_lines import ClaimLine, Close, Commit, Parsed, Reference, Reflect, Rejected
from pmm_mcp.domain.events import Event
from pmm_mcp.domain.events.memory import EvidenceRecorded
from pmm_mcp.domain.events.mind import (
    ClaimAccepted,
    CommitmentClosed,
    CommitmentOpened,
    LedgerReferenced,
    Reflection,
)
from pmm_mcp.domain.events.turn import ValidationFailure
from pmm_mcp.domain.ids import parse_id
from pmm_mcp.domain.records import Actor, Draft, Recorded
from pmm_mcp.ports import Transaction
from pmm_mcp.queries import claims, commitments, events
from pmm_mcp.queries.turns import Turn

_BECOME_EVIDENCE = frozenset(("fact", "decision"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """Who speaks in which turn: what every effect of a reply is attributed to."""

    turn: Turn
    model: Actor
    runtime: Actor

    def draft(
        self, event: Event, texts: Mapping[str, Admitted] | None = None, *, runtime: bool = False
    ) -> Draft:
        """Return the event as part of the turn, said by the model or noted by the runtime."""
        return Draft(
            event,
            texts or {},
            turn=self.turn.turn,
            actor=self.runtime if runtime else self.model,
            anchor=Anchor(self.turn.anchor),
            conversation=self.turn.conversation,
        )


@dataclass(slots=True)
class _Effects:
    tx: Transaction
    speaker: Speaker
    shown: frozenset[int]
    hashes: Mapping[tuple[str, int], str]
    failures: list[Rejected] = field(default_factory=list)

    def append(self, event: Event, texts: Mapping[str, str] | None = None) -> Recorded:
        """Append an effect; its texts are parts of the reply, which was admitted whole."""
        (record,) = self.tx.append(self.speaker.draft(event, _admitted(texts or {})))
        return record

    def fail(self, line: int, reason: str, text: str, detail: str) -> None:
        self.failures.append(Rejected(line, reason, text, detail))


def apply_reply(
    tx: Transaction,
    parsed: Parsed,
    *,
    speaker: Speaker,
    shown: frozenset[int],
    hashes: Mapping[tuple[str, int], str],
) -> None:
    """Append every effect of a reply, then a `validation_failure` for each line that has none.

    `shown` holds the events this turn may cite; `hashes` those of the referenced events that were found.
    """
    effects = _Effects(tx, speaker, shown | {speaker.turn.turn}, hashes, list(parsed.rejected))
    for kind, apply in (
        (ClaimLine, _claim),
        (Commit, _commit),
        (Close, _close),
        (Reference, _refer),
        (Reflect, _reflect),
    ):
        for candidate in parsed.candidates:
            if isinstance(candidate, kind):
                apply(effects, candidate)  # type: ignore[arg-type]  # paired in the table above
    for failure in sorted(effects.failures, key=lambda failure: failure.line):
        event = ValidationFailure(reason=failure.reason, line=failure.line)
        texts = {"line": failure.text, "detail": failure.detail}
        tx.append(speaker.draft(event, _admitted(texts), runtime=True))


def _claim(effects: _Effects, candidate: ClaimLine) -> None:
    claim = read_claim(candidate.type, candidate.payload)
    problem = claim if isinstance(claim, ClaimProblem) else _objection(effects, claim)
    if problem is not None:
        effects.fail(candidate.line, problem.reason, candidate.raw, problem.detail)
        return
    assert isinstance(claim, Claim)  # noqa: S101 - a problem has returned above
    record = effects.append(
        ClaimAccepted(
            type=claim.type,
            domain=claim.domain,
            evidence=tuple(sorted({*claim.evidence, *claim.cited})),
            contradicts=_contradicted(effects, claim, candidate.payload),
        ),
        {"subject": claim.subject, "payload": candidate.raw},
    )
    if claim.type in _BECOME_EVIDENCE:
        source = f"turn:{effects.speaker.turn.turn}"
        effects.append(
            EvidenceRecorded(source_event=record.seq),
            {"content": _sentence(claim, candidate.payload), "source": source},
        )


def _objection(effects: _Effects, claim: Claim) -> ClaimProblem | None:
    def known(seq: int) -> bool:
        return effects.tx.ask(events.by_seq(seq)) is not None

    def status(target: str) -> str | None:
        found = _commitment(effects.tx, target)
        return None if found is None else found.status

    return check_claim(claim, shown=effects.shown, known=known, commitment_status=status)


def _contradicted(effects: _Effects, claim: Claim, payload: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the last claim of the same kind about the same subject, if it says otherwise."""
    if "value" not in payload:
        return ()
    last = effects.tx.ask(
        claims.latest(
            type=claim.type, domain=claim.domain, subject=claim.subject, anchor=effects.speaker.turn.anchor
        )
    )
    if last is None or last.payload is None:
        return ()
    try:
        says = orjson.loads(last.payload)
    except ValueError:  # numbers beyond what this reader takes
        return ()
    return () if isinstance(says, dict) and says.get("value") == payload["value"] else (last.claim,)


def _commit(effects: _Effects, candidate: Commit) -> None:
    identity = same_promise.identity(candidate.text)
    if effects.tx.ask(commitments.open_like(identity, anchor=effects.speaker.turn.anchor)) is None:
        effects.append(CommitmentOpened(origin="model"), {"commitment": candidate.text})


def _close(effects: _Effects, candidate: Close) -> None:
    found = _commitment(effects.tx, candidate.target)
    if found is None or found.status != "open":
        detail = "there is no such commitment" if found is None else "it is closed already"
        effects.fail(candidate.line, "UNKNOWN_COMMITMENT", candidate.target, detail)
        return
    texts = {"outcome": candidate.outcome} if candidate.outcome else {}
    effects.append(CommitmentClosed(commitment=found.commitment, origin="model"), texts)


def _refer(effects: _Effects, candidate: Reference) -> None:
    target = effects.hashes.get((candidate.ledger, candidate.seq))
    event = LedgerReferenced(target=candidate.seq, verified=target is not None, target_hash=target)
    effects.append(event, {"ledger": candidate.ledger})


def _reflect(effects: _Effects, candidate: Reflect) -> None:
    if candidate.payload:
        effects.append(Reflection(origin="model"), {"reflection": candidate.raw})


def _commitment(tx: Transaction, target: str) -> commitments.Commitment | None:
    if target.startswith("co:"):
        return tx.ask(commitments.by_seq(parse_id(target, "co")[1]))
    return tx.ask(commitments.by_cid(target))


def _admitted(texts: Mapping[str, str]) -> Mapping[str, Admitted]:
    return {name: Admitted(text) for name, text in texts.items()}


def _sentence(claim: Claim, payload: Mapping[str, Any]) -> str:
    """Return what a claim says in words: its own text, else subject and value."""
    text = payload.get("text")
    if isinstance(text, str) and text.strip():
        return text.strip()
    value = payload["value"]
    return f"{claim.subject}: {value if isinstance(value, str) else _json(value)}"


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # integers beyond 64 bits
        return repr(value)


def references(parsed: Parsed) -> Sequence[tuple[str, int]]:
    """Return the events of ledgers that a reply refers to, each once."""
    found = (candidate for candidate in parsed.candidates if isinstance(candidate, Reference))
    return tuple(dict.fromkeys((reference.ledger, reference.seq) for reference in found))
