"""Replaying events into read tables: a rebuild in place, or into a scratch database to compare."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Final

from pmm_mcp.domain.records import Recorded
from pmm_mcp.ledger.sqlite.changes import BulkWriter
from pmm_mcp.ledger.sqlite.lease import write_versions
from pmm_mcp.ledger.sqlite.program import Program
from pmm_mcp.ledger.sqlite.schema import (
    INDEX,
    Projections,
    create_read_tables,
    drop_read_tables,
    read_tables,
    swap_read_tables,
)
from pmm_mcp.ledger.sqlite.transaction import project
from pmm_mcp.ports import Progress
from pmm_mcp.queries import events

BATCH: Final = 2_000
_NEW: Final = "new_"

Step = Callable[[Callable[[], None]], None]


def rebuild(
    db: sqlite3.Connection, names: Sequence[str], *, program: Program, step: Step, progress: Progress
) -> int:
    """Compute the read tables of these projections anew and swap them in; return the events replayed.

    Each batch is a transaction of its own under the lease that is kept, so a crash leaves the old
    tables as they were; what was half computed is dropped by the next rebuild.
    """
    projections = {name: program.projections[name] for name in names}

    def begin() -> None:
        drop_read_tables(db, projections, prefix=_NEW)
        create_read_tables(db, projections, prefix=_NEW)

    step(begin)
    changes, done = BulkWriter(db, prefix=_NEW), 0
    head = db.execute("SELECT COALESCE(MAX(seq), 0) FROM events").fetchone()[0]
    for batch in _batches(db):
        step(partial(_apply, batch, changes, projections))
        done += len(batch)
        progress(done, head)

    def swap() -> None:
        swap_read_tables(db, projections, prefix=_NEW)
        db.executemany(
            "INSERT INTO projection_state VALUES (?, ?, ?) ON CONFLICT (name) "
            "DO UPDATE SET version = excluded.version, applied_seq = excluded.applied_seq",
            [(name, projection.VERSION, done) for name, projection in projections.items()],
        )
        write_versions(db, program)

    step(swap)
    return done


def replayed_digests(
    source: sqlite3.Connection, *, until: int, projections: Projections, progress: Progress | None = None
) -> Mapping[str, str]:
    """Replay every event up to a seq into a scratch database; return the digest of each read table."""
    scratch = sqlite3.connect("", isolation_level=None, cached_statements=512)
    try:
        scratch.execute("PRAGMA synchronous = OFF")
        scratch.execute("BEGIN")
        create_read_tables(scratch, projections)
        replay_into(scratch, source, until=until, projections=projections, progress=progress)
        return table_digests(scratch, projections)
    finally:
        scratch.close()


def replay_into(
    db: sqlite3.Connection,
    source: sqlite3.Connection,
    *,
    until: int,
    projections: Projections,
    progress: Progress | None = None,
) -> None:
    """Let empty read tables follow every event of a ledger up to a seq."""
    changes, done = BulkWriter(db), 0
    for batch in _batches(source, until=until):
        _apply(batch, changes, projections)
        done += len(batch)
        if progress is not None:
            progress(done, until)


def table_digests(db: sqlite3.Connection, projections: Projections) -> Mapping[str, str]:
    """Return the digest of the rows of each read table, in the order of their keys."""
    keys = {table.name: table.key for projection in projections.values() for table in projection.TABLES}
    digests = {}
    for name in read_tables(projections):
        if name == INDEX:
            continue  # Not rows but an index over `passages`; it has a check of its own.
        order = ", ".join(keys.get(name, ("id",)))
        digest = sha256()
        for row in db.execute(f"SELECT * FROM {name} ORDER BY {order}"):
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
        digests[name] = digest.hexdigest()
    return digests


def _apply(batch: Sequence[Recorded], changes: BulkWriter, projections: Projections) -> None:
    for record in batch:
        project(record, changes, projections)
    changes.flush()


def _batches(db: sqlite3.Connection, *, until: int | None = None) -> Iterator[tuple[Recorded, ...]]:
    after = 0
    while True:
        query = events.page(after=after, limit=BATCH, until=until)
        batch = query.read(db.execute(query.sql, query.params).fetchall())
        if not batch:
            return
        yield batch
        after = batch[-1].seq
