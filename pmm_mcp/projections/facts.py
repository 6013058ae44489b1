"""Facts, and the time during which each holds."""

from collections.abc import Iterator

from pmm_mcp.domain.events.ledger import TextRedacted
from pmm_mcp.domain.events.memory import FactAsserted, FactEnded
from pmm_mcp.domain.facts import fact_key
from pmm_mcp.domain.records import Recorded
from pmm_mcp.projections.changes import INTEGER, TEXT, Change, Insert, Table, Update

VERSION = 1

FACTS = Table(
    name="facts",
    key=("fact",),
    columns={
        "fact": INTEGER,
        "subject": TEXT,
        "predicate": TEXT,
        "object": TEXT,
        "subject_key": TEXT,
        "predicate_key": TEXT,
        "object_key": TEXT,
        "anchor": TEXT,
        "from_us": INTEGER,
        "to_us": INTEGER,
        "ended_at": INTEGER,
        "single_valued": INTEGER,
        "confidence_pct": INTEGER,
        "source": INTEGER,
    },
    indexes=(("subject_key", "predicate_key"), ("anchor", "fact")),
)
"""A fact holds from `from_us` up to, but not at, `to_us`; a null `to_us` is for good."""

TABLES = (FACTS,)


def project(record: Recorded) -> Iterator[Change]:
    """Add a row for each fact, and its end."""
    match record.event:
        case FactAsserted() as event:
            words = {name: record.texts.get(name) for name in ("subject", "predicate", "object")}
            keys = {f"{name}_key": None if text is None else fact_key(text) for name, text in words.items()}
            yield Insert(
                FACTS,
                {
                    "fact": record.seq,
                    **words,
                    **keys,
                    "anchor": record.anchor,
                    "from_us": event.from_us,
                    "to_us": None,
                    "ended_at": None,
                    "single_valued": int(event.single_valued),
                    "confidence_pct": event.confidence_pct,
                    "source": event.source,
                },
            )
        case FactEnded() as event:
            yield Update(FACTS, {"fact": event.fact}, {"to_us": event.to_us, "ended_at": record.seq})
        case TextRedacted(target=target, field="subject" | "predicate" | "object" as field):
            yield Update(FACTS, {"fact": target}, {field: None, f"{field}_key": None})
        case _:
            return
