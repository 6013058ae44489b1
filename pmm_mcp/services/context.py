"""What is believed here about a question: guidance for whoever is about to choose an approach."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pmm_mcp.context.advice import Advice, Guidance, Hints
from pmm_mcp.context.guidance import Guide, Wanted
from pmm_mcp.context.guidance_render import render_guidance
from pmm_mcp.context.pack import context_id
from pmm_mcp.context.quoting import one_line, tokens_of
from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.domain.events.memory import Domain
from pmm_mcp.domain.names import name
from pmm_mcp.domain.normalise import normalise
from pmm_mcp.domain.records import Call
from pmm_mcp.domain.sizes import ANSWER_BYTES_MAX, cut, part_bytes
from pmm_mcp.ports import Ledger, Plan
from pmm_mcp.queries import adoption, events
from pmm_mcp.retrieval.grammar import QUERY_CHARS_MAX
from pmm_mcp.services.results import Part, Result

MAX_ITEMS_MAX: Final = 50
TOKEN_BUDGET_MAX: Final = 20_000
QUERY_CHARS: Final = 200
QUERY_BYTES: Final = 400
ANCHOR_BYTES: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextInput:
    """What a caller asks for; an empty string, and the seq 0, are absent."""

    query: str
    domain: str = ""
    field: str = ""
    max_items: int = 12
    token_budget: int = 1_500
    dao_tian_limit: int = 1
    include_evidence: bool = False
    include_cards: bool = False
    include_candidates: bool = False
    as_of: int = 0


class Citation(Part):
    """A piece of evidence an item rests on; a counterexample speaks against it."""

    id: str
    role: str | None = None
    source: str | None = None
    answered: bool | None = None


class TriggerHints(Part):
    """What an item suggests. Hints bias; they never name or run anything."""

    intent_tags: list[str] | None = None
    workflow_bias: list[str] | None = None
    tool_needs: list[str] | None = None


class ContextItem(Part):
    """What is believed, or was seen; `score` 0–1 says how much it has to do with the query."""

    id: str
    statement: str
    tier: str | None = None
    status: str | None = None
    domain: str | None = None
    field: str | None = None
    anchor: str
    score: float
    contested: bool | None = None
    trigger_hints: TriggerHints | None = None
    citations: list[Citation]


class ContextSection(Part):
    """The items of one tier, or the evidence, or the candidates."""

    name: str
    items: list[ContextItem]


class ItemLeftOut(Part):
    """Something relevant that is not shown, and what it did not fit into."""

    id: str
    reason: str


class ContextResult(Result):
    """The pack. `rendered` is the same for a prompt; `left_out_total` also counts what is not named."""

    context_id: str
    query: str
    anchors: list[str]
    sections: list[ContextSection]
    rendered: str
    tokens: int
    left_out: list[ItemLeftOut]
    left_out_total: int | None = None
    adoption: dict[str, int] = {}


@dataclass(frozen=True, slots=True)
class ContextService:
    """Puts before an agent what is believed."""

    ledger: Ledger
    guide: Guide

    async def context(self, given: ContextInput, *, call: Call) -> ContextResult:
        """Return what is believed about a query, as seen from the place of the call. It only reads.

        Raises:
            InvalidArgumentError: an argument has a value that is not allowed.

        """
        _check(given)
        async with self.ledger.reader.view() as view:
            head = await view.ask(events.head())
            if not 0 <= given.as_of <= head:
                raise InvalidArgumentError(
                    f"as_of: the ledger has no event {given.as_of}",
                    hint=f"It is a seq up to {head}; 0 is now.",
                )
            plan = self._plan(_wanted(given, call, as_of=given.as_of or head))
            guidance, secret, totals = await view.carry_out(plan)
        head = given.as_of or head
        result = _result(given, guidance, call, head=head, secret=secret)
        while part_bytes(result) > ANSWER_BYTES_MAX and guidance.advice:
            guidance = guidance.shorter()
            result = _result(given, guidance, call, head=head, secret=secret)
        return result.model_copy(update={"adoption": dict(totals)})

    def _plan(self, wanted: Wanted) -> Plan[tuple[Guidance, bytes, Mapping[str, int]]]:
        guidance = yield from self.guide.guidance(wanted)
        secret: bytes = yield adoption.secret()
        totals: Mapping[str, int] = yield adoption.totals_of([one.seq for one in guidance.advice])
        return guidance, secret, totals


def _check(given: ContextInput) -> None:
    for argument, value, least, most in (
        ("max_items", given.max_items, 1, MAX_ITEMS_MAX),
        ("token_budget", given.token_budget, 1, TOKEN_BUDGET_MAX),
        ("dao_tian_limit", given.dao_tian_limit, 0, MAX_ITEMS_MAX),
    ):
        if not least <= value <= most:
            raise InvalidArgumentError(
                f"{argument}: {value} is not allowed", hint=f"It is a number from {least} to {most}."
            )
    if given.domain.strip() and given.domain.strip() not in tuple(Domain):
        raise InvalidArgumentError(
            f"domain: {given.domain[:40]!r} is not one", hint="Use " + ", ".join(Domain) + "."
        )


def _wanted(given: ContextInput, call: Call, *, as_of: int) -> Wanted:
    return Wanted(
        query=given.query,
        place=call.place,
        as_of=as_of,
        domain=given.domain.strip(),
        field=name(given.field, argument="field"),
        max_items=given.max_items,
        token_budget=given.token_budget,
        dao_tian_limit=given.dao_tian_limit,
        include_evidence=given.include_evidence,
        include_candidates=given.include_candidates,
        include_cards=given.include_cards,
    )


def _result(
    given: ContextInput, guidance: Guidance, call: Call, *, head: int, secret: bytes | None
) -> ContextResult:
    rendered = render_guidance(guidance)
    if tokens_of(rendered) > given.token_budget:  # Only a notice can be too long: items were chosen to fit.
        rendered = ""
    notices = (guidance.notice, _cut(given.query), call.place.notice)
    return ContextResult(
        context_id=context_id(head=head, item_ids=guidance.item_ids, secret=secret),
        query=cut(
            one_line(normalise(given.query[:QUERY_CHARS]).value, chars_max=QUERY_CHARS), bytes_max=QUERY_BYTES
        ),
        anchors=[cut(anchor, bytes_max=ANCHOR_BYTES) for anchor in call.place.visible],
        sections=[
            ContextSection(name=name, items=[_item(one) for one in advice])
            for name, advice in guidance.sections
        ],
        rendered=rendered,
        tokens=tokens_of(rendered),
        left_out=[ItemLeftOut(id=one.id, reason=one.reason) for one in guidance.left_out],
        left_out_total=guidance.left_out_total or None,
        notice="; ".join(filter(None, notices)) or None,
        head=head,
    )


def _cut(query: str) -> str:
    beyond = len(query) - QUERY_CHARS_MAX
    return (
        f"only the last part of the query was used; {beyond} characters were left out" if beyond > 0 else ""
    )


def _item(advice: Advice) -> ContextItem:
    return ContextItem(
        id=advice.id,
        statement=advice.statement,
        tier=advice.tier,
        status=advice.status,
        domain=advice.domain,
        field=advice.field,
        anchor=cut(advice.anchor, bytes_max=ANCHOR_BYTES),
        score=advice.score / 1_000_000,
        contested=advice.is_contested or None,
        trigger_hints=_hints(advice.hints) if advice.hints else None,
        citations=[
            Citation(id=one.id, role=one.role, source=one.source, answered=one.is_answered or None)
            for one in advice.citations
        ],
    )


def _hints(hints: Hints) -> TriggerHints:
    return TriggerHints(
        intent_tags=list(hints.intent_tags) or None,
        workflow_bias=list(hints.workflow_bias) or None,
        tool_needs=list(hints.tool_needs) or None,
    )
