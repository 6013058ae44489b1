"""Damage of every kind, done to the file behind the ledger's back, is found and named by its seq."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from pmm_mcp.ledger.sqlite.ledger import SqliteLedger
from pmm_mcp.ledger.sqlite.verify import verify_file
from pmm_mcp.ledger.sqlite.writer import WriterSettings
from pmm_mcp.ports import Transaction, Verification
from tests.ledger.conftest import Open
from tests.ledgers import AGENT, HUMAN, note, redact

UNLOCK = (
    "DROP TRIGGER events_are_dense; DROP TRIGGER events_are_kept; DROP TRIGGER events_are_final;"
    "DROP TRIGGER texts_are_final; DROP TRIGGER texts_go_by_redaction;"
)
"""The owner of a file can do anything to it."""


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    sql: str
    seq: int
    code: str


CASES = (
    Case(
        name="a_flipped_byte_in_a_record",
        sql="UPDATE events SET record = CAST(replace(CAST(record AS TEXT), 'unscoped', 'unscopee') AS BLOB)"
        " WHERE seq = 5",
        seq=5,
        code="hash",
    ),
    Case(
        name="a_record_that_is_no_record",
        sql="UPDATE events SET record = CAST('[]' AS BLOB) WHERE seq = 5",
        seq=5,
        code="record",
    ),
    Case(
        name="a_flipped_byte_in_a_hash",
        sql="UPDATE events SET hash = zeroblob(32) WHERE seq = 5",
        seq=5,
        code="hash",
    ),
    Case(
        name="an_edited_text", sql="UPDATE event_text SET text = 'never 3' WHERE seq = 5", seq=5, code="text"
    ),
    Case(
        name="a_cut_text",
        sql="UPDATE event_text SET text = substr(text, 1, 3) WHERE seq = 5",
        seq=5,
        code="text",
    ),
    Case(
        name="a_text_that_is_no_text",
        sql="UPDATE event_text SET text = CAST(x'ff' AS TEXT) WHERE seq = 5",
        seq=5,
        code="text",
    ),
    Case(
        name="a_flipped_byte_in_a_salt",
        sql="UPDATE event_text SET salt = zeroblob(16) WHERE seq = 5",
        seq=5,
        code="text",
    ),
    Case(
        name="a_byte_moved_from_text_to_salt",
        sql="UPDATE event_text SET salt = CAST(salt || substr(text, 1, 1) AS BLOB), text = substr(text, 2)"
        " WHERE seq = 5",
        seq=5,
        code="text",
    ),
    Case(name="a_deleted_text", sql="DELETE FROM event_text WHERE seq = 5", seq=5, code="text"),
    Case(
        name="an_added_text",
        sql="INSERT INTO event_text VALUES (5, 'more', zeroblob(16), 'x')",
        seq=5,
        code="text",
    ),
    Case(
        name="a_text_of_another_event",
        sql="UPDATE event_text SET seq = 4, field = 'other' WHERE seq = 5",
        seq=4,
        code="text",
    ),
    Case(name="a_deleted_row", sql="DELETE FROM events WHERE seq = 5", seq=5, code="missing"),
    Case(name="a_deleted_first_row", sql="DELETE FROM events WHERE seq = 1", seq=1, code="missing"),
    Case(
        name="swapped_rows",
        sql="UPDATE events SET seq = 99 WHERE seq = 5; UPDATE events SET seq = 5 WHERE seq = 6;"
        "UPDATE events SET seq = 6 WHERE seq = 99",
        seq=5,
        code="seq",
    ),
    Case(
        name="an_inserted_row",
        sql="UPDATE events SET seq = seq + 100 WHERE seq >= 5;"
        "UPDATE events SET seq = seq - 99 WHERE seq >= 100;"
        "INSERT INTO events (seq, record, hash) SELECT 5, record, hash FROM events WHERE seq = 4",
        seq=5,
        code="seq",
    ),
    Case(name="a_cut_tail_that_leaves_texts", sql="DELETE FROM events WHERE seq > 8", seq=9, code="text"),
)


@pytest.fixture
async def written(open_one: Open) -> SqliteLedger:
    """A ledger of ten events, 2 to 10 with a text each, with all of them in the writer's cache."""
    ledger = await open_one()
    for n in range(9):
        await ledger.write(note(f"text {n}"), call=AGENT)
    return ledger


async def in_another_process(code: str, *arguments: str) -> None:
    """Run a snippet elsewhere: closing a file here would drop the locks that SQLite has on it."""
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code, *arguments], check=True, timeout=30)


async def edit(path: Path, sql: str) -> None:
    code = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]);"
        "db.execute('PRAGMA ignore_check_constraints = ON'); db.execute('PRAGMA foreign_keys = OFF');"
        "db.executescript(sys.argv[2]); db.commit(); db.close()"
    )
    await in_another_process(code, str(path), f"{UNLOCK} {sql};")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_damage_is_found_and_named(written: SqliteLedger, tmp_path: Path, case: Case) -> None:
    assert (await written.verify()).ok
    await edit(tmp_path / "l.db", case.sql)

    found = await written.verify(projections=True)

    assert found.first_bad == case.seq
    assert case.code in {problem.code for problem in found.problems if problem.seq == case.seq}


@pytest.mark.parametrize("from_seq", [1, 11], ids=["everything", "since the last"])
async def test_a_tail_that_was_there_when_last_verified_is_missed(
    written: SqliteLedger, tmp_path: Path, from_seq: int
) -> None:
    assert (await written.verify()).ok
    await edit(tmp_path / "l.db", "DELETE FROM event_text WHERE seq > 8; DELETE FROM events WHERE seq > 8")

    found = await written.verify(from_seq=from_seq)

    assert [(problem.seq, problem.code) for problem in found.problems] == [(9, "missing")]
    assert "up to 10" in found.problems[0].detail
    assert (found.head, (await written.state()).verified_to) == (8, 10)


async def test_an_index_that_could_not_be_compared_is_said(written: SqliteLedger, open_one: Open) -> None:
    await written.verify()
    impatient = await open_one(settings=WriterSettings(lease_wait_s=0.01))
    held, go_on = threading.Event(), threading.Event()

    def stay(tx: Transaction) -> None:
        held.set()
        assert go_on.wait(10)

    staying = asyncio.create_task(written.write(stay, call=AGENT))
    await asyncio.to_thread(held.wait, 10)
    try:
        found = await impatient.verify(projections=True)
    finally:
        go_on.set()
        await staying

    assert found.ok
    assert [note.code for note in found.notes] == ["not_checked"]
    assert "search index" in found.notes[0].detail
    assert (await impatient.verify(projections=True)).notes == ()


async def test_damage_does_not_count_as_verified(written: SqliteLedger, tmp_path: Path) -> None:
    await written.verify()
    await written.write(note("more"), call=AGENT)
    await edit(tmp_path / "l.db", "UPDATE event_text SET text = 'x' WHERE seq = 11")

    assert not (await written.verify()).ok
    assert (await written.state()).verified_to == 10


async def test_a_read_table_that_was_edited_is_found(written: SqliteLedger, tmp_path: Path) -> None:
    await edit(
        tmp_path / "l.db",
        "UPDATE kind_counts SET total = total + 1; UPDATE passages SET body = 'x' WHERE id = 5000",
    )

    found = await written.verify(projections=True)

    details = " ".join(problem.detail for problem in found.problems)
    assert "kind_counts" in details
    assert "'passages'" in details
    assert "search index" in details
    assert (await written.verify()).ok
    await written.rebuild()
    assert (await written.verify(projections=True)).ok


async def offsets_of(path: Path, table: str) -> list[int]:
    """Where the pages of a table or an index begin in the file."""
    return await asyncio.to_thread(_offsets_of, path, table)


def _offsets_of(path: Path, table: str) -> list[int]:
    with closing(sqlite3.connect(path)) as db:
        (size,) = db.execute("PRAGMA page_size").fetchone()
        pages = db.execute("SELECT pageno FROM dbstat WHERE name = ?", (table,)).fetchall()
        return [(page - 1) * size for (page,) in pages]


async def folded(written: SqliteLedger, tmp_path: Path) -> Path:
    """Close the ledger, so that everything stands in the one file."""
    await written.aclose()
    return tmp_path / "l.db"


async def test_a_byte_flipped_in_an_index_is_found(written: SqliteLedger, tmp_path: Path) -> None:
    path = await folded(written, tmp_path)
    data = bytearray(path.read_bytes())
    (start,) = await offsets_of(path, "events_kind")
    where = data.rindex(b"evidence_recorded", start, start + 4096)
    data[where] ^= 1
    path.write_bytes(data)

    found = await asyncio.to_thread(verify_file, path)

    assert [problem.code for problem in found.problems][:1] == ["storage"]
    assert "events_kind" in found.problems[0].detail


@pytest.mark.parametrize("step", [61, 97])
async def test_verifying_never_raises_and_misses_no_flip_in_what_was_recorded(
    written: SqliteLedger, tmp_path: Path, step: int
) -> None:
    """Flip a byte here and there through the whole file."""
    path = await folded(written, tmp_path)
    sound = path.read_bytes()
    pages = [*await offsets_of(path, "events"), *await offsets_of(path, "event_text")]
    contents = [b"text 4", b'"kind":"evidence_recorded"', b"ledger_opened"]
    precious = {
        sound.index(content, page)
        for content in contents
        for page in pages
        if content in sound[page : page + 4096]
    }
    for where in sorted({*range(0, len(sound), step * 16), *precious}):
        data = bytearray(sound)
        data[where] ^= 0x15
        path.write_bytes(data)

        found = await asyncio.to_thread(verify_file, path)

        assert isinstance(found, Verification)
        if where in precious:
            assert not found.ok, where
    path.write_bytes(sound)
    assert (await asyncio.to_thread(verify_file, path)).ok


@pytest.mark.parametrize("data", [b"", b"SQLite format 3\x00", b"x" * 8192], ids=["empty", "cut", "foreign"])
def test_verifying_what_is_no_ledger_does_not_raise(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "l.db"
    path.write_bytes(data)

    assert not verify_file(path).ok


# ---------------------------------------------------------------------------------- incremental


async def test_verifying_goes_on_where_it_stopped(written: SqliteLedger) -> None:
    whole = await written.verify()
    part = await written.verify(from_seq=6)
    rest = await written.verify(from_seq=11)
    beyond = await written.verify(from_seq=50)

    assert (whole.checked, part.checked, rest.checked, beyond.checked) == (10, 5, 0, 0)
    assert {found.head for found in (whole, part, rest, beyond)} == {10}
    assert len({found.head_hash for found in (whole, part, rest, beyond)}) == 1
    assert all(found.ok for found in (whole, part, rest, beyond))


async def test_a_later_stretch_alone_does_not_count_as_everything(written: SqliteLedger) -> None:
    await written.verify(from_seq=6)
    assert (await written.state()).verified_to == 0
    await written.verify()
    assert (await written.state()).verified_to == 10


async def test_the_event_before_a_stretch_is_looked_at_too(written: SqliteLedger, tmp_path: Path) -> None:
    await edit(tmp_path / "l.db", "UPDATE events SET hash = zeroblob(32) WHERE seq = 5")

    assert (await written.verify(from_seq=6)).first_bad == 5
    assert (await written.verify(from_seq=7)).ok


@pytest.fixture
def in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pmm_mcp.ledger.sqlite.verify._EVENTS_AT_ONCE", 4)


@pytest.mark.usefixtures("in_small_steps")
async def test_when_the_time_is_up_it_is_said_where_to_go_on(written: SqliteLedger) -> None:
    first = await written.verify(budget_s=0, projections=True)
    state = await written.state()
    rest = await written.verify(from_seq=first.next_seq or 0)

    assert (first.ok, first.checked, first.head, first.last, first.next_seq) == (True, 4, 4, 10, 5)
    assert {note.code for note in first.notes} == {"not_checked"}
    assert {"the storage of events", "the read models", "the search index"} <= {
        note.detail.split(":")[0].removesuffix(" was not compared with its passages") for note in first.notes
    }
    assert state.verified_to == 4
    assert (rest.ok, rest.checked, rest.next_seq, rest.notes) == (True, 6, None, ())
    assert (await written.state()).verified_to == 10


@pytest.mark.usefixtures("in_small_steps")
async def test_a_text_redacted_after_the_time_was_up_is_not_missed(written: SqliteLedger) -> None:
    await written.write(redact(3), call=HUMAN)

    found = await written.verify(budget_s=0)

    assert (found.ok, found.next_seq, found.redacted) == (True, 5, (3,))


async def test_with_time_enough_all_is_checked(written: SqliteLedger) -> None:
    found = await written.verify(budget_s=1_000, projections=True)

    assert (found.checked, found.next_seq, found.notes) == (10, None, ())


async def test_progress_is_told(written: SqliteLedger) -> None:
    steps: list[tuple[int, int]] = []
    await written.verify(projections=True, progress=lambda done, total: steps.append((done, total)))

    assert steps[-1] == (10, 10)
