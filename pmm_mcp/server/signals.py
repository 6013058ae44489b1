"""Signals that ask the server to end."""

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

_NAMES = ("SIGTERM", "SIGINT", "SIGHUP")


@contextmanager
def on_signal(stop: Callable[[], object]) -> Generator[None]:
    """Call `stop` when a signal asks the process to end; where the loop takes none (Windows), do nothing."""
    loop = asyncio.get_running_loop()
    numbers = [number for name in _NAMES if (number := getattr(signal, name, None))]
    taken = []
    for number in numbers:
        with suppress(NotImplementedError, RuntimeError):
            loop.add_signal_handler(number, stop)
            taken.append(number)
    try:
        yield
    finally:
        for number in taken:
            loop.remove_signal_handler(number)
