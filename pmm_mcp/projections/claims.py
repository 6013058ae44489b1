"""Claims that passed the rules of their type."""

from collections.abc import Iterator

from pmm_mcp.domain.events.ledger import TextRedacted
from pmm_mcp.domain.events.mind import ClaimAccepted
from pmm_mcp.domain.records import Recorded
from pmm_mcp.projections.changes import INTEGER, TEXT, Change, Insert, Table, Update

VERSION = 1

CLAIMS = Table(
    name="claims",
    key=("claim",),
    columns={
        "claim": INTEGER,
        "type": TEXT,
        "domain": TEXT,
        "subject": TEXT,
        "payload": TEXT,
        "anchor": TEXT,
        "turn": INTEGER,
        "claimed_at": TEXT,
    },
    indexes=(("domain", "subject", "claim"),),
)

TABLES = (CLAIMS,)


def project(record: Recorded) -> Iterator[Change]:
    """Add a row for each claim; a removed text leaves the row without its words."""
    match record.event:
        case ClaimAccepted() as event:
            yield Insert(
                CLAIMS,
                {
                    "claim": record.seq,
                    "type": event.type,
                    "domain": event.domain,
                    "subject": record.texts.get("subject"),
                    "payload": record.texts.get("payload"),
                    "anchor": record.anchor,
                    "turn": record.turn,
                    "claimed_at": record.ts,
                },
            )
        case TextRedacted(target=target, field="subject" | "payload" as field):
            yield Update(CLAIMS, {"claim": target}, {field: None})
        case _:
            return
