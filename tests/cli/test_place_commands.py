"""Places and withdrawals on the command line."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

OLD, NEW = "https://example.org/owner/name.git", "https://example.org/other/name.git"


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", OLD)
    return folder


def test_a_place_says_what_is_seen_from_it(cli: Cli, project: Path) -> None:
    cli("init")
    shown, data = cli("place", "show", "--cwd", "project"), cli("place", "show", "--cwd", "project", "--json")

    assert data.json["repo"] == "repo://example.org/owner/name"
    assert data.json["worktree"].endswith("/project")
    assert data.json["git_dir"] == str(project / ".git")
    assert data.json["visible"][:2] == [data.json["worktree"], data.json["repo"]]
    assert data.json["visible"][-1] == "global://default"
    assert shown.code == 0
    for line in ("repo  repo://example.org/owner/name", f"git dir  {project / '.git'}"):
        assert line in shown.out


def test_outside_a_repository_a_place_says_so(cli: Cli, home: Path) -> None:
    cli("init")
    result = cli("place", "show", "--cwd", str(home), "--json").json

    assert result["repo"] == "repo://unscoped"
    assert "no git repository" in result["notice"]


def test_a_changed_remote_is_told_until_a_person_confirms_it(cli: Cli, project: Path) -> None:
    cli("record", "The old remote.", "--cwd", "project")
    git(project, "remote", "set-url", "origin", NEW)
    told = cli("status", "--cwd", "project")
    shown = cli("place", "show", "--cwd", "project", "--json").json
    confirmed = cli("place", "confirm", "--cwd", "project", "--json").json
    after = cli("status", "--cwd", "project", "--json").json
    (event,) = cli("events", "--kind", "place_confirmed", "--json").json["events"]

    assert "pmm-mcp place confirm" in told.out
    assert (shown["was"], confirmed["was"]) == ("repo://example.org/owner/name",) * 2
    assert (shown["repo"], confirmed["repo"]) == ("repo://example.org/other/name",) * 2
    assert "notice" not in confirmed
    assert "notice" not in after
    assert "repo://example.org/other/name" in json.dumps(event)


def test_where_nothing_changed_there_is_nothing_to_confirm(cli: Cli, project: Path) -> None:
    assert cli("place", "confirm", "--cwd", "project").code == 3  # There is no ledger to tell.
    cli("record", "The only remote.", "--cwd", "project")
    refused = cli("place", "confirm", "--cwd", "project", "--json")

    assert (refused.code, refused.error["code"]) == (1, "move_not_allowed")
    assert str(project) not in refused.error["message"]


def test_what_was_withdrawn_is_not_found_and_says_so(cli: Cli) -> None:
    said = cli("record", "The pool is 16.", "--json").json["id"]
    shown = cli("withdraw", said, "--reason", "another pool")
    again = cli("withdraw", said, "--reason", "another pool")

    assert shown.out.splitlines() == [f"{said}  withdrawn"]
    assert again.out.splitlines() == [f"{said}  withdrawn", "withdrawn before"]
    assert cli("search", "pool", "--json").json["results"] == []
    assert cli("get", said, "--json").json["item"]["status"] == "withdrawn"
    assert "another pool" in cli("get", said).out


def test_withdrawing_takes_evidence_and_a_reason(cli: Cli) -> None:
    assert cli("withdraw", "ev:2", "--reason", "wrong").code == 3  # Nor does it create a ledger.
    cli("record", "The pool is 16.")

    assert cli("withdraw", "ev:2", "--json").error["code"] == "usage"
    assert cli("withdraw", "ev:2", "--reason", " ", "--json").error["code"] == "invalid_argument"
    assert cli("withdraw", "ev:99", "--reason", "wrong", "--json").error["code"] == "not_found"
