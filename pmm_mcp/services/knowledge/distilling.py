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
from pmm_mcp.ports import Ledger, Plan, Transaction, View
from pmm_mcp.queries import events, knowledge
from pmm_mcp.queries.plans import carry_out
from pmm_mcp.retrieval.grammar import plain
from pmm_mcp.retrieval.scope import Filters, Lexical
from pmm_mcp.services.boundary import Boundary, masked_names
from pmm_mcp.services.knowledge.dossier import existing, item_at, parse_item, parse_refs, refs_of, roles_of
from pmm_mcp.services.knowledge.sameness import Against, said_here, spoken_against
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
            rehearsed = await view.carry_out(proposed.plan()) if given.dry_run else None
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
        texts = {"reason": await self.boundary.reason(reason, hint="Say why it holds more widely.")}
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
        places, filters = call.place.visible, Filters(kinds=("knowledge",))
        found = await view.carry_out(self.lexical.search(plain(statement), anchors=places, filters=filters))
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
    against: Against
    same: Item | None


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
        statement = self.texts["statement"].value
        same = yield from said_here(statement, anchor=anchor)
        against = yield from spoken_against(statement, anchor=anchor)
        return _Found(anchor, refs, against, same[0] if same else None)

    def write(self, tx: Transaction) -> DistillResult:
        found = carry_out(tx, self.plan())
        if found.same is not None:
            return self.result(found, seq=found.same.item, head=tx.next_seq - 1)
        event = self.event.model_copy(
            update={
                "supporting": _without(found.against, self.event.supporting),
                "teaching": _without(found.against, self.event.teaching),
                "counterexample": tuple(sorted({*self.event.counterexample, *found.against.evidence})),
                "inherited_from": found.against.items,
            }
        )
        (record,) = tx.append(Draft(event, self.texts, anchor=found.anchor))
        return self.result(found, seq=record.seq, head=record.seq)

    def again(self, tx: Transaction, recorded: Recorded) -> DistillResult:
        if not self.is_what_became(recorded):
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

    def is_what_became(self, recorded: Recorded) -> bool:
        """Say whether exactly this was distilled so, whatever it inherited, from wherever it was called."""
        event, asked = recorded.event, self.event
        if not isinstance(event, type(asked)):
            return False
        against = set(event.counterexample)
        found: dict[str, object] = {
            "supporting": tuple(seq for seq in asked.supporting if seq not in against),
            "teaching": tuple(seq for seq in asked.teaching if seq not in against),
            "counterexample": event.counterexample,
            "inherited_from": event.inherited_from,
            "worktree": event.worktree,
            "commit": event.commit,
            "changed": event.changed,
        }
        is_all_inherited = bool(event.inherited_from) or against == set(asked.counterexample)
        return (
            event == asked.model_copy(update=found)
            and is_all_inherited
            and against >= set(asked.counterexample)
            and recorded.texts.keys() == self.texts.keys()
            and all(recorded.texts[field] in (text.value, None) for field, text in self.texts.items())
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
        if found.against.evidence and found.same is None:
            names = ", ".join(public_id("ev", one) for one in found.against.evidence)
            notices.append(f"said before and spoken against: it inherits the counterexamples {names}")
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
            return self.known(known[0], head=tx.next_seq - 1)
        statement = texts["statement"].value
        taken = carry_out(tx, said_here(statement, anchor=origin.anchor, besides=origin))
        if taken:
            raise MoveNotAllowedError(
                f"{taken[0].id} says this here already", hint="Say it differently, or use that one."
            )
        roles, _ = carry_out(tx, roles_of(self.origin))
        said_before = spoken_against(statement, anchor=origin.anchor, origin=self.origin)
        against = carry_out(tx, said_before)
        shape = KnowledgeRaised if self.form == "kn" else CardRaised
        event = shape(
            tier=tier,
            domain=origin.domain,
            field=origin.field,
            origin=self.origin,
            worktree=self.call.place.worktree or "",
            commit=self.call.place.head,
            supporting=_without(against, roles[Role.SUPPORTING]),
            verification=_without(against, roles[Role.VERIFICATION]),
            teaching=_without(against, roles[Role.TEACHING]),
            counterexample=against.evidence,
            inherited_from=against.items,
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
        births = tx.ask(events.by_seqs([self.origin]))
        for field in ("statement", "content", "reason"):
            asked = self.texts[field].value if field in self.texts else births[self.origin].texts.get(field)
            if recorded.texts.get(field) not in (asked, None):
                raise RequestIdConflictError(recorded.request_id)
        item = carry_out(tx, item_at(recorded.seq, self.form))
        return _raised(item, created=True, head=tx.next_seq - 1).model_copy(update={"repeated": True})

    def known(self, item: Item, *, head: int) -> RaiseResult:
        """Answer with what was raised before; words that are other than its own are not lost silently."""
        result = _raised(item, created=False, head=head)
        if "statement" not in self.texts or self.texts["statement"].value == item.statement:
            return result
        return result.model_copy(
            update={"notice": f"{item.id} was raised from it before, with another statement; it stands"}
        )


def _without(against: Against, refs: Sequence[int]) -> tuple[int, ...]:
    """A piece has one role, and what spoke against it before does so still."""
    return tuple(seq for seq in refs if seq not in against.evidence)


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
