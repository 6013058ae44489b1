"""The names PMM gives its kinds of events, and ours for them; filters accept both."""

from collections.abc import Mapping, Sequence
from typing import Final

from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.domain.events import EVENT_TYPES

PMM_NAMES: Final[Mapping[str, str]] = {
    "commitment_open": "commitment_opened",
    "commitment_close": "commitment_closed",
    "claim": "claim_accepted",
    "concept_define": "concept_defined",
    "concept_alias": "concept_aliased",
    "concept_relate": "concept_related",
    "concept_bind_event": "concept_bound",
    "concept_bind_thread": "concept_bound",
    "concept_bind_async": "concept_bound",
    "inter_ledger_ref": "ledger_referenced",
    "metrics_turn": "turn_metrics",
    "summary_update": "summary_updated",
    "violation": "policy_violation",
}


def kinds_named(names: Sequence[str]) -> tuple[str, ...]:
    """Return our kinds for names of ours or of PMM's, each once.

    Raises:
        InvalidArgumentError: a name is neither.

    """
    kinds = dict.fromkeys(PMM_NAMES.get(name.strip(), name.strip()) for name in names if name.strip())
    for kind in kinds:
        if kind not in EVENT_TYPES:
            raise InvalidArgumentError(
                f"kinds: {kind[:40]!r} is no kind of event",
                hint="Use " + ", ".join(sorted(EVENT_TYPES)) + ".",
            )
    return tuple(kinds)
