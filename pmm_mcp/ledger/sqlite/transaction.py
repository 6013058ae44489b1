"""What one piece of work sees and does inside a write."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeVar

from pmm_mcp.domain.chain import GENESIS, SALT_BYTES, record_hash, text_digest
from pmm_mcp.domain.errors import LedgerIoError, PmmError, ProjectionError, TooLargeError
from pmm_mcp.domain.events import Event
from pmm_mcp.domain.events.ledger import TextRedacted
from pmm_mcp.domain.mapping import encode
from pmm_mcp.domain.policy import check_writer
from pmm_mcp.domain.records import Call, Draft, Recorded
from pmm_mcp.domain.times import timestamp
from pmm_mcp.domain.vectors import Batch
from pmm_mcp.ledger.sqlite import vectors
from pmm_mcp.ledger.sqlite.changes import ChangeWriter
from pmm_mcp.ledger.sqlite.faults import in_our_words
from pmm_mcp.ports import IdSource, Query
from pmm_mcp.projections.changes import Projection

T = TypeVar("T")

EVENTS_MAX: Final = 500

_INSERT_EVENT: Final = "INSERT INTO events (seq, record, hash) VALUES (?, ?, ?)"
_INSERT_TEXT: Final = "INSERT INTO event_text (seq, field, salt, text) VALUES (?, ?, ?, ?)"


class Head:
    """The end of the chain, kept in memory between the writes of one group."""

    __slots__ = ("hash", "seq", "ts")

    def __init__(self, *, seq: int = 0, hash: str = GENESIS, ts: str = "") -> None:
        """Start at the genesis, unless told where."""
        self.seq, self.hash, self.ts = seq, hash, ts

    @classmethod
    def read(cls, db: sqlite3.Connection) -> "Head":
        """Read it from the last row: the only place that counts."""
        row = db.execute("SELECT seq, hash, ts FROM events ORDER BY seq DESC LIMIT 1").fetchone()
        return cls(seq=row[0], hash=row[1].hex(), ts=row[2]) if row else cls()

    def mark(self) -> tuple[int, str, str]:
        """Return where it is, for `back_to`."""
        return self.seq, self.hash, self.ts

    def back_to(self, mark: tuple[int, str, str]) -> None:
        """Return to a place it was at: what came after has been rolled back."""
        self.seq, self.hash, self.ts = mark


class SqliteTransaction:
    """A `Transaction` on the writer's connection. It ends with the job it was made for."""

    def __init__(
        self,
        db: sqlite3.Connection,
        *,
        head: Head,
        changes: ChangeWriter,
        projections: Mapping[str, Projection],
        call: Call,
        fence: int,
        holder: str,
        now_us: int,
        ids: IdSource,
        is_dead: Callable[[str], bool],
    ) -> None:
        """Stand at `head`, writing under `fence` for `call`."""
        self._db = db
        self._changes = changes
        self._projections = projections
        self._call = call
        self._fence = fence
        self._ids = ids
        self._ts = f"{_second(now_us // 1_000_000)}.{now_us % 1_000_000:06}Z"
        self._request_id = call.request_id
        self._appended: list[Recorded] = []
        self._ended: BaseException | None = None
        self.head = head
        self.holder = holder
        self.now_us = now_us
        self.is_dead = is_dead

    @property
    def next_seq(self) -> int:
        """The seq the next appended event will get."""
        return self.head.seq + 1

    @property
    def appended(self) -> Sequence[Recorded]:
        """What this piece of work has appended so far."""
        return self._appended

    def ask(self, query: Query[T]) -> T:
        """Answer a query, with everything appended so far."""
        self.check_open()
        if "passages" in query.sql:
            self._changes.documents.flush()
        return query.read(self._db.execute(query.sql, query.params).fetchall())

    def append(self, *drafts: Draft) -> tuple[Recorded, ...]:
        """Append events and apply their projections."""
        if len(self._appended) + len(drafts) > EVENTS_MAX:
            raise TooLargeError(
                f"one write takes at most {EVENTS_MAX} events", hint="Split it into several calls."
            )
        return tuple(self._append(draft) for draft in drafts)

    def forget(self, seq: int, field: str) -> None:
        """Delete a text; only beside the `text_redacted` that says so."""
        self.check_open()
        if not any(_is_redaction(record.event, target=seq, field=field) for record in self._appended):
            raise ValueError(f"no event of this write says that {field!r} of {seq} is removed")
        self._db.execute("UPDATE writer_lease SET redacting = 1")
        self._db.execute("DELETE FROM event_text WHERE seq = ? AND field = ?", (seq, field))
        self._db.execute("UPDATE writer_lease SET redacting = 0")

    def keep_vectors(self, batch: Batch) -> None:
        """Store vectors of documents; only beside the `embeddings_recorded` that says so."""
        self.check_open()
        if not any(getattr(record.event, "digest", None) == batch.digest for record in self._appended):
            raise ValueError("no event of this write says that these vectors are recorded")
        vectors.keep(self._db, batch)

    def end(self) -> None:
        """Allow nothing more: the job is over."""
        self._ended = self._ended or RuntimeError("this transaction has ended")

    def check_open(self) -> None:
        """Let the work go on, unless something of it is half written or SQLite has rolled it back.

        Work may catch what `append` raises; it may not go on after an event that is only half there.
        """
        if self._ended is not None:
            raise self._ended
        if not self._db.in_transaction:
            raise LedgerIoError(
                "the disk did not take the write", hint="Call again; nothing of this call was kept."
            )

    def _append(self, draft: Draft) -> Recorded:
        self.check_open()
        actor = draft.actor or self._call.actor
        check_writer(actor_kind=actor.kind, kind=draft.event.kind)
        if any(text.changes for text in draft.texts.values()):
            draft = _listing_changes(draft)
        seq = self.head.seq + 1
        salted = {name: (self._ids.token(SALT_BYTES), text.value) for name, text in draft.texts.items()}
        # The first event of the caller's own carries the id; what the server says before it does not.
        request_id = self._request_id if actor == self._call.actor else ""
        data = encode(
            draft,
            call=self._call,
            seq=seq,
            ts=self._ts,
            fence=self._fence,
            prev_hash=self.head.hash,
            request_id=request_id,
            digests={
                name: text_digest(salt=salt, seq=seq, field=name, text=text)
                for name, (salt, text) in salted.items()
            },
        )
        record = Recorded(
            seq=seq,
            ts=self._ts,
            kind=draft.event.kind,
            actor=actor,
            anchor=self._call.place.home if draft.anchor is None else draft.anchor,
            conversation=self._call.conversation if draft.conversation is None else draft.conversation,
            fence=self._fence,
            turn=draft.turn,
            request_id=request_id,
            event=draft.event,
            texts={name: text for name, (_, text) in salted.items()},
            hash=record_hash(data),
        )
        try:
            self._db.execute(_INSERT_EVENT, (seq, data, record.hash))
            for name, (salt, text) in salted.items():
                self._db.execute(_INSERT_TEXT, (seq, name, salt, text))
            project(record, self._changes, self._projections)
        except BaseException as error:
            self._ended = error
            raise
        self.head.back_to((seq, record.hash.hex(), self._ts))
        self._appended.append(record)
        if request_id:
            self._request_id = ""
        return record


@lru_cache(maxsize=8)
def _second(seconds: int) -> str:
    """Return the part of a timestamp that most writes of a burst share."""
    return timestamp(seconds * 1_000_000)[: len("YYYY-MM-DDTHH:MM:SS")]


def project(record: Recorded, changes: ChangeWriter, projections: Mapping[str, Projection]) -> None:
    """Let the read models follow an event.

    Raises:
        ProjectionError: one of them cannot; it is named, and the write is rolled back.

    """
    for name, projection in projections.items():
        try:
            changes.apply(projection.project(record))
        except PmmError:
            raise
        except Exception as error:
            if isinstance(error, sqlite3.Error) and in_our_words(error) is not error:
                raise  # The disk or the file, not the read model.
            raise ProjectionError(
                f"the read model {name!r} cannot follow event {record.seq} ({record.kind}): {error}",
                hint="This is a defect of the program; nothing was written. Please report it.",
            ) from error


def _is_redaction(event: Event, *, target: int, field: str) -> bool:
    return isinstance(event, TextRedacted) and (event.target, event.field) == (target, field)


def _listing_changes(draft: Draft) -> Draft:
    """Let the event say what normalising and masking did to its texts."""
    changed = tuple(
        sorted(f"{field}:{change}" for field, text in draft.texts.items() for change in text.changes)
    )
    event = draft.event.model_copy(update={"changed": changed})
    return Draft(event, draft.texts, draft.turn, draft.actor, draft.anchor, draft.conversation)
