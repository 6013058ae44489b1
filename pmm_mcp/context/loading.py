"""Reading what is shown of an item: its statement, its evidence and its hints, as they were at a head."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, islice, zip_longest
from typing import Final

from pmm_mcp.context.advice import CANDIDATES, EVIDENCE, Advice, Cited, Hints
from pmm_mcp.context.quoting import one_line, shortened
from pmm_mcp.domain.events.knowledge import Candidate
from pmm_mcp.domain.knowledge import STATEMENT_CHARS_MAX, Item
from pmm_mcp.domain.records import Recorded
from pmm_mcp.domain.tiers import ACTIVE, Role
from pmm_mcp.ports import Plan
from pmm_mcp.queries import events, knowledge, memory
from pmm_mcp.queries.knowledge import Link
from pmm_mcp.retrieval.relevance import Relevant
from pmm_mcp.retrieval.scope import Found

CITATIONS_MAX: Final = 4
COUNTEREXAMPLES_MAX: Final = 2
SOURCE_CHARS: Final = 120


def loaded(relevant: Sequence[Relevant], *, as_of: int) -> Plan[Mapping[int, Advice]]:
    """Find what is to be shown, by seq; an item whose statement was removed is absent."""
    seqs = [one.item for one in relevant]
    if not seqs:
        return {}
    items: Mapping[int, Item] = yield knowledge.at(seqs, as_of=as_of)
    born: Mapping[int, Recorded] = yield events.by_seqs(seqs)
    contested: Collection[int] = yield knowledge.contested(seqs, as_of=as_of)
    found: Sequence[Link] = yield knowledge.links(seqs, as_of=as_of)
    links = _some(found)
    cited = [link.evidence for some in links.values() for link in some]
    rows: Mapping[int, memory.EvidenceRow] = yield memory.evidence_by(cited)
    sources = {seq: row.source for seq, row in rows.items()}
    return {
        one.item: Advice(
            seq=one.item,
            section=item.tier if item.status in ACTIVE else CANDIDATES,
            statement=item.statement,
            score=one.score,
            anchor=item.anchor,
            tier=item.tier,
            status=item.status,
            domain=item.domain,
            field=item.field,
            hints=_hints(born.get(one.item)),
            citations=tuple(_cited(link, sources) for link in links.get(one.item, ())),
            is_contested=item.item in contested,
            form=item.form,
        )
        for one in relevant
        if (item := items.get(one.item)) is not None and item.statement is not None
    }


def seen(hit: Found) -> Advice:
    """Return a piece of evidence as it is shown: its best passage, and where it came from."""
    return Advice(
        seq=hit.doc,
        section=EVIDENCE,
        statement=shortened(hit.passage, chars_max=STATEMENT_CHARS_MAX),
        score=hit.score,
        anchor=hit.anchor,
        citations=(Cited(hit.doc, None, _source(hit.source)),),
    )


def _some(links: Iterable[Link]) -> Mapping[int, Sequence[Link]]:
    """Return the links of each item that are shown: of a long list the first, and what speaks against it."""
    of_items: dict[int, list[Link]] = {}
    for link in links:
        of_items.setdefault(link.item, []).append(link)
    return {item: _first(of_item) for item, of_item in of_items.items()}


def _first(links: Sequence[Link]) -> Sequence[Link]:
    by_role = {role: [link for link in links if link.role is role] for role in Role}
    against = sorted(
        by_role.pop(Role.COUNTEREXAMPLE), key=lambda link: (link.answered_at > 0, -link.evidence)
    )
    against = against[:COUNTEREXAMPLES_MAX]
    # In turns, so that many of one role do not hide that there are others.
    turns = chain.from_iterable(zip_longest(*by_role.values()))
    chosen = list(islice(filter(None, turns), CITATIONS_MAX - len(against)))
    return (*(link for link in links if link in chosen), *against)


def _cited(link: Link, sources: Mapping[int, str | None]) -> Cited:
    return Cited(
        link.evidence, link.role, _source(sources.get(link.evidence)), is_answered=link.answered_at > 0
    )


def _source(source: str | None) -> str | None:
    return None if source is None else one_line(source, chars_max=SOURCE_CHARS)


def _hints(record: Recorded | None) -> Hints:
    match record.event if record else None:
        case Candidate() as event:
            return Hints(event.intent_tags, event.workflow_bias, event.tool_needs)
        case _:
            return Hints()
