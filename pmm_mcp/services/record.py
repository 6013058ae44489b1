"""Recording evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pmm_mcp.context.quoting import one_line
from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.anchors import Anchor, Place
from pmm_mcp.domain.errors import InvalidArgumentError, NotFoundError, RequestIdConflictError
from pmm_mcp.domain.events import Event
from pmm_mcp.domain.events.memory import Domain, EvidenceRecorded, Origin, Provenance
from pmm_mcp.domain.ids import KINDS, Prefix, parse_id, public_id
from pmm_mcp.domain.names import name
from pmm_mcp.domain.records import Call, Draft, Recorded
from pmm_mcp.domain.sources import EventSource, FileSource, parse_source
from pmm_mcp.domain.times import instant
from pmm_mcp.domain.words import compare_words, passages
from pmm_mcp.ports import FileRead, Files, Ledger, Plan, Transaction, View
from pmm_mcp.queries import events, memory
from pmm_mcp.queries.plans import carry_out
from pmm_mcp.retrieval.grammar import plain
from pmm_mcp.retrieval.scope import Filters, Lexical, Meaning
from pmm_mcp.services.boundary import Boundary, masked_names
from pmm_mcp.services.results import Ref, Result, beginning

LABELS_MAX: Final = 100
IMPORTANCE_MAX: Final = 5
NEAR_MAX: Final = 3
NEAR_MILLIONTHS: Final = 700_000
"""How alike two texts must be to be mentioned, as the share of words they have in common."""
SAME_MEANING_MILLIONTHS: Final = 920_000
"""From which cosine on two texts that share words are taken to say the same."""
NEAR_CHARS: Final = 20_000
"""How much of two texts is compared."""
_NOT_COMPARED: Final = {
    "provenance": "provenance",
    "importance": "importance",
    "labels": "labels",
    "speaker": "speaker",
    "occurred_at": "occurred_at",
    "evaluator": "evaluator_id",
}
"""What makes no other evidence of the same words, and the argument that says it."""
_AS_SAID: Final[Mapping[str, Any]] = {
    "changed": (),
    "origin": Origin.CITED,
    "blob": "",
    "first_line": 0,
    "last_line": 0,
    "commit": "",
}
"""Without what the server found out by itself when it was recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceInput:
    """What a caller says about a piece of evidence; empty strings are absent."""

    content: str
    source: str = ""
    domain: str = Domain.PROJECT
    field: str = "general"
    provenance: str = ""
    importance: int = 0
    labels: Sequence[str] = ()
    speaker: str = ""
    occurred_at: str = ""
    evaluator_id: str = ""
    answers: str = ""
    dry_run: bool = False


class RecordResult(Result):
    """Where the evidence is. `near` lists texts much like it, as advice; `masked` the secrets removed."""

    id: str = ""
    duplicate: bool = False
    near: list[Ref] = []
    masked: list[str] = []
    anchor: str = ""
    source_resolved: bool = False
    refs: list[Ref] | None = None


@dataclass(frozen=True, slots=True)
class RecordService:
    """Records what was seen, once."""

    ledger: Ledger
    boundary: Boundary
    lexical: Lexical
    files: Files
    meaning: Meaning

    async def record(self, given: EvidenceInput, *, call: Call) -> RecordResult:
        """Record a piece of evidence, or find the one that says exactly this already.

        Raises:
            InvalidArgumentError: an argument has a value that is not allowed.
            NotFoundError: `answers` or `source` is the id of something that is not there.
            SecretRefusedError: a label or another name is a credential, or the settings refuse those.

        """
        content = await self.boundary.admit(given.content, field="content")
        if not content.value.strip():
            raise InvalidArgumentError("content is empty", hint="Say what was seen.")
        source = (
            await self.boundary.admit(given.source.strip(), field="source") if given.source.strip() else None
        )
        event, cited = _event(given, call)
        piece = _Piece(
            event=event,
            texts={"content": content} | ({} if source is None else {"source": source}),
            anchor=call.place.shared if _is_for_everyone(event) else call.place.home,
            call=call,
            cited=cited,
        )
        piece = await self._with_file(piece, given.source)
        async with self.ledger.reader.view() as view:
            near = await self._near(view, content.value, call)
            result = await _rehearse(view, piece) if given.dry_run else None
        if result is None:
            # No view is held while a write waits for the lease: there are few, and everybody reads.
            result = await self.ledger.write(piece.write, call=call, again=piece.again)
        return result.model_copy(update={"near": [ref for ref in near if ref.id != result.id]})

    async def _with_file(self, piece: "_Piece", source: str) -> "_Piece":
        """Read the file that is cited, if one is: a source is resolved when the server read it itself."""
        named = parse_source(source)
        if not isinstance(named, FileSource):
            return piece
        place = piece.call.place
        found = await self.files.read(place, named.path)
        if found is None or named.last > found.lines:
            return replace(piece, notice=_unread(named, found, place))
        event = piece.event.model_copy(
            update={
                "origin": Origin.FILE,
                "blob": found.blob,
                "first_line": named.first,
                "last_line": named.last,
            }
        )
        path = await self.boundary.admit(found.path, field="path")
        return replace(piece, event=event, texts={**piece.texts, "path": path})

    async def _near(self, view: View, content: str, call: Call) -> list[Ref]:
        head = passages(content)[:1]
        search = plain(head[0] if head else "")
        found = await view.carry_out(
            self.lexical.search(search, anchors=call.place.visible, filters=Filters(kinds=("evidence",)))
        )
        records = await view.ask(events.by_seqs([hit.doc for hit in found[: 2 * NEAR_MAX]]))
        question = await self.meaning.question(view, content[:NEAR_CHARS]) if records else None
        compared = None if question is None else await view.carry_out(question.compared())
        cosines = {} if compared is None else compared.cosines(records)
        alike = [
            (_likeness(content, text, cosine=cosines.get(record.seq, 0)), record.seq, text)
            for record in records.values()
            if (text := record.texts.get("content")) is not None
        ]
        return [
            Ref(id=public_id("ev", seq), text=one_line(text, chars_max=60))
            for score, seq, text in sorted(alike, key=lambda row: (-row[0], row[1]))[:NEAR_MAX]
            if score >= NEAR_MILLIONTHS
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    event: EvidenceRecorded
    texts: Mapping[str, Admitted]
    anchor: Anchor
    call: Call
    cited: Sequence[tuple[Prefix, int]]
    notice: str = ""

    def write(self, tx: Transaction) -> RecordResult:
        found = carry_out(tx, self.plan())
        if found.same is not None:
            return self.duplicate(found.same, found, head=tx.next_seq - 1)
        (record,) = tx.append(Draft(found.event, self.texts, anchor=self.anchor))
        return self.result(record.seq, found, origin=found.event.origin, head=record.seq)

    def again(self, tx: Transaction, recorded: Recorded) -> RecordResult:
        if not self.is_what_became(recorded):
            raise RequestIdConflictError(recorded.request_id)
        found = carry_out(tx, self.plan())
        result = self.result(recorded.seq, found, origin=_origin(recorded), head=tx.next_seq - 1)
        return result.model_copy(update={"repeated": True})

    def is_what_became(self, recorded: Recorded) -> bool:
        """Say whether this very piece was recorded so; a text that was removed since may have been any.

        What the server found out by itself may differ: a file changes, and so does what is checked out.
        """
        said = {name: text for name, text in recorded.texts.items() if name != "path"}
        return (
            recorded.event.model_copy(update=_AS_SAID) == self.event.model_copy(update=_AS_SAID)
            and (recorded.anchor, recorded.conversation) == (self.anchor, self.call.conversation)
            and said.keys() == self.texts.keys() - {"path"}
            and all(said[name] in (text.value, None) for name, text in self.texts.items() if name != "path")
        )

    def plan(self) -> Plan["_Found"]:
        """Find what is cited, what the source is, and the piece that makes this one superfluous.

        One that answers something must answer the same: a counterexample may be answered with words
        that were recorded before.
        """
        known: Mapping[int, Recorded] = yield events.by_seqs([seq for _, seq in self.cited])
        for prefix, seq in self.cited:
            if seq not in known or known[seq].kind not in KINDS.get(prefix, ()):
                raise NotFoundError(f"the ledger holds no {public_id(prefix, seq)}", hint="Check the id.")
        event = self.event
        if event.source_event:
            event = _resolved(event, known[event.source_event])
        source, path = self.texts.get("source"), self.texts.get("path")
        twin: int | None = yield memory.same_evidence(
            self.texts["content"].value,
            anchor=self.anchor,
            domain=event.domain,
            field=event.field,
            source=None if source is None else source.value,
            source_key=None if path is None else f"file:{path.value}",
            answers=event.answers,
            session=self.call.actor.session,
        )
        same: Recorded | None = None if twin is None else (yield events.by_seq(twin))
        refs = [Ref(id=public_id(prefix, seq), text=beginning(known[seq])) for prefix, seq in self.cited]
        return _Found(event, refs, same)

    def duplicate(self, same: Recorded, found: "_Found", *, head: int) -> RecordResult:
        """Answer with the piece that is there, and say what of this one it does not have."""
        lost = ", ".join(_lost(self.event, same.event))
        left = f"recorded before and left as it is, without what this call says of: {lost}" if lost else ""
        result = self.result(same.seq, found, origin=_origin(same), head=head)
        notice = "; ".join(filter(None, (result.notice, left))) or None
        return result.model_copy(update={"duplicate": True, "notice": notice})

    def result(self, seq: int, found: "_Found", *, origin: Origin, head: int) -> RecordResult:
        """Answer with a piece whose source is this; one that was read once stays resolved."""
        is_resolved = origin is not Origin.CITED
        return RecordResult(
            id=public_id("ev", seq) if seq else "",
            masked=masked_names(*self.texts.values()),
            anchor=self.anchor,
            source_resolved=is_resolved,
            refs=found.refs or None,
            notice=None if is_resolved else self.notice or None,
            head=head,
        )


@dataclass(frozen=True, slots=True)
class _Found:
    """A piece with its source resolved, what it cites, and the one that says the same already."""

    event: EvidenceRecorded
    refs: list[Ref]
    same: Recorded | None


def _likeness(one: str, other: str, *, cosine: int) -> int:
    """Return how alike two texts are, in millionths: by their words, or by all but the same meaning."""
    by_words = compare_words(one[:NEAR_CHARS], other[:NEAR_CHARS])
    return max(by_words, cosine if cosine >= SAME_MEANING_MILLIONTHS else 0)


def _unread(named: FileSource, found: FileRead | None, place: Place) -> str:
    """Say why a file is cited only, and what to do. What looks like no file may be meant as anything."""
    if found is not None:
        why = f"has {found.lines} lines, and no line {named.last}"
        hint = "record it again with the lines it has, or with none"
    elif not (named.first or "/" in named.path or "." in named.path):
        return ""
    elif place.worktree is None:
        why, hint = "was not looked for: no checkout here", "record it again with a cwd in its checkout"
    else:
        why, hint = "is no file of this checkout", "record it again with a path of the checkout"
    return f"source {named.path!r} {why}, so it is kept as a citation and counts as unresolved; {hint}"


def _origin(record: Recorded) -> Origin:
    """Return what the source of a recorded piece was found to be."""
    return record.event.origin if isinstance(record.event, EvidenceRecorded) else Origin.CITED


def _resolved(event: EvidenceRecorded, source: Recorded) -> EvidenceRecorded:
    """Return a piece with what its source is: what a user said, what was imported, or else a model's words.

    Evidence about evidence is words too, so that nothing becomes better by being cited.
    """
    if source.kind == "source_event" or source.actor.kind == "importer":
        origin = Origin.IMPORT
    elif source.kind == "user_message":
        origin = Origin.MESSAGE
    else:
        origin = Origin.MODEL
    return event.model_copy(update={"origin": origin})


async def _rehearse(view: View, piece: _Piece) -> RecordResult:
    """Answer as if it had been recorded."""
    found, head = await view.carry_out(piece.plan()), await view.ask(events.head())
    if found.same is None:
        result = piece.result(0, found, origin=found.event.origin, head=head)
    else:
        result = piece.duplicate(found.same, found, head=head)
    notices = ["dry run: nothing was written", result.notice]
    return result.model_copy(update={"notice": "; ".join(filter(None, notices))})


def _is_for_everyone(event: EvidenceRecorded) -> bool:
    """Say whether every checkout should know: research is; what was observed or judged here is not."""
    return event.provenance is Provenance.RESEARCH and event.evaluator is None


def _lost(given: EvidenceRecorded, kept: Event) -> list[str]:
    """Name the arguments that say what the recorded piece does not."""
    said, known = given.model_dump(exclude_defaults=True), kept.model_dump()
    if set(given.labels) <= set(known["labels"]):
        said.pop("labels", None)
    if given.evaluator:
        said.pop("provenance", None)  # The server said it, and not the caller.
    return [
        argument for field, argument in _NOT_COMPARED.items() if said.get(field) not in (None, known[field])
    ]


def _event(given: EvidenceInput, call: Call) -> tuple[EvidenceRecorded, Sequence[tuple[Prefix, int]]]:
    """Return what is to be recorded, and the ids it cites."""
    if not 0 <= given.importance <= IMPORTANCE_MAX:
        raise InvalidArgumentError(
            f"importance: {given.importance} is not allowed", hint="It is a number from 0 to 5."
        )
    if len(given.labels) > LABELS_MAX:
        raise InvalidArgumentError(f"labels: {len(given.labels)} of at most {LABELS_MAX}")
    labels = sorted({name(label, argument="labels") for label in given.labels} - {""})
    answers = parse_id(given.answers, "ev") if given.answers.strip() else None
    named = parse_source(given.source)
    source = (named.prefix, named.seq) if isinstance(named, EventSource) else None
    evaluator = name(given.evaluator_id, argument="evaluator_id")
    event = EvidenceRecorded(
        domain=_domain(given.domain),
        field=name(given.field, argument="field") or "general",
        # What a model judged counts like research: it advises, and carries nothing.
        provenance=Provenance.RESEARCH if evaluator else _provenance(given.provenance),
        importance=given.importance,
        labels=tuple(labels),
        speaker=name(given.speaker, argument="speaker") or None,
        occurred_at=instant(given.occurred_at, argument="occurred_at") if given.occurred_at.strip() else None,
        evaluator=evaluator or None,
        answers=answers[1] if answers else None,
        source_event=source[1] if source else 0,
        commit=call.place.head,
    )
    return event, [cited for cited in (answers, source) if cited]


def _domain(text: str) -> Domain:
    try:
        domain = Domain(text.strip().lower() or Domain.PROJECT)
    except ValueError:
        domain = Domain.GLOBAL
    if domain is Domain.GLOBAL:
        raise InvalidArgumentError(
            f"domain: {text[:40]!r} is not allowed for evidence", hint="Use project, agent or skill."
        )
    return domain


def _provenance(text: str) -> Provenance:
    match text.strip().lower():
        case "":
            return Provenance.RUNTIME
        case "research":
            return Provenance.RESEARCH
        case _:
            raise InvalidArgumentError(
                f"provenance: {text[:40]!r} is not yours to say",
                hint='Leave it out, or say "research"; the server sets the rest.',
            )
