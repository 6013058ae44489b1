"""What every ledger promises, whatever engine it is on."""

import asyncio
import threading
from contextlib import suppress
from dataclasses import replace

import pytest

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.anchors import UNSCOPED, Anchor
from pmm_mcp.domain.errors import (
    FenceLostError,
    LeaseHeldError,
    PolicyViolationError,
    ProjectionError,
    RequestIdConflictError,
    TooLargeError,
)
from pmm_mcp.domain.events.ledger import PlaceSeen
from pmm_mcp.domain.events.memory import EvidenceRecorded
from pmm_mcp.domain.records import Actor, Call, Draft, Recorded
from pmm_mcp.ledger.sqlite.writer import WriterSettings
from pmm_mcp.ports import Ledger, Transaction
from pmm_mcp.queries import events
from tests.clocks import ManualClock
from tests.ledger.conftest import Open
from tests.ledgers import AGENT, HUMAN, evidence, history, kinds, note, notes, outcomes, redact

RUNTIME = Actor(kind="runtime", name="ledger", session="one")
SHORT = WriterSettings(lease_wait_s=0.05)


async def test_a_new_ledger_begins_with_its_own_birth(ledger: Ledger) -> None:
    (first,) = await history(ledger)

    assert (first.seq, first.kind, first.fence) == (1, "ledger_opened", 1)
    assert (await ledger.state()).ledger_id == first.event.model_dump()["ledger_id"]


async def test_what_was_written_is_read_back(ledger: Ledger) -> None:
    seq = await ledger.write(note("hello"), call=AGENT)

    async with ledger.reader.view() as view:
        record = await view.ask(events.by_seq(seq))
    assert record is not None
    assert (record.texts, record.actor, record.anchor) == ({"content": "hello"}, AGENT.actor, UNSCOPED)


async def test_work_sees_what_it_and_others_before_it_appended(ledger: Ledger) -> None:
    def look(tx: Transaction) -> tuple[int, int, int]:
        before = tx.next_seq
        tx.append(evidence("a"))
        return before, tx.ask(events.head()), len(tx.appended)

    (first, second) = await asyncio.gather(ledger.write(look, call=AGENT), ledger.write(look, call=AGENT))
    assert (first, second) == ((2, 2, 1), (3, 3, 1))


async def test_a_batch_can_name_its_own_events(ledger: Ledger) -> None:
    def work(tx: Transaction) -> tuple[Recorded, ...]:
        first = tx.next_seq
        return tx.append(evidence("a"), Draft(EvidenceRecorded(answers=first), {"content": Admitted("b")}))

    first, second = await ledger.write(work, call=AGENT)
    assert second.event.model_dump()["answers"] == first.seq


async def test_failing_work_leaves_no_trace_and_its_neighbours_stay(ledger: Ledger) -> None:
    def fail(tx: Transaction) -> None:
        tx.append(evidence("never"), evidence("ever"))
        raise LookupError("on purpose")

    answers = await outcomes(
        [
            ledger.write(note("a"), call=AGENT),
            ledger.write(fail, call=AGENT),
            ledger.write(note("b"), call=AGENT),
        ]
    )

    assert [answer.ok for answer in answers] == [True, False, True]
    assert isinstance(answers[1].error, LookupError)
    assert (answers[0].result, answers[2].result) == (2, 3)
    assert await notes(ledger) == ["a", "b"]
    assert (await ledger.verify(projections=True)).ok


async def test_an_event_that_is_half_written_cannot_be_kept(ledger: Ledger) -> None:
    def swallow(tx: Transaction) -> None:
        clash = Draft(EvidenceRecorded(labels=("x", "x")), {"content": Admitted("twice the same label")})
        with suppress(ProjectionError):
            tx.append(clash)

    (answer,) = await outcomes([ledger.write(swallow, call=AGENT)])

    assert not answer.ok
    assert await kinds(ledger) == ["ledger_opened"]


async def test_a_transaction_ends_with_its_work(ledger: Ledger) -> None:
    kept: list[Transaction] = []
    await ledger.write(kept.append, call=AGENT)

    with pytest.raises(RuntimeError, match="has ended"):
        kept[0].append(evidence("late"))


async def test_too_many_events_are_refused_whole(ledger: Ledger) -> None:
    with pytest.raises(TooLargeError):
        await ledger.write(lambda tx: tx.append(*[evidence("x")] * 501), call=AGENT)

    assert await kinds(ledger) == ["ledger_opened"]


async def test_a_record_over_64_kib_is_refused(ledger: Ledger) -> None:
    labels = tuple(f"label {n:05}" for n in range(5_000))

    with pytest.raises(TooLargeError):
        await ledger.write(
            lambda tx: tx.append(Draft(EvidenceRecorded(labels=labels), {"content": Admitted("x")})),
            call=AGENT,
        )


# -------------------------------------------------------------------------------------- policy


async def test_a_refused_attempt_is_on_record_although_its_write_is_not(ledger: Ledger) -> None:
    def work(tx: Transaction) -> None:
        tx.append(evidence("before"))
        tx.append(Draft(PlaceSeen(repo=UNSCOPED), {"common_dir": Admitted("/x")}))

    with pytest.raises(PolicyViolationError):
        await ledger.write(work, call=AGENT)

    assert await kinds(ledger) == ["ledger_opened", "policy_violation"]
    assert (await ledger.verify(projections=True)).ok


async def test_the_same_refusal_is_recorded_once_a_session(ledger: Ledger) -> None:
    seen = Draft(PlaceSeen(repo=UNSCOPED), {"common_dir": Admitted("/x")})
    for session in ("one", "one", "two"):
        call = replace(AGENT, actor=replace(AGENT.actor, session=session))
        with pytest.raises(PolicyViolationError):
            await ledger.write(lambda tx: tx.append(seen), call=call)

    assert (await kinds(ledger)).count("policy_violation") == 2


async def test_refusals_over_twenty_a_minute_are_not_recorded(ledger: Ledger, clock: ManualClock) -> None:
    seen = Draft(PlaceSeen(repo=UNSCOPED), {"common_dir": Admitted("/x")})

    async def attempt(sessions: range) -> int:
        calls = [replace(AGENT, actor=replace(AGENT.actor, session=str(n))) for n in sessions]
        await outcomes(ledger.write(lambda tx: tx.append(seen), call=call) for call in calls)
        return (await kinds(ledger)).count("policy_violation")

    assert await attempt(range(30)) == 20
    clock.advance(61)
    assert await attempt(range(30, 32)) == 22


# ---------------------------------------------------------------------------------- request ids


def again(_tx: Transaction, recorded: Recorded) -> int:
    return -recorded.seq


async def test_a_repeated_request_gets_its_first_answer(ledger: Ledger) -> None:
    call = replace(AGENT, request_id="r1")

    first = await ledger.write(note("once"), call=call, again=again)
    second = await ledger.write(note("once"), call=call, again=again)

    assert (first, second) == (2, -2)
    assert await notes(ledger) == ["once"]


async def test_a_request_repeated_in_the_same_group_is_found(ledger: Ledger) -> None:
    call = replace(AGENT, request_id="r1")

    answers = await asyncio.gather(*(ledger.write(note("once"), call=call, again=again) for _ in range(5)))

    assert sorted(answers) == [-2, -2, -2, -2, 2]
    assert await notes(ledger) == ["once"]


async def test_a_request_is_found_although_the_server_spoke_first(ledger: Ledger) -> None:
    place = Draft(PlaceSeen(repo=UNSCOPED), {"common_dir": Admitted("/x")}, actor=RUNTIME)
    call = replace(AGENT, request_id="r1")

    def work(tx: Transaction) -> int:
        return tx.append(place, evidence("a"), evidence("b"))[1].seq

    assert await ledger.write(work, call=call, again=again) == 3
    assert await ledger.write(work, call=call, again=again) == -3
    assert [record.request_id for record in await history(ledger)] == ["", "", "r1", ""]


async def test_a_request_id_belongs_to_its_client(ledger: Ledger) -> None:
    for name in ("one", "two"):
        call = Call(actor=replace(AGENT.actor, name=name), request_id="r1")
        assert await ledger.write(note(name), call=call, again=again) > 0


@pytest.mark.parametrize("name", ["ledger", "recovery", "turn"])
async def test_a_client_named_like_a_part_of_the_runtime_is_not_taken_for_it(
    ledger: Ledger, name: str
) -> None:
    runtime, place = (
        Actor(kind="runtime", name=name, session="one"),
        PlaceSeen(repo=Anchor("repo://host/a/b")),
    )
    client = Call(actor=replace(AGENT.actor, name=name), request_id="r1")

    def work(tx: Transaction) -> int:
        tx.append(Draft(place, {"common_dir": Admitted("/a")}, actor=runtime))
        return tx.append(evidence("own"))[0].seq

    def again(_tx: Transaction, recorded: Recorded) -> int:
        return -recorded.seq

    own = await ledger.write(work, call=client, again=again)

    assert {one.seq for one in await history(ledger) if one.request_id == "r1"} == {own}
    assert await ledger.write(work, call=client, again=again) == -own
    # The other way round: what the runtime was asked to do under this id is another matter.
    await ledger.write(work, call=replace(client, actor=runtime, request_id="r1"), again=again)
    assert await notes(ledger) == ["own", "own"]


async def test_a_request_id_cannot_be_used_where_nothing_can_be_repeated(ledger: Ledger) -> None:
    call = replace(AGENT, request_id="r1")
    await ledger.write(note("a"), call=call, again=again)

    with pytest.raises(RequestIdConflictError):
        await ledger.write(note("b"), call=call)


async def test_a_write_that_appended_nothing_simply_runs_again(ledger: Ledger) -> None:
    call, runs = replace(AGENT, request_id="r1"), list[Transaction]()

    for _ in range(2):
        await ledger.write(runs.append, call=call, again=lambda tx, recorded: None)

    assert len(runs) == 2


# -------------------------------------------------------------------------------- cancellation


async def test_a_call_cancelled_in_the_queue_is_dropped_and_a_started_one_commits(ledger: Ledger) -> None:
    started, go_on = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        started.set()
        assert go_on.wait(10)
        tx.append(evidence("started"))

    running = asyncio.create_task(ledger.write(slow, call=replace(AGENT, request_id="r1"), again=again))
    await asyncio.to_thread(started.wait, 10)
    queued = asyncio.create_task(ledger.write(note("queued"), call=AGENT))
    await asyncio.sleep(0)
    for task in (running, queued):
        task.cancel()
    ended = await outcomes([running, queued])
    go_on.set()

    assert all(isinstance(answer.error, asyncio.CancelledError) for answer in ended)
    assert await ledger.write(note("after"), call=AGENT) == 3
    assert await notes(ledger) == ["started", "after"]
    assert await ledger.write(slow, call=replace(AGENT, request_id="r1"), again=again) == -2


# --------------------------------------------------------------------------------------- lease


async def test_the_fence_rises_when_the_writer_changes_and_only_then(ledger: Ledger, other: Ledger) -> None:
    for writer in (ledger, ledger, other, other, ledger):
        await writer.write(note("x"), call=AGENT)

    fences = [record.fence for record in await history(ledger)]
    assert fences == [1, 1, 1, 2, 2, 3]
    assert "lease_taken_over" not in await kinds(ledger)


async def test_two_processes_write_in_turn_and_both_see_everything(ledger: Ledger, other: Ledger) -> None:
    await asyncio.gather(
        *(writer.write(note("x"), call=AGENT) for _ in range(20) for writer in (ledger, other))
    )

    assert len(await notes(ledger)) == 40
    assert await history(ledger) == await history(other)
    assert (await other.verify(projections=True)).ok


async def test_an_idle_process_does_not_hold_the_lease(ledger: Ledger) -> None:
    await asyncio.gather(*(ledger.write(note("x"), call=AGENT) for _ in range(200)))
    await ledger.write(lambda tx: None, call=AGENT)
    await ledger.verify()

    assert not (await ledger.state()).lease.held


async def test_a_kept_lease_is_respected_and_named(ledger: Ledger, open_one: Open) -> None:
    other = await open_one(settings=SHORT)
    async with ledger.keep_lease():
        await ledger.write(note("a"), call=AGENT)
        with pytest.raises(LeaseHeldError, match=r"test 1 \(pid \d+ on .*30 s"):
            await other.write(note("b"), call=AGENT)

    await other.write(note("c"), call=AGENT)
    assert await notes(ledger) == ["a", "c"]


async def test_leases_that_are_kept_may_overlap(ledger: Ledger) -> None:
    async with ledger.keep_lease():
        async with ledger.keep_lease():
            await ledger.rebuild()
        assert (await ledger.state()).lease.held
        await ledger.write(note("a"), call=AGENT)
    assert not (await ledger.state()).lease.held


async def test_a_writer_whose_lease_was_taken_writes_nothing_until_it_starts_anew(
    ledger: Ledger, open_one: Open, clock: ManualClock
) -> None:
    other = await open_one(settings=SHORT)
    async with ledger.keep_lease():
        await ledger.write(note("a"), call=AGENT)
        (held,) = await outcomes([other.write(note("waits"), call=AGENT)])
        clock.advance(31)
        await other.write(note("b"), call=AGENT)

        for _ in range(2):
            with pytest.raises(FenceLostError) as caught:
                await ledger.write(note("lost"), call=AGENT)
            assert caught.value.current == caught.value.ours + 1
    await ledger.write(note("c"), call=AGENT)

    assert isinstance(held.error, LeaseHeldError)
    assert await notes(ledger) == ["a", "b", "c"]
    taken = next(record for record in await history(ledger) if record.kind == "lease_taken_over")
    assert taken.event.model_dump()["reason"] == "expired"
    assert [record.fence for record in await history(ledger)].index(taken.fence) == taken.seq - 1
    assert (await ledger.verify(projections=True)).ok


async def test_a_holder_that_shows_life_is_not_pushed_aside(
    ledger: Ledger, open_one: Open, clock: ManualClock
) -> None:
    other = await open_one(settings=SHORT)
    async with ledger.keep_lease():
        for _ in range(4):
            await ledger.write(note("a"), call=AGENT)
            with pytest.raises(LeaseHeldError):
                await other.write(note("b"), call=AGENT)
            clock.advance(20)


async def test_a_removed_text_is_gone_and_everything_still_holds(ledger: Ledger) -> None:
    seq = await ledger.write(note("the password is hunter2"), call=AGENT)
    await ledger.write(note("stays"), call=AGENT)
    await ledger.write(redact(seq), call=HUMAN)

    found = await ledger.verify(projections=True)

    assert await notes(ledger) == [None, "stays"]
    assert (found.problems, found.redacted) == ((), (seq,))


async def test_a_text_cannot_be_removed_without_a_word(ledger: Ledger) -> None:
    seq = await ledger.write(note("a"), call=AGENT)

    with pytest.raises(ValueError, match="no event of this write says"):
        await ledger.write(lambda tx: tx.forget(seq, "content"), call=HUMAN)
