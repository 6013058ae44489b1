"""What all answers have in common."""

from typing import Final

from pydantic import BaseModel, ConfigDict

from pmm_mcp.context.quoting import one_line
from pmm_mcp.domain.records import Recorded

BEGINNING_CHARS: Final = 60


class Part(BaseModel):
    """A piece of an answer. Fields that are None are left out where it is shown."""

    model_config = ConfigDict(frozen=True)


class Result(Part):
    """An answer to a call; `head` is the seq of the ledger's last event."""

    head: int = 0
    notice: str | None = None
    repeated: bool | None = None


class Ref(Part):
    """An id that was cited, with the beginning of what it names: a miscopied number shows."""

    id: str
    text: str


def beginning(record: Recorded) -> str:
    """Return the first words of what was recorded."""
    text = next((text for text in record.texts.values() if text), record.kind)
    return one_line(text, chars_max=BEGINNING_CHARS)
