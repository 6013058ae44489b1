"""Noticing that the client is gone although stdin stays open, as behind a wrapper that was left over."""

import asyncio
import os
from pathlib import Path
from typing import Final

WATCH_EVERY_S: Final = 5.0
_WRAPPERS: Final = frozenset(("uv", "uvx", "npx", "npm", "sh", "bash", "dash", "zsh", "env", "timeout"))
_DEPTH: Final = 4

_Process = tuple[int, str]
"""A process: its pid, and when it started, for pids come again."""


async def client_gone(*, every_s: float = WATCH_EVERY_S) -> None:
    """Return once the client, or a wrapper between it and us, has ended."""
    ours = await asyncio.to_thread(_ancestry)
    while await asyncio.to_thread(_ancestry) == ours:  # noqa: ASYNC110 - a dead process sends no event
        await asyncio.sleep(every_s)


def _ancestry() -> tuple[_Process, ...]:
    """Return our parent and, as long as those are wrappers, theirs; without /proc, our parent alone."""
    found: list[_Process] = []
    pid = os.getppid()
    while len(found) < _DEPTH:
        name, parent, started = _look(pid)
        found.append((pid, started))
        if name not in _WRAPPERS or parent <= 1:
            break
        pid = parent
    return tuple(found)


def _look(pid: int) -> tuple[str, int, str]:
    """Return the name of a process, its parent, and when it started."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", 0, ""
    name, _, rest = stat.partition("(")[2].rpartition(")")
    fields = rest.split()
    return (name.split() or [""])[0], int(fields[1]), fields[19]
