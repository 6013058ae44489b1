"""Vectors as they are kept: rows of signed bytes, each with what one step of it is worth."""

import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final, TypeVar

N = TypeVar("N", int, float)

SEQ_BYTES: Final = 8
SCALE_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Vector:
    """A unit vector as signed bytes; `scale` is what one step is worth."""

    scale: float
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Vectors of one set for a stretch of the ledger. Numbers are little-endian on every machine."""

    set: str
    from_seq: int
    to_seq: int
    docs: bytes
    """Seqs, ascending, 64 bits each."""
    scales: bytes
    """Floats of 32 bits."""
    data: bytes
    """A row a document."""

    @property
    def count(self) -> int:
        """How many documents it has vectors of."""
        return len(self.docs) // SEQ_BYTES

    @property
    def digest(self) -> str:
        """SHA-256 of all of it, in hex."""
        return sha256(self.docs + self.scales + self.data).hexdigest()

    def seqs(self) -> list[int]:
        """Return the documents."""
        seqs: array[int] = array("q", self.docs)
        return _in_our_order(seqs).tolist()

    def without(self, doc: int) -> "Batch":
        """Return it with zeros in the place of a document's vector."""
        seqs = self.seqs()
        if doc not in seqs:
            return self
        place, size = seqs.index(doc), len(self.data) // len(seqs)
        return replace(
            self, scales=_blanked(self.scales, place, SCALE_BYTES), data=_blanked(self.data, place, size)
        )


def batch_of(
    name: str, *, from_seq: int, to_seq: int, docs: Sequence[int], vectors: Sequence[Vector]
) -> Batch:
    """Return the vectors of documents, both in the same order, as they are kept."""
    return Batch(
        set=name,
        from_seq=from_seq,
        to_seq=to_seq,
        docs=_in_our_order(array("q", docs)).tobytes(),
        scales=_in_our_order(array("f", [vector.scale for vector in vectors])).tobytes(),
        data=b"".join(vector.data for vector in vectors),
    )


def _blanked(data: bytes, place: int, size: int) -> bytes:
    return data[: place * size] + bytes(size) + data[(place + 1) * size :]


def _in_our_order(numbers: "array[N]") -> "array[N]":
    """Turn numbers of this machine into little-endian ones, or back."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
