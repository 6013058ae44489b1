"""The read models. Each registers by being named here."""

from collections.abc import Mapping
from typing import Final

from pmm_mcp.projections import (
    adoption,
    citations,
    claims,
    commitments,
    counters,
    embeddings,
    facts,
    imports,
    knowledge,
    memory,
    places,
    reviews,
    turns,
)
from pmm_mcp.projections.changes import Projection

PROJECTIONS: Final[Mapping[str, Projection]] = {
    "turns": turns,
    "memory": memory,
    "commitments": commitments,
    "claims": claims,
    "counters": counters,
    "knowledge": knowledge,
    "reviews": reviews,
    "adoption": adoption,
    "facts": facts,
    "places": places,
    "imports": imports,
    "citations": citations,
    "embeddings": embeddings,
}
