"""The examples are documentation, so they run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
STORIES = sorted(path.name for path in EXAMPLES.glob("*.py") if path.name not in {"stage.py", "demo.py"})
"""`demo.py` has a command of its own: `make demo`."""


@pytest.mark.parametrize("name", STORIES)
def test_an_example_runs_and_tells_its_story(name: str, tmp_path: Path) -> None:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PMM_")}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        cwd=tmp_path,
        env=clean | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\n") > 5
