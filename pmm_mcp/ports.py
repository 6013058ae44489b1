"""Everything outside the program, as the program wants to see it."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from pmm_mcp.domain.anchors import Place
from pmm_mcp.domain.lease import Holder, Lease
from pmm_mcp.domain.records import Call, Draft, Recorded
from pmm_mcp.domain.vectors import Batch, Vector

T = TypeVar("T")
SqlValue = int | str | bytes | None
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Query(Generic[T]):
    """A question as data: SQL with named parameters, and a pure reader of its rows."""

    sql: str
    params: Mapping[str, SqlValue]
    read: Callable[[Sequence[Row]], T]


Plan = Generator[Query[Any], Any, T]
"""Questions that depend on the answers before them, as data: yields queries, is sent their answers, and
returns what was to be found out. A view and a write can both carry it out."""


class Asker(Protocol):
    """Anything that answers queries at once: a write transaction."""

    def ask(self, query: Query[T]) -> T: ...


class View(Protocol):
    """One consistent state of the ledger and its read tables, for at most five seconds."""

    async def ask(self, query: Query[T]) -> T: ...

    async def carry_out(self, plan: Plan[T]) -> T:
        """Answer a plan, all its questions in one go; what it computes, it computes beside the event loop."""
        ...


class Reader(Protocol):
    """Opens views; never blocks the writer, and is never blocked by it."""

    def view(self) -> AbstractAsyncContextManager[View]: ...


class Transaction(Asker, Protocol):
    """What a piece of work sees and may do, alone, inside the write that will commit it."""

    @property
    def next_seq(self) -> int:
        """The seq the next appended event will get."""
        ...

    @property
    def now_us(self) -> int:
        """The wall clock, read once for this piece of work, in microseconds."""
        ...

    @property
    def holder(self) -> str:
        """This process, as the lease names it."""
        ...

    @property
    def appended(self) -> Sequence[Recorded]:
        """What this piece of work has appended so far."""
        ...

    def is_dead(self, holder: str) -> bool:
        """Whether the process that called itself so is known to be gone."""
        ...

    def append(self, *drafts: Draft) -> tuple[Recorded, ...]:
        """Append events and apply their projections; later questions see them.

        Raises:
            PolicyViolationError: an actor may not write such a kind.
            TooLargeError: a body, or the number of events, is over its limit.

        """
        ...

    def keep_vectors(self, batch: Batch) -> None:
        """Store vectors of documents; only beside the `embeddings_recorded` that says so."""
        ...

    def forget(self, seq: int, field: str) -> None:
        """Delete a text; only beside the `text_redacted` that says so."""
        ...


Housekeeping = Callable[[Transaction, Call], None]
"""Runs after the work of every write, in the same savepoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerState:
    """What the ledger knows about itself without looking into its events."""

    ledger_id: str
    path: str
    size_bytes: int
    verified_to: int
    lease: Lease
    degraded: str = ""
    """Why read tables may lag behind the events; empty when they do not."""


class Ledger(Protocol):
    """An append-only, hash-chained log with one writer."""

    @property
    def reader(self) -> Reader: ...

    @property
    def holder(self) -> Holder: ...

    async def write(
        self,
        work: Callable[[Transaction], T],
        *,
        call: Call,
        again: Callable[[Transaction, Recorded], T] | None = None,
    ) -> T:
        """Run `work` alone and commit what it appended; answer after the commit.

        `call` says who, where, and under which request id; when that id was seen before from the same
        client, `again` rebuilds the first answer from the first event of that write instead.

        Raises:
            LeaseHeldError: another process is writing and did not finish in time.
            FenceLostError: another process has become the writer; nothing was written.
            LedgerIoError: the disk did not take it; nothing was written.
            RequestIdConflictError: the request id belongs to another call.

        """
        ...

    def keep_lease(self) -> AbstractAsyncContextManager[None]:
        """Hold the right to write across several writes, as an import does.

        Inside, a write after another process took over raises FenceLostError and writes nothing.
        """
        ...

    async def state(self) -> LedgerState:
        """Return what the ledger knows about itself."""
        ...

    async def verify(
        self,
        *,
        from_seq: int = 1,
        projections: bool = False,
        budget_s: float | None = None,
        progress: "Progress | None" = None,
    ) -> "Verification":
        """Recompute every hash from the stored bytes and report what does not hold.

        When `budget_s` is over it stops and says where to go on.
        """
        ...

    async def rebuild(self, *, progress: "Progress | None" = None) -> int:
        """Compute every read table anew; return how many events were replayed."""
        ...

    def replayed(
        self, until: int, *, progress: "Progress | None" = None
    ) -> AbstractAsyncContextManager[Reader]:
        """Open views of what the read tables said when the head was at a seq, from a replay of the events."""
        ...


Progress = Callable[[int, int], None]
"""Told how many of how many are done."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the ledger that does not hold; `seq` is 0 when it has no position."""

    seq: int
    code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What verifying found; `notes` lists what is unusual and no damage, such as steps of the clock.

    `head` is the last event looked at, and `last` the last there is: they differ where time was up.
    """

    checked: int
    head: int
    head_hash: str
    last: int = 0
    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    redacted: tuple[int, ...] = ()
    next_seq: int | None = None
    """Where to go on, when time was up before the end."""

    @property
    def ok(self) -> bool:
        """Whether everything holds."""
        return not self.problems

    @property
    def first_bad(self) -> int | None:
        """The lowest seq at which something does not hold."""
        return min((problem.seq for problem in self.problems if problem.seq), default=None)


class Clock(Protocol):
    """Time, from outside."""

    def now_us(self) -> int:
        """The wall clock in microseconds since the epoch; it may step back."""
        ...

    def monotonic(self) -> float:
        """Seconds that only go forward, for waiting and judging leases."""
        ...


class IdSource(Protocol):
    """Randomness, from outside."""

    def token(self, size: int) -> bytes:
        """Return that many unpredictable bytes."""
        ...


class Places(Protocol):
    """Finds where a call comes from."""

    async def find(self, cwd: str | None) -> Place: ...


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file that was read: its path in the checkout, git's name of its content, how many lines it has."""

    path: str
    blob: str
    lines: int


class Files(Protocol):
    """Reads the files that evidence cites."""

    async def read(self, place: Place, path: str) -> FileRead | None:
        """Return a file of the checkout of a place; None when there is no such file to be read."""
        ...


ReplyStatus = Literal["complete", "truncated", "empty", "indeterminate", "transport_error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """What a model answered, or how it failed to.

    `reason` is a stable code such as `rate_limited`; `category` the class of the failure. Only a
    complete reply has effects.
    """

    status: ReplyStatus
    text: str = ""
    reason: str = ""
    category: str = ""
    prompt_tokens: int = 0
    reply_tokens: int = 0
    quotation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a model is asked. `quotable` is what the offline provider may quote, as (citation, text)."""

    system: str
    user: str
    budget_tokens: int
    quotable: Sequence[tuple[str, str]] = ()


class ChatModel(Protocol):
    """A model that answers one prompt. It never raises for what a server or a model does wrong."""

    @property
    def name(self) -> str:
        """Its name as `provider:model`."""
        ...

    async def ask(self, prompt: Prompt) -> ModelReply: ...

    async def aclose(self) -> None: ...


class ChatModels(Protocol):
    """Finds a chat model by name."""

    @property
    def default(self) -> str:
        """The name used when a call names none."""
        ...

    def get(self, name: str) -> ChatModel:
        """Return the model; "" is the default.

        Raises:
            ModelUnavailableError: there is no such provider, or it is not configured.

        """
        ...


class Embedder(Protocol):
    """Turns texts into vectors; the same text has the same vector."""

    @property
    def name(self) -> str:
        """Its kind and model: the name of the set its vectors belong to."""
        ...

    @property
    def weight(self) -> float:
        """How much a cosine of its vectors counts, beside a lexical score of at most 1."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return a vector a text.

        Raises:
            EmbedderUnavailableError: it cannot be used here, or not now.

        """
        ...

    async def aclose(self) -> None: ...


class Embedders(Protocol):
    """Finds embedders."""

    @property
    def wanted(self) -> Embedder | None:
        """What new vectors are made with; None for none.

        Raises:
            EmbedderUnavailableError: the settings name none that there is.

        """
        ...

    def of_set(self, name: str) -> Embedder | None:
        """Return what made a set of vectors; None when it is not here."""
        ...


class OtherLedgers(Protocol):
    """Looks into ledgers that lie beside this one."""

    async def hash_of(self, ledger: str, seq: int) -> str | None:
        """Return the hash of an event of the ledger with this file name or id; None when there is none."""
        ...


class Signatures(Protocol):
    """Checks what persons signed."""

    def holds(self, public_key: str, message: bytes, signature: str) -> bool:
        """Say whether this Ed25519 key (hex) made this signature (hex) of these bytes; it never raises."""
        ...
