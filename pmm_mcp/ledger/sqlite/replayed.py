"""A ledger as it was: its first events, replayed into a scratch file that is gone afterwards."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from tempfile import TemporaryDirectory

from pmm_mcp.ledger.sqlite.connection import reader_uri
from pmm_mcp.ledger.sqlite.faults import coded
from pmm_mcp.ledger.sqlite.program import Program
from pmm_mcp.ledger.sqlite.reader import SqliteReader
from pmm_mcp.ledger.sqlite.replay import replay_into
from pmm_mcp.ledger.sqlite.schema import create_read_tables
from pmm_mcp.ports import Clock, Progress

_COPIES = (
    "INSERT INTO events (seq, record, hash) "
    "SELECT seq, record, hash FROM source.events WHERE seq <= :until ORDER BY seq",
    "INSERT INTO event_text (seq, field, salt, text) "
    "SELECT seq, field, salt, text FROM source.event_text WHERE seq <= :until ORDER BY seq, field",
)


@asynccontextmanager
async def replayed_until(
    source: Path, until: int, *, program: Program, clock: Clock, progress: Progress | None = None
) -> AsyncGenerator[SqliteReader, None]:
    """Open views of what the read tables said when the head was at a seq, for the block.

    A text that was removed since is missing, as it is everywhere.
    """
    directory = await asyncio.to_thread(TemporaryDirectory, prefix="pmm-replay-")
    path = Path(directory.name) / "replayed.db"
    reader = SqliteReader(path, clock)
    try:
        await asyncio.to_thread(_replay, source, path, until, program, progress)
        yield reader
    finally:
        await asyncio.shield(reader.aclose())
        await asyncio.shield(asyncio.to_thread(directory.cleanup))


def _replay(source: Path, path: Path, until: int, program: Program, progress: Progress | None) -> None:
    try:
        with closing(sqlite3.connect(path, uri=True, isolation_level=None, cached_statements=512)) as db:
            db.execute("PRAGMA journal_mode = OFF")
            db.execute("PRAGMA synchronous = OFF")
            db.execute("ATTACH :source AS source", {"source": reader_uri(source)})
            db.execute("BEGIN")
            for migrate in program.migrations:
                migrate(db)
            for copy in _COPIES:
                db.execute(copy, {"until": until})
            create_read_tables(db, program.projections)
            replay_into(db, db, until=until, projections=program.projections, progress=progress)
            db.execute("COMMIT")
    except sqlite3.Error as error:
        raise coded(error) from error
