"""Importing PMM: verified first, kept verbatim, mapped where something fits, resumed and repeated safely."""

import asyncio
import json
import os
import sqlite3
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path
from typing import Any, cast

import pytest

from pmm_mcp.domain.admission import SecretsMode
from pmm_mcp.domain.errors import ImportRefusedError, LedgerIoError, PmmError, SecretRefusedError
from pmm_mcp.domain.events.ledger import ImportFinished, ImportStarted, SourceEvent
from pmm_mcp.domain.events.mind import ClaimAccepted, ConceptBound, LedgerReferenced
from pmm_mcp.domain.events.turn import AssistantMessage, GenerationFailure
from pmm_mcp.domain.records import Actor, Call, Recorded
from pmm_mcp.ledger.sqlite.ledger import SqliteLedger, open_ledger
from pmm_mcp.ports import Ledger, Query
from pmm_mcp.queries import events
from pmm_mcp.system import SystemClock, SystemIds
from pmm_mcp.transfer import pmm, pmm_file
from pmm_mcp.transfer.pmm import PmmImport, import_pmm
from pmm_mcp.transfer.pmm_source import read_source
from pmm_mcp.turn.recovery import close_abandoned
from tests.pmm_ledgers import Format, PmmLedger, Row, boot, say, small_ledger, write_sqlite

CALL = Call(actor=Actor(kind="human", name="tests", session="s"), request_id="r")
SHARED = Path(os.environ.get("PMM_MCP_SHARED") or Path(__file__).parents[3] / "shared")
REAL = SHARED / "data" / "pmm-session-ledger.json"
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"


def opened(path: Path) -> AbstractAsyncContextManager[SqliteLedger]:
    return open_ledger(path, clock=SystemClock(), ids=SystemIds(), role="test")


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncGenerator[SqliteLedger]:
    async with opened(tmp_path / "ours.db") as ledger:
        yield ledger


@pytest.fixture
def small_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pmm, "EVENTS_A_WRITE", 12)


async def ask_rows(ledger: Ledger, sql: str) -> list[tuple[Any, ...]]:
    async with ledger.reader.view() as view:
        return await view.ask(Query(sql, {}, list))


async def recorded(ledger: Ledger, *kinds: str) -> list[Recorded]:
    found: list[Recorded] = []
    async with ledger.reader.view() as view:
        while page := await view.ask(
            events.page(after=found[-1].seq if found else 0, limit=500, kinds=kinds)
        ):
            found += page
    return found


async def head(ledger: Ledger) -> int:
    async with ledger.reader.view() as view:
        return await view.ask(events.head())


async def verbatim(ledger: Ledger) -> list[Row]:
    """Return every imported row, checking that what it names as its mapping is what was made of it."""
    rows: list[Row] = []
    by_seq = {record.seq: record for record in await recorded(ledger)}
    for record in by_seq.values():
        if isinstance(record.event, SourceEvent):
            row = json.loads(record.texts["event"] or "")
            assert record.event.source_id == row["id"]
            assert record.actor.kind == "importer"
            if record.event.mapped is not None:
                assert record.event.mapped == record.seq + 1
                assert by_seq[record.event.mapped].conversation.startswith("pmm:")
            rows.append(row)
    return rows


async def check(ledger: SqliteLedger) -> None:
    found = await ledger.verify(projections=True)
    assert found.problems == ()


# ---------------------------------------------------------------------------------- what an import does


@pytest.mark.parametrize("form", ["json", "wrapped", "sqlite"])
@pytest.mark.parametrize("text_meta", [True, False])
async def test_every_row_is_kept_verbatim(
    ledger: SqliteLedger, tmp_path: Path, form: Format, text_meta: bool
) -> None:
    source = small_ledger(text_meta=text_meta or form == "sqlite")
    result = await import_pmm(ledger, source.write(tmp_path / "old mind.json", form), call=CALL)

    assert await verbatim(ledger) == source.rows
    assert (result.imported, result.total, result.forks) == (len(source.rows), len(source.rows), ())
    assert not result.repeated
    assert result.source_head == source.rows[-1]["hash"]
    assert result.kinds == Counter(row["kind"] for row in source.rows)
    assert result.head == await head(ledger)
    await check(ledger)


async def test_what_fits_becomes_an_event_of_ours(ledger: SqliteLedger, tmp_path: Path) -> None:
    source = small_ledger(turns=1)
    result = await import_pmm(ledger, source.write(tmp_path / "old mind.json"), call=CALL)

    assert result.made == {
        "assistant_message": 1, "claim_accepted": 1, "commitment_closed": 1, "commitment_opened": 1,
        "concept_bound": 1, "concept_defined": 1, "ledger_referenced": 1, "reflection": 1, "user_message": 1,
    }  # fmt: skip
    made = {record.kind: record for record in await recorded(ledger)}
    prompt, reply = made["user_message"], made["assistant_message"]
    assert prompt.texts["prompt"] == "What about part 0?"
    assert prompt.conversation == "pmm:old mind"
    assert reply.turn == prompt.seq
    assert reply.event == AssistantMessage(model="p:m")
    assert made["claim_accepted"].event == ClaimAccepted(type="fact", evidence=(reply.seq,))
    assert made["concept_bound"].event == ConceptBound(
        tokens=("topic.0",), target=prompt.seq, relation="relevant_to"
    )
    assert made["ledger_referenced"].event == LedgerReferenced(target=5, verified=False)
    assert made["ledger_referenced"].texts == {"ledger": "other.db"}
    started, finished = made["import_started"], made["import_finished"]
    assert started.event == ImportStarted(source="pmm", total=len(source.rows))
    assert started.texts == {"name": "old mind.json", "origin": result.origin}
    assert finished.event == ImportFinished(started=started.seq, imported=len(source.rows), mapped=9)


async def test_commitments_are_open_or_closed_as_they_were(ledger: SqliteLedger, tmp_path: Path) -> None:
    await import_pmm(ledger, small_ledger(turns=4).write(tmp_path / "l.json"), call=CALL)
    assert await commitments(ledger, "open") == ["look at part 1", "look at part 3"]
    assert await commitments(ledger, "closed") == ["look at part 0", "look at part 2"]


async def commitments(ledger: Ledger, status: str) -> list[str]:
    sql = (
        "SELECT c.text FROM commitments AS c JOIN commitment_states AS s ON s.commitment = c.commitment "
        f"WHERE s.to_seq IS NULL AND s.status = '{status}' ORDER BY c.commitment"
    )
    return [row[0] for row in await ask_rows(ledger, sql)]


async def test_a_commitment_is_opened_and_closed_once(ledger: SqliteLedger, tmp_path: Path) -> None:
    source = PmmLedger()
    first = source.add("commitment_open", "Commitment opened: a", cid="a", source="user")
    again = source.add("commitment_open", "Commitment opened: a", cid="a", source="user")
    source.add("commitment_close", "", cid="a", source="user", open_event_id=again)
    source.add("commitment_close", "", cid="a", source="user", open_event_id=first)
    source.add("commitment_close", "", cid="unknown", source="user")
    source.add(
        "commitment_open", "Internal commitment opened: g", cid="mc_1", origin="autonomy_kernel", goal="g"
    )
    source.add("commitment_open", "Commitment opened: a", cid="a", source="user")
    source.add("concept_bind_thread", {"cid": "a", "tokens": ["topic.a"], "relation": "relevant_to"})

    result = await import_pmm(ledger, source.write(tmp_path / "l.json"), call=CALL)
    assert result.made == {"commitment_opened": 3, "commitment_closed": 1, "concept_bound": 1}
    assert await commitments(ledger, "open") == ["g", "a"]
    assert await commitments(ledger, "closed") == ["a"]
    await check(ledger)


RELATION = '{"from":"a","relation":"r","to":"b","weight":%s}'

UNFIT: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "a_token_that_is_no_name": ("concept_define", {"token": "f(x)", "concept_kind": "k"}, {}),
    "a_weight_that_is_endless": ("concept_relate", RELATION % "1e999", {}),
    "a_weight_that_is_nothing": ("concept_relate", RELATION % "NaN", {}),
    "a_weight_that_is_a_word": ("concept_relate", RELATION % '"heavy"', {}),
    "a_binding_to_nothing": ("concept_bind_event", {"event_id": 9**40, "tokens": ["a"]}, {}),
    "a_binding_to_what_was_not_mapped": ("concept_bind_event", {"event_id": 1, "tokens": ["a"]}, {}),
    "a_binding_of_too_many_tokens": ("concept_bind_event", {"event_id": 3, "tokens": ["a"] * 101}, {}),
    "a_claim_without_json": ("claim", "CLAIM:fact=?", {"claim_type": "fact"}),
    "a_claim_of_no_type": ("claim", "CLAIM:!=1", {}),
    "a_reference_to_no_number": ("inter_ledger_ref", "REF: a#b", {}),
    "a_reference_of_4301_digits": ("inter_ledger_ref", "REF: a#" + "9" * 4301, {}),
    "a_failure_of_no_turn": ("generation_failure", "", {}),
    "an_empty_reflection": ("reflection", " ", {}),
    "an_empty_commitment": ("commitment_open", "Commitment opened: ", {"cid": "a"}),
    "a_kind_that_is_no_code": ("embedding add!", "", {}),
    "a_kind_without_a_letter": ("\u4e16", "", {}),
    "no_kind": ("", "", {}),
    "json_that_is_too_deep": ("concept_define", "[" * 100_000, {}),
}


@pytest.mark.parametrize("name", UNFIT)
async def test_what_does_not_fit_is_kept_verbatim_only(
    ledger: SqliteLedger, tmp_path: Path, name: str
) -> None:
    source = PmmLedger()
    boot(source)
    user, reply = say(source, "a", "b")
    assert (user, reply) == (3, 4)
    kind, content, meta = UNFIT[name]
    source.add(kind, content, **meta)

    result = await import_pmm(ledger, source.write(tmp_path / "l.json"), call=CALL)
    assert result.made == {"user_message": 1, "assistant_message": 1}
    assert await verbatim(ledger) == source.rows
    await check(ledger)


async def test_text_that_utf8_cannot_hold_is_kept_verbatim(ledger: SqliteLedger, tmp_path: Path) -> None:
    source = PmmLedger()
    source.add(
        "user_message", "half \ud83c, none \x00, whole \U0001f378, \u4e16", note="\udf78", weight=float("inf")
    )
    await import_pmm(ledger, source.write(tmp_path / "l.json"), call=CALL)
    assert await verbatim(ledger) == source.rows
    (prompt,) = await recorded(ledger, "user_message")
    assert prompt.texts["prompt"] == "half \ufffd, none , whole \U0001f378, \u4e16"


async def test_an_agent_may_ask_for_it_and_a_request_id_does_no_harm(
    ledger: SqliteLedger, tmp_path: Path, small_writes: None
) -> None:
    call = Call(actor=Actor(kind="agent", name="a", session="s"), request_id="r")
    path = small_ledger().write(tmp_path / "l.json")
    assert not (await import_pmm(ledger, path, call=call)).repeated
    assert (await import_pmm(ledger, path, call=call)).repeated


# -------------------------------------------------------------------------------------------- turns


async def turns(ledger: Ledger) -> list[tuple[Any, ...]]:
    sql = """
    SELECT t.text, u.status FROM turns AS u JOIN event_text AS t ON t.seq = u.turn ORDER BY u.turn
    """
    return await ask_rows(ledger, sql)


async def test_a_reply_ends_the_prompt_it_names_else_the_last_that_waits(
    ledger: SqliteLedger, tmp_path: Path
) -> None:
    source = PmmLedger()
    first = source.add("user_message", "first")
    source.add("user_message", "second")
    source.add("user_message", "third")
    source.add("assistant_message", "to the third")
    source.add("assistant_message", "to the first", about_event=first)
    source.add("generation_failure", "par", status="truncated", reason_code="LENGTH", about_event="no id")
    source.add("assistant_message", "to nobody")
    await import_pmm(ledger, source.write(tmp_path / "l.json"), call=CALL)

    assert await turns(ledger) == [("first", "complete"), ("second", "truncated"), ("third", "complete")]
    (failure,) = await recorded(ledger, "generation_failure")
    assert failure.event == GenerationFailure(status="truncated", reason="LENGTH", size_bytes=3)
    replies = await recorded(ledger, "assistant_message")
    assert [reply.turn is None for reply in replies] == [False, False, True]
    await check(ledger)


async def test_recovery_leaves_a_turn_alone_whose_end_is_still_to_come(
    tmp_path: Path, small_writes: None
) -> None:
    source = PmmLedger()
    user = source.add("user_message", "a")
    source.add("user_message", "never answered")
    for _ in range(40):
        source.add("metrics_turn")
    source.add("assistant_message", "b", about_event=user)
    path = source.write(tmp_path / "l.json")
    recovering = open_ledger(
        tmp_path / "l.db", clock=SystemClock(), ids=SystemIds(), housekeeping=(close_abandoned,)
    )
    async with recovering as ledger:
        await import_pmm(ledger, path, call=CALL)
        assert await turns(ledger) == [("a", "complete"), ("never answered", "interrupted")]
        (failure,) = await recorded(ledger, "generation_failure")
        assert failure.event == GenerationFailure(status="interrupted", reason="imported_without_terminal")


async def test_a_second_reply_is_late_and_a_second_failure_nothing(
    ledger: SqliteLedger, tmp_path: Path
) -> None:
    source = PmmLedger()
    user, _ = say(source, "a", "b")
    source.add("assistant_message", "again", about_event=user)
    source.add("generation_failure", "", about_event=user)
    result = await import_pmm(ledger, source.write(tmp_path / "l.json"), call=CALL)
    assert result.made == {"user_message": 1, "assistant_message": 1, "late_reply": 1}
    assert await turns(ledger) == [("a", "complete")]


async def test_prompts_without_an_end_are_ended_once_when_the_import_is(
    ledger: SqliteLedger, tmp_path: Path, small_writes: None
) -> None:
    source = PmmLedger()
    for n in range(30):
        source.add("user_message", f"{n}")
    path = source.write(tmp_path / "l.json")
    await import_pmm(ledger, path, call=CALL)
    before = await head(ledger)
    assert (await import_pmm(ledger, path, call=CALL)).repeated

    assert await head(ledger) == before
    failures = await recorded(ledger, "generation_failure")
    assert len(failures) == len({failure.turn for failure in failures}) == 30
    expected = GenerationFailure(status="interrupted", reason="imported_without_terminal")
    assert {failure.event for failure in failures} == {expected}
    assert len(await recorded(ledger, "import_finished")) == 1
    await check(ledger)


async def test_a_reply_that_comes_with_a_later_import_is_late(ledger: SqliteLedger, tmp_path: Path) -> None:
    source = PmmLedger()
    user = source.add("user_message", "a")
    await import_pmm(ledger, source.write(tmp_path / "l.json"), call=CALL)
    source.add("assistant_message", "b", about_event=user)
    result = await import_pmm(ledger, source.write(tmp_path / "l.json"), call=CALL)
    assert result.made == {"late_reply": 1}
    assert await turns(ledger) == [("a", "interrupted")]


# ------------------------------------------------------------------------------------ what is refused


def change(row_id: int, **fields: Any) -> Callable[[PmmLedger], None]:
    def apply(ledger: PmmLedger) -> None:
        ledger.rows[row_id - 1].update(fields)

    return apply


def rewrite(row_id: int, **fields: Any) -> Callable[[PmmLedger], None]:
    """Change a row and make its own hash right again."""

    def apply(ledger: PmmLedger) -> None:
        ledger.rows[row_id - 1].update(fields)
        ledger.reseal(row_id)

    return apply


def edit(what: Callable[[list[Any]], object]) -> Callable[[PmmLedger], None]:
    return lambda ledger: cast(None, what(ledger.rows))


def swap(rows: list[Any]) -> None:
    rows[4], rows[5] = rows[5], rows[4]


def repeat(rows: list[Any]) -> None:
    rows.append(rows[4] | {"id": len(rows) + 1})


TAMPERED: dict[str, tuple[Callable[[PmmLedger], None], str]] = {
    "content": (change(5, content="Commitment opened: look at part 9"), "event 5 does not verify"),
    "kind": (change(5, kind="commitment_opem"), "event 5 does not verify"),
    "meta": (change(5, meta="{}"), "event 5 does not verify"),
    "prev_hash": (change(5, prev_hash="0" * 64), "event 5 does not verify"),
    "no_prev_hash": (change(5, prev_hash=None), "event 5 does not verify"),
    "hash": (change(5, hash="0" * 64), "event 5 does not verify"),
    "hash_in_capitals": (
        lambda ledger: change(5, hash=ledger.rows[4]["hash"].upper())(ledger),
        "event 5 does",
    ),
    "no_hash": (change(5, hash=None), "event 5 is malformed"),
    "the_last_row": (change(21, content=""), "event 21 does not verify"),
    "content_and_hash": (rewrite(5, content="x"), "event 6 does not verify"),
    "a_second_beginning": (rewrite(5, prev_hash=None), "event 5 does not verify"),
    "a_beginning_that_follows": (rewrite(1, prev_hash="0" * 64), "event 1 does not verify"),
    "a_row_taken_out": (edit(lambda rows: rows.pop(4)), "event 6 does not verify"),
    "the_first_row_taken_out": (edit(lambda rows: rows.pop(0)), "event 2 does not verify"),
    "rows_swapped": (edit(swap), "event 6 does not verify"),
    "a_row_repeated": (edit(repeat), "event 22 repeats event 5"),
    "an_id_used_twice": (change(5, id=4), "event 4 comes after event 4"),
    "ids_going_back": (change(5, id=1), "event 1 comes after event 4"),
    "an_id_that_is_text": (change(5, id="5"), "event number 5"),
    "an_id_that_is_true": (change(5, id=True), "event number 5"),
    "an_id_of_zero": (change(1, id=0), "event number 1"),
    "an_id_past_counting": (change(5, id=2**53), "event number 5"),
    "no_column": (edit(lambda rows: rows[4].pop("ts")), "event number 5"),
    "a_row_that_is_a_list": (edit(lambda rows: rows.__setitem__(4, [1])), "event number 5"),
    "content_that_is_no_text": (change(5, content=5), "event 5 is malformed"),
    "ts_that_is_no_text": (change(5, ts=5), "event 5 is malformed"),
    "kind_that_is_no_text": (change(5, kind=["a"]), "event 5 is malformed"),
    "prev_hash_that_is_no_text": (change(5, prev_hash=5), "event 5 is malformed"),
    "meta_that_is_a_list": (change(5, meta="[]"), "event 5 is malformed"),
    "meta_that_is_no_json": (change(5, meta="{"), "event 5 is malformed"),
    "meta_that_is_null": (change(5, meta=None), "event 5 is malformed"),
    "meta_that_is_too_deep": (change(5, meta='{"a":' * 100_000), "event 5 is malformed"),
    "meta_of_many_digits": (change(5, meta='{"a":' + "9" * 5_000 + "}"), "event 5 is malformed"),
    "content_of_a_megabyte": (rewrite(21, content="x" * 1_048_577), "event 21 has 1048577 bytes"),
    "a_row_over_a_megabyte": (rewrite(21, content="x" * 1_048_570), "event 21 has"),
}


@pytest.mark.parametrize("name", TAMPERED)
async def test_a_tampered_source_is_refused_whole(ledger: SqliteLedger, tmp_path: Path, name: str) -> None:
    source = small_ledger()
    assert len(source.rows) == 21
    tamper, expected = TAMPERED[name]
    tamper(source)
    before = await head(ledger)

    with pytest.raises(ImportRefusedError, match=expected) as caught:
        await import_pmm(ledger, source.write(tmp_path / "l.json"), call=CALL)

    assert caught.value.hint
    assert await head(ledger) == before


def test_a_flipped_byte_is_refused_or_outside_the_chain(tmp_path: Path) -> None:
    source = PmmLedger()
    boot(source)
    say(source, "a", "b")
    path = source.write(tmp_path / "l.json")
    data = path.read_bytes()
    for at in range(len(data)):
        for bit in (0x01, 0x80):
            path.write_bytes(data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :])
            try:
                rows = read_source(path, secrets=SecretsMode.MASK).rows
            except ImportRefusedError:
                continue
            assert [(row.kind, row.content, row.hash) for row in rows] == [
                (row["kind"], row["content"], row["hash"]) for row in source.rows
            ]


def test_a_flipped_byte_in_a_database_is_refused_or_changes_nothing_in_the_chain(tmp_path: Path) -> None:
    source = small_ledger()
    path = source.write(tmp_path / "l.db", "sqlite")
    data = path.read_bytes()
    hashes = {row["hash"] for row in source.rows}
    for at in (*range(0, 100, 3), *range(100, len(data), 61)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x04]) + data[at + 1 :])
        try:
            rows = read_source(path, secrets=SecretsMode.MASK).rows
        except ImportRefusedError:
            continue
        assert {row.hash for row in rows} <= hashes


async def test_a_fork_is_accepted_and_reported(ledger: SqliteLedger, tmp_path: Path) -> None:
    source = small_ledger(turns=1)
    after = len(source.rows) - 2
    fork = source.add("reflection", "on a branch", after=after)
    source.add("reflection", "on the branch")
    other = source.add("reflection", "on another branch", after=after)

    result = await import_pmm(ledger, source.write(tmp_path / "l.json"), call=CALL)
    assert result.forks == (fork, other)
    (started,) = await recorded(ledger, "import_started")
    assert started.event == ImportStarted(source="pmm", total=len(source.rows), forks=(fork, other))
    assert await verbatim(ledger) == source.rows


# --------------------------------------------------------------------------------- files of all sorts


def database(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def wal_left_behind(path: Path) -> None:
    """Leave what a killed program leaves: a database whose last rows are in its log only."""
    other = path.with_name("other.db")
    write_sqlite(other, small_ledger().rows)
    with closing(sqlite3.connect(other, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("UPDATE events SET ts = ts || 'x'")
        for suffix in ("", "-wal"):
            path.with_name(path.name + suffix).write_bytes(other.with_name(other.name + suffix).read_bytes())


def journal_left_behind(path: Path) -> None:
    """Leave what a killed program leaves: a database written in part, and the journal to roll it back."""
    other = path.with_name("other.db")
    write_sqlite(other, small_ledger(turns=40).rows)
    with closing(sqlite3.connect(other, isolation_level=None)) as db:
        db.execute("PRAGMA cache_size = 1")
        db.execute("BEGIN")
        db.execute("UPDATE events SET ts = ts || 'x'")
        for suffix in ("", "-journal"):
            path.with_name(path.name + suffix).write_bytes(other.with_name(other.name + suffix).read_bytes())


def truncated(path: Path) -> None:
    write_sqlite(path, small_ledger(turns=40).rows)
    path.write_bytes(path.read_bytes()[:8_000])


ENDLESS = (
    "CREATE VIEW events AS WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
    "SELECT id, '' AS ts, '' AS kind, '' AS content, '' AS meta, '' AS prev_hash, '' AS hash FROM n"
)
FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing_there": (lambda path: None, "cannot be read"),
    "a_directory": (lambda path: path.mkdir(), "is not a file"),
    "a_pipe": (os.mkfifo, "is not a file"),
    "an_empty_file": (lambda path: path.write_bytes(b""), "neither SQLite nor JSON"),
    "prose": (lambda path: path.write_text("Dear diary"), "neither SQLite nor JSON"),
    "half_a_list": (lambda path: path.write_text('[{"id": 1'), "neither SQLite nor JSON"),
    "bytes": (lambda path: path.write_bytes(bytes(range(256))), "neither SQLite nor JSON"),
    "a_number": (lambda path: path.write_text("5"), "not a ledger"),
    "another_object": (lambda path: path.write_text('{"events": {}}'), "not a ledger"),
    "no_events": (lambda path: path.write_text("[]"), "no events"),
    "deep_nesting": (lambda path: path.write_text("[" * 200_000), "nested too deeply"),
    "a_number_of_many_digits": (lambda path: path.write_text("[" + "9" * 5_000 + "]"), "neither SQLite nor"),
    "another_database": (lambda path: database(path, "CREATE TABLE drawers (id)"), "no table of events"),
    "other_events": (lambda path: database(path, "CREATE TABLE events (id, ts)"), "cannot be read"),
    "endless_events": (lambda path: database(path, ENDLESS), "no table of events"),
    "no_rows": (lambda path: write_sqlite(path, []), "no events"),
    "half_a_database": (truncated, "cannot be read"),
    "a_database_header": (lambda path: path.write_bytes(b"SQLite format 3\x00"), "cannot be read"),
    "a_log_not_folded_in": (wal_left_behind, "write-ahead log"),
    "a_journal_not_rolled_back": (journal_left_behind, "cut off in the middle of a write"),
}


@pytest.mark.parametrize("name", FILES)
async def test_any_other_file_is_refused_with_a_hint(ledger: SqliteLedger, tmp_path: Path, name: str) -> None:
    make, expected = FILES[name]
    path = tmp_path / "source"
    make(path)
    before = await head(ledger)
    with pytest.raises(ImportRefusedError, match=expected) as caught:
        await import_pmm(ledger, path, call=CALL)
    assert caught.value.hint
    assert await head(ledger) == before


async def test_a_file_over_the_limit_is_not_read(
    ledger: SqliteLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pmm_file, "SOURCE_BYTES_MAX", 100)
    with pytest.raises(ImportRefusedError, match="the limit is 100"):
        await import_pmm(ledger, small_ledger().write(tmp_path / "l.json"), call=CALL)


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
async def test_a_source_is_never_written(ledger: SqliteLedger, tmp_path: Path, mode: str) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    path = small_ledger().write(folder / "100% of #1?.db", "sqlite")
    database(path, f"PRAGMA journal_mode = {mode}")
    before = path.read_bytes(), path.stat().st_mtime_ns
    result = await import_pmm(ledger, path, call=CALL)
    assert result.imported == 21
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert list(folder.iterdir()) == [path]


# --------------------------------------------------------------------------------------------- secrets


def with_secrets() -> PmmLedger:
    source = PmmLedger()
    source.add("user_message", f"my key is {TOKEN}", note=f"hidden {TOKEN[:9]}\x00{TOKEN[9:]}")
    source.add("assistant_message", json.dumps({"a": json.dumps({"password": "hunter2Xy9"})}))
    return source


@pytest.mark.parametrize("text_meta", [True, False])
async def test_credentials_are_masked_and_the_row_is_known_again(
    ledger: SqliteLedger, tmp_path: Path, text_meta: bool
) -> None:
    source = with_secrets()
    if not text_meta:
        source.rows[0]["meta"] = json.loads(source.rows[0]["meta"])
    path = source.write(tmp_path / "l.json")
    await import_pmm(ledger, path, call=CALL)

    stored = [row[0] for row in await ask_rows(ledger, "SELECT text FROM event_text")]
    assert not [text for text in stored if TOKEN in text or TOKEN[9:] in text or "hunter2Xy9" in text]
    first, second = await verbatim(ledger)
    assert first["content"] == "my key is [masked:github_token]"
    assert [first["hash"], second["hash"]] == [row["hash"] for row in source.rows]
    record = (await recorded(ledger, "source_event"))[0]
    assert "event:masked:github_token" in record.event.changed
    assert (await import_pmm(ledger, path, call=CALL)).repeated


async def test_a_refusal_of_credentials_writes_nothing_and_names_the_event(
    ledger: SqliteLedger, tmp_path: Path
) -> None:
    before = await head(ledger)
    with pytest.raises(SecretRefusedError, match="event 1"):
        await import_pmm(ledger, with_secrets().write(tmp_path / "l"), call=CALL, secrets=SecretsMode.REFUSE)
    assert await head(ledger) == before


async def test_credentials_may_be_allowed(ledger: SqliteLedger, tmp_path: Path) -> None:
    source = with_secrets()
    await import_pmm(ledger, source.write(tmp_path / "l.json"), call=CALL, secrets=SecretsMode.ALLOW)
    assert await verbatim(ledger) == source.rows


# ------------------------------------------------------------------- again, further, at once, cut off


async def test_importing_again_writes_nothing(ledger: SqliteLedger, tmp_path: Path) -> None:
    source = small_ledger()
    first = await import_pmm(ledger, source.write(tmp_path / "a.json"), call=CALL)
    for path, form in (
        (tmp_path / "a.json", "json"),
        (tmp_path / "b.db", "sqlite"),
        (tmp_path / "c", "wrapped"),
    ):
        again = await import_pmm(ledger, source.write(path, cast(Format, form)), call=CALL)
        assert again.repeated
        assert (again.imported, again.mapped, again.total) == (0, 0, first.total)
        assert (again.started, again.head) == (first.started, first.head)


async def test_a_source_that_grew_brings_what_is_new(
    ledger: SqliteLedger, tmp_path: Path, small_writes: None
) -> None:
    path = tmp_path / "l.json"
    first = await import_pmm(ledger, small_ledger(turns=3).write(path), call=CALL)
    source = small_ledger(turns=6)
    source.add("commitment_close", "Commitment closed: cid00001", cid="cid00001", source="assistant")
    second = await import_pmm(ledger, source.write(path), call=CALL)

    assert second.started > first.started
    assert second.imported == len(source.rows) - first.imported
    assert await verbatim(ledger) == source.rows
    assert await commitments(ledger, "open") == ["look at part 3", "look at part 5"]
    finished = [record.event for record in await recorded(ledger, "import_finished")]
    assert finished == [
        ImportFinished(started=result.started, imported=result.imported, mapped=result.mapped)
        for result in (first, second)
    ]
    await check(ledger)

    older = await import_pmm(ledger, small_ledger(turns=3).write(path), call=CALL)
    assert older.repeated


async def test_a_commitment_closed_here_is_not_closed_again(ledger: SqliteLedger, tmp_path: Path) -> None:
    from pmm_mcp.domain.events.mind import CommitmentClosed
    from pmm_mcp.domain.records import Draft

    source = PmmLedger()
    source.add("commitment_open", "Commitment opened: a", cid="a", source="user")
    await import_pmm(ledger, source.write(tmp_path / "l.json"), call=CALL)
    (opening,) = await recorded(ledger, "commitment_opened")
    closed = Draft(CommitmentClosed(commitment=opening.seq, origin="human"))
    await ledger.write(lambda tx: tx.append(closed), call=Call(actor=CALL.actor))

    source.add("commitment_close", "Commitment closed: a", cid="a", source="user")
    result = await import_pmm(ledger, source.write(tmp_path / "l.json"), call=CALL)
    assert (result.imported, result.mapped) == (1, 0)
    await check(ledger)


@pytest.mark.parametrize("grown", [False, True])
async def test_a_source_with_another_past_is_refused(
    ledger: SqliteLedger, tmp_path: Path, grown: bool
) -> None:
    path = tmp_path / "l.json"
    source = small_ledger()
    await import_pmm(ledger, source.write(path), call=CALL)
    before = await head(ledger)

    other = PmmLedger()
    for row in source.rows[:20]:
        other.rows.append(row)
    other.add("reflection", "another past")
    other.add("reflection", "and its future")
    if grown:
        other.add("reflection", "and more")
    with pytest.raises(ImportRefusedError, match="event 21 is not the one that was imported"):
        await import_pmm(ledger, other.write(path), call=CALL)
    assert await head(ledger) == before


async def test_a_row_slipped_in_or_left_out_later_is_refused(ledger: SqliteLedger, tmp_path: Path) -> None:
    path = tmp_path / "l.json"
    source = small_ledger()
    source.add("reflection", "a leaf that nothing follows")
    source.add("reflection", "the branch that went on", after=21)
    with_leaf, without_leaf = source.rows, [*source.rows[:21], source.rows[22]]
    for first, second in ((with_leaf, without_leaf), (without_leaf, with_leaf)):
        async with opened(tmp_path / f"{len(first)}.db") as fresh:
            path.write_text(json.dumps(first))
            await import_pmm(fresh, path, call=CALL)
            path.write_text(json.dumps(second))
            with pytest.raises(ImportRefusedError, match="event 22 is not the one"):
                await import_pmm(fresh, path, call=CALL)


async def test_ledgers_that_begin_alike_are_two(ledger: SqliteLedger, tmp_path: Path) -> None:
    one, two = small_ledger(turns=1), small_ledger(turns=2, second=1)
    assert one.rows[0]["hash"] == two.rows[0]["hash"]
    await import_pmm(ledger, one.write(tmp_path / "a.json"), call=CALL)
    await import_pmm(ledger, two.write(tmp_path / "b.json"), call=CALL)
    assert await verbatim(ledger) == one.rows + two.rows
    await check(ledger)


class CutOffError(Exception):
    """The process ended here."""


@pytest.mark.parametrize("steps", range(1, 5))
async def test_an_import_that_was_cut_off_goes_on_where_it_stopped(
    tmp_path: Path, small_writes: None, steps: int
) -> None:
    source = small_ledger()
    path = source.write(tmp_path / "l.json")
    left = steps

    def cut_off(_done: int, _total: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise CutOffError

    async with opened(tmp_path / "ours.db") as ledger:
        with pytest.raises(CutOffError):
            await import_pmm(ledger, path, call=CALL, progress=cut_off)
    async with opened(tmp_path / "ours.db") as ledger:
        rows_before = len(await recorded(ledger, "source_event"))
        result = await import_pmm(ledger, path, call=CALL)
        assert result.imported == len(source.rows) - rows_before
        await is_whole(ledger, source)


class FailingLedger:
    """Passes on to a ledger, whose disk fails at one write."""

    def __init__(self, ledger: Ledger, *, at: int) -> None:
        self.ledger = ledger
        self.left = at
        self.reader = ledger.reader

    async def write(self, work: Callable[[Any], Any], **kwargs: Any) -> Any:
        if self.left == 0:
            self.left = -1
            raise LedgerIoError("the disk is full")
        self.left -= 1
        return await self.ledger.write(work, **kwargs)

    def keep_lease(self) -> AbstractAsyncContextManager[None]:
        return self.ledger.keep_lease()


async def test_a_failing_write_at_any_step_leaves_an_import_that_can_go_on(
    tmp_path: Path, small_writes: None
) -> None:
    source = small_ledger()
    path = source.write(tmp_path / "l.json")
    for step in range(20):
        async with opened(tmp_path / f"{step}.db") as ledger:
            failing = FailingLedger(ledger, at=step)
            try:
                result = await import_pmm(cast(Ledger, failing), path, call=CALL)
            except LedgerIoError:
                await import_pmm(ledger, path, call=CALL)
                await is_whole(ledger, source)
            else:
                assert result.imported == len(source.rows)
                assert step > 3
                return
    pytest.fail("the import never came through")


async def test_two_at_once_write_every_row_once(tmp_path: Path, small_writes: None) -> None:
    source = small_ledger(turns=8)
    path = source.write(tmp_path / "l.json")
    async with opened(tmp_path / "ours.db") as ours, opened(tmp_path / "ours.db") as theirs:
        imports = (import_pmm(each, path, call=CALL) for each in (ours, theirs, ours))
        outcomes = await asyncio.gather(*imports, return_exceptions=True)
        done = [outcome for outcome in outcomes if isinstance(outcome, PmmImport)]
        for outcome in outcomes:
            assert isinstance(outcome, PmmImport) or (isinstance(outcome, PmmError) and outcome.retryable)
        assert sum(result.imported for result in done) == len(source.rows)
        await is_whole(ours, source)


async def is_whole(ledger: SqliteLedger, source: PmmLedger) -> None:
    """Check that the ledger looks as if the import had never been cut off."""
    assert await verbatim(ledger) == source.rows
    kinds = Counter(record.kind for record in await recorded(ledger))
    assert (kinds["import_started"], kinds["import_finished"]) == (1, 1)
    (finished,) = await recorded(ledger, "import_finished")
    assert isinstance(finished.event, ImportFinished)
    assert finished.event.imported == len(source.rows)
    assert {status for _, status in await turns(ledger)} == {"complete"}
    assert all(text.startswith("look at part") for text in await commitments(ledger, "open"))
    await check(ledger)


async def test_a_write_holds_only_so_much_text(
    ledger: SqliteLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pmm, "CHARS_A_WRITE", 0)
    told: list[int] = []
    source = small_ledger()
    path = source.write(tmp_path / "l.json")
    await import_pmm(ledger, path, call=CALL, progress=lambda done, _total: told.append(done))
    assert told == list(range(1, 22))
    await is_whole(ledger, source)


async def test_progress_counts_the_rows_that_are_in(
    ledger: SqliteLedger, tmp_path: Path, small_writes: None
) -> None:
    told: list[tuple[int, int]] = []
    path = small_ledger().write(tmp_path / "l.json")
    await import_pmm(ledger, path, call=CALL, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (21, 21)
    assert told == sorted(told)


# ---------------------------------------------------------------------------------------- the real one


@pytest.mark.skipif(not REAL.exists(), reason=f"the real PMM ledger is not here: {REAL} (set PMM_MCP_SHARED)")
async def test_a_real_ledger_comes_in_whole(ledger: SqliteLedger) -> None:
    rows = await asyncio.to_thread(lambda: json.loads(REAL.read_bytes()))
    result = await import_pmm(ledger, REAL, call=CALL)

    assert (result.total, result.imported, result.forks) == (1_199, 1_199, (468, 470, 843))
    assert result.made == {
        "assistant_message": 17, "commitment_closed": 12, "commitment_opened": 12, "concept_bound": 146,
        "concept_defined": 155, "concept_related": 90, "ledger_referenced": 1, "lifetime_memory": 9,
        "reflection": 66, "summary_updated": 15, "user_message": 17,
    }  # fmt: skip
    assert await verbatim(ledger) == rows
    assert await commitments(ledger, "open") == []
    assert len(await commitments(ledger, "closed")) == 12
    assert Counter(status for _, status in await turns(ledger)) == {"complete": 17}
    await check(ledger)
    assert (await import_pmm(ledger, REAL, call=CALL)).repeated
    assert await head(ledger) == result.head
