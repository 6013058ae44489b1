"""Names for what the ledger holds: a prefix that says what, and the position that created it."""

import re
from typing import Final, Literal, get_args

from pmm_mcp.domain.errors import InvalidArgumentError

Prefix = Literal["ev", "kn", "card", "turn", "msg", "co", "cl", "fa", "rf", "rv", "ad"]

SEQ_MAX: Final = 2**53 - 1

_ID = re.compile(r"([a-z]+):([1-9][0-9]{0,15})")
_MEANING: Final[dict[str, str]] = {
    "ev": "evidence",
    "kn": "knowledge",
    "card": "a card",
    "turn": "a turn",
    "msg": "a message",
    "co": "a commitment",
    "cl": "a claim",
    "fa": "a fact",
    "rf": "a reflection",
    "rv": "a review",
    "ad": "an adoption signal",
}


def public_id(prefix: Prefix, seq: int) -> str:
    """Return the id a caller sees, such as `ev:1042`."""
    return f"{prefix}:{seq}"


def parse_id(text: str, *prefixes: Prefix) -> tuple[Prefix, int]:
    """Return the prefix and the seq of an id.

    Raises:
        InvalidArgumentError: it is no id, or its prefix is not one of `prefixes` (any, when none is given).

    """
    allowed = prefixes or get_args(Prefix)
    match = _ID.fullmatch(text.strip())
    if match is None or match[1] not in _MEANING or int(match[2]) > SEQ_MAX:
        raise InvalidArgumentError(
            f"{text[:80]!r} is not an id",
            hint="Ids look like " + ", ".join(f"{prefix}:1042" for prefix in allowed) + ".",
        )
    prefix = match[1]
    if prefix not in allowed:
        wanted = " or ".join(f"{name}: ({_MEANING[name]})" for name in allowed)
        raise InvalidArgumentError(f"{text.strip()!r} names {_MEANING[prefix]}", hint=f"This takes {wanted}.")
    return prefix, int(match[2])  # type: ignore[return-value]  # checked against the literal above


KINDS: Final[dict[Prefix, tuple[str, ...]]] = {
    "ev": ("evidence_recorded",),
    "kn": ("knowledge_distilled", "knowledge_raised"),
    "card": ("card_created", "card_raised"),
    "rv": ("review_recorded",),
    "ad": ("adoption_recorded",),
    "fa": ("fact_asserted",),
    "turn": ("user_message",),
    "msg": ("user_message", "assistant_message", "generation_failure", "late_reply"),
    "co": ("commitment_opened",),
    "cl": ("claim_accepted",),
    "rf": ("reflection", "summary_updated", "lifetime_memory"),
}
"""The kinds of event that each prefix may name."""

_PREFIX_OF: Final[dict[str, Prefix]] = {
    kind: prefix for prefix, kinds in KINDS.items() if prefix != "turn" for kind in kinds
}


def event_id(kind: str, seq: int) -> str:
    """Return the id of what an event created; `event:N` for an event that has no prefix of its own."""
    prefix = _PREFIX_OF.get(kind)
    return f"event:{seq}" if prefix is None else public_id(prefix, seq)
