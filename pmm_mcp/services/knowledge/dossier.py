"""Everything a decision about an item looks at, asked for in one place by gate, promotion and review."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pmm_mcp.domain.anchors import GLOBAL, Anchor
from pmm_mcp.domain.case import FLOOR, Case, Piece
from pmm_mcp.domain.errors import InvalidArgumentError, NotFoundError
from pmm_mcp.domain.events.memory import EvidenceRecorded, Origin
from pmm_mcp.domain.ids import KINDS, parse_id, public_id
from pmm_mcp.domain.knowledge import REFS_MAX, Form, Item
from pmm_mcp.domain.records import Recorded
from pmm_mcp.domain.reviews import proposal_digest
from pmm_mcp.domain.sizes import fitting
from pmm_mcp.domain.tiers import Role, active_status
from pmm_mcp.ports import Plan, Signatures
from pmm_mcp.queries import events, knowledge, memory, reviews
from pmm_mcp.queries.memory import EvidenceRow
from pmm_mcp.services.knowledge.genuine import is_genuine, taught
from pmm_mcp.services.knowledge.sameness import said_here, spoken_against
from pmm_mcp.services.results import Ref, beginning

REFS_BYTES: Final = 2_400


@dataclass(frozen=True, kw_only=True)
class Dossier:
    """An item, its evidence by role with what was proposed, and the case that the gate judges.

    `digest` is what a reviewer signs: of the item, the move, and exactly this evidence.
    """

    item: Item
    case: Case
    roles: Mapping[Role, tuple[int, ...]]
    proposed: tuple[int, ...]
    refs: list[Ref]
    policy: int = 0
    digest: str = ""
    review: int | None = None
    """The unused signature that approves this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What is to become of an item: the move, where to, and the verifications that come with it."""

    item: int
    form: Form = "kn"
    move: str = "promote"
    to: str = ""
    """A status or an anchor word; the active status of its tier when empty."""
    verification: tuple[int, ...] = ()


def parse_refs(refs: Sequence[str], *, argument: str) -> tuple[int, ...]:
    """Return the pieces of evidence that ids name, ascending, each once.

    Raises:
        InvalidArgumentError: one is no id of evidence, or there are too many.

    """
    seqs = {parse_id(ref, "ev")[1] for ref in refs if ref.strip()}
    if len(seqs) > REFS_MAX:
        raise InvalidArgumentError(f"{argument}: {len(seqs)} of at most {REFS_MAX}")
    return tuple(sorted(seqs))


def existing(seqs: Sequence[int]) -> Plan[Mapping[int, Recorded]]:
    """Find pieces of evidence.

    Raises:
        NotFoundError: one is not there, or is something else.

    """
    records: Mapping[int, Recorded] = yield events.by_seqs(seqs)
    for seq in seqs:
        if seq not in records or records[seq].kind not in KINDS["ev"]:
            raise NotFoundError(
                f"the ledger holds no {public_id('ev', seq)}",
                hint="Cite what pmm_record returned, or find evidence with pmm_search.",
            )
    return records


def parse_item(item_id: str) -> tuple[Form, int]:
    """Return which form of item an id names, and its seq.

    Raises:
        InvalidArgumentError: it is no id of knowledge or of a card.

    """
    prefix, seq = parse_id(item_id, "kn", "card")
    return ("card" if prefix == "card" else "kn"), seq


def item_at(item: int, form: Form) -> Plan[Item]:
    """Find an item as it stands.

    Raises:
        NotFoundError: there is none, or it has another prefix.

    """
    found: Item | None = yield knowledge.by_seq(item)
    if found is None or found.form != form:
        raise NotFoundError(
            f"the ledger holds no {public_id(form, item)}", hint="Find ids with pmm_knowledge_list."
        )
    return found


def twin_of(item: Item) -> Plan[Item | None]:
    """Find what carries the same belief: of a card its knowledge, of knowledge its card."""
    if item.form == "card":
        return (yield knowledge.by_seq(item.made_from)) if item.made_from else None
    cards: tuple[Item, ...] = yield knowledge.carrying(item.item)
    return cards[0] if cards else None


def roles_of(item: int) -> Plan[tuple[dict[Role, tuple[int, ...]], frozenset[int]]]:
    """Find the evidence of an item by role, and which of its counterexamples were answered."""
    links: tuple[knowledge.Link, ...] = yield knowledge.links([item])
    roles = {role: tuple(link.evidence for link in links if link.role is role) for role in Role}
    return roles, frozenset(link.evidence for link in links if link.answered_at)


def dossier_of(proposal: Proposal, *, now_us: int, signatures: Signatures) -> Plan[Dossier]:
    """Gather what the gate judges.

    Raises:
        NotFoundError: the item, or a piece of evidence, is not there.

    """
    item = yield from item_at(proposal.item, proposal.form)
    # A card carries the belief of the knowledge it was made from, and that belief is as old as it is.
    belief: Item = (yield knowledge.by_seq(item.made_from)) if item.made_from else item
    roles, answered = yield from roles_of(item.item)
    anchor = GLOBAL if proposal.to == "global" else item.anchor
    statement = item.statement or ""
    against = yield from spoken_against(statement, anchor=anchor, origin=item.origin)
    roles[Role.COUNTEREXAMPLE] = tuple(sorted({*roles[Role.COUNTEREXAMPLE], *against.evidence}))
    others = yield from said_here(statement, anchor=anchor, besides=item)
    known = set(roles[Role.VERIFICATION])
    roles[Role.VERIFICATION] = tuple(sorted(known | set(proposal.verification)))
    seqs = sorted({seq for cited in roles.values() for seq in cited})
    records = yield from existing(seqs)
    rows: Mapping[int, EvidenceRow] = yield memory.evidence_by(seqs)
    messages: Mapping[int, Recorded] = yield events.by_seqs(
        [_source_event(records[seq]) for seq, row in rows.items() if row.origin is Origin.MESSAGE]
    )
    signed = yield from taught(records, rows, signatures=signatures)
    policies: Mapping[str, reviews.Policy] = yield reviews.policies()
    policy = policies.get(item.tier)
    floor = FLOOR[item.tier]
    requirements = floor if policy is None else floor.at_least(policy.requirements)
    demoted_at: int = yield knowledge.last_demotion(item.item)
    raised: tuple[Item, ...] = yield knowledge.raised_from(item.item)
    digest, review = yield from _approval(
        item, proposal, roles, records, now_us=now_us, signatures=signatures
    )
    return Dossier(
        item=item,
        case=Case(
            tier=item.tier,
            status=item.status,
            born=belief.item,
            session=belief.session,
            worktree=belief.worktree,
            commit=belief.commit,
            pieces=[
                _piece(rows[seq], role, records[seq], messages, is_signed=seq in signed)
                for role, cited in roles.items()
                for seq in cited
            ],
            requirements=requirements,
            demoted_at=demoted_at,
            answered=answered,
            is_reviewed=review is not None,
            superseded_by=next((one.item for one in raised if one.is_active), 0),
            said_by=next((one.id for one in others if one.is_active), ""),
        ),
        roles=roles,
        proposed=proposal.verification,
        refs=refs_of(records, proposal.verification),
        policy=0 if policy is None else policy.seq,
        digest=digest,
        review=review,
    )


def _approval(
    item: Item,
    proposal: Proposal,
    roles: Mapping[Role, Sequence[int]],
    records: Mapping[int, Recorded],
    *,
    now_us: int,
    signatures: Signatures,
) -> Plan[tuple[str, int | None]]:
    """Return the digest of a proposal, and the unused signature that approves exactly it."""
    births: Mapping[int, Recorded] = yield events.by_seqs([item.item])
    to = proposal.to or active_status(item.tier)
    digest = proposal_digest(
        item=births[item.item],
        status=item.status,
        anchor=item.anchor,
        domain=item.domain,
        move=proposal.move,
        to=to,
        evidence={role: [records[seq] for seq in roles[role]] for role in Role},
    )
    found: tuple[reviews.Review, ...] = yield reviews.approvals(
        item=item.item, move=proposal.move, to=to, digest=digest, now_us=now_us
    )
    for one in found:
        if (yield from is_genuine(one, signatures=signatures)):
            return digest, one.review
    return digest, None


def _source_event(record: Recorded) -> int:
    return record.event.source_event if isinstance(record.event, EvidenceRecorded) else 0


def _piece(
    row: EvidenceRow, role: Role, record: Recorded, messages: Mapping[int, Recorded], *, is_signed: bool
) -> Piece:
    is_forged = row.origin is Origin.SIGNED and not is_signed
    message = messages.get(_source_event(record)) if row.origin is Origin.MESSAGE else None
    return Piece(
        seq=row.evidence,
        role=role,
        session=row.session,
        origin=Origin.CITED if is_forged else row.origin,
        provenance=row.provenance,
        source=None if is_forged else row.source_key,
        blob=row.blob,
        anchor=Anchor(row.anchor),
        commit=row.commit_id or "",
        answers=row.answers,
        said=0 if message is None else message.seq,
        said_in="" if message is None else message.actor.session,
        is_evaluation=isinstance(record.event, EvidenceRecorded) and record.event.evaluator is not None,
        is_withdrawn=row.withdrawn_at is not None,
        is_redacted=row.redacted_at is not None,
    )


def refs_of(records: Mapping[int, Recorded], seqs: Sequence[int]) -> list[Ref]:
    """Return what was cited, as far as an answer has room for it, so that a miscopied id shows."""
    refs = [Ref(id=public_id("ev", seq), text=beginning(records[seq])) for seq in seqs]
    return fitting(refs, bytes_max=REFS_BYTES)
