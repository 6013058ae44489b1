"""The tables of the ledger in SQLite, and how older files are brought up to date.

Read tables are not here: they are declared by the projections and can be dropped at any time.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from pmm_mcp.projections.changes import Projection, Table

Projections = Mapping[str, Projection]

APPLICATION_ID: Final = 0x504D4D31  # "PMM1"

_FIRST: Final = """
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    record BLOB NOT NULL,
    hash BLOB NOT NULL,
    ts TEXT GENERATED ALWAYS AS (json_extract(CAST(record AS TEXT), '$.ts')) VIRTUAL,
    kind TEXT GENERATED ALWAYS AS (json_extract(CAST(record AS TEXT), '$.kind')) VIRTUAL,
    turn INTEGER GENERATED ALWAYS AS (json_extract(CAST(record AS TEXT), '$.turn')) VIRTUAL,
    fence INTEGER GENERATED ALWAYS AS (json_extract(CAST(record AS TEXT), '$.fence')) VIRTUAL,
    anchor TEXT GENERATED ALWAYS AS (json_extract(CAST(record AS TEXT), '$.anchor')) VIRTUAL,
    conversation TEXT GENERATED ALWAYS AS (json_extract(CAST(record AS TEXT), '$.conversation')) VIRTUAL,
    request_id TEXT GENERATED ALWAYS AS (json_extract(CAST(record AS TEXT), '$.request_id')) VIRTUAL,
    CHECK (seq = json_extract(CAST(record AS TEXT), '$.seq'))
) STRICT;
CREATE INDEX events_kind ON events (kind, seq);
CREATE INDEX events_turn ON events (turn, seq) WHERE turn IS NOT NULL;
CREATE INDEX events_request ON events (request_id) WHERE request_id IS NOT NULL;

CREATE TABLE event_text (
    seq INTEGER NOT NULL REFERENCES events (seq),
    field TEXT NOT NULL,
    salt BLOB NOT NULL CHECK (LENGTH(salt) = 16),
    text TEXT NOT NULL,
    PRIMARY KEY (seq, field)
) STRICT, WITHOUT ROWID;

CREATE TABLE ledger_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE writer_lease (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    holder TEXT NOT NULL,
    details TEXT NOT NULL,
    fence INTEGER NOT NULL,
    held INTEGER NOT NULL,
    heartbeat INTEGER NOT NULL,
    waiter TEXT NOT NULL,
    redacting INTEGER NOT NULL,
    schema_version INTEGER NOT NULL,
    projections TEXT NOT NULL
) STRICT;
INSERT INTO writer_lease VALUES (1, '', '{}', 0, 0, 0, '', 0, 1, '{}');

CREATE TABLE projection_state (
    name TEXT PRIMARY KEY, version INTEGER NOT NULL, applied_seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER events_are_dense BEFORE INSERT ON events
WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq), 0) + 1 FROM events)
BEGIN SELECT RAISE(ABORT, 'the next event has the next seq'); END;
CREATE TRIGGER events_are_kept BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
CREATE TRIGGER events_are_final BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER texts_are_final BEFORE UPDATE ON event_text
BEGIN SELECT RAISE(ABORT, 'texts are never changed'); END;
CREATE TRIGGER texts_go_by_redaction BEFORE DELETE ON event_text
WHEN (SELECT redacting FROM writer_lease) = 0
BEGIN SELECT RAISE(ABORT, 'texts are removed by redaction only'); END;
"""

_PASSAGES: Final = """
CREATE TABLE {prefix}passages (id INTEGER PRIMARY KEY, body TEXT NOT NULL, extra TEXT NOT NULL) STRICT;
CREATE VIRTUAL TABLE {prefix}passages_fts USING fts5(
    body, extra, content='passages', content_rowid='id', tokenize='porter unicode61'
);
"""

_VECTORS: Final = """
CREATE TABLE vectors (
    set_name TEXT NOT NULL,
    from_seq INTEGER NOT NULL,
    to_seq INTEGER NOT NULL,
    docs BLOB NOT NULL,
    scales BLOB NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (set_name, to_seq)
) STRICT;
"""

WITH_DOCUMENTS: Final = "memory"
"""The projection whose documents become passages."""
INDEX: Final = "passages_fts"

Migration = Callable[[sqlite3.Connection], None]


def run_script(db: sqlite3.Connection, script: str) -> None:
    """Run statements one by one inside the transaction that is open; `executescript` would commit it."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            db.execute(statement)
            statement = ""


def _create(db: sqlite3.Connection) -> None:
    run_script(db, _FIRST)


def _with_vectors(db: sqlite3.Connection) -> None:
    run_script(db, _VECTORS)


MIGRATIONS: Final[Sequence[Migration]] = (_create, _with_vectors)
"""Step n makes schema n+1 of schema n. Steps are only ever added."""


def create_read_tables(db: sqlite3.Connection, projections: Projections, *, prefix: str = "") -> None:
    """Create the empty read tables of these projections."""
    for name, projection in projections.items():
        for table in projection.TABLES:
            run_script(db, "".join(_table_sql(table, prefix=prefix)))
        if name == WITH_DOCUMENTS:
            run_script(db, _PASSAGES.format(prefix=prefix))


def swap_read_tables(db: sqlite3.Connection, projections: Projections, *, prefix: str) -> None:
    """Put freshly computed tables in the place of the old ones."""
    drop_read_tables(db, projections)
    for name in read_tables(projections):
        db.execute(f"ALTER TABLE {prefix}{name} RENAME TO {name}")
    for projection in projections.values():
        for table in projection.TABLES:
            for statement in _index_sql(table, prefix=prefix, drop=True):
                db.execute(statement)
            for statement in _index_sql(table, prefix=""):
                db.execute(statement)


def drop_read_tables(db: sqlite3.Connection, projections: Projections, *, prefix: str = "") -> None:
    """Drop the read tables of these projections, as far as they exist."""
    for table in reversed(read_tables(projections)):
        db.execute(f"DROP TABLE IF EXISTS {prefix}{table}")


def read_tables(projections: Projections) -> tuple[str, ...]:
    """Return the names of all read tables of these projections, the search index last."""
    tables = tuple(table.name for projection in projections.values() for table in projection.TABLES)
    return (*tables, "passages", INDEX) if WITH_DOCUMENTS in projections else tables


def _table_sql(table: Table, *, prefix: str) -> Iterator[str]:
    columns = ", ".join(
        f"{name} {kind}{' NOT NULL' if name in table.key else ''}" for name, kind in table.columns.items()
    )
    by_integer = len(table.key) == 1 and table.columns[table.key[0]] == "INTEGER"
    layout = "STRICT" if by_integer else "STRICT, WITHOUT ROWID"
    yield f"CREATE TABLE {prefix}{table.name} ({columns}, PRIMARY KEY ({', '.join(table.key)})) {layout};\n"
    for statement in _index_sql(table, prefix=prefix):
        yield f"{statement};\n"


def _index_sql(table: Table, *, prefix: str, drop: bool = False) -> Iterator[str]:
    for columns in table.indexes:
        name = f"{prefix}{table.name}_{'_'.join(columns)}"
        if drop:
            yield f"DROP INDEX IF EXISTS {name}"
        else:
            yield f"CREATE INDEX {name} ON {prefix}{table.name} ({', '.join(columns)})"
