"""Serving over stdin and stdout: what clients launch."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import IO

import anyio
from mcp.server.stdio import stdio_server

from pmm_mcp.bootstrap import new_session, open_app
from pmm_mcp.config import Settings, load_settings
from pmm_mcp.domain.errors import PmmError
from pmm_mcp.server.app import Server, build_server
from pmm_mcp.server.desk import Desk
from pmm_mcp.server.logs import log_to_file
from pmm_mcp.server.parent import parent_gone
from pmm_mcp.server.surrogates import cleaned_json


def serve_stdio() -> None:
    """Serve until the client closes stdin, a signal comes, or the client is gone; then exit at once."""
    try:
        settings = load_settings()
        toolsets = settings.chosen_toolsets()
    except PmmError as error:
        sys.stderr.write(f"pmm-mcp: {error}\n{error.hint or ''}\n")
        sys.exit(2)
    log_to_file(settings)
    desk = Desk(lambda: open_app(settings, role="server over stdio"), session=new_session())
    server = build_server(desk, toolsets=toolsets, read_only=settings.read_only)
    with suppress(asyncio.CancelledError, KeyboardInterrupt):
        asyncio.run(_serve(server, settings))
    # The thread that reads stdin may be blocked there; waiting for it would make a zombie of us.
    sys.stderr.flush()
    os._exit(0)


async def _serve(server: Server, settings: Settings) -> None:
    serving = asyncio.create_task(_until_eof(server))
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if number := getattr(signal, name, None):
            with suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(number, serving.cancel)
    watching = asyncio.create_task(parent_gone())
    done, _ = await asyncio.wait({serving, watching}, return_when=asyncio.FIRST_COMPLETED)
    if watching in done:
        serving.cancel()
    watching.cancel()
    await asyncio.gather(serving, watching, return_exceptions=True)
    if serving in done and not serving.cancelled() and (error := serving.exception()):
        raise error


async def _until_eof(server: Server) -> None:
    lines = anyio.wrap_file(_CleanLines(_claim_stdin()))
    async with stdio_server(stdin=lines) as (read_stream, write_stream):  # type: ignore[arg-type]
        low_level = server._lowlevel_server
        await low_level.run(read_stream, write_stream, low_level.create_initialization_options())


def _claim_stdin() -> IO[bytes]:
    """Take fd 0 for ourselves and leave an empty one behind, so that no child or library reads the wire."""
    private = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return os.fdopen(private, "rb")


class _CleanLines(TextIOWrapper):
    """Lines of UTF-8 in which no escape of half a surrogate pair is left: the SDK would drop the line."""

    def __init__(self, raw: IO[bytes]) -> None:
        super().__init__(raw, encoding="utf-8", errors="replace")  # type: ignore[arg-type]

    def __next__(self) -> str:
        return cleaned_json(super().__next__())

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        return cleaned_json(super().readline(size))
