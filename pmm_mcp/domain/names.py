"""Names: short labels on one line, allowed inside a record; any other free string is a text."""

import re
import unicodedata
from typing import Final

from pmm_mcp.domain.errors import InvalidArgumentError, SecretRefusedError
from pmm_mcp.domain.secrets import find_secrets

NAME_MAX: Final = 64
NAME_PATTERN: Final = rf"^[\w.:/ @+-]{{1,{NAME_MAX}}}$"

_NAME = re.compile(rf"[\w.:/ @+-]{{1,{NAME_MAX}}}")
_DASHES = re.compile("--+")


def is_name(text: str) -> bool:
    """Say whether a text is a name: 1–64 letters, digits, spaces or any of `_ . : / @ + -`, on one line."""
    # "²" and "½" are word characters to Python, and not to the reader of the events.
    return _NAME.fullmatch(text) is not None and not any(unicodedata.category(char) == "No" for char in text)


def name(text: str, *, argument: str) -> str:
    """Return the text, which must be a name or empty.

    Raises:
        InvalidArgumentError: it is neither.
        SecretRefusedError: it is a credential; a name cannot be masked, nor ever be removed.

    """
    stripped = text.strip()
    if stripped and not is_name(stripped):
        raise InvalidArgumentError(
            f"{argument}: {text[:80]!r} is not a name",
            hint=f"A name has at most {NAME_MAX} letters, digits, spaces or any of _ . : / @ + -.",
        )
    if secrets := find_secrets(stripped):
        raise SecretRefusedError(f"{argument} is a credential: {secrets[0].name}", hint="Name it otherwise.")
    return stripped


def as_name(text: str, *, otherwise: str) -> str:
    """Make a name of whatever a client or a model calls itself; what holds a credential is no name."""
    if find_secrets(text):
        return otherwise
    kept = "".join(char if is_name(char) else "-" for char in text)
    return _DASHES.sub("-", kept).strip("- ")[:NAME_MAX].strip() or otherwise
