"""Every error raised on purpose, as a tree.

PmmError
├── InvalidInputError            the caller can mend the call
│   ├── InvalidArgumentError     invalid_argument
│   ├── TooLargeError            too_large
│   └── SecretRefusedError       secret_refused
├── NotFoundError                not_found
├── RequestIdConflictError       request_id_conflict
├── TurnClosedError              turn_closed
├── MoveNotAllowedError          move_not_allowed
├── ReviewRefusedError           review_refused
├── PolicyViolationError         policy_violation
├── ImportRefusedError           import_refused
├── ModelUnavailableError        model_unavailable
├── ReadOnlyError                read_only
├── LedgerUnavailableError       ledger_unavailable
│   ├── ProgramTooOldError       program_too_old
│   └── LedgerDamagedError       ledger_damaged
├── ProjectionError              projection_failed
└── LedgerBusyError              ledger_busy; the same call may succeed later
    ├── LeaseHeldError           lease_held
    ├── FenceLostError           fence_lost
    ├── LedgerIoError            ledger_io
    └── RebuildingError          rebuilding
"""

from typing import ClassVar


class PmmError(Exception):
    """Base of every error raised on purpose; anything else that escapes is a bug."""

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False
    retry_after_ms: ClassVar[int | None] = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        """Say what happened, and in `hint` what the caller can do about it."""
        super().__init__(message)
        self.hint = hint


class InvalidInputError(PmmError):
    """The call cannot be carried out as it was made; nothing was written."""

    code = "invalid_input"


class InvalidArgumentError(InvalidInputError):
    """An argument has a value that is not allowed."""

    code = "invalid_argument"


class TooLargeError(InvalidInputError):
    """Something is over its limit; it was refused whole, never cut."""

    code = "too_large"


class SecretRefusedError(InvalidInputError):
    """The text holds a secret, and the settings say to refuse it."""

    code = "secret_refused"


class NotFoundError(PmmError):
    """The caller named something the ledger does not hold."""

    code = "not_found"


class RequestIdConflictError(PmmError):
    """The request id was used before, for another call."""

    code = "request_id_conflict"

    def __init__(self, request_id: str) -> None:
        """Name the id."""
        super().__init__(
            f"request_id {request_id!r} was used before, for another tool or with other arguments",
            hint="Use a new request_id for a new call; repeat the call unchanged to get its first result.",
        )


class TurnClosedError(PmmError):
    """The turn has already ended, so a reply can have no effects."""

    code = "turn_closed"


class MoveNotAllowedError(PmmError):
    """A piece of knowledge cannot go from where it stands to where it was sent; nothing was written."""

    code = "move_not_allowed"


class ReviewRefusedError(PmmError):
    """A person's decision cannot be signed or recorded like this; nothing was written."""

    code = "review_refused"


class PolicyViolationError(PmmError):
    """This actor may not write this kind of event."""

    code = "policy_violation"

    def __init__(self, *, actor_kind: str, kind: str) -> None:
        """Name who tried to write what."""
        super().__init__(
            f"an actor of kind {actor_kind!r} may not write {kind!r}",
            hint="This is done on the command line by the person who owns the ledger.",
        )
        self.actor_kind = actor_kind
        self.kind = kind


class ImportRefusedError(PmmError):
    """The source does not verify; nothing of it was written."""

    code = "import_refused"


class ModelUnavailableError(PmmError):
    """The named model or provider cannot be used here."""

    code = "model_unavailable"


class EmbedderUnavailableError(PmmError):
    """The embedder of the settings, or of a set of vectors, cannot be used here."""

    code = "embedder_unavailable"


class ReadOnlyError(PmmError):
    """This server, or this file, takes no writes."""

    code = "read_only"


class LedgerUnavailableError(PmmError):
    """The ledger cannot be opened at all."""

    code = "ledger_unavailable"


class ProgramTooOldError(LedgerUnavailableError):
    """A newer program has written this ledger; this one may only read it, if that."""

    code = "program_too_old"


class LedgerDamagedError(LedgerUnavailableError):
    """The file does not hold what was written to it."""

    code = "ledger_damaged"


class ProjectionError(PmmError):
    """A read model could not follow an event; that write was rolled back."""

    code = "projection_failed"


class LedgerBusyError(PmmError):
    """The ledger could not be written now; the same call may succeed later."""

    code = "ledger_busy"
    retryable = True
    retry_after_ms = 500


class LeaseHeldError(LedgerBusyError):
    """Another process holds the right to write and did not finish in time."""

    code = "lease_held"


class FenceLostError(LedgerBusyError):
    """Another process has become the writer; nothing of this write was kept."""

    code = "fence_lost"

    def __init__(self, *, ours: int, current: int) -> None:
        """Give both fencing tokens."""
        super().__init__(
            f"our fencing token is {ours}, the ledger is at {current}",
            hint="Call again; the lease is taken anew.",
        )
        self.ours = ours
        self.current = current


class LedgerIoError(LedgerBusyError):
    """The disk did not take the write (full, failing or read-only); nothing of it was kept."""

    code = "ledger_io"
    retry_after_ms = 2_000


class RebuildingError(LedgerBusyError):
    """Read models are being rebuilt; writes wait until they are done."""

    code = "rebuilding"
    retry_after_ms = 5_000
