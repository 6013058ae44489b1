"""Changes of read tables, as SQL."""

import sqlite3
from collections.abc import Iterable, Mapping
from functools import lru_cache

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
        self._execute = db.cursor().execute
        self._prefix = prefix
        self.documents = Documents(db, prefix=prefix)

    def apply(self, changes: Iterable[Change]) -> None:
        """Carry out the changes, in order."""
        for change in changes:
            match change:
                case Insert(table, values):
                    self._execute(_insert(self._prefix, table, tuple(values)), tuple(values.values()))
                case Increment(table, key, column, by):
                    self._execute(_increment(self._prefix, table, tuple(key), column), (*key.values(), by))
                case Document(key, passages):
                    self.documents.add(key, passages)
                case Update(table, where, values):
                    sql = _update(self._prefix, table, tuple(values), _shape(where))
                    self._execute(sql, (*values.values(), *_given(where)))
                case Delete(table, where):
                    sql = f"DELETE FROM {self._prefix}{table.name} WHERE {_conditions(_shape(where))}"
                    self._execute(sql, _given(where))
                case Unindex(key):
                    self.documents.remove(key)


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
