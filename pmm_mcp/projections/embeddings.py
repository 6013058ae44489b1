"""Which sets of vectors there are, how far each reaches, and which one serves."""

from collections.abc import Iterator

from pmm_mcp.domain.events.retrieval import EmbeddingSetChanged, EmbeddingsRecorded
from pmm_mcp.domain.records import Recorded
from pmm_mcp.projections.changes import INTEGER, TEXT, Change, Insert, Table

VERSION = 1

EMBEDDED = Table(
    name="embedded",
    key=("set_name", "to_seq"),
    columns={
        "set_name": TEXT,
        "to_seq": INTEGER,
        "from_seq": INTEGER,
        "count": INTEGER,
        "digest": TEXT,
        "recorded": INTEGER,
    },
)
EMBEDDING_SETS = Table(name="embedding_sets", key=("since",), columns={"since": INTEGER, "set_name": TEXT})

TABLES = (EMBEDDED, EMBEDDING_SETS)


def project(record: Recorded) -> Iterator[Change]:
    """Follow what was embedded."""
    match record.event:
        case EmbeddingsRecorded() as event:
            yield Insert(
                EMBEDDED,
                {
                    "set_name": event.set,
                    "to_seq": event.to_seq,
                    "from_seq": event.from_seq,
                    "count": event.count,
                    "digest": event.digest,
                    "recorded": record.seq,
                },
            )
        case EmbeddingSetChanged() as event:
            yield Insert(EMBEDDING_SETS, {"since": record.seq, "set_name": event.set})
        case _:
            return
