"""Listing knowledge, and saying by which rules it lives."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pmm_mcp.context.quoting import quoted
from pmm_mcp.domain.anchors import resolve_anchor_argument
from pmm_mcp.domain.case import FLOOR
from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.domain.events.memory import Domain
from pmm_mcp.domain.gate import RULES_VERSION, judge
from pmm_mcp.domain.ids import SEQ_MAX
from pmm_mcp.domain.knowledge import Item
from pmm_mcp.domain.names import name
from pmm_mcp.domain.records import Call
from pmm_mcp.domain.sizes import fitting
from pmm_mcp.domain.tiers import GLOSSES, ReasonType, Status, Tier, active_status, parse_tier
from pmm_mcp.ports import Clock, Ledger, Signatures, View
from pmm_mcp.queries import events, knowledge, reviews
from pmm_mcp.queries.knowledge import Listing
from pmm_mcp.services.knowledge.dossier import Proposal, dossier_of
from pmm_mcp.services.results import Part, Result

LIMIT_MAX: Final = 50
LIST_BYTES: Final = 8_000
LOOKED_AT_MAX: Final = 200
"""How many candidates are judged to find those that await verification."""
KINDS: Final = ("all", "knowledge", "card")
_FORMS: Final = {"": "", "all": "", "knowledge": "kn", "card": "card"}
AWAITING: Final = ("promotion", "review", "verification")
_CURSOR: Final = re.compile(r"[1-9][0-9]{0,14}")

FIELDS: Final[Mapping[str, str]] = {
    "general": "what fits nowhere else; every field falls back to it",
    "architecture": "how a system is cut and why",
    "debugging": "finding what is wrong",
    "testing": "showing that something holds",
    "tooling": "builds, linters, editors, commands",
    "operations": "running and releasing it",
    "security": "what must not happen",
    "performance": "how fast, how large",
    "data": "schemas, formats, migrations",
    "collaboration": "how people and agents work together",
    "epistemics": "how something comes to be believed",
}
"""A taxonomy to choose from; a field may be any name."""


class Listed(Part):
    """An item, as a list shows it."""

    id: str
    statement: str
    tier: str
    gloss: str
    status: str
    domain: str
    field: str
    anchor: str
    contested: bool | None = None
    for_review: bool | None = None


class ListResult(Result):
    """Items, newest first."""

    items: list[Listed]
    next_cursor: str | None = None


class TierShown(Part):
    """A tier, in words."""

    tier: str
    also: str
    gloss: str
    statuses: list[str]
    active: str


class GateShown(Part):
    """What a tier asks for now; `stricter_by` is the event that raised it above the floor."""

    tier: str
    supporting: int
    verification: int
    teaching: int
    reviewer: bool
    stricter_by: int | None = None


class PolicyResult(Result):
    """The rules as data."""

    rules: int
    tiers: list[TierShown]
    gates: list[GateShown]
    fields: dict[str, str]
    reason_types: list[str]
    source_policy: dict[str, str]


_ALSO: Final = {
    Tier.DAO_TIAN: "principle",
    Tier.DAO_REN: "law",
    Tier.SHU: "method",
    Tier.QI: "tool",
}
_SOURCE_POLICY: Final = {
    "counts_once": "a source counts once; all unresolved sources, and a model's words, are one together",
    "verification": "a file that was read, after the candidate, in a later session or after a commit",
    "research": "research and imports never carry a gate alone",
    "counterexample": "blocks until a later verification of another session, or a reviewer, answers it",
    "never_yours_to_say": "actor, session, provenance, status, reviewer",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListInput:
    """What a caller asks for; empty strings are absent."""

    kind: str = "all"
    tier: str = ""
    status: str = ""
    domain: str = ""
    field: str = ""
    anchor: str = ""
    awaiting: str = ""
    limit: int = 20
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class KnowledgeListService:
    """Reads governed knowledge, and its rules."""

    ledger: Ledger
    signatures: Signatures
    clock: Clock

    async def list(self, given: ListInput, *, call: Call) -> ListResult:
        """Return items visible from the place of the call, newest first.

        Raises:
            InvalidArgumentError: an argument has a value that is not allowed.

        """
        listing = listing_of(given, call)
        async with self.ledger.reader.view() as view:
            head = await view.ask(events.head())
            if given.awaiting.strip() == "verification":
                items, rest = await self._unverified(view, listing, given.limit)
            else:
                found = await view.ask(knowledge.page(listing, limit=given.limit + 1))
                items, rest = found[: given.limit], len(found) > given.limit
            contested = await view.ask(knowledge.contested([item.item for item in items]))
        shown = fitting([_listed(item, contested) for item in items], bytes_max=LIST_BYTES, least=1)
        more = rest or len(shown) < len(items)
        cursor = str(items[len(shown) - 1].item) if more and shown else None
        return ListResult(items=shown, next_cursor=cursor, head=head)

    async def policy(self) -> PolicyResult:
        """Return tiers, gates, fields and reasons, as they hold now."""
        async with self.ledger.reader.view() as view:
            head = await view.ask(events.head())
            policies = await view.ask(reviews.policies())
        gates = []
        for tier, floor in FLOOR.items():
            policy = policies.get(tier)
            needs = floor if policy is None else floor.at_least(policy.requirements)
            gates.append(
                GateShown(
                    tier=tier,
                    supporting=needs.supporting,
                    verification=needs.verification,
                    teaching=needs.teaching,
                    reviewer=needs.review,
                    stricter_by=None if policy is None else policy.seq,
                )
            )
        return PolicyResult(
            rules=RULES_VERSION,
            tiers=[_tier(tier) for tier in Tier],
            gates=gates,
            fields=dict(FIELDS),
            reason_types=list(ReasonType),
            source_policy=dict(_SOURCE_POLICY),
            head=head,
        )

    async def _unverified(self, view: View, listing: Listing, limit: int) -> tuple[Sequence[Item], bool]:
        """Return candidates that have their support and lack verification."""
        kept: list[Item] = []
        for item in await view.ask(knowledge.page(listing, limit=LOOKED_AT_MAX)):
            plan = dossier_of(
                Proposal(item=item.item, form=item.form),
                now_us=self.clock.now_us(),
                signatures=self.signatures,
            )
            dossier = await view.carry_out(plan)
            codes = {reason.code for reason in judge(dossier.case).reasons}
            if "verification_short" in codes and "supporting_short" not in codes:
                kept.append(item)
            if len(kept) > limit:
                return kept[:limit], True
        return kept, False


def as_quoted(items: Sequence[Listed]) -> str:
    """Return items as text for a prompt: our words on one line, theirs quoted below."""
    return "\n".join(
        f"{item.id}, {item.tier} ({item.gloss}), {item.status}\n{quoted(item.statement)}" for item in items
    )


def listing_of(given: ListInput, call: Call) -> Listing:
    """Return what a list is narrowed to.

    Raises:
        InvalidArgumentError: an argument has a value that is not allowed.

    """
    if not 1 <= given.limit <= LIMIT_MAX:
        raise InvalidArgumentError(
            f"limit: {given.limit} is not allowed", hint=f"It is a number from 1 to {LIMIT_MAX}."
        )
    if given.cursor and not _CURSOR.fullmatch(given.cursor):
        raise InvalidArgumentError(
            f"cursor: {given.cursor[:40]!r} is not one", hint="Pass next_cursor as it came."
        )
    status = _one_of("status", given.status, tuple(Status))
    listing = Listing(
        anchors=resolve_anchor_argument(given.anchor, call.place),
        form=_FORMS[_one_of("kind", given.kind, KINDS)],
        tier=parse_tier(given.tier) if given.tier.strip() else "",
        statuses=(status,) if status else (),
        domain=_one_of("domain", given.domain, tuple(Domain)),
        field=name(given.field, argument="field"),
        before=int(given.cursor or SEQ_MAX),
    )
    match _one_of("awaiting", given.awaiting, AWAITING):
        case "review":
            return replace(listing, awaiting_review=True)
        case "promotion":
            return replace(listing, statuses=listing.statuses or (Status.CANDIDATE, Status.DEMOTED))
        case "verification":
            return replace(listing, statuses=listing.statuses or (Status.CANDIDATE,))
        case _:
            return listing


def _listed(item: Item, contested: frozenset[int]) -> Listed:
    return Listed(
        id=item.id,
        statement=item.statement or "(removed)",
        tier=item.tier,
        gloss=GLOSSES[item.tier],
        status=item.status,
        domain=item.domain,
        field=item.field,
        anchor=item.anchor,
        contested=(item.is_active and item.item in contested) or None,
        for_review=item.for_review or None,
    )


def _tier(tier: Tier) -> TierShown:
    active = active_status(tier)
    return TierShown(
        tier=tier,
        also=_ALSO[tier],
        gloss=GLOSSES[tier],
        statuses=[Status.CANDIDATE, active, Status.DEMOTED, Status.RETIRED],
        active=active,
    )


def _one_of(argument: str, value: str, allowed: Sequence[str]) -> str:
    said = value.strip().lower()
    if said and said not in allowed:
        raise InvalidArgumentError(
            f"{argument}: {value[:40]!r} is not one", hint="Use " + ", ".join(allowed) + "."
        )
    return said
