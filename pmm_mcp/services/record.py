"""Recording evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pmm_mcp.context.quoting import one_line
from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.anchors import Anchor
from pmm_mcp.domain.errors import InvalidArgumentError, NotFoundError, RequestIdConflictError
from pmm_mcp.domain.events import Event
from pmm_mcp.domain.events.memory import Domain, EvidenceRecorded, Provenance
from pmm_mcp.domain.ids import KINDS, Prefix, parse_id, public_id
from pmm_mcp.domain.names import name
from pmm_mcp.domain.records import Call, Draft, Recorded
from pmm_mcp.domain.times import instant
from pmm_mcp.domain.words import compare_words, passages
from pmm_mcp.ports import Ledger, Query, Transaction, View
from pmm_mcp.queries import events, memory
from pmm_mcp.retrieval.grammar import plain
from pmm_mcp.retrieval.scope import Filters, Lexical
from pmm_mcp.services.boundary import Boundary, masked_names
from pmm_mcp.services.results import Ref, Result

LABELS_MAX: Final = 100
IMPORTANCE_MAX: Final = 5
NEAR_MAX: Final = 3
NEAR_MILLIONTHS: Final = 700_000
"""How alike two texts must be to be mentioned, as the share of words they have in common."""
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
        event, cited = _event(given)
        anchor = call.place.shared if event.provenance is Provenance.RESEARCH else call.place.home
        piece = _Piece(
            event=event,
            texts={"content": content} | ({} if source is None else {"source": source}),
            anchor=anchor,
            conversation=call.conversation,
            cited=cited,
        )
        async with self.ledger.reader.view() as view:
            near = await self._near(view, content.value, call)
            result = await _rehearse(view, piece) if given.dry_run else None
        if result is None:
            # No view is held while a write waits for the lease: there are few, and everybody reads.
            result = await self.ledger.write(piece.write, call=call, again=piece.again)
        return result.model_copy(update={"near": [ref for ref in near if ref.id != result.id]})

    async def _near(self, view: View, content: str, call: Call) -> list[Ref]:
        head = passages(content)[:1]
        search = plain(head[0] if head else "")
        found = await self.lexical.search(
            view, search, anchors=call.place.visible, filters=Filters(kinds=("evidence",))
        )
        records = await view.ask(events.by_seqs([hit.doc for hit in found[: 2 * NEAR_MAX]]))
        alike = [
            (compare_words(content[:NEAR_CHARS], text[:NEAR_CHARS]), record.seq, text)
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
    conversation: str
    cited: Sequence[tuple[Prefix, int]]

    def write(self, tx: Transaction) -> RecordResult:
        refs = self.refs(tx.ask(self.known()))
        if (seq := tx.ask(self.same())) is not None:
            return self.duplicate(tx.ask(events.by_seqs([seq]))[seq], refs=refs, head=tx.next_seq - 1)
        (record,) = tx.append(Draft(self.event, self.texts, anchor=self.anchor))
        return self.result(record.seq, refs=refs, head=record.seq)

    def again(self, tx: Transaction, recorded: Recorded) -> RecordResult:
        if not self.is_what_became(recorded):
            raise RequestIdConflictError(recorded.request_id)
        refs = self.refs(tx.ask(self.known()))
        result = self.result(recorded.seq, refs=refs, head=tx.next_seq - 1)
        return result.model_copy(update={"repeated": True})

    def is_what_became(self, recorded: Recorded) -> bool:
        """Say whether this very piece was recorded so; a text that was removed since may have been any."""
        return (
            recorded.event.model_copy(update={"changed": ()}) == self.event
            and (recorded.anchor, recorded.conversation) == (self.anchor, self.conversation)
            and recorded.texts.keys() == self.texts.keys()
            and all(recorded.texts[name] in (text.value, None) for name, text in self.texts.items())
        )

    def known(self) -> Query[Mapping[int, Recorded]]:
        return events.by_seqs([seq for _, seq in self.cited])

    def refs(self, known: Mapping[int, Recorded]) -> list[Ref]:
        """Return what is cited; each id must name what its prefix says."""
        for prefix, seq in self.cited:
            if seq not in known or known[seq].kind not in KINDS.get(prefix, ()):
                raise NotFoundError(f"the ledger holds no {public_id(prefix, seq)}", hint="Check the id.")
        return [Ref(id=public_id(prefix, seq), text=_beginning(known[seq])) for prefix, seq in self.cited]

    def same(self) -> Query[int | None]:
        """Ask for the piece that makes this one superfluous.

        One that answers something must answer the same: a counterexample may be answered with words
        that were recorded before.
        """
        source = self.texts.get("source")
        return memory.same_evidence(
            self.texts["content"].value,
            anchor=self.anchor,
            domain=self.event.domain,
            field=self.event.field,
            source=None if source is None else source.value,
            answers=self.event.answers,
        )

    def duplicate(self, same: Recorded, *, refs: list[Ref], head: int) -> RecordResult:
        """Answer with the piece that is there, and say what of this one it does not have."""
        lost = ", ".join(_lost(self.event, same.event))
        notice = (
            f"recorded before and left as it is, without what this call says of: {lost}" if lost else None
        )
        result = self.result(same.seq, refs=refs, head=head)
        return result.model_copy(update={"duplicate": True, "notice": notice})

    def result(self, seq: int, *, refs: list[Ref], head: int) -> RecordResult:
        return RecordResult(
            id=public_id("ev", seq) if seq else "",
            masked=masked_names(*self.texts.values()),
            anchor=self.anchor,
            source_resolved=bool(self.event.source_event),
            refs=refs or None,
            head=head,
        )


async def _rehearse(view: View, piece: _Piece) -> RecordResult:
    """Answer as if it had been recorded."""
    refs, head = piece.refs(await view.ask(piece.known())), await view.ask(events.head())
    seq = await view.ask(piece.same())
    if seq is None:
        result = piece.result(0, refs=refs, head=head)
    else:
        same = (await view.ask(events.by_seqs([seq])))[seq]
        result = piece.duplicate(same, refs=refs, head=head)
    notices = ["dry run: nothing was written", result.notice]
    return result.model_copy(update={"notice": "; ".join(filter(None, notices))})


def _lost(given: EvidenceRecorded, kept: Event) -> list[str]:
    """Name the arguments that say what the recorded piece does not."""
    said, known = given.model_dump(exclude_defaults=True), kept.model_dump()
    if set(given.labels) <= set(known["labels"]):
        said.pop("labels", None)
    return [
        argument for field, argument in _NOT_COMPARED.items() if said.get(field) not in (None, known[field])
    ]


def _event(given: EvidenceInput) -> tuple[EvidenceRecorded, Sequence[tuple[Prefix, int]]]:
    """Return what is to be recorded, and the ids it cites."""
    if not 0 <= given.importance <= IMPORTANCE_MAX:
        raise InvalidArgumentError(
            f"importance: {given.importance} is not allowed", hint="It is a number from 0 to 5."
        )
    if len(given.labels) > LABELS_MAX:
        raise InvalidArgumentError(f"labels: {len(given.labels)} of at most {LABELS_MAX}")
    labels = sorted({name(label, argument="labels") for label in given.labels} - {""})
    answers = parse_id(given.answers, "ev") if given.answers.strip() else None
    source = _id_in(given.source)
    event = EvidenceRecorded(
        domain=_domain(given.domain),
        field=name(given.field, argument="field") or "general",
        provenance=_provenance(given.provenance),
        importance=given.importance,
        labels=tuple(labels),
        speaker=name(given.speaker, argument="speaker") or None,
        occurred_at=instant(given.occurred_at, argument="occurred_at") if given.occurred_at.strip() else None,
        evaluator=name(given.evaluator_id, argument="evaluator_id") or None,
        answers=answers[1] if answers else None,
        source_event=source[1] if source else 0,
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


def _id_in(source: str) -> tuple[Prefix, int] | None:
    """Return the id that a source is; None when it names something else."""
    try:
        return parse_id(source)
    except InvalidArgumentError:
        return None


def _beginning(record: Recorded) -> str:
    text = next((text for text in record.texts.values() if text), record.kind)
    return one_line(text, chars_max=60)
