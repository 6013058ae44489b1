"""The hash chain: pure functions over bytes.

What is hashed is what is stored, never a model rebuilt from it; so a new field with a default cannot
make an old ledger fail to verify.
"""

from hashlib import sha256
from typing import Final

RECORD_TAG: Final = b"pmm.ledger.v1\n"
TEXT_TAG: Final = b"pmm.text.v1\n"
GENESIS: Final = "0" * 64
SALT_BYTES: Final = 16


def record_hash(record: bytes) -> bytes:
    """Hash a stored record; it already names its seq, its time, its fence and its predecessor."""
    return sha256(RECORD_TAG + record).digest()


def text_digest(*, salt: bytes, seq: int, field: str, text: str) -> str:
    """Hash a text in its place, as lower-case hex: the same words elsewhere give another digest.

    The salt has a fixed length and the field's name carries its own, so no byte can move from one part
    to the next.
    """
    name = field.encode()
    head = salt + seq.to_bytes(8, "big") + len(name).to_bytes(1, "big") + name
    return sha256(TEXT_TAG + head + text.encode()).hexdigest()
