"""Logs: a rotating file, and warnings on stderr. stdout carries the protocol and nothing else."""

import logging
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from pmm_mcp.config import Settings

_BYTES_MAX: Final = 1_000_000


def log_file(settings: Settings) -> Path:
    """Return where the log is written."""
    return settings.log_dir / "pmm-mcp.log"


def log_to_file(settings: Settings) -> None:
    """Send everything at the configured level to the file; a file that cannot be written is done without."""
    path = log_file(settings)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(path, maxBytes=_BYTES_MAX, backupCount=3, encoding="utf-8", delay=True)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(process)d %(name)s %(message)s"))
        root = logging.getLogger()
        root.addHandler(handler)
        root.setLevel(settings.log_level.upper())
