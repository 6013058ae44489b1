"""Servers that are gone when their test is over, whatever came of it."""

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.server.wire import Wire

Start = Callable[..., Wire]


@pytest.fixture
def start(tmp_path: Path) -> Generator[Start]:
    """Start a server over stdio in this test's directory, and shake hands unless told not to."""
    started: list[Wire] = []

    def start(*argv: str, greet: bool = True, **settings: Any) -> Wire:
        wire = Wire(tmp_path, *argv, **settings)
        started.append(wire)
        if greet:
            wire.greet()
        return wire

    yield start
    for wire in started:
        wire.discard()
