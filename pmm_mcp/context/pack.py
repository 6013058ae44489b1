"""What a turn shows to a model."""

import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from typing import Final

from pmm_mcp.context.advice import NO_GUIDANCE, Guidance
from pmm_mcp.domain.ids import public_id
from pmm_mcp.queries.commitments import Commitment
from pmm_mcp.queries.memory import DOCUMENT_PREFIX
from pmm_mcp.queries.turns import Pair
from pmm_mcp.retrieval.scope import Found

DIGEST_CHARS: Final = 16
SEAL_CHARS: Final = 12
_CONTEXT_ID: Final = re.compile(
    rf"ci:(?P<head>\d{{1,16}}):(?P<digest>[0-9a-f]{{{DIGEST_CHARS}}})(?P<seal>[0-9a-f]{{{SEAL_CHARS}}})"
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A line of the last reply that had no effect, and why."""

    reason: str
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """What was selected, before it is rendered. `head` is the ledger's at that moment."""

    head: int
    found: Sequence[Found] = ()
    passed_over: Sequence[Found] = ()
    """The best of what was looked at, and is not shown."""
    vectors: str | None = None
    """The set of vectors that served."""
    pairs: Sequence[Pair] = ()
    commitments: Sequence[Commitment] = ()
    failures: Sequence[Failure] = field(default=())
    guidance: Guidance = NO_GUIDANCE

    @property
    def shown(self) -> frozenset[int]:
        """Every event a reply may cite."""
        pairs = (seq for pair in self.pairs for seq in (pair.turn, pair.terminal))
        return frozenset(
            (
                *(advice.seq for advice in self.guidance.advice),
                *(hit.doc for hit in self.found),
                *pairs,
                *(commitment.commitment for commitment in self.commitments),
            )
        )

    @property
    def item_ids(self) -> tuple[str, ...]:
        """The ids of the guidance, then of the matched documents, best first."""
        return (*self.guidance.item_ids, *(document_id(hit.kind, hit.doc) for hit in self.found))


def document_id(kind: str, doc: int) -> str:
    """Return what a caller calls a document."""
    return public_id(DOCUMENT_PREFIX[kind], doc)


def context_id(*, head: int, item_ids: Sequence[str], secret: bytes | None) -> str:
    """Return the id of a context: over its items, in their order, and the head, under a secret of the ledger.

    The secret (HMAC-SHA-256, RFC 2104) lets the server tell an id it has handed out from one made up.
    """
    digest = sha256(f"{head}\n{' '.join(item_ids)}".encode()).hexdigest()[:DIGEST_CHARS]
    return f"ci:{head}:{digest}{_seal(head, digest, secret)}"


def is_context_of(text: str, *, secret: bytes | None) -> bool:
    """Say whether an id is one that this ledger's server has handed out."""
    match = _CONTEXT_ID.fullmatch(text)
    return (
        match is not None
        and secret is not None
        and compare_digest(match["seal"], _seal(int(match["head"]), match["digest"], secret))
    )


def _seal(head: int, digest: str, secret: bytes | None) -> str:
    return hmac.new(secret or b"", f"{head}:{digest}".encode(), "sha256").hexdigest()[:SEAL_CHARS]
