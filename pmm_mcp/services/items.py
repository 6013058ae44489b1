"""Looking at one thing the ledger holds, whole, with what it cites and what cites it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pmm_mcp.context.quoting import one_line
from pmm_mcp.domain.errors import InvalidArgumentError, NotFoundError
from pmm_mcp.domain.ids import KINDS, SEQ_MAX, Prefix, event_id, parse_id, public_id
from pmm_mcp.domain.records import Recorded
from pmm_mcp.domain.sizes import ANSWER_BYTES_MAX, cut, fitting, lean, part_bytes
from pmm_mcp.domain.tiers import GLOSSES
from pmm_mcp.ports import Ledger, View
from pmm_mcp.queries import citations, commitments, events, knowledge, memory
from pmm_mcp.services.results import Part, Result
from pmm_mcp.services.turn import TurnService
from pmm_mcp.turn.outcome import TurnResult

CITATIONS_MAX: Final = 20
CITATIONS_BYTES: Final = 1_000
HISTORY_BYTES: Final = 1_400
DETAILS_BYTES: Final = 1_200
TEXTS_BYTES_MIN: Final = 240
"""What a text keeps even when the rest of the answer is long."""
HISTORY: Final = (
    "closes",
    "redacts",
    "withdraws",
    "promotes",
    "demotes",
    "retires",
    "restores",
    "publishes",
    "refuses",
    "links",
    "unlinks",
    "reviews",
    "signs",
)
"""As what the events name a thing that are its history."""
_FRAME_BYTES: Final = 60  # a text's name, twice, its length, and the marks around them


class ActorShown(Part):
    """Who wrote an event."""

    kind: str
    name: str
    session: str


class Item(Part):
    """One thing. Its texts are as recorded: a removed one is absent, one in `texts_cut` was that long."""

    id: str
    kind: str
    seq: int
    ts: str
    actor: ActorShown
    anchor: str
    hash: str
    conversation: str | None = None
    turn: str | None = None
    status: str | None = None
    tier: str | None = None
    gloss: str | None = None
    contested: bool | None = None
    texts: dict[str, str]
    texts_cut: dict[str, int] | None = None
    details: dict[str, Any]
    details_cut: bool | None = None


class Related(Part):
    """Something that is cited, or that cites."""

    id: str
    kind: str
    role: str


class Change(Part):
    """What happened to a thing, and when."""

    seq: int
    kind: str
    actor: str
    ts: str
    summary: str


class ItemResult(Result):
    """A thing, what it cites, what cites it, and its history; of a turn also what came of it."""

    item: Item
    turn: TurnResult | None = None
    references: list[Related] = []
    dependants: list[Related] = []
    history: list[Change] = []


@dataclass(frozen=True, slots=True)
class ItemService:
    """Reads single things."""

    ledger: Ledger
    turns: TurnService

    async def get(self, item_id: str, *, as_of: int = 0) -> ItemResult:
        """Return what an id names, as it is or as it was when the ledger's head was `as_of`.

        Raises:
            InvalidArgumentError: the id, or `as_of`, is malformed.
            NotFoundError: the ledger holds no such thing.

        """
        prefix, seq = parse_id(item_id)
        if not 0 <= as_of <= SEQ_MAX:
            raise InvalidArgumentError(f"as_of: {as_of} is not allowed", hint="It is a seq; 0 is now.")
        async with self.ledger.reader.view() as view:
            head = await view.ask(events.head())
            until = as_of or head
            record = await view.ask(events.by_seq(seq))
            if record is None or record.kind not in KINDS.get(prefix, ()) or seq > until:
                raise NotFoundError(
                    f"the ledger holds no {item_id.strip()}", hint="Find ids with pmm_search."
                )
            dependants = await view.ask(citations.made_of(seq, until=until, limit=CITATIONS_MAX))
            result = ItemResult(
                item=await _item(view, item_id.strip(), record, until),
                references=await _references(view, prefix, seq, until),
                dependants=_related(dependants),
                history=fitting(await _history(view, record, until), bytes_max=HISTORY_BYTES, least=1),
                head=head,
            )
        if prefix == "turn":
            # What came of it is the answer; what cites the prompt is in it already.
            turn = await self.turns.result(seq, until=until)
            result = ItemResult(item=result.item, turn=turn, head=head)
        return _with_texts(result, {name: text for name, text in record.texts.items() if text is not None})


async def _item(view: View, item_id: str, record: Recorded, until: int) -> Item:
    details, shortened = lean(
        {name: value for name, value in record.event.body().items() if name != "v"}, bytes_max=DETAILS_BYTES
    )
    standing = await _standing(view, record, until)
    return Item(
        id=item_id,
        kind=record.kind,
        seq=record.seq,
        ts=record.ts,
        actor=ActorShown(kind=record.actor.kind, name=record.actor.name, session=record.actor.session),
        hash=record.hash.hex(),
        conversation=record.conversation or None,
        turn=None if record.turn is None else f"turn:{record.turn}",
        **({"anchor": record.anchor} | standing),
        texts={},
        details=details,
        details_cut=shortened or None,
    )


async def _standing(view: View, record: Recorded, until: int) -> dict[str, Any]:
    """Return what became of a thing: its status, and of knowledge also tier, anchor and whether it holds."""
    match record.kind:
        case "commitment_opened":
            return {"status": await view.ask(commitments.status_at(record.seq, until))}
        case "evidence_recorded":
            row = (await view.ask(memory.evidence_by([record.seq])))[record.seq]
            is_gone = row.withdrawn_at is not None and row.withdrawn_at <= until
            return {"status": "withdrawn"} if is_gone else {}
        case "knowledge_distilled" | "knowledge_raised" | "card_created" | "card_raised":
            item = (await view.ask(knowledge.at([record.seq], as_of=until)))[record.seq]
            contested = await view.ask(knowledge.contested([record.seq], as_of=until))
            return {
                "status": item.status,
                "tier": item.tier,
                "gloss": GLOSSES[item.tier],
                "anchor": item.anchor,
                "contested": (item.is_active and record.seq in contested) or None,
            }
        case _:
            return {}


async def _references(view: View, prefix: Prefix, seq: int, until: int) -> list[Related]:
    """Return what a thing cites; of knowledge its evidence by role, as it was then."""
    if prefix not in ("kn", "card"):
        return _related(await view.ask(citations.made_by(seq, limit=CITATIONS_MAX)))
    links = await view.ask(knowledge.links([seq], as_of=until))
    item = (await view.ask(knowledge.at([seq], as_of=until))).get(seq)
    evidence = [
        Related(id=public_id("ev", link.evidence), kind="evidence_recorded", role=link.role) for link in links
    ]
    if item is not None and item.origin:
        origin = public_id(item.form, item.origin)
        evidence.insert(0, Related(id=origin, kind="knowledge_distilled", role="raised_from"))
    if item is not None and item.made_from:
        made_from = public_id("kn", item.made_from)
        evidence.insert(0, Related(id=made_from, kind="knowledge_distilled", role="made_from"))
    return fitting(evidence, bytes_max=CITATIONS_BYTES)


def _with_texts(result: ItemResult, texts: Mapping[str, str]) -> ItemResult:
    """Return the result with its texts, in the room the rest of it leaves."""
    room = ANSWER_BYTES_MAX - part_bytes(result) - _FRAME_BYTES * (len(texts) + 1)
    share = max(TEXTS_BYTES_MIN, room // max(1, len(texts)))
    shown = {name: cut(text, bytes_max=share) for name, text in texts.items()}
    longer = {name: len(text) for name, text in texts.items() if shown[name] != text}
    return result.model_copy(
        update={"item": result.item.model_copy(update={"texts": shown, "texts_cut": longer or None})}
    )


def _related(found: tuple[citations.Citation, ...]) -> list[Related]:
    related = [Related(id=event_id(one.kind, one.seq), kind=one.kind, role=one.role) for one in found]
    return fitting(related, bytes_max=CITATIONS_BYTES)


async def _history(view: View, record: Recorded, until: int) -> list[Change]:
    # Asked for by role: what else names a thing may be any number, and older.
    query = citations.made_of(record.seq, until=until, limit=CITATIONS_MAX, roles=HISTORY)
    later = [found.seq for found in await view.ask(query)]
    records = await view.ask(events.by_seqs(later))
    return [change_of(record), *(change_of(records[seq]) for seq in later)]


def change_of(record: Recorded) -> Change:
    """Return an event as a line of a history."""
    text = record.texts.get("statement") or next((text for text in record.texts.values() if text), "")
    return Change(
        seq=record.seq,
        kind=record.kind,
        actor=record.actor.name,
        ts=record.ts,
        summary=one_line(text, chars_max=120),
    )
