"""What a ledger's file says about itself without a look into its events."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from pmm_mcp.ledger.sqlite.connection import connect_reader
from pmm_mcp.ledger.sqlite.faults import coded
from pmm_mcp.ledger.sqlite.lease import read_lease
from pmm_mcp.ports import LedgerState


def read_state(path: Path, *, degraded: str) -> LedgerState:
    """Return the state of one moment. Blocking; run it in a thread.

    Raises:
        LedgerDamagedError: the file cannot be read.

    """
    try:
        with closing(connect_reader(path)) as db:
            db.execute("BEGIN")
            meta: dict[str, Any] = dict(db.execute("SELECT name, value FROM ledger_meta").fetchall())
            first = db.execute("SELECT record FROM events WHERE seq = 1").fetchone()
            lease, _ = read_lease(db)
    except sqlite3.Error as error:
        raise coded(error) from error
    return LedgerState(
        ledger_id=str(orjson.loads(first[0])["body"]["ledger_id"]) if first else "",
        path=str(path),
        size_bytes=path.stat().st_size,
        verified_to=int(meta.get("verified_to", 0)),
        lease=lease,
        degraded=degraded,
    )
