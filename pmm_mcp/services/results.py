"""What all answers have in common."""

from pydantic import BaseModel, ConfigDict


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
