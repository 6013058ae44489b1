"""Logs: a rotating file, and warnings on stderr. stdout carries the protocol and nothing else."""

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from pmm_mcp.config import Settings

_BYTES_MAX: Final = 1_000_000
_RICH: Final = "rich.console"


def log_file(settings: Settings) -> Path:
    """Return where the log is written."""
    return settings.log_dir / "pmm-mcp.log"


def log_to_file(settings: Settings) -> None:
    """Send everything at the configured level to the file; a file that cannot be written is done without."""
    root = logging.getLogger()
    root.setLevel(settings.log_level.upper())
    stderr = logging.StreamHandler(sys.stderr)
    stderr.setLevel(logging.WARNING)
    stderr.setFormatter(logging.Formatter("pmm-mcp: %(levelname)s %(message)s"))
    root.addHandler(stderr)
    path = log_file(settings)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(path, maxBytes=_BYTES_MAX, backupCount=3, encoding="utf-8", delay=True)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(process)d %(name)s %(message)s"))
        root.addHandler(handler)


@contextmanager
def rich_left_out() -> Generator[None]:
    """Keep the SDK from loading rich, which it would for a log handler of its own; that is slow to start."""
    if _RICH in sys.modules:
        yield
        return
    sys.modules[_RICH] = None  # type: ignore[assignment]  # so the import fails, and the SDK does without
    try:
        yield
    finally:
        del sys.modules[_RICH]
