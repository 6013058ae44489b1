"""Adoption signals, one row each."""

from collections.abc import Iterator

from pmm_mcp.domain.events.adoption import AdoptionRecorded, RollbackResolved
from pmm_mcp.domain.records import Recorded
from pmm_mcp.projections.changes import INTEGER, TEXT, Change, Insert, Table, Update

VERSION = 1

ADOPTION = Table(
    name="adoption",
    key=("recorded",),
    columns={
        "recorded": INTEGER,
        "track": TEXT,
        "signal": TEXT,
        "feature": TEXT,
        "item": INTEGER,
        "context_id": TEXT,
        "is_ours": INTEGER,
        "session": TEXT,
        "is_human": INTEGER,
        "ts": TEXT,
        "resolved_at": INTEGER,
    },
    indexes=(("track", "recorded"), ("item", "signal"), ("context_id",)),
)

TABLES = (ADOPTION,)


def project(record: Recorded) -> Iterator[Change]:
    """Add a row for each signal; note when a reviewer resolved one."""
    match record.event:
        case AdoptionRecorded() as event:
            yield Insert(
                ADOPTION,
                {
                    "recorded": record.seq,
                    "track": event.track,
                    "signal": event.signal,
                    "feature": event.feature,
                    "item": event.item,
                    "context_id": event.context,
                    "is_ours": int(event.is_ours),
                    "session": record.actor.session,
                    "is_human": int(record.actor.kind == "human"),
                    "ts": record.ts,
                    "resolved_at": None,
                },
            )
        case RollbackResolved(rollback=rollback):
            yield Update(ADOPTION, {"recorded": rollback, "resolved_at": None}, {"resolved_at": record.seq})
        case _:
            return
