"""Publishing: what holds in one checkout holds in its repository, or everywhere; one step at a time."""

from dataclasses import dataclass
from typing import Final

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.anchors import GLOBAL, UNSCOPED, Anchor
from pmm_mcp.domain.errors import InvalidArgumentError, MoveNotAllowedError, RequestIdConflictError
from pmm_mcp.domain.events.knowledge import KnowledgePublished
from pmm_mcp.domain.events.memory import Domain
from pmm_mcp.domain.gate import REVIEW_MISSING
from pmm_mcp.domain.ids import public_id
from pmm_mcp.domain.knowledge import Form, Item, wider
from pmm_mcp.domain.records import Call, Recorded
from pmm_mcp.domain.tiers import Role
from pmm_mcp.ports import Ledger, Signatures, Transaction
from pmm_mcp.queries import events, places
from pmm_mcp.queries.plans import carry_out
from pmm_mcp.services.boundary import Boundary
from pmm_mcp.services.knowledge.dossier import Proposal, dossier_of, item_at, parse_item, roles_of
from pmm_mcp.services.knowledge.refusing import came_of, refuse
from pmm_mcp.services.knowledge.sameness import said_here, spoken_against
from pmm_mcp.services.knowledge.twins import move
from pmm_mcp.services.results import Result

_REFS_SHOWN: Final = 10


class PublishResult(Result):
    """Where the item holds now; when it was refused, the anchors are equal and `missing` says why."""

    id: str
    published: bool
    old_anchor: str
    new_anchor: str
    moved_with: list[str] = []
    reasons: list[str] = []
    missing: list[str] = []


@dataclass(frozen=True, slots=True)
class PublishService:
    """Widens where knowledge holds. Tier and status stay as they are."""

    ledger: Ledger
    boundary: Boundary
    signatures: Signatures

    async def publish(self, item_id: str, *, to: str, reason: str, call: Call) -> PublishResult:
        """Publish an active item to its repository, or, with a person's signature, everywhere.

        Raises:
            InvalidArgumentError: the target is no anchor word, or the reason is empty.
            MoveNotAllowedError: it is not active, this is no single step outwards, or it is said there.
            NotFoundError: there is no such item.

        """
        if to.strip().lower() not in ("repo", "global"):
            raise InvalidArgumentError(f"to: {to[:40]!r} is not one", hint="Use repo, then global.")
        form, seq = parse_item(item_id)
        publishing = _Publishing(
            item=seq,
            form=form,
            to=to.strip().lower(),
            reason=await self.boundary.reason(reason, hint="Say why it holds more widely."),
            call=call,
            signatures=self.signatures,
        )
        return await self.ledger.write(publishing.write, call=call, again=publishing.again)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Publishing:
    item: int
    form: Form
    to: str
    reason: Admitted
    call: Call
    signatures: Signatures

    def write(self, tx: Transaction) -> PublishResult:
        item = carry_out(tx, item_at(self.item, self.form))
        if (same := self.repeated(tx, item)) is not None:
            return same
        if not item.is_active:
            raise MoveNotAllowedError(
                f"{item.id} is {item.status}; only active knowledge is published", hint="Promote it first."
            )
        anchor = wider(item.anchor, self.to, repo=self.repository_of(tx, item))
        if anchor is None:
            raise MoveNotAllowedError(
                f"{item.id} holds at {item.anchor}; {self.to} is not one step outwards",
                hint="The steps are worktree, repo, global; memory without a repository stays where it is.",
            )
        taken = carry_out(tx, said_here(item.statement or "", anchor=anchor, besides=item))
        if taken:
            raise MoveNotAllowedError(f"{taken[0].id} says the same there", hint="Use that one.")
        review: int | None = None
        if anchor == GLOBAL:
            answer = self.ask_a_person(tx)
            if isinstance(answer, PublishResult):
                return answer
            review = answer
        else:
            _check_nothing_speaks_against(tx, item, anchor)
        event = KnowledgePublished(
            item=item.item,
            from_status=item.status,
            to_status=item.status,
            tier=item.tier,
            domain=Domain.GLOBAL if anchor == GLOBAL else item.domain,
            field=item.field,
            review=review,
            signed=item.is_signed or review is not None,
            from_anchor=item.anchor,
        )
        moved = move(tx, item, event, self.reason, anchor=anchor)
        result = self.result(item, new=anchor, published=True, head=tx.next_seq - 1)
        return result.model_copy(update={"moved_with": moved})

    def repository_of(self, tx: Transaction, item: Item) -> Anchor:
        """Return the repository of the checkout an item holds in: ours, or the one it was seen with."""
        place = self.call.place
        if place.worktree == item.anchor:
            return place.repo
        return tx.ask(places.repository_of(item.anchor)) or UNSCOPED

    def ask_a_person(self, tx: Transaction) -> int | PublishResult:
        proposal = Proposal(item=self.item, form=self.form, move="publish", to=self.to)
        dossier = carry_out(tx, dossier_of(proposal, now_us=tx.now_us, signatures=self.signatures))
        if dossier.review is not None:
            return dossier.review
        refusal = refuse(
            tx,
            dossier,
            move="publish",
            to=self.to,
            reasons=[REVIEW_MISSING],
            needs_review=True,
            reason=self.reason,
            session=self.call.actor.session,
        )
        result = self.result(dossier.item, new=dossier.item.anchor, published=False, head=tx.next_seq - 1)
        return result.model_copy(
            update={
                "reasons": [f"{REVIEW_MISSING}: a person has not approved that it holds everywhere"],
                "missing": [
                    "review: a person runs pmm-mcp review on a terminal and signs; then publish again"
                ],
                "notice": refusal.notice,
            }
        )

    def repeated(self, tx: Transaction, item: Item) -> PublishResult | None:
        """Return the result of the same publication by the same caller, if that was the last move."""
        last = tx.ask(events.by_seqs([item.since]))[item.since]
        if not isinstance(last.event, KnowledgePublished) or last.actor != self.call.actor:
            return None
        if self.to != _word(item.anchor):
            return None
        result = self.result(item, new=item.anchor, published=True, head=tx.next_seq - 1)
        return result.model_copy(update={"old_anchor": last.event.from_anchor, "repeated": True})

    def again(self, tx: Transaction, recorded: Recorded) -> PublishResult:
        published = isinstance(recorded.event, KnowledgePublished)
        to = _word(recorded.anchor) if published else getattr(recorded.event, "to", "")
        is_this = came_of(recorded, KnowledgePublished, "publish", self.item, self.reason)
        if not is_this or to != self.to:
            raise RequestIdConflictError(recorded.request_id)
        item = carry_out(tx, item_at(self.item, self.form))
        result = self.result(item, new=Anchor(recorded.anchor), published=published, head=tx.next_seq - 1)
        old = recorded.event.from_anchor if isinstance(recorded.event, KnowledgePublished) else item.anchor
        return result.model_copy(update={"old_anchor": old, "repeated": True})

    def result(self, item: Item, *, new: str, published: bool, head: int) -> PublishResult:
        return PublishResult(
            id=item.id, published=published, old_anchor=item.anchor, new_anchor=new, head=head
        )


def _word(anchor: str) -> str:
    """Return what a caller calls a place that something was published to."""
    return "global" if anchor == GLOBAL else "repo"


def _check_nothing_speaks_against(tx: Transaction, item: Item, anchor: Anchor) -> None:
    """Refuse to carry a sentence where something speaks against it that was not answered for this item.

    Raises:
        MoveNotAllowedError: something does.

    """
    roles, answered = carry_out(tx, roles_of(item.item))
    against = carry_out(tx, spoken_against(item.statement or "", anchor=anchor))
    left = sorted({*roles[Role.COUNTEREXAMPLE], *against.evidence} - answered)
    if left:
        named = ", ".join(public_id("ev", seq) for seq in left[:_REFS_SHOWN])
        raise MoveNotAllowedError(
            f"{named} speaks against it there",
            hint="Demote it with that evidence, promote it with a verification that answers it, publish.",
        )
