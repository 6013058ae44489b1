"""A PMM ledger that verifies: every row hashed again by PMM's own formula before any of it is used.

PMM hashes content, kind, meta and the previous hash. Its ids and timestamps are outside the chain, so
a change of those is only seen when it breaks their order, or when the row is here already.
"""

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pmm_mcp.domain.admission import Admitted, SecretsMode, admit
from pmm_mcp.domain.errors import ImportRefusedError, SecretRefusedError, TooLargeError
from pmm_mcp.domain.ids import SEQ_MAX
from pmm_mcp.transfer.pmm_file import COLUMNS, read_events

FORKS_MAX: Final = 1_000

_CHANGED: Final = "The file was changed after PMM wrote it; import an untouched copy. Nothing was written."
_ASCII: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_UNICODE: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """One event of PMM. `verbatim` is the whole row as it will be kept."""

    id: int
    kind: str
    content: str
    meta: Mapping[str, Any]
    prev_hash: str | None
    hash: str
    verbatim: Admitted


@dataclass(frozen=True, slots=True, kw_only=True)
class PmmSource:
    """A verified ledger of PMM. `forks` are the ids whose predecessor is not the row before them."""

    path: Path
    origin: str
    rows: Sequence[SourceRow]
    forks: tuple[int, ...]

    @property
    def last_id(self) -> int:
        """The greatest id."""
        return self.rows[-1].id

    def count_to(self, source_id: int) -> int:
        """Return how many rows have an id up to this one."""
        return bisect_right(self.rows, source_id, key=lambda row: row.id)

    def find(self, source_id: int) -> SourceRow | None:
        """Return the row with this id."""
        count = self.count_to(source_id)
        return self.rows[count - 1] if count and self.rows[count - 1].id == source_id else None


def read_source(path: Path, *, secrets: SecretsMode) -> PmmSource:
    """Read and verify a file of PMM.

    Raises:
        ImportRefusedError: it cannot be read, or a row does not verify; the first bad one is named.
        SecretRefusedError: a row holds a credential, and the mode is to refuse.

    """
    events = read_events(path)
    if not events:
        raise ImportRefusedError(f"{path.name} holds no events", hint="There is nothing to import.")
    rows: list[SourceRow] = []
    ids: dict[str, int] = {}
    forks: list[int] = []
    for number, event in enumerate(events, start=1):
        row = _read(event, number, secrets)
        if _is_fork(row, rows[-1] if rows else None, ids):
            forks.append(row.id)
        ids[row.hash] = row.id
        rows.append(row)
    if len(forks) > FORKS_MAX:
        raise ImportRefusedError(f"{path.name} forks in more than {FORKS_MAX} places", hint=_CHANGED)
    # Many ledgers begin with the same configuration and so with the same hash; the time tells them apart.
    origin = sha256(_ASCII.encode([rows[0].hash, events[0]["ts"]]).encode()).hexdigest()
    return PmmSource(path=path, origin=origin, rows=rows, forks=tuple(forks))


def hash_in(verbatim: str) -> str | None:
    """Return the hash that a row kept verbatim carries; None when it cannot be told."""
    try:
        found = json.loads(verbatim)["hash"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if isinstance(found, str) else None


def _read(event: Any, number: int, secrets: SecretsMode) -> SourceRow:
    """Return a row whose shape and own hash are right."""
    if not isinstance(event, dict) or not event.keys() >= set(COLUMNS):
        raise ImportRefusedError(
            f"event number {number} of the file is not an event of PMM",
            hint=f"Each has {', '.join(COLUMNS)}.",
        )
    row_id = event["id"]
    if type(row_id) is not int or not 1 <= row_id <= SEQ_MAX:
        raise ImportRefusedError(f"event number {number} of the file has no valid id", hint=_CHANGED)
    try:
        return _checked(row_id, event, secrets)
    except TooLargeError as error:
        raise ImportRefusedError(
            str(error), hint="It would have to be cut, so it is not imported."
        ) from error
    except SecretRefusedError:
        raise
    except (ValueError, RecursionError) as error:
        raise ImportRefusedError(f"event {row_id} is malformed: {error}", hint=_CHANGED) from error


def _checked(row_id: int, event: Mapping[str, Any], secrets: SecretsMode) -> SourceRow:
    meta = _meta(event["meta"])
    kind, content, prev_hash = event["kind"], event["content"], event["prev_hash"]
    for name in ("ts", "kind", "content", "hash"):
        if not isinstance(event[name], str):
            raise ValueError(f"{name} is not a string")
    if not (prev_hash is None or isinstance(prev_hash, str)):
        raise ValueError("prev_hash is neither a string nor null")
    preimage = {"content": content, "kind": kind, "meta": meta, "prev_hash": prev_hash}
    if sha256(_ASCII.encode(preimage).encode()).hexdigest() != event["hash"]:
        raise ImportRefusedError(
            f"event {row_id} does not verify: its hash is not that of what it says", hint=_CHANGED
        )
    return SourceRow(
        id=row_id,
        kind=kind,
        content=content,
        meta=meta,
        prev_hash=prev_hash,
        hash=event["hash"],
        verbatim=_verbatim(event, meta, field=f"event {row_id}", secrets=secrets),
    )


def _meta(value: Any) -> dict[str, Any]:
    """Return the meta object, which the database and some exports hold as text."""
    meta = json.loads(value or "{}") if isinstance(value, str) else value
    if not isinstance(meta, dict):
        raise ValueError("meta is not an object")
    return meta


def _is_fork(row: SourceRow, before: SourceRow | None, ids: Mapping[str, int]) -> bool:
    """Say whether a row follows an earlier one than the row before it.

    Raises:
        ImportRefusedError: the order is broken, the row is there twice, or its predecessor is unknown.

    """
    if before is not None and row.id <= before.id:
        raise ImportRefusedError(f"event {row.id} comes after event {before.id}", hint=_CHANGED)
    if row.hash in ids:
        raise ImportRefusedError(f"event {row.id} repeats event {ids[row.hash]}", hint=_CHANGED)
    if row.prev_hash == (before.hash if before else None):
        return False
    if row.prev_hash not in ids:
        raise ImportRefusedError(
            f"event {row.id} does not verify: it follows an event that is not there", hint=_CHANGED
        )
    return True


def _verbatim(
    event: Mapping[str, Any], meta: Mapping[str, Any], *, field: str, secrets: SecretsMode
) -> Admitted:
    """Return the row as canonical JSON, its credentials masked where they stand.

    Content and meta are looked at string by string first: an escaped NUL would hide a credential.
    """
    masked: set[str] = set()

    def clean(value: Any) -> Any:
        match value:
            case str():
                admitted = admit(value, field=field, secrets=secrets)
                found = [change for change in admitted.changes if change.startswith("masked:")]
                masked.update(found)
                return admitted.value if found else value
            case dict():
                return {name: clean(item) for name, item in value.items()}
            case list():
                return [clean(item) for item in value]
            case _:
                return value

    cleaned = {**event, "content": clean(event["content"])}
    clean_meta = clean(meta)
    if clean_meta != meta:
        cleaned["meta"] = _ASCII.encode(clean_meta) if isinstance(event["meta"], str) else clean_meta
    whole = admit(_UNICODE.encode(cleaned), field=field, secrets=secrets)
    if any(change.startswith("surrogates") for change in whole.changes):
        # A lone half of a pair cannot be stored as it is, but escaped it can.
        whole = admit(_ASCII.encode(cleaned), field=field, secrets=secrets)
    return Admitted(whole.value, tuple(sorted(masked.union(whole.changes))))
