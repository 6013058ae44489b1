"""The gate every text passes once, before it is hashed: repaired, measured, free of secrets."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pmm_mcp.domain.errors import SecretRefusedError, TooLargeError
from pmm_mcp.domain.normalise import normalise
from pmm_mcp.domain.secrets import find_secrets, mask

TEXT_BYTES_MAX: Final = 1_048_576

_BYTES_A_CHAR_MAX: Final = 4


class SecretsMode(StrEnum):
    """What becomes of a text that holds a credential."""

    REFUSE = "refuse"
    MASK = "mask"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True)
class Admitted:
    """A text as it will be recorded, and what was changed on the way in."""

    value: str
    changes: tuple[str, ...] = ()


def admit(text: str, *, field: str = "text", secrets: SecretsMode = SecretsMode.MASK) -> Admitted:
    """Return the text that may be recorded.

    Raises:
        TooLargeError: it is longer than the ledger keeps; it is never cut.
        SecretRefusedError: it holds a credential, and the mode is to refuse.

    """
    normal = normalise(text)
    size = _size_bytes(normal.value)
    if size > TEXT_BYTES_MAX:
        raise TooLargeError(
            f"{field} has {size} bytes, the limit is {TEXT_BYTES_MAX}",
            hint="Split it into several texts.",
        )
    match secrets:
        case SecretsMode.ALLOW:
            return Admitted(normal.value, normal.changes)
        case SecretsMode.REFUSE:
            if names := sorted({secret.name for secret in find_secrets(normal.value)}):
                raise SecretRefusedError(
                    f"{field} holds a credential: {', '.join(names)}",
                    hint="Remove the value and call again; a mention of it may stay.",
                )
            return Admitted(normal.value, normal.changes)
        case SecretsMode.MASK:
            masked = mask(normal.value)
            return Admitted(masked.value, normal.changes + tuple(f"masked:{name}" for name in masked.names))


def _size_bytes(text: str) -> int:
    """Return the size in UTF-8, or a number under the limit when a glance can tell."""
    if len(text) * _BYTES_A_CHAR_MAX <= TEXT_BYTES_MAX:
        return len(text)
    return len(text.encode())
