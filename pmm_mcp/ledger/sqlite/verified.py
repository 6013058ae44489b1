"""What verifying does in a transaction that may write: compare the search index, note how far all holds."""

import sqlite3
from dataclasses import replace
from typing import Final

from pmm_mcp.domain.errors import LedgerBusyError
from pmm_mcp.ledger.sqlite.faults import coded
from pmm_mcp.ledger.sqlite.genesis import write_meta
from pmm_mcp.ledger.sqlite.schema import INDEX
from pmm_mcp.ports import Problem, Verification

INDEX_UNCHECKED: Final = "the search index was not compared with its passages"


def compare_index(db: sqlite3.Connection, found: Verification) -> Verification:
    """Compare the search index with its passages. FTS5 wants a transaction that may write; nothing is.

    Raises:
        LedgerBusyError: the file could not be had for it.

    """
    try:
        db.execute(f"INSERT INTO {INDEX} ({INDEX}, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        known = coded(error)
        if isinstance(known, LedgerBusyError):
            raise known from error
        problem = Problem(0, "projection", f"the search index is not what the passages say: {error}")
        return replace(found, problems=(*found.problems, problem))
    return found


def note_verified(db: sqlite3.Connection, *, from_seq: int, head: int) -> None:
    """Remember how far everything holds; a later stretch alone says nothing about the ones before."""
    row = db.execute("SELECT value FROM ledger_meta WHERE name = 'verified_to'").fetchone()
    verified_to = int(row[0]) if row else 0
    if from_seq <= verified_to + 1 and head > verified_to:
        write_meta(db, "verified_to", str(head))
        db.execute("COMMIT")


def not_checked(found: Verification, what: str) -> Verification:
    """Say beside what was found that something was left out."""
    return replace(found, notes=(*found.notes, Problem(0, "not_checked", what)))
