"""Making cards: of evidence, of knowledge, or of all knowledge that has none yet."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.errors import InvalidArgumentError, MoveNotAllowedError, RequestIdConflictError
from pmm_mcp.domain.events.cards import CardCreated, CardPromoted
from pmm_mcp.domain.events.knowledge import Candidate
from pmm_mcp.domain.gate import RULES_VERSION, judge
from pmm_mcp.domain.ids import parse_id, public_id
from pmm_mcp.domain.knowledge import Item
from pmm_mcp.domain.records import Call, Draft, Recorded
from pmm_mcp.domain.sizes import fitting
from pmm_mcp.domain.tiers import ACTIVE, Role, Status, active_status
from pmm_mcp.ports import Ledger, Signatures, Transaction, View
from pmm_mcp.queries import events, knowledge
from pmm_mcp.queries.knowledge import Listing
from pmm_mcp.queries.plans import carry_out
from pmm_mcp.services.knowledge.distilling import DistillInput, DistillService
from pmm_mcp.services.knowledge.dossier import Proposal, dossier_of, item_at, roles_of
from pmm_mcp.services.knowledge.listing import ListInput, listing_of
from pmm_mcp.services.results import Part, Result

BACKFILL_MAX: Final = 50
"""How many cards are made in one call, and in one write."""
PAGES_MAX: Final = 20
"""How many times fifty items are looked at in one call."""
LIST_BYTES: Final = 2_000
IDS_MAX: Final = 100
_MAY_BE_MADE: Final = ACTIVE | {Status.CANDIDATE}


class CardResult(Result):
    """The card; made of active knowledge it is active too, unless its gate no longer holds."""

    id: str = ""
    created: bool = False
    status: str = ""
    tier: str = ""
    anchor: str = ""
    from_id: str | None = None
    reasons: list[str] = []


class Skipped(Part):
    """Knowledge of which no card can be made, and why."""

    id: str
    reasons: list[str]


class BackfillResult(Result):
    """What knowledge has no card yet; with `execute` what cards were made."""

    ready: list[str]
    skipped: list[Skipped]
    existing: list[str]
    created: list[str]


@dataclass(frozen=True, slots=True)
class CardService:
    """Makes cards."""

    ledger: Ledger
    distilling: DistillService
    signatures: Signatures

    async def create(self, given: DistillInput, *, from_id: str, call: Call) -> CardResult:
        """Make a card of evidence, as a candidate, or of knowledge, whose belief it carries from then on.

        Raises:
            InvalidArgumentError: an argument is malformed, or both ways are asked for.
            MoveNotAllowedError: the knowledge is demoted or retired.
            NotFoundError: the knowledge or a piece of evidence is not there.

        """
        if not from_id.strip():
            made = await self.distilling.distill(given, call=call, form="card")
            return CardResult(
                id=made.id,
                created=made.created,
                status=made.status,
                tier=made.tier,
                anchor=made.anchor,
                notice=made.notice,
                head=made.head,
                repeated=made.repeated,
            )
        if given.statement.strip() or given.content.strip() or given.tier.strip() or given.supporting_refs:
            raise InvalidArgumentError(
                "from_id and a statement at once", hint="A card of knowledge says what that says."
            )
        _, item = parse_id(from_id, "kn")

        def work(tx: Transaction) -> CardResult:
            return self._of_knowledge(tx, item, call)

        def again(tx: Transaction, recorded: Recorded) -> CardResult:
            if not isinstance(recorded.event, CardCreated) or recorded.event.from_item != item:
                raise RequestIdConflictError(recorded.request_id)
            card = carry_out(tx, item_at(recorded.seq, "card"))
            result = _result(card, created=True, reasons=[], head=tx.next_seq - 1)
            return result.model_copy(update={"repeated": True})

        return await self.ledger.write(work, call=call, again=again)

    async def backfill(self, given: ListInput, *, execute: bool, call: Call) -> BackfillResult:
        """Say which knowledge has no card yet; with `execute` make them, at most fifty a call.

        Raises:
            InvalidArgumentError: a filter has a value that is not allowed.

        """
        listing = replace(listing_of(given, call), form="kn")
        async with self.ledger.reader.view() as view:
            ready, skipped, existing = await _sorted_out(view, listing)
            head = await view.ask(events.head())
        created: list[str] = []
        if execute and ready:
            created = await self.ledger.write(
                lambda tx: [self._of_knowledge(tx, item.item, call).id for item in ready], call=call
            )
            async with self.ledger.reader.view() as view:
                head = await view.ask(events.head())
        more = len(ready) == BACKFILL_MAX
        return BackfillResult(
            ready=[item.id for item in ready],
            skipped=fitting(skipped, bytes_max=LIST_BYTES),
            existing=existing[:IDS_MAX],
            created=created,
            notice="there may be more: call again" if more else None,
            head=head,
        )

    def _of_knowledge(self, tx: Transaction, origin: int, call: Call) -> CardResult:
        item = carry_out(tx, item_at(origin, "kn"))
        cards = [card for card in tx.ask(knowledge.carrying(origin)) if card.status is not Status.RETIRED]
        if cards:
            return _result(cards[0], created=False, reasons=[], head=tx.next_seq - 1)
        if item.status not in _MAY_BE_MADE:
            raise MoveNotAllowedError(
                f"{item.id} is {item.status}; no card is made of that", hint="Choose active knowledge."
            )
        birth = tx.ask(events.by_seqs([origin]))[origin]
        texts = {
            field: Admitted(text)
            for field, text in birth.texts.items()
            if text is not None and field in CardCreated.texts
        }
        if not {"statement", "content"} <= texts.keys() or not isinstance(birth.event, Candidate):
            raise MoveNotAllowedError(f"a text of {item.id} was removed", hint="Distill it anew.")
        roles, answered = carry_out(tx, roles_of(origin))
        event = CardCreated(
            tier=item.tier,
            domain=item.domain,
            field=item.field,
            supporting=roles[Role.SUPPORTING],
            verification=roles[Role.VERIFICATION],
            teaching=roles[Role.TEACHING],
            counterexample=roles[Role.COUNTEREXAMPLE],
            intent_tags=birth.event.intent_tags,
            workflow_bias=birth.event.workflow_bias,
            tool_needs=birth.event.tool_needs,
            worktree=call.place.worktree or "",
            commit=call.place.head,
            from_item=origin,
        )
        (record,) = tx.append(Draft(event, texts, anchor=item.anchor))
        reasons = self._activate(tx, item, record.seq, answered) if item.is_active else []
        card = carry_out(tx, item_at(record.seq, "card"))
        return _result(card, created=True, reasons=reasons, head=tx.next_seq - 1)

    def _activate(self, tx: Transaction, item: Item, card: int, answered: frozenset[int]) -> list[str]:
        """Let a card take the status of its knowledge if the gate holds now; return why not."""
        proposal = Proposal(item=card, form="card")
        dossier = carry_out(tx, dossier_of(proposal, now_us=tx.now_us, signatures=self.signatures))
        case = replace(dossier.case, answered=answered, is_reviewed=item.is_signed)
        verdict = judge(case)
        if not verdict.allowed:
            return [str(reason) for reason in verdict.reasons]
        event = CardPromoted(
            item=card,
            from_status=Status.CANDIDATE,
            to_status=active_status(item.tier),
            tier=item.tier,
            domain=item.domain,
            field=item.field,
            signed=item.is_signed,
            rules=RULES_VERSION,
            policy=dossier.policy,
            supporting=verdict.counted[Role.SUPPORTING],
            verification=verdict.counted[Role.VERIFICATION],
            teaching=verdict.counted[Role.TEACHING],
            answered=tuple(sorted(answered)),
        )
        text = Admitted(f"{item.id}, whose belief it carries, is {item.status}")
        tx.append(Draft(event, {"reason": text}, anchor=item.anchor))
        return []


async def _sorted_out(view: View, listing: Listing) -> tuple[list[Item], list[Skipped], list[str]]:
    """Return of which knowledge a card can be made, of which not, and which cards there are."""
    ready: list[Item] = []
    skipped: list[Skipped] = []
    existing: list[str] = []
    for _ in range(PAGES_MAX):
        page = await view.ask(knowledge.page(listing, limit=BACKFILL_MAX))
        for item in page:
            cards = await view.ask(knowledge.carrying(item.item))
            if live := [card for card in cards if card.status is not Status.RETIRED]:
                existing.append(live[0].id)
            elif item.status not in _MAY_BE_MADE:
                skipped.append(Skipped(id=item.id, reasons=[f"it is {item.status}"]))
            elif item.statement is None:
                skipped.append(Skipped(id=item.id, reasons=["its statement was removed"]))
            else:
                ready.append(item)
            if len(ready) == BACKFILL_MAX:
                return ready, skipped, existing
        if len(page) < BACKFILL_MAX:
            break
        listing = replace(listing, before=page[-1].item)
    return ready, skipped, existing


def _result(card: Item, *, created: bool, reasons: Sequence[str], head: int) -> CardResult:
    return CardResult(
        id=card.id,
        created=created,
        status=card.status,
        tier=card.tier,
        anchor=card.anchor,
        from_id=public_id("kn", card.made_from) if card.made_from else None,
        reasons=list(reasons),
        head=head,
    )
