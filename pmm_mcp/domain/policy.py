"""The source policy: which kind of actor may write which kind of event. A floor in code, failing closed."""

from collections.abc import Mapping
from typing import Final

from pmm_mcp.domain.errors import PolicyViolationError
from pmm_mcp.domain.records import ActorKind

_ALL: Final = frozenset[ActorKind](("agent", "human", "model", "runtime", "importer"))
_RUNTIME: Final = frozenset[ActorKind](("runtime",))
_IMPORTED: Final = frozenset[ActorKind](("runtime", "importer"))
_SAID: Final = frozenset[ActorKind](("agent", "human", "importer"))
_THOUGHT: Final = frozenset[ActorKind](("model", "agent", "human", "runtime", "importer"))
_HUMAN: Final = frozenset[ActorKind](("human",))
_DECIDES: Final = frozenset[ActorKind](("agent", "human", "runtime"))

WRITERS: Final[Mapping[str, frozenset[ActorKind]]] = {
    "ledger_opened": _RUNTIME,
    "ledger_moved": _RUNTIME,
    "place_seen": _RUNTIME,
    "lease_taken_over": _RUNTIME,
    "clock_stepped": _RUNTIME,
    "policy_violation": _RUNTIME,
    "text_redacted": _HUMAN,
    "import_started": _IMPORTED,
    "import_finished": _IMPORTED,
    "source_event": _IMPORTED,
    "user_message": _SAID,
    "assistant_message": _THOUGHT,
    "generation_failure": _IMPORTED,
    "late_reply": _THOUGHT,
    "validation_failure": _IMPORTED,
    "retrieval_selection": _RUNTIME,
    "turn_metrics": _RUNTIME,
    "commitment_opened": _THOUGHT,
    "commitment_closed": _THOUGHT,
    "claim_accepted": _THOUGHT,
    "reflection": _THOUGHT,
    "ledger_referenced": _THOUGHT,
    "concept_defined": _THOUGHT,
    "concept_aliased": _THOUGHT,
    "concept_related": _THOUGHT,
    "concept_bound": _THOUGHT,
    "summary_updated": _IMPORTED,
    "lifetime_memory": _IMPORTED,
    "evidence_recorded": _ALL,
    "evidence_withdrawn": _DECIDES,
    "knowledge_distilled": _DECIDES,
    "knowledge_raised": _DECIDES,
    "knowledge_promoted": _DECIDES,
    "knowledge_demoted": _DECIDES,
    "knowledge_retired": _DECIDES,
    "knowledge_restored": _DECIDES,
    "knowledge_published": _DECIDES,
    "promotion_refused": _DECIDES,
    "card_created": _DECIDES,
    "card_linked": _DECIDES,
    "card_unlinked": _DECIDES,
    "card_promoted": _DECIDES,
    "card_demoted": _DECIDES,
    "card_retired": _DECIDES,
    "card_restored": _DECIDES,
    "card_raised": _DECIDES,
    "card_published": _DECIDES,
    "reviewer_registered": _HUMAN,
    "reviewer_revoked": _HUMAN,
    "review_recorded": _HUMAN,
    "teaching_signed": _HUMAN,
    "policy_updated": _HUMAN,
    "place_confirmed": _HUMAN,
    "adoption_recorded": _DECIDES,
    "rollback_resolved": _HUMAN,
    "fact_asserted": _DECIDES,
    "fact_ended": _DECIDES,
    "embeddings_recorded": _RUNTIME,
    "embedding_set_changed": _RUNTIME,
}


def check_writer(*, actor_kind: ActorKind, kind: str) -> None:
    """Let the write pass, or refuse it.

    Raises:
        PolicyViolationError: the actor may not write this kind, or the kind has no rule.

    """
    if actor_kind not in WRITERS.get(kind, frozenset()):
        raise PolicyViolationError(actor_kind=actor_kind, kind=kind)
