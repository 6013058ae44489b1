"""An event before and after it is recorded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.anchors import UNSCOPED, Anchor, Place
from pmm_mcp.domain.events import Event

NOWHERE: Final = Place(worktree=None, repo=UNSCOPED)

ActorKind = Literal["agent", "human", "model", "runtime", "importer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who wrote an event. Set by the server; `name` is the client's own word for itself, never proof."""

    kind: ActorKind
    name: str
    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """On whose behalf, from where and under which idempotency key something is written."""

    actor: Actor
    place: Place = NOWHERE
    conversation: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """An event about to be appended. What is left out comes from the call."""

    event: Event
    texts: Mapping[str, Admitted] = field(default_factory=dict)
    turn: int | None = None
    actor: Actor | None = None
    anchor: Anchor | None = None
    conversation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An event with its position in the ledger. A text that was removed since is None."""

    seq: int
    ts: str
    kind: str
    actor: Actor
    anchor: str
    conversation: str
    fence: int
    turn: int | None
    request_id: str
    event: Event
    texts: Mapping[str, str | None]
    hash: bytes
