"""Searching what was recorded."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pmm_mcp.context.pack import document_id
from pmm_mcp.context.quoting import shortened
from pmm_mcp.domain.anchors import Anchor, Place, resolve_anchor_argument
from pmm_mcp.domain.errors import InvalidArgumentError, InvalidInputError
from pmm_mcp.domain.events.memory import Domain, Provenance
from pmm_mcp.domain.names import name
from pmm_mcp.domain.normalise import normalise
from pmm_mcp.domain.records import Call
from pmm_mcp.domain.sizes import cut, fitting
from pmm_mcp.domain.tiers import Status, parse_tier
from pmm_mcp.domain.times import instant
from pmm_mcp.ports import Ledger, Plan
from pmm_mcp.queries import counters, events, memory
from pmm_mcp.retrieval.finder import Finder
from pmm_mcp.retrieval.grammar import SearchText, parse, with_words
from pmm_mcp.retrieval.scope import Filters, Found, Question
from pmm_mcp.retrieval.snippets import Snippet, snippet
from pmm_mcp.services.embedding import EmbeddingService
from pmm_mcp.services.results import Part, Result

KINDS: Final = ("message", "evidence", "claim", "commitment", "reflection", "knowledge")
INACTIVE: Final = (Status.DEMOTED, Status.RETIRED)
"""What is no longer believed, and not shown unless it is asked for."""
LIMIT_MAX: Final = 50
PASSAGES_LOOKED_AT: Final = 60
SNIPPET_CHARS: Final = 480
SNIPPET_BYTES: Final = 900
SOURCE_BYTES: Final = 240
NOTICE_BYTES: Final = 600
RESULTS_BYTES: Final = 7_600
_CURSOR: Final = re.compile(r"[0-9]{1,6}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchInput:
    """What a caller searches for; empty strings are absent."""

    query: str
    limit: int = 10
    cursor: str = ""
    kinds: Sequence[str] = ()
    domain: str = ""
    field: str = ""
    tier: str = ""
    status: str = ""
    anchor: str = ""
    provenance: str = ""
    source: str = ""
    since: str = ""
    until: str = ""
    label: str = ""
    conversation: str = ""
    include_inactive: bool = False


class SearchItem(Part):
    """One document; `text` is its best passages, `score` 0–1 of the best, `matched` the legs that found it.

    `highlights` are the words of `text` that were asked for.

    Governed knowledge has a tier, and a status: a candidate is not believed yet.
    """

    id: str
    kind: str
    text: str
    anchor: str
    ts: str
    score: float
    matched: list[str]
    source: str | None = None
    speaker: str | None = None
    conversation: str | None = None
    status: str | None = None
    tier: str | None = None
    highlights: list[str] | None = None


class Scope(Part):
    """Where was searched, and how many documents there are: an empty answer is no wrong scope unseen."""

    anchors: list[str]
    documents: int


class SearchResult(Result):
    """What was found, best first."""

    results: list[SearchItem]
    scope: Scope
    degraded: str | None = None
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    text: SearchText
    anchors: tuple[Anchor, ...] | None
    filters: Filters
    offset: int
    limit: int
    not_filters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchService:
    """Finds documents by their words."""

    ledger: Ledger
    finder: Finder
    embedding: EmbeddingService

    async def search(self, given: SearchInput, *, call: Call) -> SearchResult:
        """Return the best documents visible from the place of the call. Any string is a query.

        Raises:
            InvalidArgumentError: a filter has a value that is not allowed.

        """
        request = _request(given, call)
        async with self.ledger.reader.view() as view:
            question = await self.finder.question(view, request.text.text)
            return await view.carry_out(self._result(request, question))

    def _result(self, request: _Request, question: Question | None) -> Plan[SearchResult]:
        found = yield from self.finder.find(
            request.text,
            question,
            anchors=request.anchors,
            filters=request.filters,
            limit=request.offset + request.limit + 1,
        )
        hits = found[request.offset : request.offset + request.limit]
        texts: Mapping[int, Sequence[str]] = yield memory.passages_of(
            [hit.doc for hit in hits], most=PASSAGES_LOOKED_AT
        )
        page = [_item(hit, snippet(texts.get(hit.doc, ()), request.text.terms)) for hit in hits]
        shown = fitting(page, bytes_max=RESULTS_BYTES, least=1)
        end = request.offset + len(shown)
        return SearchResult(
            results=shown,
            scope=Scope(
                anchors=list(request.anchors or ("*",)),
                documents=(yield counters.documents(request.anchors)),
            ),
            degraded=(yield from self.embedding.coverage()).degraded,
            next_cursor=str(end) if shown and len(found) > end else None,
            notice=(yield from _notice(request, found)),
            head=(yield events.head()),
        )


def _request(given: SearchInput, call: Call) -> _Request:
    text = parse(given.query)
    said, words = _filters_of(text, call.place)
    text = with_words(text, " ".join(words))

    def choose(argument: str, value: str) -> str:
        """An argument wins over the same filter in the query."""
        return value.strip() or said.get(argument, "")

    kinds = [kind.strip() for kind in given.kinds if kind.strip()] or list(filter(None, [said.get("kind")]))
    for kind in kinds:
        _checked("kind", kind)
    equal = {
        argument: _checked(argument, choose(argument, getattr(given, argument)))
        for argument in ("domain", "provenance", "field", "conversation", "source", "tier", "status")
    }
    believed_only = not (given.include_inactive or equal["status"])
    return _Request(
        text=text,
        anchors=resolve_anchor_argument(choose("anchor", given.anchor), call.place),
        filters=Filters(
            kinds=tuple(kinds),
            equal={column: value for column, value in equal.items() if value},
            label=_checked("label", choose("label", given.label)),
            since=_checked("since", choose("since", given.since)),
            until=_checked("until", choose("until", given.until)),
            without_statuses=INACTIVE if believed_only else (),
        ),
        offset=_offset(given.cursor),
        limit=_limit(given.limit),
        not_filters=tuple(words),
    )


def _filters_of(text: SearchText, place: Place) -> tuple[dict[str, str], list[str]]:
    """Return the filters a query names, and what only looks like one: any string is a query."""
    said: dict[str, str] = {}
    words: list[str] = []
    for argument, value in text.filters:
        try:
            if argument == "anchor":
                resolve_anchor_argument(value, place)
            else:
                _checked(argument, value)
            said[argument] = value
        except InvalidInputError:
            words.append(f"{argument}:{value}")
    return said, words


def _checked(argument: str, value: str) -> str:
    """Return the value of a filter, as it is compared; empty when it is absent."""
    match argument:
        case "kind":
            return _one_of("kinds", value, KINDS)
        case "domain":
            return _one_of(argument, value, tuple(Domain))
        case "provenance":
            return _one_of(argument, value, tuple(Provenance))
        case "tier":
            return parse_tier(value) if value else ""
        case "status":
            return _one_of(argument, value, tuple(Status))
        case "since" | "until":
            return _day_or_instant(value, argument=argument)
        case "source":
            return normalise(value).value
        case _:
            return name(value, argument=argument)


def _item(hit: Found, shown: Snippet) -> SearchItem:
    item_id = document_id(hit.kind, hit.doc)
    more = f" … ({shown.left_out} more characters, {item_id})" if shown.left_out else ""
    text = ("\n…\n" if more else "\n").join(shown.passages)
    return SearchItem(
        id=item_id,
        kind=hit.kind,
        text=cut(shortened(text, chars_max=SNIPPET_CHARS) + more, bytes_max=SNIPPET_BYTES),
        highlights=list(shown.highlights) or None,
        anchor=hit.anchor,
        ts=hit.ts,
        score=hit.score / 1_000_000,
        matched=list(hit.legs),
        source=None if hit.source is None else cut(hit.source, bytes_max=SOURCE_BYTES),
        speaker=hit.speaker,
        conversation=hit.conversation or None,
        status=hit.status,
        tier=hit.tier,
    )


def _notice(request: _Request, found: Sequence[Found]) -> Plan[str | None]:
    """Say why there is nothing, or what was cut."""
    if request.text.cut:
        return f"only the last part of the query was used; {request.text.cut} characters were left out"
    if request.not_filters:
        names = cut(", ".join(request.not_filters), bytes_max=NOTICE_BYTES // 2)
        return f"searched as words, for these are no filters here: {names}"
    if request.text.empty:
        return "the query holds no words, so nothing was searched"
    filters = request.filters
    if found or not (filters.equal or filters.label or filters.kinds or filters.since or filters.until):
        return None
    hints = []
    for column in (*filters.equal, *(["kind"] if filters.kinds else [])):
        values: Sequence[str] = yield memory.values_of(column, anchors=request.anchors)
        hints.append(f"{column}: {', '.join(values) or 'none'}")
    if filters.label:
        values = yield memory.labels_of(anchors=request.anchors)
        hints.append(f"label: {', '.join(values) or 'none'}")
    there_is = f"; there is {'; '.join(hints)}" if hints else ""
    return cut(f"nothing matches with these filters{there_is}", bytes_max=NOTICE_BYTES)


def _one_of(argument: str, value: str, allowed: Sequence[str]) -> str:
    if value and value not in allowed:
        raise InvalidArgumentError(
            f"{argument}: {value[:40]!r} is not one", hint="Use " + ", ".join(allowed) + "."
        )
    return value


def _day_or_instant(text: str, *, argument: str) -> str:
    if not text:
        return ""
    is_day = re.fullmatch(r"\d{4}-\d\d-\d\d", text.strip()) is not None
    return instant(f"{text.strip()}T00:00:00Z" if is_day else text, argument=argument)


def _limit(limit: int) -> int:
    if not 1 <= limit <= LIMIT_MAX:
        raise InvalidArgumentError(
            f"limit: {limit} is not allowed", hint=f"It is a number from 1 to {LIMIT_MAX}."
        )
    return limit


def _offset(cursor: str) -> int:
    if cursor and not _CURSOR.fullmatch(cursor):
        raise InvalidArgumentError(f"cursor: {cursor[:40]!r} is not one", hint="Pass next_cursor as it came.")
    return int(cursor or 0)
