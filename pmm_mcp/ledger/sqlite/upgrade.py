"""Bringing a file up to date: an empty one gets its tables, an older one is backed up and migrated."""

import os
import sqlite3
from pathlib import Path

from pmm_mcp.domain.errors import ProgramTooOldError
from pmm_mcp.ledger.sqlite.lease import write_versions
from pmm_mcp.ledger.sqlite.program import Program
from pmm_mcp.ledger.sqlite.schema import APPLICATION_ID, create_read_tables
from pmm_mcp.ledger.sqlite.tenure import Tenure


def bring_up_to_date(db: sqlite3.Connection, path: Path, *, program: Program, tenure: Tenure) -> None:
    """Create the schema, or migrate an older one, in one transaction while nobody else writes.

    Raises:
        ProgramTooOldError: the schema is newer than the program knows.
        LeaseHeldError: another process is writing and did not finish in time.

    """
    version = schema_version(db)
    if version > program.schema_version:
        raise ProgramTooOldError(
            f"the ledger has schema {version}, this program knows {program.schema_version}",
            hint="Update pmm-mcp.",
        )
    if version == program.schema_version:
        return
    if version:
        back_up(db, path, version=version)
        tenure.begin(stale_too=True)
    else:
        tenure.lock()
    try:
        # Looked at again: another process may have been faster.
        _migrate(db, program, version=schema_version(db))
        db.execute("COMMIT")
    finally:
        tenure.abandon()


def schema_version(db: sqlite3.Connection) -> int:
    """Return the number of the schema in the file, 0 when it is empty."""
    if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'writer_lease'").fetchone() is None:
        return 0
    return int(db.execute("SELECT schema_version FROM writer_lease").fetchone()[0])


def stale_projections(db: sqlite3.Connection, program: Program) -> tuple[str, ...]:
    """Return the read models whose tables were computed by an older version of the program."""
    known = dict(db.execute("SELECT name, version FROM projection_state").fetchall())
    return tuple(name for name, version in program.versions.items() if known.get(name, 0) < version)


def back_up(db: sqlite3.Connection, path: Path, *, version: int) -> Path:
    """Write a complete, durable copy beside the ledger before its schema changes; outside any transaction."""
    copy = path.with_name(f"{path.name}.schema{version}.backup")
    partial = copy.with_name(f"{copy.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    # VACUUM INTO takes an empty file, and leaves its permissions as they are.
    descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        db.execute("VACUUM INTO ?", (str(partial),))
        os.fsync(descriptor)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    os.replace(partial, copy)
    return copy


def _migrate(db: sqlite3.Connection, program: Program, *, version: int) -> None:
    if version >= program.schema_version:
        return
    for migrate in program.migrations[version:]:
        migrate(db)
    if version == 0:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        create_read_tables(db, program.projections)
        db.executemany(
            "INSERT INTO projection_state (name, version, applied_seq) VALUES (?, ?, 0)",
            program.versions.items(),
        )
        write_versions(db, program)
    else:
        db.execute("UPDATE writer_lease SET schema_version = ?", (program.schema_version,))
