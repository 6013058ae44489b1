"""What was believed when the ledger ended at some event: from the read tables, or from a replay."""

from dataclasses import dataclass
from typing import Final

from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.domain.ids import public_id
from pmm_mcp.domain.records import Call
from pmm_mcp.domain.tiers import ACTIVE, GLOSSES
from pmm_mcp.ports import Ledger, Progress, View
from pmm_mcp.queries import commitments, events, knowledge
from pmm_mcp.queries.knowledge import Listing
from pmm_mcp.services.results import Part, Result

ITEMS_MAX: Final = 500


class Cited(Part):
    """A piece of evidence, and as what it was cited."""

    id: str
    role: str
    answered: bool = False


class Belief(Part):
    """An active item as it was then."""

    id: str
    statement: str | None
    tier: str
    gloss: str
    status: str
    domain: str
    field: str
    anchor: str
    contested: bool
    evidence: list[Cited] = []


class OpenThen(Part):
    """A commitment that was open then."""

    id: str
    text: str | None


class Beliefs(Result):
    """What was believed and promised at a place, when the last event was `as_of`."""

    as_of: int
    anchors: list[str]
    beliefs: list[Belief]
    commitments: list[OpenThen]


@dataclass(frozen=True, slots=True)
class BeliefService:
    """Looks back."""

    ledger: Ledger

    async def believed(self, as_of: int, *, call: Call) -> Beliefs:
        """Return what the read tables say about then.

        Raises:
            InvalidArgumentError: the ledger had no such end.

        """
        async with self.ledger.reader.view() as view:
            _check(as_of, await view.ask(events.head()))
            return await _believed(view, as_of, call)

    async def replay(self, as_of: int, *, call: Call, progress: Progress | None = None) -> Beliefs:
        """Return what the events up to then say, replayed from the first one.

        Raises:
            InvalidArgumentError: the ledger had no such end.

        """
        async with self.ledger.reader.view() as view:
            _check(as_of, await view.ask(events.head()))
        async with self.ledger.replayed(as_of, progress=progress) as reader, reader.view() as view:
            return await _believed(view, as_of, call)


def _check(as_of: int, head: int) -> None:
    if not 1 <= as_of <= head:
        raise InvalidArgumentError(f"{as_of} is no event of this ledger", hint=f"Its events are 1 to {head}.")


async def _believed(view: View, as_of: int, call: Call) -> Beliefs:
    anchors = call.place.visible
    listing = Listing(anchors=anchors, statuses=tuple(sorted(ACTIVE)), as_of=as_of)
    items = await view.ask(knowledge.page(listing, limit=ITEMS_MAX))
    seqs = [item.item for item in items]
    contested = await view.ask(knowledge.contested(seqs, as_of=as_of))
    links = await view.ask(knowledge.links(seqs, as_of=as_of))
    promised = await view.ask(commitments.open_at(anchors, limit=ITEMS_MAX, before=as_of + 1))
    return Beliefs(
        as_of=as_of,
        anchors=list(anchors),
        beliefs=[
            Belief(
                id=item.id,
                statement=item.statement,
                tier=item.tier,
                gloss=GLOSSES[item.tier],
                status=item.status,
                domain=item.domain,
                field=item.field,
                anchor=item.anchor,
                contested=item.item in contested,
                evidence=[
                    Cited(id=public_id("ev", link.evidence), role=link.role, answered=bool(link.answered_at))
                    for link in links
                    if link.item == item.item
                ],
            )
            for item in items
        ],
        commitments=[OpenThen(id=public_id("co", one.commitment), text=one.text) for one in promised],
        head=as_of,
    )
