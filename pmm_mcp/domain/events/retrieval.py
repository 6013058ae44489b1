"""Events of retrieval: which vectors there are of what was said, to check them or compute them anew."""

from typing import Annotated, Literal

from pydantic import StringConstraints

from pmm_mcp.domain.events.base import Count, EventBody, Name, Seq

VectorDigest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class EmbeddingsRecorded(EventBody):
    """Documents of a stretch of the ledger got vectors of one set."""

    kind: Literal["embeddings_recorded"] = "embeddings_recorded"
    v: Literal[1] = 1
    set: Name
    """The embedder with its model; vectors of two sets are never compared."""
    from_seq: Seq
    to_seq: Seq
    count: Count
    """How many documents of the stretch have a vector."""
    digest: VectorDigest
    """SHA-256 of the vectors as they were stored."""


class EmbeddingSetChanged(EventBody):
    """From here on another set of vectors serves: it covers what the one before did."""

    kind: Literal["embedding_set_changed"] = "embedding_set_changed"
    v: Literal[1] = 1
    set: Name
    before: Name | None = None


RetrievalEvent = EmbeddingsRecorded | EmbeddingSetChanged
