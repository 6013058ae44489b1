"""Events of the ledger itself."""

from typing import Annotated, ClassVar, Literal

from pydantic import StringConstraints

from pmm_mcp.domain.anchors import Anchor
from pmm_mcp.domain.events.base import Code, Count, EventBody, Integer, Name, Seq

Identifier = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]


class LedgerOpened(EventBody):
    """The ledger began."""

    kind: Literal["ledger_opened"] = "ledger_opened"
    v: Literal[1] = 1
    ledger_id: Identifier
    format: Literal[1] = 1


class LedgerMoved(EventBody):
    """The file was found at another path, or as another file, than where it was last open."""

    kind: Literal["ledger_moved"] = "ledger_moved"
    v: Literal[1] = 1
    texts: ClassVar = ("from_path", "to_path")


class PlaceSeen(EventBody):
    """A checkout, and the repository it belongs to, were seen together for the first time."""

    kind: Literal["place_seen"] = "place_seen"
    v: Literal[1] = 1
    worktree: Anchor | None = None
    repo: Anchor
    texts: ClassVar = ("common_dir",)


class PlaceConfirmed(EventBody):
    """The owner confirmed that a checkout belongs to this repository, after its remote had changed."""

    kind: Literal["place_confirmed"] = "place_confirmed"
    v: Literal[1] = 1
    worktree: Anchor | None = None
    repo: Anchor
    texts: ClassVar = ("common_dir",)


class LeaseTakenOver(EventBody):
    """The right to write passed from a holder that did not release it."""

    kind: Literal["lease_taken_over"] = "lease_taken_over"
    v: Literal[1] = 1
    from_token: Count
    reason: Literal["dead", "expired"]


class ClockStepped(EventBody):
    """The wall clock moved by more than a second back, or a day ahead, between two events."""

    kind: Literal["clock_stepped"] = "clock_stepped"
    v: Literal[1] = 1
    by_us: Integer


class PolicyViolation(EventBody):
    """An actor tried to write what it may not."""

    kind: Literal["policy_violation"] = "policy_violation"
    v: Literal[1] = 1
    attempted: Code
    by: Name


class TextRedacted(EventBody):
    """A text was removed for good; its salted digest stays."""

    kind: Literal["text_redacted"] = "text_redacted"
    v: Literal[1] = 1
    target: Seq
    field: Code
    anchor: str
    documents: Count = 0
    """How many searchable documents went with it."""
    texts: ClassVar = ("reason",)


class ImportStarted(EventBody):
    """Events of another system begin to come in, verified beforehand."""

    kind: Literal["import_started"] = "import_started"
    v: Literal[1] = 1
    source: Literal["pmm", "jsonl"]
    total: Count
    forks: tuple[Integer, ...] = ()
    texts: ClassVar = ("name", "origin")


class ImportFinished(EventBody):
    """All events of an import are in."""

    kind: Literal["import_finished"] = "import_finished"
    v: Literal[1] = 1
    started: Seq
    imported: Count
    mapped: Count


class SourceEvent(EventBody):
    """One event of another system, verbatim, with its own id and hash inside the text."""

    kind: Literal["source_event"] = "source_event"
    v: Literal[1] = 1
    started: Seq
    source_id: Integer
    source_kind: Code
    mapped: Seq | None = None
    """The event of ours that was made from it, when there is one."""
    texts: ClassVar = ("event",)


LedgerEvent = (
    LedgerOpened | LedgerMoved | PlaceSeen | PlaceConfirmed | LeaseTakenOver | ClockStepped
    | PolicyViolation | TextRedacted | ImportStarted | ImportFinished | SourceEvent
)  # fmt: skip
