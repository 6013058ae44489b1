"""What is written is so: generated pages are current, and the README's commands run."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN = "bash"
SHOWN = {"sh": "the set-up commands, which CI runs in a clean clone", "ini": "settings"}


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def test_generated_pages_say_what_the_code_says() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    for name, page in generate.pages().items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == page, "run `make docs` and commit"


def test_every_block_of_the_documents_is_run_or_known() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    kinds = {kind for page in pages for kind, _ in blocks(page)}
    assert kinds <= {RUN, *SHOWN}


def test_every_link_of_the_documents_leads_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", ["README.md"])
def test_the_commands_of_the_readme_run(page: str, tmp_path: Path) -> None:
    script = "\n".join(block for kind, block in blocks(ROOT / page) if kind == RUN)
    assert ".venv/bin/pmm-mcp verify" in script
    command = f"{sys.executable} -m pmm_mcp"
    environment = os.environ | {
        "HOME": str(tmp_path),
        "PMM_MCP_LOG_DIR": str(tmp_path / "logs"),
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script.replace(".venv/bin/pmm-mcp", command)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "ev:" in done.stdout
