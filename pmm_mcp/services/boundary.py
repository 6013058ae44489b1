"""What a caller hands in, made fit for the ledger once."""

import asyncio
from dataclasses import dataclass
from typing import Final

from pmm_mcp.domain.admission import Admitted, SecretsMode, admit
from pmm_mcp.domain.errors import InvalidArgumentError

ON_THE_LOOP_CHARS_MAX: Final = 65_536
"""Longer texts are looked through in a thread, so that nobody else waits."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """Repairs, measures and masks texts as the settings say."""

    secrets: SecretsMode

    async def admit(self, text: str, *, field: str) -> Admitted:
        """Return the text that may be recorded, and what was changed.

        Raises:
            TooLargeError: it is over its limit.
            SecretRefusedError: it holds a credential, and the settings refuse those.

        """
        if len(text) > ON_THE_LOOP_CHARS_MAX:
            return await asyncio.to_thread(admit, text, field=field, secrets=self.secrets)
        return admit(text, field=field, secrets=self.secrets)

    async def reason(self, text: str, *, hint: str) -> Admitted:
        """Return why something is asked for; `hint` says what to write.

        Raises:
            InvalidArgumentError: it is empty.
            TooLargeError: it is over its limit.
            SecretRefusedError: it holds a credential, and the settings refuse those.

        """
        if not text.strip():
            raise InvalidArgumentError("reason is empty", hint=hint)
        return await self.admit(text.strip(), field="reason")


def masked_names(*texts: Admitted) -> list[str]:
    """Return which kinds of secrets were masked, each once, in order."""
    prefix = "masked:"
    changes = {change for text in texts for change in text.changes if change.startswith(prefix)}
    return sorted(change.removeprefix(prefix) for change in changes)
