"""Settings: what the project one works in may say, and what only the owner of the machine."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from pmm_mcp.config import load_settings


@dataclass(frozen=True, kw_only=True)
class Said:
    name: str
    model: str
    heard: str


SAID = (
    Said(name="a_model", model="ollama:llama3.2", heard="ollama:llama3.2"),
    Said(name="a_model_whose_name_begins_alike", model="scripted-llama", heard="scripted-llama"),
    Said(name="a_script", model="scripted:/etc/hosts", heard=""),
    Said(name="a_script_with_blanks", model='"  scripted:/etc/hosts"', heard=""),
)


@pytest.mark.parametrize("case", SAID, ids=lambda case: case.name)
def test_a_project_chooses_models_and_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Said
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PMM_MCP_MODEL", raising=False)
    (tmp_path / ".env").write_text(f"PMM_MCP_MODEL={case.model}\n")

    assert load_settings().model == case.heard


def test_the_environment_may_name_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PMM_MCP_MODEL", "scripted:/code/script.json")
    (tmp_path / ".env").write_text("PMM_MCP_MODEL=ollama:llama3.2\n")

    assert load_settings().model == "scripted:/code/script.json"
