"""Which processes have a ledger open: each keeps an operating system's lock from open to exit.

Whoever can take another's lock knows that the other is gone, however it went.
"""

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from pmm_mcp.domain.lease import Holder
from pmm_mcp.ports import IdSource

_ID: Final = re.compile("[0-9a-f]{32}")


def this_process(ids: IdSource, *, role: str) -> Holder:
    """Describe this run of this process; the random id alone names it."""
    return Holder(
        id=ids.token(16).hex(),
        pid=os.getpid(),
        pid_started=_started(),
        pid_namespace=_link("/proc/self/ns/pid"),
        boot=_read("/proc/sys/kernel/random/boot_id").strip(),
        host=socket.gethostname(),
        role=role,
    )


class Liveness:
    """The locks of everyone who has this ledger open."""

    def __init__(self, ledger: Path, holder: str) -> None:
        """Prepare; `present` takes the lock."""
        self._directory = ledger.with_name(ledger.name + ".live")
        self._holder = holder

    @contextmanager
    def present(self) -> Iterator[None]:
        """Be known to be alive until the end of the block, or of the process."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._directory / self._holder
        with FileLock(path, thread_local=False):
            try:
                yield
            finally:
                # Removed while it is still held: nobody may find it free and then lose it.
                with suppress(OSError):
                    path.unlink()

    def is_dead(self, holder: str) -> bool:
        """Say whether the process that called itself so is gone. A few microseconds; never waits."""
        if holder == self._holder:
            return False
        path = self._directory / holder
        # A holder's name is read from events, and so from anyone's ledger: it opens no other path.
        if not _ID.fullmatch(holder) or not path.exists():
            return True
        lock = FileLock(path, timeout=0, thread_local=False)
        try:
            with lock:
                path.unlink(missing_ok=True)
        except Timeout:
            return False
        except OSError:
            return not path.exists()
        return True


def _started() -> str:
    """Return when this process began, in clock ticks since boot: a pid alone may be used again."""
    after_name = _read("/proc/self/stat").rpartition(")")[2].split()
    return after_name[19] if len(after_name) > 19 else ""  # noqa: PLR2004 - field 22 of proc(5)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
