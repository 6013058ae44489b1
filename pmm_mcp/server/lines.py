"""The lines of stdin: ours alone, read without holding up the end, and mended for the SDK."""

import io
import os
from collections.abc import AsyncGenerator
from typing import BinaryIO

import anyio.to_thread

from pmm_mcp.server.surrogates import cleaned_json


def claim_stdin() -> BinaryIO:
    """Take fd 0 for ourselves and leave an empty one behind, so that no child or library reads the wire."""
    private = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    # Never closed: a thread may still be reading from it when the loop has ended.
    return io.BufferedReader(io.FileIO(private, closefd=False), buffer_size=65_536)


async def lines_of(stdin: BinaryIO) -> AsyncGenerator[str]:
    """Yield each line until there are no more; waiting for one ends at once when it is cancelled."""
    while line := await anyio.to_thread.run_sync(stdin.readline, abandon_on_cancel=True):
        yield cleaned_json(line.decode("utf-8", "replace"))
