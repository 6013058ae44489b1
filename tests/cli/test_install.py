"""Telling clients about the server: what is theirs stays theirs, and nothing is ever half written."""

import json
import os
import re
import sys
import tomllib
from pathlib import Path

import pytest

from pmm_mcp.cli.clients import BEGIN, END, INSTRUCTIONS
from pmm_mcp.server.toolsets import FAMILIES
from tests.cli.conftest import Cli

CODEX = """\
# mine
model = "gpt"   # the good one

[mcp_servers.other]
command = 'x' # keep

# about the profile
[profiles.fast]
effort = "low"
"""
CLAUDE = {
    "numStartups": 7,
    "projects": {"/p": {"history": ["é", "\ud83d"]}},
    "mcpServers": {"other": {"command": "x"}},
}


def test_codex_learns_how_to_launch_the_server(cli: Cli, home: Path) -> None:
    result = cli("install", "codex", "--json").json

    config = tomllib.loads((home / ".codex" / "config.toml").read_text())
    entry = config["mcp_servers"]["pmm"]
    assert result["files"][0]["action"] == "created"
    assert (entry["command"], entry["args"]) == (sys.executable, ["-m", "pmm_mcp"])
    assert os.path.isabs(entry["command"])
    assert {"PMM_MCP_DB", "PMM_MCP_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST"} <= set(
        entry["env_vars"]
    )
    assert entry["startup_timeout_sec"] == 30


def test_claude_code_learns_how_to_launch_the_server(cli: Cli, home: Path) -> None:
    cli("install", "claude", "--db", "/data/ledger.db")

    entry = json.loads((home / ".claude.json").read_text())["mcpServers"]["pmm"]
    assert (entry["command"], entry["args"]) == (sys.executable, ["-m", "pmm_mcp"])
    assert entry["env"]["PMM_MCP_DB"] == "/data/ledger.db"


@pytest.mark.parametrize(("client", "name"), [("claude", ".mcp.json"), ("codex", ".codex/config.toml")])
def test_one_project_may_be_told_alone(cli: Cli, home: Path, client: str, name: str) -> None:
    (home / "project").mkdir()

    cli("install", client, "--scope", "project", "--cwd", "project")

    written = [path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()]
    assert written == [f"project/{name}"]


def test_what_else_is_in_codex_file_stays_to_the_letter(cli: Cli, home: Path) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(CODEX)
    path.chmod(0o640)

    result = cli("install", "codex", "--json").json["files"][0]

    assert path.read_text().startswith(CODEX)
    assert path.stat().st_mode & 0o777 == 0o640
    assert Path(result["backup"]).read_text() == CODEX
    assert "+[mcp_servers.pmm]" in result["diff"]


def test_what_else_is_in_claudes_file_stays(cli: Cli, home: Path) -> None:
    path = home / ".claude.json"
    path.write_text(json.dumps(CLAUDE, indent=4))
    path.chmod(0o600)

    result = cli("install", "claude", "--json").json["files"][0]

    after = json.loads(path.read_text())
    del after["mcpServers"]["pmm"]
    assert after == CLAUDE
    assert path.read_text().startswith('{\n    "numStartups"')
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(Path(result["backup"]).read_text()) == CLAUDE
    assert Path(result["backup"]).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_installing_again_changes_nothing(cli: Cli, home: Path, client: str) -> None:
    cli("install", client, "--instructions")
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}

    again = cli("install", client, "--instructions", "--json").json

    assert [file["action"] for file in again["files"]] == ["unchanged", "unchanged"]
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


def test_an_older_entry_is_mended_and_what_was_added_by_hand_stays(cli: Cli, home: Path) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(
        "[mcp_servers.pmm]\ncommand = '/old'  # why\nargs = ['serve']\n"
        "tool_timeout_sec = 9\nenv_vars = ['A']\n"
        "[mcp_servers.pmm.env]\nB = '1'\n"
        "[mcp_servers.pmm.tools.pmm_turn]\napproval_mode = 'approve'\n"
        "[last]\nx = 1\n"
    )

    cli("install", "codex")

    text = path.read_text()
    config = tomllib.loads(text)
    entry = config["mcp_servers"]["pmm"]
    assert (entry["command"], entry["args"]) == (sys.executable, ["-m", "pmm_mcp"])
    assert (entry["tool_timeout_sec"], entry["env_vars"], entry["env"]["B"]) == (9, ["A"], "1")
    assert entry["tools"] == {"pmm_turn": {"approval_mode": "approve"}}
    assert config["last"] == {"x": 1}
    assert "# why" in text


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("codex", "model = "),
        ("codex", "mcp_servers = 3\n"),
        ("codex", "mcp_servers = {other = {command = 'x'}}\n"),
        ("codex", "[mcp_servers]\npmm = 1\n"),
        ("claude", '{"mcpServers": '),
        ("claude", "// comment\n{}"),
        ("claude", "[]"),
        ("claude", '{"mcpServers": []}'),
        ("claude", '{"a": 1, "a": 2}'),
        ("claude", '{"a": 1e999}'),
        ("claude", '{"a":' * 3_000),
        ("claude", "\xff"),
    ],
    ids=range(12),
)
def test_a_file_that_cannot_be_edited_safely_is_left_alone(
    cli: Cli, home: Path, client: str, text: str
) -> None:
    path = home / (".claude.json" if client == "claude" else ".codex/config.toml")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode("latin-1"))

    failed = cli("install", client, "--instructions", "--json")

    assert (failed.code, failed.error["code"]) == (2, "invalid_argument")
    assert path.read_bytes() == text.encode("latin-1")
    assert [found for found in home.rglob("*") if found.is_file()] == [path]


def test_print_writes_nothing(cli: Cli, home: Path) -> None:
    shown = cli("install", "codex", "--print")

    assert list(home.iterdir()) == []
    assert "[mcp_servers.pmm]" in shown.out
    assert INSTRUCTIONS in shown.out
    entry = cli("install", "claude", "--print", "--json").json["files"][0]["text"]
    assert json.loads(entry)["mcpServers"]["pmm"]["args"] == ["-m", "pmm_mcp"]


def test_instructions_are_added_only_when_asked_for(cli: Cli, home: Path) -> None:
    quiet = cli("install", "codex", "--json").json
    assert not (home / ".codex" / "AGENTS.md").exists()
    assert "--instructions" in quiet["notice"]

    cli("install", "codex", "--instructions")
    assert (home / ".codex" / "AGENTS.md").read_text() == INSTRUCTIONS


def test_instructions_are_six_lines_that_name_tools_there_are() -> None:
    lines = INSTRUCTIONS.splitlines()

    tools = {tool.name for family in FAMILIES for tool in family.tools}
    assert (lines[0], lines[-1], len(lines)) == (BEGIN, END, 8)
    assert set(re.findall(r"`(\w+)`", INSTRUCTIONS)) <= tools


def test_a_relative_ledger_is_written_nowhere(cli: Cli, home: Path) -> None:
    assert cli("install", "codex", "--db", "ledger.db").code == 2
    assert list(home.iterdir()) == []


def test_instructions_are_replaced_in_their_place(cli: Cli, home: Path) -> None:
    path = home / ".claude" / "CLAUDE.md"
    path.parent.mkdir()
    path.write_text(f"# Mine\n\n{BEGIN}\nold\n{END}\n\nafter")

    cli("install", "claude", "--instructions")

    assert path.read_text() == f"# Mine\n\n{INSTRUCTIONS}\nafter"


def test_instructions_with_a_lost_marker_are_left_alone(cli: Cli, home: Path) -> None:
    path = home / ".claude" / "CLAUDE.md"
    path.parent.mkdir()
    path.write_text(f"# Mine\n{BEGIN}\nold\n")

    assert cli("install", "claude", "--instructions").code == 2
    assert path.read_text() == f"# Mine\n{BEGIN}\nold\n"
    assert not (home / ".claude.json").exists()


def test_every_backup_is_kept(cli: Cli, home: Path) -> None:
    path = home / ".mcp.json"
    for version in (1, 2):
        path.write_text(json.dumps({"version": version}))
        cli("install", "claude", "--scope", "project")

    backups = sorted(found.name for found in home.iterdir() if "backup" in found.name)
    assert backups == [".mcp.json.pmm-backup", ".mcp.json.pmm-backup-2"]
    assert json.loads((home / backups[0]).read_text()) == {"version": 1}


def test_a_linked_file_stays_a_link(cli: Cli, home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text("{}")
    (home / ".claude.json").symlink_to(real)

    cli("install", "claude")

    assert (home / ".claude.json").is_symlink()
    assert "pmm" in json.loads(real.read_text())["mcpServers"]
