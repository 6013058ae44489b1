"""Which process keeps the file locked, as far as the operating system tells."""

from pathlib import Path
from typing import Final

_LOCKS: Final = Path("/proc/locks")
_WRITE_LOCK_BYTE: Final = 120
"""Where SQLite locks the `-shm` file while it writes in WAL mode (sqlite.org/walformat.html, 2.3.1)."""


def writing_pid(ledger: Path, *, locks: Path = _LOCKS) -> int:
    """Return the process that is in the middle of a write; 0 when it cannot be told.

    The file itself is never opened: closing it would drop the locks that SQLite has on it in this process.
    """
    try:
        inode = ledger.with_name(ledger.name + "-shm").stat().st_ino
        lines = locks.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    for line in lines:
        # 7: POSIX  ADVISORY  WRITE 28049 fe:00:1234567 120 120
        match line.split():
            case [_, "POSIX", _, "WRITE", pid, file, first, last]:
                covered = last == "EOF" or int(first) <= _WRITE_LOCK_BYTE <= int(last)
                if file.endswith(f":{inode}") and covered:
                    return max(0, int(pid))
    return 0
