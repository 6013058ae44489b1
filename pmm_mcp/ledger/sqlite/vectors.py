"""Vectors beside the ledger: computed from what was said, kept because that takes long, and gone with it."""

import sqlite3

from pmm_mcp.domain.vectors import Batch


def keep(db: sqlite3.Connection, batch: Batch) -> None:
    """Store the vectors of a stretch of the ledger."""
    row = (batch.set, batch.from_seq, batch.to_seq, batch.docs, batch.scales, batch.data)
    db.execute("INSERT INTO vectors VALUES (?, ?, ?, ?, ?, ?)", row)


def forget(db: sqlite3.Connection, doc: int) -> None:
    """Blank the vectors of a document whose text is gone: a vector tells what the text was about."""
    rows = db.execute("SELECT * FROM vectors WHERE from_seq <= ? AND to_seq >= ?", (doc, doc)).fetchall()
    for name, from_seq, to_seq, docs, scales, data in rows:
        batch = Batch(set=name, from_seq=from_seq, to_seq=to_seq, docs=docs, scales=scales, data=data)
        blank = batch.without(doc)
        db.execute(
            "UPDATE vectors SET scales = ?, data = ? WHERE set_name = ? AND to_seq = ?",
            (blank.scales, blank.data, name, to_seq),
        )
