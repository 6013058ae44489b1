"""Noticing that the client is gone although stdin stays open, as behind a wrapper that was left over."""

import asyncio
import os
from pathlib import Path
from typing import Final

_EVERY_S: Final = 5.0
_WRAPPERS: Final = frozenset(("uv", "uvx", "npx", "npm", "sh", "bash", "dash", "zsh", "env", "timeout"))
_DEPTH: Final = 4


async def parent_gone() -> None:
    """Return once a process between us and the client, or the client itself, has ended."""
    ours = _ancestry()
    while _ancestry()[: len(ours)] == ours:
        await asyncio.sleep(_EVERY_S)


def _ancestry() -> tuple[int, ...]:
    """Return the pid of our parent and, as long as those are wrappers, of theirs."""
    pids = [os.getppid()]
    for _ in range(_DEPTH):
        name, parent = _process(pids[-1])
        if name not in _WRAPPERS or parent <= 1:
            break
        pids.append(parent)
    return tuple(pids)


def _process(pid: int) -> tuple[str, int]:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", 0
    name, _, rest = stat.partition("(")[2].rpartition(")")
    return name, int(rest.split()[1])
