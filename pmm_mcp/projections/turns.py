"""Turns: each prompt, and the one event that ended it."""

from collections.abc import Iterator

from pmm_mcp.domain.events.turn import AssistantMessage, GenerationFailure, UserMessage
from pmm_mcp.domain.records import Recorded
from pmm_mcp.projections.changes import INTEGER, TEXT, Change, Insert, Table, Update, Value

VERSION = 1

TURNS = Table(
    name="turns",
    key=("turn",),
    columns={
        "turn": INTEGER,
        "anchor": TEXT,
        "conversation": TEXT,
        "status": TEXT,
        "holder": TEXT,
        "deadline_us": INTEGER,
        "model": TEXT,
        "terminal": INTEGER,
        "latency_ms": INTEGER,
        "opened_at": TEXT,
    },
    indexes=(("status",), ("conversation", "anchor", "turn")),
)
"""`status` is open, complete or the status of the failure; `terminal` the seq of the ending event."""

TABLES = (TURNS,)


def project(record: Recorded) -> Iterator[Change]:
    """Open a turn at its prompt, end it at its reply or failure."""
    match record.event:
        case UserMessage() as event:
            yield Insert(
                TURNS,
                {
                    "turn": record.seq,
                    "anchor": record.anchor,
                    "conversation": record.conversation,
                    "status": "open",
                    "holder": event.holder,
                    "deadline_us": event.deadline_us,
                    "model": event.model,
                    "terminal": None,
                    "latency_ms": None,
                    "opened_at": record.ts,
                },
            )
        case AssistantMessage() | GenerationFailure() as event if record.turn is not None:
            status = event.status if isinstance(event, GenerationFailure) else "complete"
            values: dict[str, Value] = {
                "status": status,
                "terminal": record.seq,
                "latency_ms": event.latency_ms,
            }
            if event.model is not None:
                values["model"] = event.model
            yield Update(TURNS, {"turn": record.turn}, values)
        case _:
            return
