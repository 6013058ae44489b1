"""Reading a file that evidence cites: whether it is there, and what git would call its content."""

import os
import stat
from functools import partial
from hashlib import sha1
from typing import Final

from pmm_mcp.domain.anchors import Place, path_of
from pmm_mcp.places.paths import is_below, real_path, why_unusable
from pmm_mcp.places.threads import in_time
from pmm_mcp.ports import FileRead

FILE_BYTES_MAX: Final = 8 * 2**20
# A pipe that nobody writes to would hold us at the door.
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class CheckoutFiles:
    """Reads regular files of a call's own checkout, and nothing else."""

    async def read(self, place: Place, path: str) -> FileRead | None:
        """Return what is there; None when it is no file of the checkout that can be read now."""
        root = None if place.worktree is None else path_of(place.worktree)
        if root is None:
            return None
        return await in_time(partial(_read, root, path), otherwise=None)


def _read(root: str, path: str) -> FileRead | None:
    whole = path if os.path.isabs(path) else os.path.join(root, path)
    if why_unusable(whole) is not None or not is_below(whole, [root]):
        return None
    real = real_path(whole)
    inside = os.path.relpath(real, real_path(root)).replace(os.sep, "/")
    if ".git" in inside.casefold().split("/") or _is_of_a_repository_within(real_path(root), inside):
        return None
    data = _content(real)
    if data is None:
        return None
    # The hash by which git names a blob; it identifies, and protects nothing.
    blob = sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    try:
        inside.encode()
    except UnicodeEncodeError:
        return None
    return FileRead(path=inside, blob=blob, lines=lines)


def _is_of_a_repository_within(root: str, inside: str) -> bool:
    """Say whether another checkout lies between: its file is one source, and it has one path, there."""
    parents = inside.split("/")[:-1]
    return any(
        os.path.lexists(os.path.join(root, *parents[:depth], ".git")) for depth in range(1, len(parents) + 1)
    )


def _content(path: str) -> bytes | None:
    try:
        descriptor = os.open(path, _FLAGS)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > FILE_BYTES_MAX:
            return None
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return data if len(data) <= FILE_BYTES_MAX else None
