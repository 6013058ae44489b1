"""Guidance: the governed knowledge that is put before an agent, and what of it was left out."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final, Literal

from pmm_mcp.domain.ids import public_id
from pmm_mcp.domain.knowledge import Form
from pmm_mcp.domain.tiers import Role, Status, Tier

Reason = Literal["dao_tian_limit", "max_items", "token_budget", "answer_size"]
"""Why something that is relevant is not shown."""

EVIDENCE: Final = "evidence"
CANDIDATES: Final = "candidates"
SECTIONS: Final = (*(tier.value for tier in Tier), EVIDENCE, CANDIDATES)
"""The parts of a pack, in their order: what is believed from the universal to the concrete, then the rest."""


@dataclass(frozen=True, slots=True)
class Cited:
    """A piece of evidence that an item rests on, or that speaks against it."""

    evidence: int
    role: Role | None
    source: str | None
    is_answered: bool = False

    @property
    def id(self) -> str:
        """What a caller calls it."""
        return public_id("ev", self.evidence)


@dataclass(frozen=True, slots=True)
class Hints:
    """What an item suggests to whoever plans the work. They bias, and never start anything."""

    intent_tags: tuple[str, ...] = ()
    workflow_bias: tuple[str, ...] = ()
    tool_needs: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.intent_tags or self.workflow_bias or self.tool_needs)


NO_HINTS: Final = Hints()


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One thing that is shown: a governed statement, or a piece of evidence, which has no tier."""

    seq: int
    section: str
    statement: str
    score: int
    anchor: str
    tier: Tier | None = None
    status: Status | None = None
    domain: str | None = None
    field: str | None = None
    hints: Hints = NO_HINTS
    citations: tuple[Cited, ...] = ()
    is_contested: bool = False
    form: Form = "kn"

    @property
    def id(self) -> str:
        """What a caller calls it."""
        return public_id("ev" if self.tier is None else self.form, self.seq)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something relevant that is not shown."""

    id: str
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """What is shown, section by section, and what is not: some of it named, all of it counted."""

    advice: tuple[Advice, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    left_out_total: int = 0
    notice: str = ""
    """Why nothing is shown that is believed; empty when something is."""

    @property
    def sections(self) -> Iterator[tuple[str, Sequence[Advice]]]:
        """What is shown, by section."""
        for name, advice in groupby(self.advice, key=lambda one: one.section):
            yield name, tuple(advice)

    @property
    def item_ids(self) -> tuple[str, ...]:
        """The ids of what is shown, in order."""
        return tuple(one.id for one in self.advice)

    def shorter(self) -> "Guidance":
        """Return it without the last of the longest section: no tier is the first to go for being last."""
        sizes = Counter(one.section for one in self.advice)
        longest = max(sizes, key=lambda name: (sizes[name], SECTIONS.index(name)))
        last = next(one for one in reversed(self.advice) if one.section == longest)
        return replace(
            self,
            advice=tuple(one for one in self.advice if one is not last),
            left_out=(LeftOut(last.id, "answer_size"), *self.left_out),
            left_out_total=self.left_out_total + 1,
        )


NO_GUIDANCE: Final = Guidance()
