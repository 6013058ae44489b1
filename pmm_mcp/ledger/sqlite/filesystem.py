"""Where a ledger may live: a path that is absolute, writable, and on a disk of this machine."""

import os
import sys
from pathlib import Path
from typing import Final

from pmm_mcp.domain.errors import LedgerUnavailableError

_NETWORK: Final = frozenset(
    (
        "nfs",
        "nfs4",
        "cifs",
        "smb",
        "smbfs",
        "smb2",
        "smb3",
        "9p",
        "afs",
        "ncpfs",
        "glusterfs",
        "ceph",
        "lustre",
    )
)
_NETWORK_FUSE: Final = ("fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.glusterfs", "fuse.davfs")
_MOUNTS: Final = Path("/proc/self/mountinfo")


def check_path(path: Path, *, for_writing: bool = True) -> Path:
    """Return the real path of a ledger, which may not exist yet. Nothing is created.

    Raises:
        LedgerUnavailableError: it is relative, a directory, not writable, or on a network file system.

    """
    if not path.is_absolute():
        raise LedgerUnavailableError(
            f"the ledger's path is relative: {path}", hint="Give PMM_MCP_DB an absolute path."
        )
    try:
        os.lstat(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise LedgerUnavailableError(
            f"the ledger's path cannot be used: {error}", hint="Set PMM_MCP_DB to another path."
        ) from error
    real = Path(os.path.realpath(path))
    if real.is_dir():
        raise LedgerUnavailableError(
            f"the ledger's path is a directory: {real}", hint=f"Name a file, such as {real / 'ledger.db'}."
        )
    below = real if real.exists() else _nearest_directory(real.parent)
    if not below.is_dir() and below != real:
        raise LedgerUnavailableError(
            f"{below} is in the way and is no directory", hint="Choose another path."
        )
    if for_writing and not os.access(below, os.W_OK):
        raise LedgerUnavailableError(
            f"{below} is not writable", hint="Change its permissions, or set PMM_MCP_DB to another path."
        )
    if kind := network_file_system(real):
        raise LedgerUnavailableError(
            f"{real} is on a network file system ({kind}), where SQLite's locks do not hold",
            hint="Set PMM_MCP_DB to a path on a local disk.",
        )
    return real


def network_file_system(path: Path, *, mounts: Path = _MOUNTS) -> str:
    """Return the type of the network file system that holds the path; empty for a local disk."""
    if sys.platform == "win32" and str(path).startswith("\\\\"):
        return "UNC share"
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    best, kind = "", ""
    for line in lines:
        fields, _, rest = line.partition(" - ")
        parts = fields.split(" ")
        if len(parts) < 5 or not rest:  # noqa: PLR2004 - the fifth field is the mount point
            continue
        point = parts[4].encode("utf-8", "surrogateescape").decode("unicode_escape")
        if len(point) >= len(best) and path.is_relative_to(point):
            best, kind = point, rest.split(" ")[0]
    return kind if kind in _NETWORK or kind.startswith(_NETWORK_FUSE) else ""


def _nearest_directory(path: Path) -> Path:
    while not path.exists() and path != path.parent:
        path = path.parent
    return path
