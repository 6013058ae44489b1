"""What the benchmarks share: a board for the figures, and a place on the disk that is measured."""

import os
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest

from tests.bench.report import RESULTS, Row, aligned, closing_table, save

BOARD: Final[list[Row]] = []


class Board:
    """Takes the rows of one benchmark, and prints each as it comes."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.rows: list[Row] = []
        self._capsys = capsys

    def add(self, row: Row) -> None:
        self.rows.append(row)
        with self._capsys.disabled():
            print(f"\n{aligned(row.cells)}", end="", flush=True)


@pytest.fixture
def board(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Generator[Board]:
    """Where a benchmark puts its figures."""
    board = Board(capsys)
    yield board
    if board.rows:
        save(request.node.name.removeprefix("test_"), board.rows)
        BOARD.extend(board.rows)


@pytest.fixture
def scratch(request: pytest.FixtureRequest) -> Generator[Path]:
    """An empty directory on the disk of the project, gone afterwards: /tmp may be memory."""
    path = RESULTS / "scratch" / f"{request.node.name}-{os.getpid()}"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if BOARD:
        terminalreporter.section("benchmarks")
        for line in closing_table(BOARD):
            terminalreporter.write_line(line)
