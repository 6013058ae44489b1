"""Serving over stdin and stdout: what clients launch."""

import asyncio
import logging
import os
import sys
import threading
from contextlib import suppress
from typing import Any, Final

from mcp.server.stdio import stdio_server

from pmm_mcp.config import load_settings
from pmm_mcp.domain.errors import PmmError
from pmm_mcp.server.app import Server, build_server
from pmm_mcp.server.desk import Desk
from pmm_mcp.server.lines import claim_stdin, lines_of
from pmm_mcp.server.logs import log_to_file
from pmm_mcp.server.opening import opening
from pmm_mcp.server.parent import WATCH_EVERY_S, client_gone
from pmm_mcp.server.signals import on_signal

logger = logging.getLogger(__name__)

CLOSE_S_MAX: Final = 10.0
"""How long closing may take before the process ends without it: a zombie would hold the ledger."""


def serve_stdio(*, watch_every_s: float = WATCH_EVERY_S) -> None:
    """Serve until the client closes stdin, a signal comes, or the client is gone; then exit at once."""
    try:
        settings = load_settings()
        toolsets = settings.chosen_toolsets()
    except PmmError as error:
        sys.stderr.write(f"pmm-mcp: {error}\n{error.hint or ''}\n")
        sys.exit(2)
    log_to_file(settings)
    desk = Desk(opening(settings, role="server over stdio"))
    server = build_server(desk, toolsets=toolsets, read_only=settings.read_only)
    code = 0
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(_serve(server, desk, watch_every_s=watch_every_s))
    except Exception:
        logger.exception("the server failed")
        code = 1
    # The thread that reads stdin may be blocked there; waiting for it would make a zombie of us.
    sys.stderr.flush()
    os._exit(code)


async def _serve(server: Server, desk: Desk, *, watch_every_s: float) -> None:
    async with desk:
        serving = asyncio.create_task(_until_eof(server))
        watching = asyncio.create_task(client_gone(every_s=watch_every_s))
        with on_signal(serving.cancel):
            await asyncio.wait({serving, watching}, return_when=asyncio.FIRST_COMPLETED)
        _exit_in_any_case()
        serving.cancel()
        watching.cancel()
        ends = await asyncio.gather(serving, watching, return_exceptions=True)
    for end in ends:
        if isinstance(end, Exception):
            raise end


async def _until_eof(server: Server) -> None:
    lines: Any = lines_of(claim_stdin())  # The SDK asks for a file, and iterates over it.
    async with stdio_server(stdin=lines) as (read_stream, write_stream):
        low_level = server._lowlevel_server
        await low_level.run(read_stream, write_stream, low_level.create_initialization_options())


def _exit_in_any_case() -> None:
    timer = threading.Timer(CLOSE_S_MAX, os._exit, (1,))
    timer.daemon = True
    timer.start()
