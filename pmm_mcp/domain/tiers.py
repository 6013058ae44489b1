"""The four tiers of knowledge, and the statuses each may have.

dao_tian is a universal principle, dao_ren the law of one field, shu a method, qi a tool. Everything is
born a candidate; what a gate let through is active: promoted, or canonical for a principle.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from pmm_mcp.domain.errors import InvalidArgumentError


class Tier(StrEnum):
    """How far a piece of knowledge reaches."""

    DAO_TIAN = "dao_tian"
    DAO_REN = "dao_ren"
    SHU = "shu"
    QI = "qi"


class Status(StrEnum):
    """How far a piece of knowledge has come."""

    CANDIDATE = "candidate"
    PROMOTED = "promoted"
    CANONICAL = "canonical"
    DEMOTED = "demoted"
    RETIRED = "retired"


class Role(StrEnum):
    """As what a piece of evidence is cited."""

    SUPPORTING = "supporting"
    VERIFICATION = "verification"
    TEACHING = "teaching"
    COUNTEREXAMPLE = "counterexample"


class ReasonType(StrEnum):
    """Why something is no longer believed."""

    CONTRADICTED = "contradicted"
    OBSOLETE = "obsolete"
    SUPERSEDED = "superseded"
    OUT_OF_SCOPE = "out_of_scope"
    UNSAFE = "unsafe"


GLOSSES: Final[Mapping[Tier, str]] = {
    Tier.DAO_TIAN: "universal principle",
    Tier.DAO_REN: "law of a field",
    Tier.SHU: "method",
    Tier.QI: "tool",
}
"""What a tier is, said in English wherever one is shown."""

ACTIVE: Final = frozenset({Status.PROMOTED, Status.CANONICAL})

TIER_NAMES: Final[Mapping[str, Tier]] = {
    **{tier.value: tier for tier in Tier},
    "principle": Tier.DAO_TIAN,
    "law": Tier.DAO_REN,
    "method": Tier.SHU,
    "tool": Tier.QI,
}
"""What a tier may be called by a caller."""

_RAISED: Final[Mapping[Tier, Tier]] = {
    Tier.QI: Tier.SHU,
    Tier.SHU: Tier.DAO_REN,
    Tier.DAO_REN: Tier.DAO_TIAN,
}


def parse_tier(text: str) -> Tier:
    """Return the tier a caller means.

    Raises:
        InvalidArgumentError: it is none of them.

    """
    tier = TIER_NAMES.get(text.strip().lower())
    if tier is None:
        names = ", ".join(f"{tier} ({gloss})" for tier, gloss in GLOSSES.items())
        raise InvalidArgumentError(f"tier: {text[:40]!r} is not one", hint=f"Use {names}.")
    return tier


def active_status(tier: Tier) -> Status:
    """Return what active knowledge of this tier is called."""
    return Status.CANONICAL if tier is Tier.DAO_TIAN else Status.PROMOTED


def tier_above(tier: Tier) -> Tier | None:
    """Return the tier one step up; nothing is above a universal principle."""
    return _RAISED.get(tier)
