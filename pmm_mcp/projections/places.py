"""Places: which checkouts belong to which repository."""

from collections.abc import Iterator

from pmm_mcp.domain.events.ledger import PlaceConfirmed, PlaceSeen, TextRedacted
from pmm_mcp.domain.records import Recorded
from pmm_mcp.projections.changes import INTEGER, TEXT, Change, Insert, Table, Update

VERSION = 2

PLACES = Table(
    name="places",
    key=("seen",),
    columns={"seen": INTEGER, "worktree": TEXT, "repo": TEXT, "common_dir": TEXT, "confirmed": INTEGER},
    indexes=(("repo", "worktree"), ("worktree", "seen"), ("common_dir", "seen")),
)

TABLES = (PLACES,)


def project(record: Recorded) -> Iterator[Change]:
    """Add a row for each new pairing, and for each one that the owner confirmed."""
    match record.event:
        case PlaceSeen() | PlaceConfirmed() as event:
            yield Insert(
                PLACES,
                {
                    "seen": record.seq,
                    "worktree": event.worktree,
                    "repo": event.repo,
                    "common_dir": record.texts.get("common_dir"),
                    "confirmed": int(isinstance(event, PlaceConfirmed)),
                },
            )
        case TextRedacted(target=target, field="common_dir"):
            yield Update(PLACES, {"seen": target}, {"common_dir": None})
        case _:
            return
