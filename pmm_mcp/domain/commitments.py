"""What makes two promises the same promise."""

import unicodedata
from hashlib import sha1
from typing import Final

_END_MARKS: Final = " .!?…。！？;,"


def identity(text: str) -> str:
    """Return the text by which a commitment is known while it is open.

    NFKC, case-folded, white space collapsed, marks at the end dropped: "Ship it!" is "ship  it".
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).rstrip(_END_MARKS)


def short_id(text: str) -> str:
    """Return the eight-hex id that PMM gives a commitment: the head of the SHA-1 of its trimmed text."""
    return sha1(text.strip().encode(), usedforsecurity=False).hexdigest()[:8]
