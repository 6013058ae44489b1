"""Commitments: what was promised, and the intervals during which each was open or closed."""

from collections.abc import Iterator

from pmm_mcp.domain.commitments import identity, short_id
from pmm_mcp.domain.events.ledger import TextRedacted
from pmm_mcp.domain.events.mind import CommitmentClosed, CommitmentOpened
from pmm_mcp.domain.records import Recorded
from pmm_mcp.projections.changes import INTEGER, TEXT, Change, Insert, Table, Update

VERSION = 1

COMMITMENTS = Table(
    name="commitments",
    key=("commitment",),
    columns={
        "commitment": INTEGER,
        "text": TEXT,
        "identity": TEXT,
        "cid": TEXT,
        "anchor": TEXT,
        "turn": INTEGER,
        "origin": TEXT,
        "opened_at": TEXT,
    },
    indexes=(("identity",), ("cid",)),
)
COMMITMENT_STATES = Table(
    name="commitment_states",
    key=("commitment", "from_seq"),
    columns={
        "commitment": INTEGER,
        "from_seq": INTEGER,
        "to_seq": INTEGER,
        "status": TEXT,
        "outcome": TEXT,
    },
    indexes=(("status", "to_seq", "commitment"),),
)
"""A row holds from `from_seq` up to, but not at, `to_seq`; a null `to_seq` is now."""

TABLES = (COMMITMENTS, COMMITMENT_STATES)


def project(record: Recorded) -> Iterator[Change]:
    """Follow each commitment from its opening to its close."""
    match record.event:
        case CommitmentOpened() as event:
            text = record.texts["commitment"]
            yield Insert(
                COMMITMENTS,
                {
                    "commitment": record.seq,
                    "text": text,
                    "identity": identity(text) if text is not None else None,
                    "cid": short_id(text) if text is not None else None,
                    "anchor": record.anchor,
                    "turn": record.turn,
                    "origin": event.origin,
                    "opened_at": record.ts,
                },
            )
            yield Insert(COMMITMENT_STATES, _state(record.seq, record.seq, "open", None))
        case CommitmentClosed() as event:
            current = {"commitment": event.commitment, "to_seq": None}
            yield Update(COMMITMENT_STATES, current, {"to_seq": record.seq})
            outcome = record.texts.get("outcome")
            yield Insert(COMMITMENT_STATES, _state(event.commitment, record.seq, "closed", outcome))
        case TextRedacted(target=target, field="commitment"):
            removed = {"text": None, "identity": None, "cid": None}
            yield Update(COMMITMENTS, {"commitment": target}, removed)
        case TextRedacted(target=target, field="outcome"):
            yield Update(COMMITMENT_STATES, {"from_seq": target}, {"outcome": None})
        case _:
            return


def _state(commitment: int, from_seq: int, status: str, outcome: str | None) -> dict[str, int | str | None]:
    return {
        "commitment": commitment,
        "from_seq": from_seq,
        "to_seq": None,
        "status": status,
        "outcome": outcome,
    }
