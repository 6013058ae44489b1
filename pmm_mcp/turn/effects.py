"""What a reply does: its candidates decided against the ledger, inside the write that records the reply.

Each function asks what it needs, appends what follows, and notes what does not. The order is that of
the page: claims, commitments opened, commitments closed, references, reflections.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pmm_mcp.domain import commitments as same_promise
from pmm_mcp.domain.admission import Admitted, SecretsMode, admit
from pmm_mcp.domain.anchors import Anchor
from pmm_mcp.domain.claims import Claim, ClaimProblem, check_claim, read_claim
from pmm_mcp.domain.control_lines import (
    REJECTED_CHARS_MAX,
    ClaimLine,
    Close,
    Commit,
    Parsed,
    Reference,
    Reflect,
    Rejected,
)
from pmm_mcp.domain.errors import TooLargeError
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

CONTRADICTIONS_MAX: Final = 10
"""How many earlier claims about a subject are looked at."""

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
    secrets: SecretsMode
    failures: list[Rejected] = field(default_factory=list)

    def append(self, event: Event, texts: Mapping[str, Admitted] | None = None) -> Recorded:
        (record,) = self.tx.append(self.speaker.draft(event, texts or {}))
        return record

    def fail(self, line: int, reason: str, text: str, detail: str) -> None:
        self.failures.append(Rejected(line, reason, text[:REJECTED_CHARS_MAX], detail))

    def decoded(self, text: str) -> Admitted:
        """Admit a text that JSON may have spelled with escapes, which the reply's own admission saw through.

        Raises:
            TooLargeError: it is longer than the ledger keeps.

        """
        masking = self.secrets is not SecretsMode.ALLOW
        return admit(text, secrets=SecretsMode.MASK if masking else SecretsMode.ALLOW)


def apply_reply(
    tx: Transaction,
    parsed: Parsed,
    *,
    speaker: Speaker,
    shown: frozenset[int],
    hashes: Mapping[tuple[str, int], str],
    secrets: SecretsMode = SecretsMode.MASK,
) -> None:
    """Append every effect of a reply, then a `validation_failure` for each line that has none.

    `shown` holds the events this turn may cite; `hashes` those of the referenced events that were found.
    """
    effects = _Effects(tx, speaker, shown | {speaker.turn.turn}, hashes, secrets, list(parsed.rejected))
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
        texts = {"line": Admitted(failure.text), "detail": effects.decoded(failure.detail)}
        tx.append(speaker.draft(event, texts, runtime=True))


def _claim(effects: _Effects, candidate: ClaimLine) -> None:
    claim = read_claim(candidate.type, candidate.payload)
    problem = claim if isinstance(claim, ClaimProblem) else _accept(effects, claim, candidate)
    if problem is not None:
        line = f"CLAIM:{candidate.type}={candidate.raw}"
        effects.fail(candidate.line, problem.reason, line, problem.detail)


def _accept(effects: _Effects, claim: Claim, candidate: ClaimLine) -> ClaimProblem | None:
    """Append the claim and the evidence it becomes, or return what is against that."""
    content: Admitted | None = None
    if problem := _objection(effects, claim):
        return problem
    if claim.type in _BECOME_EVIDENCE:
        try:
            content = effects.decoded(_sentence(claim, candidate.payload))
        except TooLargeError as error:
            return ClaimProblem("INVALID_CLAIM_SHAPE", str(error))
    record = effects.append(
        ClaimAccepted(
            type=claim.type,
            domain=claim.domain,
            evidence=tuple(sorted({*claim.evidence, *claim.cited})),
            contradicts=_contradicted(effects, claim, candidate.payload),
        ),
        {"subject": effects.decoded(claim.subject), "payload": Admitted(candidate.raw)},
    )
    if content is not None:
        source = Admitted(f"turn:{effects.speaker.turn.turn}")
        effects.append(EvidenceRecorded(source_event=record.seq), {"content": content, "source": source})
    return None


def _objection(effects: _Effects, claim: Claim) -> ClaimProblem | None:
    def known(seq: int) -> bool:
        return effects.tx.ask(events.by_seq(seq)) is not None

    def status(target: str) -> str | None:
        found = _commitment(effects, target)
        return None if found is None else found.status

    return check_claim(claim, shown=effects.shown, known=known, commitment_status=status)


def _contradicted(effects: _Effects, claim: Claim, payload: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the claims about the same subject that say otherwise."""
    if "value" not in payload:
        return ()
    earlier = effects.tx.ask(
        claims.about(
            domain=claim.domain,
            subject=claim.subject,
            anchor=effects.speaker.turn.anchor,
            limit=CONTRADICTIONS_MAX,
        )
    )
    # Compared as JSON: in Python, true is 1.
    ours = _json(payload["value"])
    return tuple(sorted(one.claim for one in earlier if _value(one.payload) not in (None, ours)))


def _value(payload: str | None) -> str | None:
    """Return the value that an accepted claim gives, as JSON; None when it gives none."""
    try:
        said = json.loads(payload or "null")
    except ValueError:  # An import keeps what came.
        return None
    return _json(said["value"]) if isinstance(said, dict) and "value" in said else None


def _commit(effects: _Effects, candidate: Commit) -> None:
    identity = same_promise.identity(candidate.text)
    if effects.tx.ask(commitments.open_like(identity, anchor=effects.speaker.turn.anchor)) is None:
        effects.append(CommitmentOpened(origin="model"), {"commitment": Admitted(candidate.text)})


def _close(effects: _Effects, candidate: Close) -> None:
    found = _commitment(effects, candidate.target)
    if found is None or found.status != "open":
        detail = "there is no such commitment" if found is None else "it is closed already"
        outcome = f" = {candidate.outcome}" if candidate.outcome else ""
        effects.fail(candidate.line, "UNKNOWN_COMMITMENT", f"CLOSE: {candidate.target}{outcome}", detail)
        return
    texts = {"outcome": Admitted(candidate.outcome)} if candidate.outcome else {}
    effects.append(CommitmentClosed(commitment=found.commitment, origin="model"), texts)


def _refer(effects: _Effects, candidate: Reference) -> None:
    target = effects.hashes.get((candidate.ledger, candidate.seq))
    event = LedgerReferenced(target=candidate.seq, verified=target is not None, target_hash=target)
    effects.append(event, {"ledger": Admitted(candidate.ledger)})


def _reflect(effects: _Effects, candidate: Reflect) -> None:
    if candidate.payload:
        effects.append(Reflection(origin="model"), {"reflection": Admitted(candidate.raw)})


def _commitment(effects: _Effects, target: str) -> commitments.Commitment | None:
    """Return a promise made at this place or shown in this turn; those of other projects are none of ours."""
    here = effects.speaker.turn.anchor
    if target.startswith("co:"):
        found = effects.tx.ask(commitments.by_seq(parse_id(target, "co")[1]))
    else:
        found = effects.tx.ask(commitments.by_cid(target, anchor=here))
    ours = found is not None and (found.anchor == here or found.commitment in effects.shown)
    return found if ours else None


def _sentence(claim: Claim, payload: Mapping[str, Any]) -> str:
    """Return what a claim says in words: its own text, else subject and value."""
    text = payload.get("text")
    if isinstance(text, str) and text.strip():
        return text.strip()
    value = payload["value"]
    return f"{claim.subject}: {value if isinstance(value, str) else _json(value)}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def references(parsed: Parsed) -> Sequence[tuple[str, int]]:
    """Return the events of ledgers that a reply refers to, each once."""
    found = (candidate for candidate in parsed.candidates if isinstance(candidate, Reference))
    return tuple(dict.fromkeys((reference.ledger, reference.seq) for reference in found))
