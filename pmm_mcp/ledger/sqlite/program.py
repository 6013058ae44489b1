"""What this version of the program knows: the steps of its schema, and its read models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pmm_mcp.ledger.sqlite.schema import MIGRATIONS, Migration
from pmm_mcp.projections import PROJECTIONS
from pmm_mcp.projections.changes import Projection


@dataclass(frozen=True, kw_only=True)
class Program:
    """The steps of the schema and the read models. Tests give others, to be an older or a newer program."""

    migrations: Sequence[Migration] = MIGRATIONS
    projections: Mapping[str, Projection] = field(default_factory=lambda: PROJECTIONS)

    @property
    def schema_version(self) -> int:
        """The number of the schema that this program writes."""
        return len(self.migrations)

    @cached_property
    def versions(self) -> Mapping[str, int]:
        """The version of each read model."""
        return {name: projection.VERSION for name, projection in self.projections.items()}
