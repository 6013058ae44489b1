"""The examples are documentation, so they run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OUTSIDE = ("PMM_", "GIT_", "OPENAI_", "OLLAMA_", "CLAUDE_")
EXAMPLES = Path(__file__).parents[1] / "examples"
STORIES = sorted(path.name for path in EXAMPLES.glob("*.py") if path.name != "stage.py")
"""All but what they stand on."""


@pytest.mark.timeout(150)
@pytest.mark.parametrize("name", STORIES)
def test_an_example_runs_and_tells_its_story(name: str, tmp_path: Path) -> None:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(OUTSIDE)}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        cwd=tmp_path,
        env=clean | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\n") > 5
