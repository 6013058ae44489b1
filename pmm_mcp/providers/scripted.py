"""A model that says what a test wrote down for it."""

import os
from collections.abc import Sequence
from typing import Annotated, Final

import anyio
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from pmm_mcp.domain.errors import ModelUnavailableError
from pmm_mcp.ports import ModelReply, Prompt, ReplyStatus
from pmm_mcp.providers.replies import failed

SCRIPT_BYTES_MAX: Final = 16 * 1024 * 1024
DELAY_MAX_S: Final = 3600.0

SCRIPT_HINT: Final = (
    'A script is a JSON file: [{"text": "…", "status"?, "delay_s"?, "error"?, "expect"?}, …].'
)


class ScriptedReply(BaseModel):
    """One turn of a script. With `error`, a reason code, the reply is a failure."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    text: str = ""
    status: ReplyStatus | None = None
    delay_s: Annotated[float, Field(ge=0, le=DELAY_MAX_S, allow_inf_nan=False)] = 0.0
    error: Annotated[str, Field(pattern=r"^([A-Za-z][A-Za-z0-9_.]{0,63})?$")] = ""
    expect: str = ""
    """What the system prompt must contain."""

    def reply(self) -> ModelReply:
        """Return it as a model's reply."""
        status = self.status or ("transport_error" if self.error else "complete")
        reason = self.error or ("" if status == "complete" else "scripted")
        return ModelReply(status=status, text=self.text, reason=reason)


_SCRIPT: Final = TypeAdapter(tuple[ScriptedReply, ...])


class ScriptedChat:
    """Replies in order, one a question; implements the port `ChatModel`.

    `asked` is what it was asked so far.
    """

    def __init__(self, replies: Sequence[str | ScriptedReply] = (), *, name: str = "script") -> None:
        """Take the replies; a bare text is a complete one."""
        self._replies = [ScriptedReply(text=reply) if isinstance(reply, str) else reply for reply in replies]
        self._name = name
        self.asked: list[Prompt] = []

    @classmethod
    def of_file(cls, path: str) -> "ScriptedChat":
        """Read a script.

        Raises:
            ModelUnavailableError: there is none, or it is not one.

        """
        try:
            replies = _SCRIPT.validate_json(_read(path))
        except OSError as error:
            raise ModelUnavailableError(f"the script {path!r} cannot be read", hint=SCRIPT_HINT) from error
        except ValidationError as error:
            raise ModelUnavailableError(f"the script {path!r} is not valid", hint=SCRIPT_HINT) from error
        return cls(replies, name=path)

    @property
    def name(self) -> str:
        """`scripted:` and its file."""
        return f"scripted:{self._name}"

    async def ask(self, prompt: Prompt) -> ModelReply:
        """Return the next reply of the script."""
        turn = len(self.asked)
        self.asked.append(prompt)
        if turn >= len(self._replies):
            return failed("script_exhausted")
        scripted = self._replies[turn]
        if scripted.expect not in prompt.system:
            return failed("expectation_failed")
        await anyio.sleep(scripted.delay_s)
        return scripted.reply()

    async def aclose(self) -> None:
        """Nothing to close."""


def _read(path: str) -> bytes:
    """Read a file that is not waited for, were it a pipe: a program starts with it."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    try:
        pieces = bytearray()
        while piece := os.read(descriptor, 64 * 1024):
            pieces += piece
            if len(pieces) > SCRIPT_BYTES_MAX:
                raise OSError("the script is too large")
        return bytes(pieces)
    finally:
        os.close(descriptor)
