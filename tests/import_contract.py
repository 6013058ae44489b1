"""One import-linter contract type, used by the table in `pyproject.toml`."""

from grimp import ImportGraph
from importlinter import ContractCheck
from importlinter.contracts.protected import ProtectedContract


class OnlyImportedBy(ProtectedContract):
    """A protected contract that skips what is not there: a package not written, a library not imported."""

    type_name = "only_imported_by"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Check the rows whose modules are in the graph; a row about absent ones has nothing to forbid."""
        for name in ("protected_modules", "allowed_importers"):
            expressions = getattr(self, name)
            setattr(self, name, [module for module in expressions if module.expression in graph.modules])
        return super().check(graph, verbose)
