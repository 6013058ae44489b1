"""Arguments and options that several commands take."""

import sys
from typing import Annotated, Final

import typer

from pmm_mcp.domain.errors import TooLargeError

STDIN_BYTES_MAX: Final = 16 * 1024 * 1024


def text_or_stdin(text: str) -> str:
    """Return the text, or what stands on stdin when it is `-`, without the line feed at its end.

    Raises:
        TooLargeError: more comes than any text may have.

    """
    if text != "-":
        return text
    data = sys.stdin.buffer.read(STDIN_BYTES_MAX + 1)
    if len(data) > STDIN_BYTES_MAX:
        raise TooLargeError(
            f"stdin holds more than {STDIN_BYTES_MAX} bytes", hint="Split it into several texts."
        )
    return data.decode("utf-8", "replace").removesuffix("\n")


Conversation = Annotated[str, typer.Option(help="Name of the conversation.")]
RequestId = Annotated[str, typer.Option(help="Your key: the same call again gives its first result.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="At most so many.")]
Cursor = Annotated[str, typer.Option(help="next_cursor of the page before.")]
