"""Writing files so that there is always either the old one or the new one, whole."""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from pmm_mcp.domain.errors import InvalidArgumentError

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_ANYONE: Final = 0o666  # less what the umask takes away
_BACKUPS_MAX: Final = 1_000


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Generator[BinaryIO]:
    """Open a file that takes the place of `path` when the block ends well; a pipe or device is written to.

    Raises:
        InvalidArgumentError: it cannot be written.

    """
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as stream:
                yield stream
            return
        # A link stays a link: what it points to is replaced.
        path = Path(os.path.realpath(path))
        beside = path.with_name(f".{path.name}.{os.getpid()}.new")
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
        try:
            with os.fdopen(
                os.open(beside, _NEW, 0o600 if private or mode is not None else _ANYONE), "wb"
            ) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                beside.chmod(mode)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(path, error) from error


def keep_copy(path: Path, data: bytes) -> Path:
    """Write the old content of a file beside it, under a name that is free; return where.

    Raises:
        InvalidArgumentError: it cannot be written.

    """
    mode = stat.S_IMODE(path.stat().st_mode)
    for number in range(1, _BACKUPS_MAX):
        backup = path.with_name(f"{path.name}.pmm-backup{'' if number == 1 else f'-{number}'}")
        with suppress(FileExistsError):
            try:
                with os.fdopen(os.open(backup, _NEW, mode), "wb") as file:
                    file.write(data)
                    os.fsync(file.fileno())
            except FileExistsError:
                raise
            except OSError as error:
                raise unwritable(backup, error) from error
            return backup
    raise InvalidArgumentError(f"{path} has {_BACKUPS_MAX} backups", hint="Remove those you no longer need.")


def unwritable(path: Path, error: OSError) -> InvalidArgumentError:
    """Return the error that says why a file cannot be used."""
    return InvalidArgumentError(
        f"{path} cannot be used: {error.strerror or error}", hint="Check the path and its permissions."
    )
