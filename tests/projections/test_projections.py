"""Each read model is a pure function: one event in, changes of rows out."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from pmm_mcp.domain.anchors import Anchor
from pmm_mcp.domain.commitments import short_id
from pmm_mcp.domain.events import Event
from pmm_mcp.domain.events.ledger import (
    ImportFinished,
    ImportStarted,
    LedgerOpened,
    PlaceConfirmed,
    PlaceSeen,
    SourceEvent,
    TextRedacted,
)
from pmm_mcp.domain.events.memory import EvidenceRecorded, EvidenceWithdrawn, Origin, Provenance
from pmm_mcp.domain.events.mind import (
    ClaimAccepted,
    CommitmentClosed,
    CommitmentOpened,
    ConceptBound,
    LifetimeMemory,
    Reflection,
    SummaryUpdated,
)
from pmm_mcp.domain.events.turn import AssistantMessage, GenerationFailure, LateReply, UserMessage
from pmm_mcp.domain.records import Actor, Recorded
from pmm_mcp.projections import (
    PROJECTIONS,
    citations,
    claims,
    commitments,
    counters,
    imports,
    memory,
    places,
    turns,
)
from pmm_mcp.projections.changes import Change, Delete, Document, Increment, Insert, Unindex, Update

TS = "2026-01-01T00:00:00.000000Z"
Project = Callable[[Recorded], Iterator[Change]]
Row = tuple[Any, ...]


def recorded(
    event: Event, *, texts: Mapping[str, str | None] | None = None, turn: int | None = None
) -> Recorded:
    return Recorded(
        seq=7, ts=TS, kind=event.kind, actor=Actor(kind="agent", name="a", session="s"), anchor="here",
        conversation="talk", fence=1, turn=turn, request_id="", event=event, texts=texts or {}, hash=b"",
    )  # fmt: skip


def shown(change: Change) -> Row:
    """A change as plain data; of an insertion, what is not null."""
    match change:
        case Insert(table, values):
            assert set(values) <= set(table.columns)
            return "insert", table.name, {name: value for name, value in values.items() if value is not None}
        case Update(table, where, values):
            assert set(values) | set(where) <= set(table.columns)
            return "update", table.name, dict(where), dict(values)
        case Delete(table, where):
            return "delete", table.name, dict(where)
        case Increment(table, key, column, by):
            return "add", table.name, dict(key), column, by
        case Document(key, passages):
            return "index", key, passages
        case Unindex(key):
            return "unindex", key


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    project: Project
    event: Event
    expected: tuple[Row, ...]
    texts: Mapping[str, str | None] = field(default_factory=dict)
    turn: int | None = None


ONE_MORE = ("add", "document_counts", {"anchor": "here"}, "total", 1)


def heading(term: str, *, doc: int = 0) -> Row:
    """What a document may be asked by: what its conversation's day has in common, or its own source."""
    place = {"conversation": "", "day": ""} if doc else {"conversation": "talk", "day": TS[:10]}
    return "add", "headings", {"term": term, "anchor": "here", **place, "doc": doc}, "total", 1


def speaker(name: str) -> Row:
    return "add", "speakers", {"anchor": "here", "speaker": name}, "total", 1


AROUND = tuple(map(heading, ("1", "january", "2026", "talk")))


def document(kind: str, **more: str) -> Row:
    common = {"doc": 7, "kind": kind, "anchor": "here", "conversation": "talk", "ts": TS, "day": TS[:10]}
    return "insert", "documents", common | more


CASES = (
    # turns
    Case(
        name="a_prompt_opens_a_turn",
        project=turns.project,
        event=UserMessage(model="m", holder="h", deadline_us=5),
        texts={"prompt": "?"},
        expected=(
            (
                "insert",
                "turns",
                {
                    "turn": 7,
                    "anchor": "here",
                    "conversation": "talk",
                    "status": "open",
                    "holder": "h",
                    "deadline_us": 5,
                    "model": "m",
                    "opened_at": TS,
                },
            ),
        ),
    ),
    Case(
        name="a_reply_ends_it",
        project=turns.project,
        event=AssistantMessage(model="n", latency_ms=3),
        turn=4,
        texts={"reply": "!"},
        expected=(
            (
                "update",
                "turns",
                {"turn": 4},
                {"status": "complete", "terminal": 7, "latency_ms": 3, "model": "n"},
            ),
        ),
    ),
    Case(
        name="a_failure_ends_it_and_leaves_the_model",
        project=turns.project,
        event=GenerationFailure(status="empty", reason="x"),
        turn=4,
        expected=(("update", "turns", {"turn": 4}, {"status": "empty", "terminal": 7, "latency_ms": 0}),),
    ),
    Case(name="a_reply_of_no_turn_ends_none", project=turns.project, event=AssistantMessage(), expected=()),
    Case(name="a_late_reply_ends_nothing", project=turns.project, event=LateReply(), turn=4, expected=()),
    # memory
    Case(
        name="a_prompt_is_a_document",
        project=memory.project,
        event=UserMessage(),
        texts={"prompt": "why?"},
        expected=(
            ONE_MORE,
            *AROUND,
            speaker("user"),
            document("message", speaker="user"),
            ("index", 7, ("why?",)),
        ),
    ),
    Case(
        name="a_reply_is_a_document",
        project=memory.project,
        event=AssistantMessage(),
        texts={"reply": "so."},
        expected=(
            ONE_MORE,
            *AROUND,
            speaker("assistant"),
            document("message", speaker="assistant"),
            ("index", 7, ("so.",)),
        ),
    ),
    Case(
        name="a_quotation_is_none",
        project=memory.project,
        event=AssistantMessage(quotation=True),
        texts={"reply": "so."},
        expected=(),
    ),
    Case(
        name="a_late_reply_is_none",
        project=memory.project,
        event=LateReply(),
        texts={"reply": "so."},
        expected=(),
    ),
    Case(
        name="a_failure_is_none",
        project=memory.project,
        event=GenerationFailure(status="empty", reason="x"),
        texts={"partial": "so"},
        expected=(),
    ),
    Case(
        name="evidence_is_a_document_with_labels",
        project=memory.project,
        event=EvidenceRecorded(
            labels=("a", "b"), importance=3, speaker="Ann", provenance=Provenance.RESEARCH
        ),
        texts={"content": "c", "source": "s"},
        expected=(
            (
                "insert",
                "evidence",
                {
                    "evidence": 7,
                    "anchor": "here",
                    "domain": "project",
                    "field": "general",
                    "source": "s",
                    "content_hash": memory.content_hash("c"),
                    "importance": 3,
                    "provenance": "research",
                    "origin": "cited",
                    "session": "s",
                    "ts": TS,
                },
            ),
            ONE_MORE,
            *AROUND,
            speaker("Ann"),
            document(
                "evidence",
                speaker="Ann",
                domain="project",
                field="general",
                provenance="research",
                source="s",
            ),
            ("index", 7, ("c",)),
            ("insert", "labels", {"doc": 7, "label": "a"}),
            ("insert", "labels", {"doc": 7, "label": "b"}),
        ),
    ),
    Case(
        name="what_a_source_is_called_belongs_to_its_document_alone",
        project=lambda record: (one for one in memory.project(record) if isinstance(one, Increment)),
        event=EvidenceRecorded(occurred_at="2025-05-08T10:00:00.000000Z"),
        texts={"content": "c", "source": "db/pool.py"},
        expected=(
            ONE_MORE,
            *(
                (
                    "add",
                    "headings",
                    {"term": term, "anchor": "here", "conversation": "talk", "day": "2025-05-08", "doc": 0},
                    "total",
                    1,
                )
                for term in ("8", "may", "2025", "talk")
            ),
            *(heading(term, doc=7) for term in ("db", "pool", "py")),
        ),
    ),
    Case(
        name="evidence_without_its_text_is_a_row_and_no_document",
        project=memory.project,
        event=EvidenceRecorded(labels=("a",)),
        texts={"content": None},
        expected=(
            (
                "insert",
                "evidence",
                {
                    "evidence": 7,
                    "anchor": "here",
                    "domain": "project",
                    "field": "general",
                    "importance": 0,
                    "provenance": "runtime",
                    "origin": "cited",
                    "session": "s",
                    "ts": TS,
                },
            ),
            ONE_MORE,
            *AROUND,
        ),
    ),
    *(
        Case(
            name=f"the_source_of_evidence_from_{origin}",
            project=memory.project,
            event=EvidenceRecorded(origin=origin, source_event=source_event, blob=blob, answers=5),
            texts={"content": None, **({"path": "a.py"} if origin is Origin.FILE else {})},
            expected=(
                (
                    "insert",
                    "evidence",
                    {
                        "evidence": 7,
                        "anchor": "here",
                        "domain": "project",
                        "field": "general",
                        "importance": 0,
                        "provenance": "runtime",
                        "origin": origin,
                        "source_key": key,
                        "session": "s",
                        "answers": 5,
                        "ts": TS,
                    }
                    | ({"blob": blob} if blob else {}),
                ),
                ONE_MORE,
                *AROUND,
            ),
        )
        for origin, source_event, blob, key in (
            (Origin.FILE, 0, "b" * 40, "file:a.py"),
            (Origin.MESSAGE, 4, "", "turn:4"),
            (Origin.MODEL, 4, "", "event:4"),
            (Origin.IMPORT, 4, "", "event:4"),
            (Origin.SIGNED, 0, "", "signed:7"),
        )
    ),
    Case(
        name="withdrawn_evidence_takes_its_document_along",
        project=memory.project,
        event=EvidenceWithdrawn(evidence=3, documents=1),
        texts={"reason": "r"},
        expected=(
            ("update", "evidence", {"evidence": 3}, {"withdrawn_at": 7, "content_hash": None}),
            ("delete", "documents", {"doc": 3}),
            ("delete", "labels", {"doc": 3}),
            ("delete", "headings", {"doc": 3}),
            ("unindex", 3),
            ("add", "document_counts", {"anchor": "here"}, "total", -1),
        ),
    ),
    Case(
        name="withdrawing_what_was_removed_takes_no_document",
        project=memory.project,
        event=EvidenceWithdrawn(evidence=3),
        texts={"reason": "r"},
        expected=(("update", "evidence", {"evidence": 3}, {"withdrawn_at": 7, "content_hash": None}),),
    ),
    Case(
        name="a_claim_is_a_document",
        project=memory.project,
        event=ClaimAccepted(type="fact", domain="build"),
        texts={"subject": "s", "payload": "{}"},
        expected=(ONE_MORE, *AROUND, document("claim", domain="build"), ("index", 7, ("{}",))),
    ),
    Case(
        name="a_promise_is_a_document",
        project=memory.project,
        event=CommitmentOpened(origin="model"),
        texts={"commitment": "x"},
        expected=(ONE_MORE, *AROUND, document("commitment"), ("index", 7, ("x",))),
    ),
    Case(
        name="a_reflection_is_a_document",
        project=memory.project,
        event=Reflection(origin="model"),
        texts={"reflection": "x"},
        expected=(ONE_MORE, *AROUND, document("reflection"), ("index", 7, ("x",))),
    ),
    Case(
        name="a_summary_is_a_document",
        project=memory.project,
        event=SummaryUpdated(origin="runtime"),
        texts={"summary": "x"},
        expected=(ONE_MORE, *AROUND, document("reflection"), ("index", 7, ("x",))),
    ),
    Case(
        name="a_lifetime_memory_is_a_document",
        project=memory.project,
        event=LifetimeMemory(),
        texts={"memory": "x"},
        expected=(ONE_MORE, *AROUND, document("reflection"), ("index", 7, ("x",))),
    ),
    Case(
        name="a_removed_text_takes_its_document_along",
        project=memory.project,
        event=TextRedacted(target=3, field="content", anchor="there", documents=1),
        texts={"reason": "r"},
        expected=(
            ("update", "evidence", {"evidence": 3}, {"content_hash": None, "redacted_at": 7}),
            ("delete", "documents", {"doc": 3}),
            ("delete", "labels", {"doc": 3}),
            ("delete", "headings", {"doc": 3}),
            ("unindex", 3),
            ("add", "document_counts", {"anchor": "there"}, "total", -1),
        ),
    ),
    Case(
        name="a_removed_source_leaves_the_document",
        project=memory.project,
        event=TextRedacted(target=3, field="source", anchor="there"),
        texts={"reason": "r"},
        expected=(
            ("update", "documents", {"doc": 3}, {"source": None}),
            ("delete", "headings", {"doc": 3}),
            ("update", "evidence", {"evidence": 3}, {"source": None}),
        ),
    ),
    Case(
        name="a_removed_text_of_no_document_changes_nothing",
        project=memory.project,
        event=TextRedacted(target=3, field="reason", anchor="there"),
        texts={"reason": "r"},
        expected=(),
    ),
    # commitments
    Case(
        name="a_promise_is_open",
        project=commitments.project,
        event=CommitmentOpened(origin="model"),
        turn=4,
        texts={"commitment": "Ship  it!"},
        expected=(
            (
                "insert",
                "commitments",
                {
                    "commitment": 7,
                    "text": "Ship  it!",
                    "identity": "ship it",
                    "cid": short_id("Ship  it!"),
                    "anchor": "here",
                    "turn": 4,
                    "origin": "model",
                    "opened_at": TS,
                },
            ),
            ("insert", "commitment_states", {"commitment": 7, "from_seq": 7, "status": "open"}),
        ),
    ),
    Case(
        name="a_promise_without_its_text_is_open",
        project=commitments.project,
        event=CommitmentOpened(origin="model"),
        texts={"commitment": None},
        expected=(
            (
                "insert",
                "commitments",
                {"commitment": 7, "anchor": "here", "origin": "model", "opened_at": TS},
            ),
            ("insert", "commitment_states", {"commitment": 7, "from_seq": 7, "status": "open"}),
        ),
    ),
    Case(
        name="a_close_ends_one_state_and_begins_another",
        project=commitments.project,
        event=CommitmentClosed(commitment=3, origin="model"),
        texts={"outcome": "done"},
        expected=(
            ("update", "commitment_states", {"commitment": 3, "to_seq": None}, {"to_seq": 7}),
            (
                "insert",
                "commitment_states",
                {"commitment": 3, "from_seq": 7, "status": "closed", "outcome": "done"},
            ),
        ),
    ),
    Case(
        name="a_removed_promise_loses_all_that_names_it",
        project=commitments.project,
        event=TextRedacted(target=3, field="commitment", anchor="a"),
        expected=(
            ("update", "commitments", {"commitment": 3}, {"text": None, "identity": None, "cid": None}),
        ),
    ),
    Case(
        name="a_removed_outcome_is_gone",
        project=commitments.project,
        event=TextRedacted(target=5, field="outcome", anchor="a"),
        expected=(("update", "commitment_states", {"from_seq": 5}, {"outcome": None}),),
    ),
    Case(
        name="another_text_is_no_promise",
        project=commitments.project,
        event=TextRedacted(target=5, field="content", anchor="a"),
        expected=(),
    ),
    # claims
    Case(
        name="a_claim_has_a_row",
        project=claims.project,
        event=ClaimAccepted(type="fact"),
        turn=4,
        texts={"subject": "s", "payload": "{}"},
        expected=(
            (
                "insert",
                "claims",
                {
                    "claim": 7,
                    "type": "fact",
                    "domain": "project",
                    "subject": "s",
                    "payload": "{}",
                    "anchor": "here",
                    "turn": 4,
                    "claimed_at": TS,
                },
            ),
        ),
    ),
    Case(
        name="a_removed_subject_is_gone",
        project=claims.project,
        event=TextRedacted(target=3, field="subject", anchor="a"),
        expected=(("update", "claims", {"claim": 3}, {"subject": None}),),
    ),
    Case(
        name="a_removed_reason_is_no_claim",
        project=claims.project,
        event=TextRedacted(target=3, field="reason", anchor="a"),
        expected=(),
    ),
    # citations
    Case(
        name="a_claim_cites_and_contradicts",
        project=citations.project,
        event=ClaimAccepted(type="fact", evidence=(3, 2, 3), contradicts=(5,)),
        expected=tuple(
            ("insert", "citations", {"citing": 7, "cited": cited, "role": role})
            for role, cited in (("contradicts", 5), ("evidence", 2), ("evidence", 3))
        ),
    ),
    Case(
        name="a_close_names_its_promise",
        project=citations.project,
        event=CommitmentClosed(commitment=3, origin="model"),
        expected=(("insert", "citations", {"citing": 7, "cited": 3, "role": "closes"}),),
    ),
    Case(
        name="evidence_names_what_it_answers_and_its_source",
        project=citations.project,
        event=EvidenceRecorded(answers=3, source_event=3),
        expected=(
            ("insert", "citations", {"citing": 7, "cited": 3, "role": "answers"}),
            ("insert", "citations", {"citing": 7, "cited": 3, "role": "source"}),
        ),
    ),
    Case(
        name="evidence_of_nothing_names_nothing",
        project=citations.project,
        event=EvidenceRecorded(),
        expected=(),
    ),
    Case(
        name="a_withdrawal_names_what_it_withdraws",
        project=citations.project,
        event=EvidenceWithdrawn(evidence=3),
        texts={"reason": "r"},
        expected=(("insert", "citations", {"citing": 7, "cited": 3, "role": "withdraws"}),),
    ),
    Case(
        name="a_binding_names_its_target",
        project=citations.project,
        event=ConceptBound(tokens=("a",), target=3, relation="about"),
        expected=(("insert", "citations", {"citing": 7, "cited": 3, "role": "binds"}),),
    ),
    Case(
        name="a_source_event_names_what_came_of_it",
        project=citations.project,
        event=SourceEvent(started=1, source_id=1, source_kind="x", mapped=3),
        expected=(("insert", "citations", {"citing": 7, "cited": 3, "role": "source_of"}),),
    ),
    Case(
        name="a_source_event_of_nothing_names_nothing",
        project=citations.project,
        event=SourceEvent(started=1, source_id=1, source_kind="x"),
        expected=(),
    ),
    Case(
        name="a_removal_names_its_target",
        project=citations.project,
        event=TextRedacted(target=3, field="content", anchor="a"),
        expected=(("insert", "citations", {"citing": 7, "cited": 3, "role": "redacts"}),),
    ),
    # places, counters, imports
    Case(
        name="a_place_has_a_row",
        project=places.project,
        event=PlaceSeen(repo=Anchor("repo://r"), worktree=Anchor("worktree:///w")),
        texts={"common_dir": "/w/.git"},
        expected=(
            (
                "insert",
                "places",
                {
                    "seen": 7,
                    "repo": "repo://r",
                    "worktree": "worktree:///w",
                    "common_dir": "/w/.git",
                    "confirmed": 0,
                },
            ),
        ),
    ),
    Case(
        name="a_confirmed_place_has_a_row_of_its_own",
        project=places.project,
        event=PlaceConfirmed(repo=Anchor("repo://r")),
        texts={"common_dir": "/w/.git"},
        expected=(
            (
                "insert",
                "places",
                {"seen": 7, "repo": "repo://r", "common_dir": "/w/.git", "confirmed": 1},
            ),
        ),
    ),
    Case(
        name="a_removed_directory_is_gone",
        project=places.project,
        event=TextRedacted(target=3, field="common_dir", anchor="a"),
        expected=(("update", "places", {"seen": 3}, {"common_dir": None}),),
    ),
    Case(
        name="every_event_is_counted",
        project=counters.project,
        event=LedgerOpened(ledger_id="0" * 32),
        expected=(("add", "kind_counts", {"kind": "ledger_opened"}, "total", 1),),
    ),
    Case(
        name="an_import_begins",
        project=imports.project,
        event=ImportStarted(source="pmm", total=2),
        texts={"name": "n", "origin": "o"},
        expected=(("insert", "imports", {"started": 7, "source": "pmm", "name": "n", "origin": "o"}),),
    ),
    Case(
        name="an_event_comes_in",
        project=imports.project,
        event=SourceEvent(started=3, source_id=9, source_kind="x", mapped=5),
        expected=(("insert", "imported", {"started": 3, "source_id": 9, "seq": 7, "mapped": 5}),),
    ),
    Case(
        name="an_import_ends",
        project=imports.project,
        event=ImportFinished(started=3, imported=2, mapped=1),
        expected=(("update", "imports", {"started": 3}, {"finished": 7}),),
    ),
    Case(
        name="a_removed_name_of_an_import_is_gone",
        project=imports.project,
        event=TextRedacted(target=3, field="name", anchor="a"),
        expected=(("update", "imports", {"started": 3}, {"name": None}),),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_project(case: Case) -> None:
    record = recorded(case.event, texts=case.texts, turn=case.turn)
    assert tuple(map(shown, case.project(record))) == case.expected
    assert tuple(map(shown, case.project(record))) == case.expected, "no state is kept"


@pytest.mark.parametrize("name", PROJECTIONS)
def test_what_is_of_no_concern_changes_nothing(name: str) -> None:
    changes = list(PROJECTIONS[name].project(recorded(LedgerOpened(ledger_id="0" * 32))))
    assert len(changes) == (name == "counters")


def test_no_two_read_models_share_a_table() -> None:
    names = [table.name for projection in PROJECTIONS.values() for table in projection.TABLES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", PROJECTIONS)
def test_keys_and_indexes_name_columns(name: str) -> None:
    for table in PROJECTIONS[name].TABLES:
        named = {*table.key, *(column for index in table.indexes for column in index)}
        assert named <= set(table.columns)
