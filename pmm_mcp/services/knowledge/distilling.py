"""Distilling a candidate from evidence, and raising active knowledge by one tier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pmm_mcp.context.quoting import one_line
from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.anchors import Anchor
from pmm_mcp.domain.errors import InvalidArgumentError, MoveNotAllowedError, RequestIdConflictError
from pmm_mcp.domain.events.cards import CardCreated, CardRaised
from pmm_mcp.domain.events.knowledge import Candidate, KnowledgeDistilled, KnowledgeRaised
from pmm_mcp.domain.events.memory import Domain
from pmm_mcp.domain.ids import public_id
from pmm_mcp.domain.knowledge import Form, Item, one_statement, widest
from pmm_mcp.domain.names import name
from pmm_mcp.domain.records import Call, Draft, Recorded
from pmm_mcp.domain.tiers import GLOSSES, Role, Status, Tier, parse_tier, tier_above
from pmm_mcp.domain.words import compare_words
from pmm_mcp.ports import Ledger, Transaction, View
from pmm_mcp.queries import events, knowledge
from pmm_mcp.queries.plans import Plan, carried_out, carry_out
from pmm_mcp.retrieval.grammar import plain
from pmm_mcp.retrieval.scope import Filters, Lexical
from pmm_mcp.services.boundary import Boundary, masked_names
from pmm_mcp.services.knowledge.dossier import existing, item_at, parse_item, parse_refs, refs_of, roles_of
from pmm_mcp.services.results import Ref, Result

HINTS_MAX: Final = 20
SIMILAR_MAX: Final = 3
SIMILAR_MILLIONTHS: Final = 500_000
"""How alike two statements must be to be mentioned, as the share of words they have in common."""
_GONE: Final = frozenset({Status.DEMOTED, Status.RETIRED})


@dataclass(frozen=True, slots=True, kw_only=True)
class DistillInput:
    """What a caller proposes; empty strings are absent."""

    statement: str
    content: str
    tier: str
    supporting_refs: Sequence[str]
    teaching_refs: Sequence[str] = ()
    counterexample_refs: Sequence[str] = ()
    domain: str = Domain.PROJECT
    field: str = "general"
    scope_constraints: str = ""
    intent_tags: Sequence[str] = ()
    workflow_bias: Sequence[str] = ()
    tool_needs: Sequence[str] = ()
    dry_run: bool = False


class DistillResult(Result):
    """The candidate, or the item that says the same already; `similar` is advice."""

    id: str = ""
    created: bool = False
    status: str = ""
    tier: str = ""
    anchor: str = ""
    similar: list[Ref] = []
    masked: list[str] = []
    refs: list[Ref] = []


class RaiseResult(Result):
    """The candidate of the tier above, and what it was raised from."""

    id: str
    from_id: str
    tier: str
    status: str = ""
    created: bool = True
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class DistillService:
    """Brings candidates into the ledger: there is no other door."""

    ledger: Ledger
    boundary: Boundary
    lexical: Lexical

    async def distill(self, given: DistillInput, *, call: Call, form: Form = "kn") -> DistillResult:
        """Record a candidate, as knowledge or as a card, or find the item here that says the same.

        Raises:
            InvalidArgumentError: an argument has a value that is not allowed.
            NotFoundError: a reference names no evidence of this ledger.

        """
        event = _candidate(given, call, form)
        texts = await self._texts(
            one_statement(given.statement), given.content, scope=given.scope_constraints
        )
        proposed = _Proposed(event=event, texts=texts, call=call)
        async with self.ledger.reader.view() as view:
            similar = await self._similar(view, texts["statement"].value, call)
            rehearsed = await carried_out(view, proposed.plan()) if given.dry_run else None
            head = await view.ask(events.head())
        if rehearsed is None:
            result = await self.ledger.write(proposed.write, call=call, again=proposed.again)
        else:
            result = proposed.result(rehearsed, seq=0, head=head)
            result = result.model_copy(update={"notice": "dry run: nothing was written"})
        return result.model_copy(update={"similar": [ref for ref in similar if ref.id != result.id]})

    async def raise_tier(
        self, item_id: str, *, statement: str, content: str, reason: str, call: Call
    ) -> RaiseResult:
        """Propose an active item for the tier above, with its references.

        Raises:
            InvalidArgumentError: the reason is empty, or another argument is not allowed.
            MoveNotAllowedError: it is not active, or nothing is above its tier.
            NotFoundError: there is no such item.

        """
        form, origin = parse_item(item_id)
        if not reason.strip():
            raise InvalidArgumentError("reason is empty", hint="Say why it holds more widely.")
        texts = {"reason": await self.boundary.admit(reason.strip(), field="reason")}
        if statement.strip():
            texts["statement"] = await self.boundary.admit(one_statement(statement), field="statement")
        if content.strip():
            texts["content"] = await self.boundary.admit(content, field="content")
        raising = _Raising(origin=origin, form=form, texts=texts, call=call)
        return await self.ledger.write(raising.write, call=call, again=raising.again)

    async def _texts(self, statement: str, content: str, *, scope: str) -> Mapping[str, Admitted]:
        if not content.strip():
            raise InvalidArgumentError("content is empty", hint="Say why it holds, and where it ends.")
        texts = {
            "statement": await self.boundary.admit(statement, field="statement"),
            "content": await self.boundary.admit(content, field="content"),
        }
        if scope.strip():
            texts["scope_constraints"] = await self.boundary.admit(scope.strip(), field="scope_constraints")
        return texts

    async def _similar(self, view: View, statement: str, call: Call) -> list[Ref]:
        found = await self.lexical.search(
            view, plain(statement), anchors=call.place.visible, filters=Filters(kinds=("knowledge",))
        )
        items = await view.ask(knowledge.at([hit.doc for hit in found[: 4 * SIMILAR_MAX]]))
        alike = [
            (compare_words(statement, item.statement), item.item, item.statement)
            for item in items.values()
            if item.statement is not None
        ]
        return [
            Ref(id=public_id("kn", seq), text=one_line(text, chars_max=60))
            for score, seq, text in sorted(alike, key=lambda row: (-row[0], row[1]))[:SIMILAR_MAX]
            if score >= SIMILAR_MILLIONTHS
        ]


@dataclass(frozen=True, slots=True)
class _Found:
    """Where a candidate would stand, what says the same already, and what it would inherit."""

    anchor: Anchor
    refs: list[Ref]
    same: Item | None = None
    gone: tuple[Item, ...] = ()
    inherited: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proposed:
    event: KnowledgeDistilled | CardCreated
    texts: Mapping[str, Admitted]
    call: Call

    def plan(self) -> Plan[_Found]:
        event = self.event
        cited = sorted({*event.supporting, *event.teaching, *event.counterexample})
        records = yield from existing(cited)
        anchor = widest(
            [Anchor(records[seq].anchor) for seq in event.supporting], here=self.call.place.visible
        )
        refs = refs_of(records, cited)
        same: tuple[Item, ...] = yield knowledge.same_statement(self.texts["statement"].value, anchor=anchor)
        by_form = sorted(same, key=lambda item: item.form != "kn")  # A card says what its knowledge says.
        live = next((item for item in by_form if item.status not in _GONE), None)
        gone = tuple(item for item in same if item.status in _GONE)
        inherited: set[int] = set()
        for item in gone:
            roles, _ = yield from roles_of(item.item)
            inherited |= set(roles[Role.COUNTEREXAMPLE])
        return _Found(anchor, refs, live, gone, tuple(sorted(inherited)))

    def write(self, tx: Transaction) -> DistillResult:
        found = carry_out(tx, self.plan())
        if found.same is not None:
            return self.result(found, seq=found.same.item, head=tx.next_seq - 1)
        against = set(self.event.counterexample) | set(found.inherited)
        event = self.event.model_copy(
            update={
                "supporting": tuple(seq for seq in self.event.supporting if seq not in against),
                "counterexample": tuple(sorted(against)),
                "inherited_from": tuple(sorted(item.item for item in found.gone)),
            }
        )
        (record,) = tx.append(Draft(event, self.texts, anchor=found.anchor))
        return self.result(found, seq=record.seq, head=record.seq)

    def again(self, tx: Transaction, recorded: Recorded) -> DistillResult:
        asked = {"statement": self.texts["statement"].value, "content": self.texts["content"].value}
        if type(recorded.event) is not type(self.event) or any(
            recorded.texts.get(field) not in (text, None) for field, text in asked.items()
        ):
            raise RequestIdConflictError(recorded.request_id)
        found = carry_out(tx, self.plan())
        result = self.result(found, seq=recorded.seq, head=tx.next_seq - 1)
        return result.model_copy(
            update={
                "id": self.id_of(recorded.seq),
                "created": True,
                "status": Status.CANDIDATE,
                "anchor": recorded.anchor,
                "notice": None,
                "repeated": True,
            }
        )

    def id_of(self, seq: int) -> str:
        form: Form = "kn" if isinstance(self.event, KnowledgeDistilled) else "card"
        return public_id(form, seq) if seq else ""

    def result(self, found: _Found, *, seq: int, head: int) -> DistillResult:
        notices = []
        if found.same is not None:
            notices.append(f"{found.same.id} says this here already")
            if found.same.tier is not self.event.tier:
                notices.append(f"as {found.same.tier} ({GLOSSES[found.same.tier]})")
        if found.inherited and found.same is None:
            names = ", ".join(public_id("ev", one) for one in found.inherited)
            notices.append(f"said before and given up: it inherits the counterexamples {names}")
        return DistillResult(
            id=found.same.id if found.same is not None else self.id_of(seq),
            created=found.same is None and bool(seq),
            status=Status.CANDIDATE if found.same is None else found.same.status,
            tier=self.event.tier if found.same is None else found.same.tier,
            anchor=found.anchor,
            masked=masked_names(*self.texts.values()),
            refs=found.refs,
            notice="; ".join(notices) or None,
            head=head,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Raising:
    origin: int
    form: Form
    texts: Mapping[str, Admitted]
    call: Call

    def write(self, tx: Transaction) -> RaiseResult:
        origin = carry_out(tx, item_at(self.origin, self.form))
        tier = _tier_above(origin)
        births = tx.ask(events.by_seqs([self.origin]))
        birth = births[self.origin]
        assert isinstance(birth.event, Candidate)  # noqa: S101 - an item is born in no other way
        texts = {
            field: Admitted(text)
            for field, text in birth.texts.items()
            if text is not None and field in KnowledgeRaised.texts
        } | dict(self.texts)
        if "statement" not in texts or "content" not in texts:
            raise MoveNotAllowedError(
                f"a text of {origin.id} was removed", hint="Give statement and content of your own."
            )
        known = [one for one in tx.ask(knowledge.raised_from(self.origin)) if one.status not in _GONE]
        if known:
            return _raised(known[0], created=False, head=tx.next_seq - 1)
        taken = [
            one
            for one in tx.ask(knowledge.same_statement(texts["statement"].value, anchor=origin.anchor))
            if one.status not in _GONE
            and one.item not in (self.origin, origin.made_from)
            and one.made_from != self.origin
        ]
        if taken:
            raise MoveNotAllowedError(
                f"{taken[0].id} says this here already", hint="Say it differently, or use that one."
            )
        roles, _ = carry_out(tx, roles_of(self.origin))
        shape = KnowledgeRaised if self.form == "kn" else CardRaised
        event = shape(
            tier=tier,
            domain=origin.domain,
            field=origin.field,
            origin=self.origin,
            worktree=self.call.place.worktree or "",
            commit=self.call.place.head,
            supporting=roles[Role.SUPPORTING],
            verification=roles[Role.VERIFICATION],
            teaching=roles[Role.TEACHING],
            counterexample=roles[Role.COUNTEREXAMPLE],
            intent_tags=birth.event.intent_tags,
            workflow_bias=birth.event.workflow_bias,
            tool_needs=birth.event.tool_needs,
        )
        (record,) = tx.append(Draft(event, texts, anchor=origin.anchor))
        return RaiseResult(
            id=public_id(self.form, record.seq),
            from_id=origin.id,
            tier=tier,
            status=Status.CANDIDATE,
            anchor=origin.anchor,
            head=record.seq,
        )

    def again(self, tx: Transaction, recorded: Recorded) -> RaiseResult:
        event = recorded.event
        if not isinstance(event, KnowledgeRaised) or event.origin != self.origin:
            raise RequestIdConflictError(recorded.request_id)
        item = carry_out(tx, item_at(recorded.seq, self.form))
        return _raised(item, created=True, head=tx.next_seq - 1).model_copy(update={"repeated": True})


def _raised(item: Item, *, created: bool, head: int) -> RaiseResult:
    return RaiseResult(
        id=item.id,
        from_id=public_id(item.form, item.origin),
        tier=item.tier,
        status=item.status,
        created=created,
        anchor=item.anchor,
        head=head,
    )


def _tier_above(origin: Item) -> Tier:
    tier = tier_above(origin.tier)
    if tier is None:
        raise MoveNotAllowedError(
            f"{origin.id} is a {GLOSSES[origin.tier]}; nothing is above that",
            hint="It can only be published.",
        )
    if not origin.is_active:
        raise MoveNotAllowedError(
            f"{origin.id} is {origin.status}; only active knowledge is raised", hint="Promote it first."
        )
    return tier


def _candidate(given: DistillInput, call: Call, form: Form) -> KnowledgeDistilled | CardCreated:
    roles = {
        argument: parse_refs(getattr(given, argument), argument=argument)
        for argument in ("supporting_refs", "teaching_refs", "counterexample_refs")
    }
    if not roles["supporting_refs"]:
        raise InvalidArgumentError(
            "supporting_refs is empty", hint="Record what was seen with pmm_record, and cite its ids."
        )
    seen: dict[int, str] = {}
    for argument, seqs in roles.items():
        for seq in seqs:
            if seq in seen:
                raise InvalidArgumentError(
                    f"ev:{seq} is in {seen[seq]} and in {argument}", hint="A piece of evidence has one role."
                )
            seen[seq] = argument
    shape = KnowledgeDistilled if form == "kn" else CardCreated
    return shape(
        tier=parse_tier(given.tier),
        domain=_domain(given.domain),
        field=name(given.field, argument="field") or "general",
        supporting=roles["supporting_refs"],
        teaching=roles["teaching_refs"],
        counterexample=roles["counterexample_refs"],
        intent_tags=_hints(given.intent_tags, argument="intent_tags"),
        workflow_bias=_hints(given.workflow_bias, argument="workflow_bias"),
        tool_needs=_hints(given.tool_needs, argument="tool_needs"),
        worktree=call.place.worktree or "",
        commit=call.place.head,
    )


def _domain(text: str) -> Domain:
    allowed = {domain.value: domain for domain in Domain if domain is not Domain.GLOBAL}
    domain = allowed.get(text.strip().lower() or Domain.PROJECT)
    if domain is None:
        raise InvalidArgumentError(
            f"domain: {text[:40]!r} is not allowed here",
            hint="Use project, agent or skill; what is for everyone is published, with a person's signature.",
        )
    return domain


def _hints(hints: Sequence[str], *, argument: str) -> tuple[str, ...]:
    names = sorted({name(hint, argument=argument) for hint in hints} - {""})
    if len(names) > HINTS_MAX:
        raise InvalidArgumentError(f"{argument}: {len(names)} of at most {HINTS_MAX}")
    return tuple(names)
