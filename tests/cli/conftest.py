"""A command line to call: in this process, on a ledger and a home of the test's own."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from pmm_mcp.cli import main
from pmm_mcp.config import Settings


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout."""
        assert self.out.count("\n") == 1
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The one JSON document on stderr."""
        assert self.out == ""
        return json.loads(self.err)


Cli = Callable[..., Outcome]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setenv("HOME", str(path))
    return path


@pytest.fixture
def db(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "ledger.db"
    for name in (
        "CODEX_HOME",
        "FORCE_COLOR",
        "CLAUDE_PROJECT_DIR",
        *(f"PMM_MCP_{one.upper()}" for one in Settings.model_fields),
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PMM_MCP_DB", str(path))
    monkeypatch.chdir(home)
    return path


@pytest.fixture
def served() -> list[dict[str, Any]]:
    """What the commands of the test would have served."""
    return []


@pytest.fixture
def cli(
    db: Path,
    served: list[dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Cli:
    def serve(settings: Settings, **said: Any) -> None:
        served.append({"settings": settings, **said})

    def call(*arguments: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin)))
        capsys.readouterr()
        code = main(arguments, serve=serve)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call
