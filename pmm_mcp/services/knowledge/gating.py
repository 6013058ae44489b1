"""What a gate said, as an answer."""

from collections.abc import Mapping
from typing import Final

from pmm_mcp.domain.gate import Verdict
from pmm_mcp.domain.sizes import cut
from pmm_mcp.domain.tiers import Role
from pmm_mcp.services.results import Part

REASON_BYTES: Final = 500


class Needs(Part):
    """What a tier asks for."""

    supporting: int
    verification: int
    teaching: int
    reviewer: bool


class Counted(Part):
    """How many pieces count in a role, of how many that are listed."""

    have: int
    counted: int


class Gate(Part):
    """Whether a gate opens; if not, every reason at once and what would satisfy each."""

    allowed: bool
    reasons: list[str] = []
    missing: list[str] = []
    requirements: Needs
    counts: dict[str, Counted] = {}


def shown(verdict: Verdict, roles: Mapping[Role, tuple[int, ...]]) -> Gate:
    """Return a verdict as callers see it."""
    needs = verdict.requirements
    return Gate(
        allowed=verdict.allowed,
        reasons=[cut(str(reason), bytes_max=REASON_BYTES) for reason in verdict.reasons],
        missing=[reason.missing for reason in verdict.reasons if reason.missing],
        requirements=Needs(
            supporting=needs.supporting,
            verification=needs.verification,
            teaching=needs.teaching,
            reviewer=needs.review,
        ),
        counts={
            role: Counted(have=len(roles[role]), counted=len(verdict.counted.get(role, ()))) for role in Role
        },
    )
