"""Group commit: what is queued runs in one transaction, each job in a savepoint, and is answered after it."""

import sqlite3
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pmm_mcp.domain.errors import LedgerIoError, PolicyViolationError, RequestIdConflictError
from pmm_mcp.domain.events.ledger import PolicyViolation
from pmm_mcp.domain.names import as_name
from pmm_mcp.domain.records import Actor, Call, Draft
from pmm_mcp.ledger.sqlite.changes import ChangeWriter
from pmm_mcp.ledger.sqlite.faults import coded
from pmm_mcp.ledger.sqlite.genesis import Prelude
from pmm_mcp.ledger.sqlite.jobs import Job, Outcome, deliver, is_wanted
from pmm_mcp.ledger.sqlite.tenure import Tenure
from pmm_mcp.ledger.sqlite.transaction import EVENTS_MAX, SqliteTransaction
from pmm_mcp.ledger.sqlite.violations import Violations
from pmm_mcp.ports import Clock, Housekeeping, IdSource
from pmm_mcp.projections.changes import Projection
from pmm_mcp.queries import events

GROUP_S: Final = 0.05
"""How long a group may go on taking jobs."""


def runtime_call(holder: str) -> Call:
    """Return on whose behalf the ledger itself writes."""
    return Call(actor=Actor(kind="runtime", name="ledger", session=holder))


class Groups:
    """Runs jobs in groups on the writer's connection."""

    def __init__(
        self,
        db: sqlite3.Connection,
        *,
        tenure: Tenure,
        prelude: Prelude,
        projections: Mapping[str, Projection],
        housekeeping: Sequence[Housekeeping],
        holder: str,
        clock: Clock,
        ids: IdSource,
        is_dead: Callable[[str], bool],
    ) -> None:
        """Take everything a transaction needs."""
        self._db = db
        self._tenure = tenure
        self._prelude = prelude
        self._projections = projections
        self._housekeeping = housekeeping
        self._holder = holder
        self._clock = clock
        self._ids = ids
        self._is_dead = is_dead
        self._changes = ChangeWriter(db)
        self._violations = Violations(clock)
        self._runtime = runtime_call(holder)
        self._before = 0

    def run(self, jobs: deque[Job], *, is_more: Callable[[], bool]) -> None:
        """Take jobs from the queue, commit once for all of them, then answer.

        When the transaction itself fails, nothing of it is kept and every job taken fails alike.
        """
        taken: list[Job] = []
        try:
            self._begin()
            outcomes = self._attempt_all(jobs, taken)
            self._changes.documents.flush()
            self._tenure.commit(more=is_more(), wrote=self._tenure.head.seq > self._before)
        except BaseException as error:  # noqa: BLE001 - it belongs to those who wait
            self.abandon()
            if not taken:
                # The right to write was not to be had: those in line have waited as long as the first.
                taken = [job for job in jobs if is_wanted(job)]
                jobs.clear()
            deliver([Outcome(job, error=coded(error)) for job in taken])
        else:
            self._confirm()
            deliver(outcomes)

    def keep(self) -> None:
        """Begin a long operation: say what is due, and hold on to the lease."""
        try:
            self._begin()
            self._changes.documents.flush()
            self._tenure.keep()
        except BaseException:
            self.abandon()
            raise
        self._confirm()

    def abandon(self) -> None:
        """Roll back the open transaction, with everything that was in memory for it."""
        self._changes.documents.back_to(())
        self._tenure.abandon()

    def _begin(self) -> None:
        self._tenure.begin()
        self._before = self._tenure.head.seq
        tx = self._transaction(self._runtime)
        self._prelude.write(self._db, tx, self._tenure.taken_over)
        tx.end()

    def _confirm(self) -> None:
        self._prelude.confirm()
        self._tenure.said()

    def _attempt_all(self, jobs: deque[Job], taken: list[Job]) -> list[Outcome]:
        started = self._clock.monotonic()
        outcomes = []
        while jobs:
            job = jobs.popleft()
            if not is_wanted(job):
                continue
            taken.append(job)
            outcomes.append(self._attempt(job))
            written = self._tenure.head.seq - self._before
            if written >= EVENTS_MAX or self._clock.monotonic() - started >= GROUP_S:
                break
        return outcomes

    def _attempt(self, job: Job) -> Outcome:
        """Run one job in its savepoint; a failing one rolls back alone, the head in memory with it.

        Raises:
            LedgerIoError: SQLite has ended the whole transaction.

        """
        head, documents = self._tenure.head, self._changes.documents
        mark = head.mark(), documents.mark()
        tx = self._transaction(job.call)
        self._db.execute("SAVEPOINT job")
        try:
            result = self._result(tx, job)
            tx.check_open()
            self._db.execute("RELEASE job")
            return Outcome(job, result)
        except BaseException as error:
            if not self._db.in_transaction:
                # A full disk, an I/O error: SQLite has rolled everything back, not only this job.
                raise _ended(error) from error
            self._db.execute("ROLLBACK TO job")
            self._db.execute("RELEASE job")
            head.back_to(mark[0])
            documents.back_to(mark[1])
            if isinstance(error, PolicyViolationError) and self._violations.is_news(error, by=job.call.actor):
                self._note_violation(job.call, error)
            return Outcome(job, error=coded(error))
        finally:
            tx.end()

    def _result(self, tx: SqliteTransaction, job: Job) -> Any:
        if job.call.request_id:
            for recorded in tx.ask(events.of_request(job.call.request_id)):
                if _is_same_client(recorded.actor, job.call.actor):
                    if job.again is None:
                        raise RequestIdConflictError(job.call.request_id)
                    return job.again(tx, recorded)
        result = job.work(tx)
        for chore in self._housekeeping:
            chore(tx, job.call)
        return result

    def _note_violation(self, call: Call, error: PolicyViolationError) -> None:
        """Record a refused attempt; in the group's own transaction, so it stays although the job is gone."""
        tx = self._transaction(replace(self._runtime, place=call.place))
        tx.append(
            Draft(PolicyViolation(attempted=error.kind, by=as_name(call.actor.name, otherwise="unknown")))
        )

    def _transaction(self, call: Call) -> SqliteTransaction:
        return SqliteTransaction(
            self._db,
            head=self._tenure.head,
            changes=self._changes,
            projections=self._projections,
            call=call,
            fence=self._tenure.fence,
            holder=self._holder,
            now_us=self._clock.now_us(),
            ids=self._ids,
            is_dead=self._is_dead,
        )


def _is_same_client(one: Actor, other: Actor) -> bool:
    """Say whether both may be one client, in whatever session: a name alone can be anybody's."""
    return (one.kind, one.name) == (other.kind, other.name)


def _ended(error: BaseException) -> BaseException:
    known = coded(error)
    if isinstance(known, LedgerIoError):
        return known
    return LedgerIoError(
        f"the disk did not take the write: {error}",
        hint="Free some space or mend the disk, then call again; nothing of this call was kept.",
    )
