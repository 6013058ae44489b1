"""Opening and closing: what is refused, what is said first, and that nothing is left behind."""

import asyncio
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pmm_mcp.domain.errors import LedgerBusyError, LedgerUnavailableError
from pmm_mcp.domain.records import Call
from pmm_mcp.ledger.sqlite import filesystem
from pmm_mcp.ledger.sqlite.filesystem import check_path, network_file_system
from pmm_mcp.ledger.sqlite.liveness import Liveness
from pmm_mcp.ports import Transaction
from tests.clocks import START_US, ManualClock, SeededIds
from tests.ledger.conftest import Open
from tests.ledgers import AGENT, history, kinds, note, notes, roll_back


def writers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "pmm-ledger-writer"]


def files_in(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir() if path.is_file()]


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    assert writers() == []


async def test_a_file_belongs_to_its_owner_and_closing_leaves_no_trace(
    open_one: Open, tmp_path: Path
) -> None:
    ledger = await open_one("new/deep/l.db")
    path = tmp_path / "new" / "deep" / "l.db"
    assert path.stat().st_mode & 0o077 == 0
    assert len(list((path.parent / "l.db.live").iterdir())) == 1
    await ledger.aclose()

    assert sorted(file.name for file in path.parent.iterdir()) == ["l.db", "l.db.live"]
    assert list((path.parent / "l.db.live").iterdir()) == []
    with pytest.raises(LedgerBusyError, match="being closed"):
        await ledger.write(note("late"), call=AGENT)


async def test_what_is_queued_when_it_closes_is_still_written(open_one: Open) -> None:
    ledger = await open_one()
    writing = [asyncio.create_task(ledger.write(note(f"{n}"), call=AGENT)) for n in range(100)]
    await asyncio.sleep(0)
    await ledger.aclose()
    await asyncio.gather(*writing)

    assert len(await notes(await open_one())) == 100


async def test_an_error_in_the_block_closes_everything(tmp_path: Path) -> None:
    from pmm_mcp.ledger.sqlite.ledger import open_ledger

    with pytest.raises(ZeroDivisionError):
        async with open_ledger(tmp_path / "l.db", clock=ManualClock(), ids=SeededIds()):
            raise ZeroDivisionError
    assert writers() == []


async def test_opening_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    from pmm_mcp.ledger.sqlite.ledger import open_ledger

    async def enter() -> None:
        async with open_ledger(tmp_path / "l.db", clock=ManualClock(), ids=SeededIds()):
            await asyncio.Event().wait()

    for turns in range(1, 40):
        task = asyncio.create_task(enter())
        for _ in range(turns):
            await asyncio.sleep(0.0005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert writers() == []


def _foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE events (id INTEGER)")


@pytest.mark.parametrize(
    "kind", ["foreign database", "no database", "directory", "relative", "not below a directory"]
)
async def test_a_path_that_cannot_hold_a_ledger_is_refused(open_one: Open, tmp_path: Path, kind: str) -> None:
    name = str(tmp_path / "l.db")
    match kind:
        case "foreign database":
            await asyncio.to_thread(_foreign, tmp_path / "l.db")
        case "no database":
            (tmp_path / "l.db").write_bytes(b"hello" * 1000)
        case "directory":
            (tmp_path / "l.db").mkdir()
        case "relative":
            name = "l.db"
        case _:
            (tmp_path / "file").write_text("x")
            name = str(tmp_path / "file" / "l.db")

    opening = asyncio.to_thread(check_path, Path(name)) if kind == "relative" else open_one(name)
    with pytest.raises(LedgerUnavailableError) as caught:
        await opening
    assert caught.value.hint


# ------------------------------------------------------------------------------- file systems


MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/root rw
30 22 0:40 / /home/net rw - nfs4 server:/home rw
31 22 0:41 / /home/net/local rw - ext4 /dev/sdb rw
32 22 0:42 / /mnt/with\\040space rw - fuse.sshfs me@host: rw
33 22 0:43 / /mnt/win rw - 9p drvfs rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/l.db", ""),
        ("/home/net/l.db", "nfs4"),
        ("/home/net/local/l.db", ""),
        ("/home/network/l.db", ""),
        ("/mnt/with space/l.db", "fuse.sshfs"),
        ("/mnt/win/l.db", "9p"),
    ],
)
def test_the_nearest_mount_says_whether_a_path_is_on_a_network(tmp_path: Path, path: str, kind: str) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)

    assert network_file_system(Path(path), mounts=mounts) == kind


async def test_a_network_file_system_is_refused_with_the_reason(
    open_one: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filesystem, "network_file_system", lambda path: "nfs4")

    with pytest.raises(LedgerUnavailableError, match=r"network file system \(nfs4\)"):
        await open_one()


# ------------------------------------------------------------------------- what is said first


async def test_a_file_that_was_moved_says_so_once(open_one: Open, tmp_path: Path) -> None:
    first = await open_one()
    await first.write(note("a"), call=AGENT)
    await first.aclose()
    (tmp_path / "l.db").rename(tmp_path / "moved.db")

    for _ in range(2):
        moved = await open_one("moved.db")
        await moved.aclose()
    moved = await open_one("moved.db")

    assert await kinds(moved) == ["ledger_opened", "evidence_recorded", "ledger_moved"]
    event = (await history(moved))[-1]
    assert (event.texts["from_path"], event.texts["to_path"]) == (
        str(tmp_path / "l.db"),
        str(tmp_path / "moved.db"),
    )
    assert (await moved.verify(projections=True)).ok


async def test_a_copy_goes_its_own_way(open_one: Open, tmp_path: Path) -> None:
    first = await open_one()
    await first.write(note("a"), call=AGENT)
    await first.aclose()
    shutil.copy(tmp_path / "l.db", tmp_path / "copy.db")

    first, copy = await open_one(), await open_one("copy.db")
    await first.write(note("b"), call=AGENT)
    await copy.write(note("b"), call=AGENT)

    assert (await kinds(copy))[2] == "ledger_moved"
    ours, theirs = [{record.hash for record in await history(ledger)} for ledger in (first, copy)]
    assert len(ours & theirs) == 2


async def test_a_clock_that_stepped_is_noted(open_one: Open, clock: ManualClock) -> None:
    ledger = await open_one()
    await ledger.write(note("a"), call=AGENT)
    clock.advance(3 * 86_400)
    await ledger.write(note("time passed"), call=AGENT)
    clock.set_wall(clock.now_us() - 3_600_000_000)
    await ledger.write(note("an hour back"), call=AGENT)
    clock.set_wall(clock.now_us() - 500_000)
    await ledger.write(note("half a second back"), call=AGENT)
    clock.set_wall(clock.now_us() + 2 * 86_400_000_000)
    await ledger.write(note("two days ahead"), call=AGENT)
    await ledger.aclose()
    clock.set_wall(START_US)
    reopened = await open_one()

    steps = [
        record.event.model_dump()["by_us"]
        for record in await history(reopened)
        if record.kind == "clock_stepped"
    ]
    assert [round(step / 3_600_000_000) for step in steps] == [-1, 48, -119]
    found = await reopened.verify()
    assert found.ok
    assert [problem.code for problem in found.notes] == ["clock", "clock"]


async def test_a_step_is_noted_by_the_next_write_when_its_own_was_rolled_back(
    open_one: Open, clock: ManualClock
) -> None:
    ledger = await open_one()

    def end_it(tx: Transaction) -> None:
        roll_back(tx)

    clock.set_wall(START_US - 10_000_000)
    with pytest.raises(LedgerBusyError):
        await ledger.write(end_it, call=AGENT)
    await ledger.write(note("a"), call=AGENT)

    assert await kinds(ledger) == ["ledger_opened", "clock_stepped", "evidence_recorded"]


async def test_housekeeping_runs_with_every_write_and_at_opening(open_one: Open) -> None:
    seen: list[str] = []

    def count(tx: Transaction, call: Call) -> None:
        seen.append(call.actor.kind)

    ledger = await open_one(housekeeping=(count,))
    await ledger.write(note("a"), call=AGENT)

    assert seen == ["runtime", "agent"]


async def test_two_ledgers_in_one_process_know_nothing_of_each_other(open_one: Open) -> None:
    one, two = await open_one("one.db"), await open_one("two.db")
    async with one.keep_lease(), two.keep_lease():
        await asyncio.gather(one.write(note("1"), call=AGENT), two.write(note("2"), call=AGENT))

    assert (await notes(one), await notes(two)) == (["1"], ["2"])
    assert (await one.state()).ledger_id != (await two.state()).ledger_id


# ------------------------------------------------------------------------------------ liveness


def test_a_name_from_a_ledger_opens_no_other_path(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")

    assert Liveness(tmp_path / "l.db", "a" * 32).is_dead("../victim")
    assert victim.read_text() == "precious"


def test_who_is_present_is_alive_and_who_left_is_dead(tmp_path: Path) -> None:
    one, two = Liveness(tmp_path / "l.db", "a" * 32), Liveness(tmp_path / "l.db", "b" * 32)
    with one.present():
        assert not one.is_dead("a" * 32)
        assert not two.is_dead("a" * 32)
        assert not two.is_dead("a" * 32)
    assert two.is_dead("a" * 32)


async def test_a_closed_ledger_is_whole_in_one_file(tmp_path: Path, open_one: Open) -> None:
    """What was read and written and then closed can be copied: nothing is left in a write-ahead log."""
    ledger = await open_one()
    await ledger.write(note("kept"), call=AGENT)
    assert await notes(ledger) == ["kept"]
    await ledger.aclose()
    assert files_in(tmp_path) == ["l.db"]


async def test_a_ledger_whose_file_was_removed_takes_no_more_writes(tmp_path: Path, open_one: Open) -> None:
    """They would be acknowledged and found by nobody."""
    ledger = await open_one()
    await ledger.write(note("before"), call=AGENT)
    (tmp_path / "l.db").rename(tmp_path / "moved.db")
    with pytest.raises(LedgerUnavailableError):
        await ledger.write(note("after"), call=AGENT)
    (tmp_path / "moved.db").rename(tmp_path / "l.db")
    await ledger.write(note("again"), call=AGENT)
    assert await notes(ledger) == ["before", "again"]
