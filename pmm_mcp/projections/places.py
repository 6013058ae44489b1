"""Places: which checkouts belong to which repository."""

from collections.abc import Iterator

from pmm_mcp.domain.events.ledger import PlaceSeen, TextRedacted
from pmm_mcp.domain.records import Recorded
from pmm_mcp.projections.changes import INTEGER, TEXT, Change, Insert, Table, Update

VERSION = 1

PLACES = Table(
    name="places",
    key=("seen",),
    columns={"seen": INTEGER, "worktree": TEXT, "repo": TEXT, "common_dir": TEXT},
    indexes=(("repo", "worktree"),),
)

TABLES = (PLACES,)


def project(record: Recorded) -> Iterator[Change]:
    """Add a row for each new pairing."""
    match record.event:
        case PlaceSeen() as event:
            yield Insert(
                PLACES,
                {
                    "seen": record.seq,
                    "worktree": event.worktree,
                    "repo": event.repo,
                    "common_dir": record.texts.get("common_dir"),
                },
            )
        case TextRedacted(target=target, field="common_dir"):
            yield Update(PLACES, {"seen": target}, {"common_dir": None})
        case _:
            return
