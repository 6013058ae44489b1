"""What a projection may say: tables declared as data, and changes to their rows."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from pmm_mcp.domain.records import Recorded

Value = int | str | bytes | None
ColumnType = Literal["INTEGER", "TEXT", "BLOB"]

INTEGER: Final[ColumnType] = "INTEGER"
TEXT: Final[ColumnType] = "TEXT"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """A read table. `indexes` are column lists; every key is unique."""

    name: str
    key: tuple[str, ...]
    columns: Mapping[str, ColumnType]
    indexes: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Insert:
    """Add a row; its key must be new."""

    table: Table
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Update:
    """Change the rows with these values; a None in `where` means "is null"."""

    table: Table
    where: Mapping[str, Value]
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove the rows with these values."""

    table: Table
    where: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Increment:
    """Add to a number, starting from 0."""

    table: Table
    key: Mapping[str, Value]
    column: str
    by: int = 1


@dataclass(frozen=True, slots=True)
class Document:
    """Make a text searchable, passage by passage, under the seq that named it.

    `governed` texts can also be searched apart from all others.
    """

    key: int
    passages: tuple[str, ...] = field(default=())
    governed: bool = False


@dataclass(frozen=True, slots=True)
class Unindex:
    """Take a document out of the search."""

    key: int


Change = Insert | Update | Delete | Increment | Document | Unindex


class Projection(Protocol):
    """A read model: its tables, its version, and a pure function from one event to changes.

    `VERSION` rises whenever the same events would give other rows; the read tables are then rebuilt.
    """

    @property
    def VERSION(self) -> int:  # noqa: N802 - a constant of a module
        """The version of its rows."""
        ...

    @property
    def TABLES(self) -> tuple[Table, ...]:  # noqa: N802 - a constant of a module
        """Its tables."""
        ...

    @property
    def project(self) -> Callable[[Recorded], Iterator[Change]]:
        """What one event changes."""
        ...
