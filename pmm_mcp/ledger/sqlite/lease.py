"""The lease row: who may write, and which program wrote last."""

import sqlite3
from dataclasses import asdict

import orjson

from pmm_mcp.domain.errors import ProgramTooOldError, RebuildingError
from pmm_mcp.domain.lease import Holder, Lease
from pmm_mcp.ledger.sqlite.program import Program
from pmm_mcp.ports import Clock


def read_lease(db: sqlite3.Connection) -> tuple[Lease, str]:
    """Return the lease and who waits for it."""
    holder, details, fence, held, heartbeat, waiter = db.execute(
        "SELECT holder, details, fence, held, heartbeat, waiter FROM writer_lease"
    ).fetchone()
    known = Holder(**{**orjson.loads(details), "id": holder})
    return Lease(holder=known, fence=fence, held=bool(held), heartbeat=heartbeat), waiter


def write_lease(db: sqlite3.Connection, lease: Lease, *, waiter: str = "") -> None:
    """Store the lease, and who still waits for it."""
    details = orjson.dumps(asdict(lease.holder)).decode()
    db.execute(
        "UPDATE writer_lease SET holder = ?, details = ?, fence = ?, held = ?, heartbeat = ?, waiter = ?",
        (lease.holder.id, details, lease.fence, int(lease.held), lease.heartbeat, waiter),
    )


def check_versions(db: sqlite3.Connection, program: Program, *, stale_too: bool = False) -> None:
    """Refuse to write what another version of the program would read differently.

    `stale_too` lets a rebuild through, which is about to bring older read models up to date.

    Raises:
        ProgramTooOldError: a newer program has written this ledger.
        RebuildingError: an older one has, and the read models do not follow events as ours do yet.

    """
    schema, text = db.execute("SELECT schema_version, projections FROM writer_lease").fetchone()
    projections: dict[str, int] = orjson.loads(text)
    if schema > program.schema_version or any(
        version > program.versions.get(name, 0) for name, version in projections.items()
    ):
        raise ProgramTooOldError(
            "a newer version of this program has written this ledger",
            hint="Update pmm-mcp. Reading still works.",
        )
    if not stale_too and projections != program.versions:
        raise RebuildingError(
            "read models have to be rebuilt after an update before anything is written",
            hint="Reading works meanwhile. Try again in a moment.",
        )


def write_versions(db: sqlite3.Connection, program: Program) -> None:
    """Store which schema and read models the ledger has now: older programs stop writing."""
    projections = orjson.dumps(program.versions, option=orjson.OPT_SORT_KEYS).decode()
    db.execute(
        "UPDATE writer_lease SET schema_version = ?, projections = ?", (program.schema_version, projections)
    )


class Patience:
    """Watches a held lease: a holder that does not move for `ttl_s` of our own time has lost it.

    No wall clock is compared, so a clock that was set can neither steal nor keep a lease.
    """

    def __init__(self, clock: Clock, *, ttl_s: float) -> None:
        """Wait at most `ttl_s` for a sign of life."""
        self._clock = clock
        self._ttl_s = ttl_s
        self._seen: tuple[str, int, int] | None = None
        self._since = 0.0

    def left_s(self, lease: Lease) -> float:
        """Return for how long this holder may still go without a sign of life; 0 when it has lost it."""
        sign = (lease.holder.id, lease.fence, lease.heartbeat)
        if sign != self._seen:
            self._seen, self._since = sign, self._clock.monotonic()
        return max(0.0, self._since + self._ttl_s - self._clock.monotonic())
