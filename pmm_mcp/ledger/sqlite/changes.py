"""Changes of read tables, as SQL."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from pmm_mcp.ledger.sqlite import vectors
from pmm_mcp.ledger.sqlite.documents import Documents
from pmm_mcp.projections.changes import (
    Change,
    Delete,
    Document,
    Increment,
    Insert,
    Table,
    Unindex,
    Update,
    Value,
)


class ChangeWriter:
    """Applies changes on one connection, to the read tables with this prefix."""

    def __init__(self, db: sqlite3.Connection, *, prefix: str = "") -> None:
        """Take the connection of whoever owns the transaction."""
        self._db = db
        self._execute = db.cursor().execute
        self._prefix = prefix
        self._apply_one: Mapping[type[Change], Callable[[Any], None]] = {
            Insert: self._insert,
            Update: self._update,
            Delete: self._delete,
            Increment: self._increment,
            Document: self._document,
            Unindex: self._unindex,
        }
        self.documents = Documents(db, prefix=prefix)

    def apply(self, changes: Iterable[Change]) -> None:
        """Carry out the changes, in order."""
        apply_one = self._apply_one
        for change in changes:
            apply_one[type(change)](change)

    def _insert(self, change: Insert) -> None:
        values = change.values
        self._execute(_insert(self._prefix, change.table, tuple(values)), tuple(values.values()))

    def _increment(self, change: Increment) -> None:
        sql = _increment(self._prefix, change.table, tuple(change.key), change.column)
        self._execute(sql, (*change.key.values(), change.by))

    def _update(self, change: Update) -> None:
        sql = _update(self._prefix, change.table, tuple(change.values), _shape(change.where))
        self._execute(sql, (*change.values.values(), *_given(change.where)))

    def _delete(self, change: Delete) -> None:
        sql = f"DELETE FROM {self._prefix}{change.table.name} WHERE {_conditions(_shape(change.where))}"
        self._execute(sql, _given(change.where))

    def _document(self, change: Document) -> None:
        self.documents.add(change.key, change.passages, governed=change.governed)

    def _unindex(self, change: Unindex) -> None:
        self.documents.remove(change.key)
        vectors.forget(self._db, change.key)


class BulkWriter(ChangeWriter):
    """Applies the changes of a replay: rows and sums wait, and are written together.

    Nobody reads the tables meanwhile; only an update, a delete or the end of a batch needs what waits.
    """

    def __init__(self, db: sqlite3.Connection, *, prefix: str = "") -> None:
        """Take the connection of whoever owns the transaction."""
        super().__init__(db, prefix=prefix)
        self._many = db.executemany
        self._rows: dict[str, list[tuple[Value, ...]]] = {}
        self._sums: dict[tuple[str, tuple[Value, ...]], int] = {}

    def flush(self) -> None:
        """Write what waits, documents included."""
        self._flush_rows()
        self.documents.flush()

    def _insert(self, change: Insert) -> None:
        sql = _insert(self._prefix, change.table, tuple(change.values))
        self._rows.setdefault(sql, []).append(tuple(change.values.values()))

    def _increment(self, change: Increment) -> None:
        sql = _increment(self._prefix, change.table, tuple(change.key), change.column)
        key = sql, tuple(change.key.values())
        self._sums[key] = self._sums.get(key, 0) + change.by

    def _update(self, change: Update) -> None:
        self._flush_rows()
        super()._update(change)

    def _delete(self, change: Delete) -> None:
        self._flush_rows()
        super()._delete(change)

    def _unindex(self, change: Unindex) -> None:
        self.documents.remove(change.key)  # Its vectors went when that happened.

    def _flush_rows(self) -> None:
        for sql, rows in self._rows.items():
            self._many(sql, rows)
        for (sql, key), by in self._sums.items():
            self._execute(sql, (*key, by))
        self._rows.clear()
        self._sums.clear()


def _shape(where: Mapping[str, Value]) -> tuple[tuple[str, bool], ...]:
    return tuple((name, value is None) for name, value in where.items())


def _given(where: Mapping[str, Value]) -> tuple[Value, ...]:
    return tuple(value for value in where.values() if value is not None)


def _conditions(shape: tuple[tuple[str, bool], ...]) -> str:
    return " AND ".join(f"{name} IS NULL" if is_null else f"{name} = ?" for name, is_null in shape)


# One statement a shape: the text is built once, and SQLite keeps it prepared.


@lru_cache(maxsize=256)
def _insert(prefix: str, table: Table, columns: tuple[str, ...]) -> str:
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {prefix}{table.name} ({', '.join(columns)}) VALUES ({marks})"


@lru_cache(maxsize=256)
def _update(prefix: str, table: Table, columns: tuple[str, ...], where: tuple[tuple[str, bool], ...]) -> str:
    sets = ", ".join(f"{column} = ?" for column in columns)
    return f"UPDATE {prefix}{table.name} SET {sets} WHERE {_conditions(where)}"


@lru_cache(maxsize=64)
def _increment(prefix: str, table: Table, key: tuple[str, ...], column: str) -> str:
    names, marks = ", ".join((*key, column)), ", ".join("?" * (len(key) + 1))
    return (
        f"INSERT INTO {prefix}{table.name} ({names}) VALUES ({marks}) "
        f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {column} = {column} + excluded.{column}"
    )
