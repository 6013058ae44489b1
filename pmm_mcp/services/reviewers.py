"""Human review: whose key proves a person, and what persons decided.

Only the command line calls this. A private key never comes here: what signs is handed in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from pmm_mcp.domain.case import FLOOR, Requirements
from pmm_mcp.domain.errors import InvalidArgumentError, NotFoundError, ReviewRefusedError
from pmm_mcp.domain.events.base import EventBody
from pmm_mcp.domain.events.ledger import LedgerOpened
from pmm_mcp.domain.events.memory import Domain, EvidenceRecorded, Origin, Provenance
from pmm_mcp.domain.events.review import (
    PolicyUpdated,
    ReviewerRegistered,
    ReviewerRevoked,
    TeachingSigned,
)
from pmm_mcp.domain.ids import public_id
from pmm_mcp.domain.names import name
from pmm_mcp.domain.records import Call, Draft
from pmm_mcp.domain.reviews import YOUNG_US, key_id, signed_bytes
from pmm_mcp.domain.tiers import Tier
from pmm_mcp.domain.times import microseconds
from pmm_mcp.ports import Clock, Ledger, Plan, Transaction
from pmm_mcp.queries import events, reviews
from pmm_mcp.queries.plans import carry_out
from pmm_mcp.queries.reviews import Reviewer
from pmm_mcp.services.boundary import Boundary
from pmm_mcp.services.results import Part, Result

Sign = Callable[[bytes], str]
"""Returns the Ed25519 signature of some bytes, in hex."""
E = TypeVar("E", bound=EventBody)

UNSIGNED: Final = "0" * 128
DAY_US: Final = 24 * 3_600 * 1_000_000


class ReviewerShown(Part):
    """A key that proves a person; a young one approves nothing yet."""

    name: str
    key: str
    seq: int
    registered_at: str
    age_days: int
    signed_by: str
    revoked: bool = False
    young: bool = False


class ReviewersResult(Result):
    """Every key this ledger ever knew, oldest first."""

    reviewers: list[ReviewerShown]


class SignedResult(Result):
    """What was signed and recorded; `id` is the event's, or that of the evidence it made."""

    id: str
    key: str


@dataclass(frozen=True, slots=True)
class ReviewerService:
    """Registers and revokes reviewers, records what they teach, and lets them make gates stricter."""

    ledger: Ledger
    boundary: Boundary
    clock: Clock

    async def reviewers(self) -> ReviewersResult:
        """Return every key, with its age."""
        async with self.ledger.reader.view() as view:
            known = await view.ask(reviews.reviewers())
            head = await view.ask(events.head())
        now_us = self.clock.now_us()
        return ReviewersResult(reviewers=[_shown(one, now_us) for one in known], head=head)

    async def register(
        self, reviewer: str, *, key: str, public_key: str, by: str, sign: Sign, call: Call
    ) -> SignedResult:
        """Register a key: the first signs for itself, a later one is signed by a known one.

        Raises:
            InvalidArgumentError: the name is none.
            ReviewRefusedError: the key is known or named wrongly, or the one that signs proves nobody here.

        """
        named = name(reviewer, argument="name")
        if not named:
            raise InvalidArgumentError("name is empty", hint="Say whose key it is.")

        if key_id(bytes.fromhex(public_key)) != key:
            raise ReviewRefusedError(
                f"{key[:32]} is not the name of this key", hint="`pmm-mcp reviewer add` makes one."
            )

        def work(tx: Transaction) -> SignedResult:
            known = tx.ask(reviews.reviewers())
            if any(one.key == key for one in known):
                raise ReviewRefusedError(f"the key {key} is known here", hint="Make another one.")
            if known or by != key:
                check_signer(known, by)
            event = ReviewerRegistered(name=named, key=key, public_key=public_key, by=by, signature=UNSIGNED)
            (record,) = tx.append(Draft(carry_out(tx, signed(event, sign))))
            return SignedResult(id=f"event:{record.seq}", key=key, head=record.seq)

        return await self.ledger.write(work, call=call)

    async def revoke(self, key: str, *, reason: str, by: str, sign: Sign, call: Call) -> SignedResult:
        """Revoke a key; what it signed before stays signed.

        Raises:
            NotFoundError: no such key is registered, or it was revoked.
            ReviewRefusedError: the key that signs proves nobody here.

        """
        said = await self.boundary.reason(reason, hint="Say why.")

        def work(tx: Transaction) -> SignedResult:
            known = tx.ask(reviews.reviewers())
            if not any(one.key == key and one.revoked_at is None for one in known):
                raise NotFoundError(
                    f"no reviewer has the key {key[:32]}", hint="See `pmm-mcp reviewer list`."
                )
            check_signer(known, by)
            event = ReviewerRevoked(key=key, by=by, signature=UNSIGNED)
            (record,) = tx.append(Draft(carry_out(tx, signed(event, sign)), {"reason": said}))
            return SignedResult(id=f"event:{record.seq}", key=by, head=record.seq)

        return await self.ledger.write(work, call=call)

    async def teach(
        self, content: str, *, field: str, source: str, key: str, sign: Sign, call: Call
    ) -> SignedResult:
        """Record what a person teaches, as evidence that is signed.

        Raises:
            InvalidArgumentError: the content is empty.
            ReviewRefusedError: the key proves nobody here.

        """
        said = await self.boundary.admit(content, field="content")
        if not said.value.strip():
            raise InvalidArgumentError("content is empty", hint="Say what you know, and how.")
        texts = {"content": said}
        if source.strip():
            texts["source"] = await self.boundary.admit(source.strip(), field="source")
        event = EvidenceRecorded(
            domain=Domain.PROJECT,
            field=name(field, argument="field") or "general",
            provenance=Provenance.HUMAN,
            origin=Origin.SIGNED,
            commit=call.place.head,
        )

        def work(tx: Transaction) -> SignedResult:
            check_signer(tx.ask(reviews.reviewers()), key)
            (evidence,) = tx.append(Draft(event, texts))
            teaching = TeachingSigned(
                evidence=evidence.seq, digest=evidence.hash.hex(), key=key, signature=UNSIGNED
            )
            (record,) = tx.append(Draft(carry_out(tx, signed(teaching, sign))))
            return SignedResult(id=public_id("ev", evidence.seq), key=key, head=record.seq)

        return await self.ledger.write(work, call=call)

    async def tighten(
        self, tier: Tier, needs: Requirements, *, reason: str, key: str, sign: Sign, call: Call
    ) -> SignedResult:
        """Make the gate of a tier stricter.

        Raises:
            ReviewRefusedError: it would be looser in some way, or the key proves nobody here.

        """
        said = await self.boundary.reason(reason, hint="Say why.")

        def work(tx: Transaction) -> SignedResult:
            check_signer(tx.ask(reviews.reviewers()), key)
            policy = tx.ask(reviews.policies()).get(tier)
            now = FLOOR[tier] if policy is None else FLOOR[tier].at_least(policy.requirements)
            if needs.at_least(now) != needs:
                raise ReviewRefusedError(
                    f"this is looser than {tier} is now: {now.supporting} supporting, {now.verification} "
                    f"verification, {now.teaching} teaching{', a signature' if now.review else ''}",
                    hint="A gate only ever becomes stricter.",
                )
            event = PolicyUpdated(
                tier=tier,
                supporting=needs.supporting,
                verification=needs.verification,
                teaching=needs.teaching,
                review=needs.review,
                key=key,
                signature=UNSIGNED,
            )
            (record,) = tx.append(Draft(carry_out(tx, signed(event, sign)), {"reason": said}))
            return SignedResult(id=f"event:{record.seq}", key=key, head=record.seq)

        return await self.ledger.write(work, call=call)


def signed(event: E, sign: Sign) -> Plan[E]:
    """Return an event with its signature, made for this ledger."""
    opened = yield events.by_seq(1)
    ledger_id = opened.event.ledger_id if isinstance(opened.event, LedgerOpened) else ""
    return event.model_copy(update={"signature": sign(signed_bytes(event, ledger_id=ledger_id))})


def check_signer(known: tuple[Reviewer, ...], key: str) -> Reviewer:
    """Return whose key it is.

    Raises:
        ReviewRefusedError: nobody's, or it was revoked.

    """
    signer = next((one for one in known if one.key == key), None)
    if signer is None:
        raise ReviewRefusedError(
            f"the key {key[:32] or '(none)'} is no reviewer's here",
            hint="Register the first reviewer on a terminal: `pmm-mcp reviewer add NAME`.",
        )
    if signer.revoked_at is not None:
        raise ReviewRefusedError(f"the key {key} was revoked", hint="Sign with another one.")
    return signer


def is_young(signer: Reviewer, now_us: int) -> bool:
    """Say whether a key may not approve yet: a day must pass, but for the first one."""
    return not signer.is_first and now_us - microseconds(signer.ts) < YOUNG_US


def _shown(one: Reviewer, now_us: int) -> ReviewerShown:
    return ReviewerShown(
        name=one.name,
        key=one.key,
        seq=one.registered,
        registered_at=one.ts,
        age_days=max(0, now_us - microseconds(one.ts)) // DAY_US,
        signed_by=one.signed_by,
        revoked=one.revoked_at is not None,
        young=is_young(one, now_us),
    )
