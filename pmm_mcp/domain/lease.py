"""The right to append, and the fencing token that proves it."""

from dataclasses import dataclass, replace
from typing import Literal

from pmm_mcp.domain.errors import LeaseHeldError

TakeoverReason = Literal["dead", "expired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """One run of one process; never two with the same `id`."""

    id: str
    pid: int = 0
    pid_started: str = ""
    pid_namespace: str = ""
    boot: str = ""
    host: str = ""
    role: str = ""

    def __str__(self) -> str:
        """Say who this is, for a person."""
        return f"{self.role or 'a process'} (pid {self.pid} on {self.host or 'an unknown host'})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Who may append; `fence` rises whenever the holder changes and never falls."""

    holder: Holder
    fence: int
    held: bool
    heartbeat: int = 0


@dataclass(frozen=True, slots=True)
class Takeover:
    """A holder that did not let go was pushed aside: why, and the token it held."""

    reason: TakeoverReason
    from_token: int


def acquire(
    current: Lease, *, holder: Holder, lost: TakeoverReason | None, left_s: float = 0
) -> tuple[Lease, Takeover | None]:
    """Decide who writes next, and whether a holder was pushed aside.

    `lost` says that the current holder is known to be dead, or was seen not to move for a whole lease;
    `left_s` how long it may still go without a sign of life.

    Raises:
        LeaseHeldError: someone else holds it and lives.

    """
    if current.holder.id == holder.id:
        return replace(current, holder=holder, held=True), None
    if current.held and lost is None:
        raise LeaseHeldError(
            f"the ledger is being written by {current.holder}; without a sign of life from it, "
            f"others may write in {left_s:.0f} s",
            hint="Try again shortly; an import, a rebuild or a migration may be running.",
        )
    taken = Lease(holder=holder, fence=current.fence + 1, held=True)
    return taken, Takeover(lost, current.fence) if current.held and lost else None
