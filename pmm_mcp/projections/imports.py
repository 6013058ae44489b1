"""Imports: which events of another system are here already, and as which of ours."""

from collections.abc import Iterator

from pmm_mcp.domain.events.ledger import ImportFinished, ImportStarted, SourceEvent, TextRedacted
from pmm_mcp.domain.records import Recorded
from pmm_mcp.projections.changes import INTEGER, TEXT, Change, Insert, Table, Update

VERSION = 1

IMPORTS = Table(
    name="imports",
    key=("started",),
    columns={"started": INTEGER, "source": TEXT, "origin": TEXT, "name": TEXT, "finished": INTEGER},
    indexes=(("origin",),),
)
IMPORTED = Table(
    name="imported",
    key=("started", "source_id"),
    columns={"started": INTEGER, "source_id": INTEGER, "seq": INTEGER, "mapped": INTEGER},
    indexes=(("mapped",),),
)
"""`seq` holds the source event verbatim; `mapped` is the event of ours that came of it."""

TABLES = (IMPORTS, IMPORTED)


def project(record: Recorded) -> Iterator[Change]:
    """Follow each import, event by event."""
    match record.event:
        case ImportStarted() as event:
            yield Insert(
                IMPORTS,
                {
                    "started": record.seq,
                    "source": event.source,
                    "origin": record.texts.get("origin"),
                    "name": record.texts.get("name"),
                    "finished": None,
                },
            )
        case SourceEvent() as event:
            yield Insert(
                IMPORTED,
                {
                    "started": event.started,
                    "source_id": event.source_id,
                    "seq": record.seq,
                    "mapped": event.mapped,
                },
            )
        case ImportFinished() as event:
            yield Update(IMPORTS, {"started": event.started}, {"finished": record.seq})
        case TextRedacted(target=target, field="origin" | "name" as field):
            yield Update(IMPORTS, {"started": target}, {field: None})
        case _:
            return
