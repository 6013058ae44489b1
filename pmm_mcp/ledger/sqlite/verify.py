"""Verifying: every hash recomputed from the stored bytes, every link and every text checked."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from orjson import loads

from pmm_mcp.domain.chain import GENESIS, RECORD_TAG, SALT_BYTES, TEXT_TAG
from pmm_mcp.domain.errors import LedgerBusyError
from pmm_mcp.domain.events import EVENT_TYPES
from pmm_mcp.domain.times import microseconds
from pmm_mcp.ledger.sqlite.connection import connect_reader
from pmm_mcp.ledger.sqlite.faults import coded
from pmm_mcp.ledger.sqlite.replay import replayed_digests, table_digests
from pmm_mcp.ledger.sqlite.schema import Projections
from pmm_mcp.ports import Clock, Problem, Progress, Verification

PROBLEMS_MAX: Final = 100
_STEP_BACK_US: Final = 1_000_000
_EVENTS_AT_ONCE: Final = 256
_TEXTS_AT_ONCE: Final = 16
"""A text has up to a megabyte."""
_MISSING_FROM_INDEX: Final = re.compile(r"row (\d+) missing from index events_")

_LOOK_EVERY: Final = 100_000
"""After how many steps of SQLite's machine the time is looked at: every few milliseconds."""

IsOver = Callable[[], bool]
"""Says whether the time for something is up."""

TextKey = tuple[int, str]
"""The seq of an event, and the field that the text is in."""


class _TimeIsUpError(Exception):
    """Ends a part of the check that is left unfinished."""


def time_limit(clock: Clock, budget_s: float | None) -> IsOver:
    """Begin to measure; without a budget the time is never up."""
    if budget_s is None:
        return _never
    until = clock.monotonic() + budget_s
    return lambda: clock.monotonic() >= until


def _never() -> bool:
    return False


def verify_file(
    path: Path,
    *,
    from_seq: int = 1,
    projections: Projections | None = None,
    storage: bool = True,
    is_over: IsOver = _never,
    progress: Progress | None = None,
) -> Verification:
    """Check a ledger from a seq on, on one snapshot of its file. Blocking; run it in a thread.

    `projections` are replayed and compared as well. A damaged file is what this is for: it does not raise.
    When the time is up, what is left is not checked, and the result says so.

    Raises:
        LedgerBusyError: another process keeps the file locked.
        LedgerIoError: the disk does not give it.

    """
    try:
        with closing(connect_reader(path)) as db:
            db.execute("BEGIN")
            check = _Check(db, from_seq=from_seq, is_over=is_over, progress=progress)
            check.chain()
            if storage:
                check.storage()
            if projections is not None:
                check.projections(projections)
            return check.result()
    except sqlite3.Error as error:
        known = coded(error)
        if isinstance(known, LedgerBusyError):
            raise known from error
        problem = Problem(0, "storage", f"the file cannot be read: {error}")
        return Verification(checked=0, head=0, head_hash="", problems=(problem,))


class _Check:
    def __init__(
        self, db: sqlite3.Connection, *, from_seq: int, is_over: IsOver, progress: Progress | None
    ) -> None:
        self._db = db
        self._is_over = is_over
        self._progress = progress
        self._problems: list[Problem] = []
        self._notes: list[Problem] = []
        self._redactions: set[tuple[int, str]] = set()
        self._redacted: list[int] = []
        self._missing: list[tuple[int, str]] = []
        self._checked = self._head = 0
        self._total = self._last_seq()
        self._head = max(0, min(from_seq - 1, self._total))
        self._hash, self._fence, self._ts = GENESIS, 0, ""
        self._stopped = False
        self._check_tail()

    def result(self) -> Verification:
        return Verification(
            checked=self._checked,
            head=self._head,
            head_hash=self._hash,
            last=self._total,
            problems=tuple(self._problems),
            notes=tuple(self._notes),
            redacted=tuple(self._redacted),
            next_seq=self._head + 1 if self._stopped else None,
        )

    def chain(self) -> None:
        """Walk the events in order of seq, with their texts beside them."""
        # Bytes as they are stored: damage need not be text any more.
        self._db.text_factory = bytes
        if self._head:
            self._stand_before_the_first()
        behind = self._head
        for chunk in self._events():
            texts = self._text_digests("seq > ? AND seq <= ?", (behind, chunk[-1][0]))
            self._check_events(chunk, texts)
            self._report_orphans(texts)
            behind = self._head
            if self._progress is not None:
                self._progress(behind, self._total)
            if behind < self._total and self._is_over():
                self._stop()
                break
        else:
            self._report_orphans(self._text_digests("seq > ?", (behind,)))
        self._judge_missing()
        self._db.text_factory = str

    def storage(self) -> None:
        """Ask SQLite to compare tables, indexes and constraints: a flip in an index is damage too."""
        for table in ("events", "event_text", "ledger_meta", "writer_lease"):
            self._in_time(partial(self._check_storage, table), what=f"the storage of {table}")

    def projections(self, projections: Projections) -> None:
        """Replay everything and compare every read table with what stands in the file."""
        self._in_time(partial(self._check_projections, projections), what="the read models")

    # ------------------------------------------------------------------------------ the events

    def _check_events(self, chunk: list[tuple[Any, ...]], texts: dict[TextKey, str]) -> None:
        """Compare records with their hashes, their places and their texts, which are taken out of `texts`.

        The one loop that everything a ledger holds goes through: written for speed.
        """
        previous = self._hash
        for seq, stored, stored_hash in chunk:
            record = stored if type(stored) is bytes else b""
            computed = sha256(RECORD_TAG + record).digest()
            if computed != stored_hash:
                self._problem(seq, "hash", "the stored hash is not that of the stored record")
            if seq != self._head + 1:
                self._gap(seq)
            try:
                data = loads(record)
                if data["seq"] != seq:
                    self._problem(seq, "seq", f"the record says seq {data['seq']}")
                if data["prev_hash"] != previous:
                    self._problem(seq, "link", "the record does not follow the one before it")
                if data["fence"] != self._fence:
                    self._check_fence(seq, data["fence"])
                if data["ts"] < self._ts:
                    self._check_clock(seq, data["ts"])
                self._ts = data["ts"]
                if data["kind"] not in EVENT_TYPES:
                    self._problem(seq, "kind", f"{data['kind']!r} is no kind of event")
                elif data["kind"] == "text_redacted":
                    self._redactions.add((data["body"]["target"], data["body"]["field"]))
                if "texts" in data:
                    for field, digest in data["texts"].items():
                        if (found := texts.pop((seq, field), None)) != digest:
                            self._check_text(seq, field, found)
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
                self._problem(seq, "record", f"the record cannot be read: {type(error).__name__}")
            previous = computed.hex()
            self._head = seq
        self._hash = previous
        self._checked += len(chunk)

    def _check_text(self, seq: int, field: str, found: str | None) -> None:
        if found is None:
            self._missing.append((seq, field))
        else:
            self._problem(seq, "text", f"the text {field!r} is not what was recorded")

    def _check_fence(self, seq: int, fence: int) -> None:
        if fence < self._fence:
            self._problem(seq, "fence", f"the fencing token fell from {self._fence} to {fence}")
        self._fence = fence

    def _check_clock(self, seq: int, ts: str) -> None:
        if microseconds(self._ts) - microseconds(ts) > _STEP_BACK_US:
            self._notes.append(Problem(seq, "clock", f"the clock stepped back from {self._ts} to {ts}"))

    def _text_digests(self, where: str, params: tuple[int, ...]) -> dict[TextKey, str]:
        """Hash the texts of some events, as `chain.text_digest` does; few at a time are in memory."""
        digests: dict[TextKey, str] = {}
        names: dict[bytes, tuple[str, bytes]] = {}
        sql = f"SELECT seq, field, salt, text FROM event_text WHERE {where}"
        for rows in self._chunks(sql, params, size=_TEXTS_AT_ONCE):
            for seq, field, salt, text in rows:
                try:
                    if field not in names:
                        names[field] = str(field, "utf-8", "replace"), len(field).to_bytes(1, "big") + field
                    name, sized = names[field]
                    if len(salt) != SALT_BYTES:
                        digests[seq, name] = ""
                        continue
                    data = b"".join((TEXT_TAG, salt, seq.to_bytes(8, "big"), sized, text))
                    digests[seq, name] = sha256(data).hexdigest()
                except (TypeError, OverflowError):
                    digests[seq, ""] = ""
        return digests

    def _report_orphans(self, texts: dict[TextKey, str]) -> None:
        for seq, field in texts:
            self._problem(seq, "text", f"the text {field!r} belongs to no event")

    def _judge_missing(self) -> None:
        """A text may be gone only if a later event says that it was removed."""
        for seq, field in self._missing:
            if (seq, field) in self._redactions:
                self._redacted.append(seq)
            else:
                self._problem(seq, "text", f"the text {field!r} is missing and was not redacted")

    # -------------------------------------------------------------------------- storage, read models

    def _check_storage(self, table: str) -> None:
        for (line,) in self._rows(f"PRAGMA integrity_check({table})"):
            if line != "ok":
                row = _MISSING_FROM_INDEX.match(line)
                # Rows are counted from 1, as seqs are.
                self._problem(int(row[1]) if row else 0, "storage", f"{table}: {line}")

    def _check_projections(self, projections: Projections) -> None:
        try:
            replayed = replayed_digests(
                self._db, until=self._head, projections=projections, progress=self._replayed
            )
            stored = table_digests(self._db, projections)
        except _TimeIsUpError:
            raise
        except Exception as error:
            if self._is_over():
                raise _TimeIsUpError from error
            self._problem(0, "projection", f"the read models cannot be replayed: {error}")
            return
        for table, digest in replayed.items():
            if stored[table] != digest:
                self._problem(0, "projection", f"the read table {table!r} is not what the events say")

    # ---------------------------------------------------------------------------------- the time

    def _in_time(self, check: Callable[[], None], *, what: str) -> None:
        """Do a part of the check in the time that is left, or note that it was not done."""
        self._db.set_progress_handler(self._is_over, _LOOK_EVERY)
        try:
            if self._is_over():
                raise _TimeIsUpError
            check()
        except (_TimeIsUpError, sqlite3.Error):
            if not self._is_over():
                raise
            self._notes.append(Problem(0, "not_checked", f"{what}: the time was up"))
        finally:
            self._db.set_progress_handler(None, 0)

    def _replayed(self, done: int, total: int) -> None:
        if self._is_over():
            raise _TimeIsUpError
        if self._progress is not None:
            self._progress(done, total)

    def _stop(self) -> None:
        """End the walk here. What redactions that come later say of texts before is taken on trust."""
        self._stopped = True
        for (record,) in self._rows(
            "SELECT record FROM events WHERE kind = 'text_redacted' AND seq > ?", (self._head,)
        ):
            with suppress(ValueError, KeyError, TypeError):
                body = loads(record)["body"]
                self._redactions.add((body["target"], body["field"]))

    # ---------------------------------------------------------------------------------- the rest

    def _check_tail(self) -> None:
        """Miss the events that were there when the ledger was last verified: a chain alone shows no end."""
        rows = self._rows("SELECT value FROM ledger_meta WHERE name = 'verified_to'")
        verified_to = next(rows, ("0",))[0]
        if not str(verified_to).isdecimal():
            self._problem(0, "storage", "ledger_meta does not say how far the ledger was verified")
        elif int(verified_to) > self._total:
            detail = f"the events up to {verified_to} were there when they were verified, and are gone"
            self._problem(self._total + 1, "missing", detail)

    def _stand_before_the_first(self) -> None:
        """Take hash, fence and time of the event before the first one that is checked."""
        rows = self._rows("SELECT record, hash FROM events WHERE seq = ?", (self._head,))
        row = next(rows, None)
        if row is None or type(row[0]) is not bytes:
            self._problem(self._head, "missing", "the event before the first one checked is missing")
            return
        digest = sha256(RECORD_TAG + row[0]).digest()
        if digest != row[1]:
            self._problem(self._head, "hash", "the stored hash is not that of the stored record")
        self._hash = digest.hex()
        try:
            data = loads(row[0])
            self._fence, self._ts = int(data["fence"]), str(data["ts"])
        except (ValueError, KeyError, TypeError):
            self._problem(self._head, "record", "the record cannot be read")

    def _rows(self, sql: str, params: tuple[int, ...] = ()) -> Iterator[tuple[Any, ...]]:
        for chunk in self._chunks(sql, params):
            yield from chunk

    def _events(self) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the events in chunks, and one by one where a chunk cannot be read whole."""
        # NOT INDEXED: the table itself is read, never a copy of it in an index.
        sql = "SELECT seq, record, hash FROM events NOT INDEXED WHERE seq > ? ORDER BY seq"
        try:
            yield from _fetch(self._db, sql, (self._head,), size=_EVENTS_AT_ONCE)
        except sqlite3.DatabaseError:
            yield from self._chunks(sql, (self._head,), size=1)

    def _chunks(
        self, sql: str, params: tuple[int, ...], *, size: int = _EVENTS_AT_ONCE
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield rows as far as the file can be read; where it cannot, that is a problem at the next seq."""
        try:
            yield from _fetch(self._db, sql, params, size=size)
        except sqlite3.Error as error:
            if isinstance(coded(error), LedgerBusyError):
                raise
            self._problem(self._head + 1, "storage", f"the file cannot be read here: {error}")

    def _last_seq(self) -> int:
        (last,) = next(self._rows("SELECT COALESCE(MAX(seq), 0) FROM events"), (0,))
        return int(last)

    def _gap(self, seq: int) -> None:
        if seq > self._head + 1:
            self._problem(self._head + 1, "missing", f"events {self._head + 1} to {seq - 1} are missing")
        else:
            self._problem(seq, "seq", f"the event stands behind {self._head}")

    def _problem(self, seq: int, code: str, detail: str) -> None:
        if len(self._problems) < PROBLEMS_MAX:
            self._problems.append(Problem(seq, code, detail))


def _fetch(
    db: sqlite3.Connection, sql: str, params: tuple[int, ...], *, size: int
) -> Iterator[list[tuple[Any, ...]]]:
    cursor = db.cursor()
    cursor.execute(sql, params)
    while rows := cursor.fetchmany(size):
        yield rows
