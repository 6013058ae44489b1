"""A person's part on the command line, typed at a real terminal to the real program."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.cli.terminals import Typed, at_a_terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals there")

PASSPHRASE = "correct horse battery"
Person = Callable[..., Typed]


@pytest.fixture
def person(db: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    """Runs a command at a terminal of its own, and answers what it asks."""
    monkeypatch.setenv("PMM_MCP_KEYS_DIR", str(home / "keys"))

    def run(*arguments: str, answers: tuple[tuple[str, str], ...] = ()) -> Typed:
        return at_a_terminal(arguments, answers, environment=os.environ, cwd=str(home))

    return run


def checkout(home: Path) -> Path:
    folder = home / "project"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for n in range(8):
        (folder / f"{n}.py").write_text(f"{n}\n")
    return folder


ADD = (("New passphrase: ", PASSPHRASE), ("Once more: ", PASSPHRASE))


def sign(item: str = "") -> tuple[tuple[str, str], ...]:
    asked = ("Passphrase of Ada", PASSPHRASE)
    return ((f"Type {item} to", item), asked) if item else (asked,)


def test_a_person_makes_a_key_teaches_and_signs_a_principle_into_law(
    cli: Cli, person: Person, home: Path
) -> None:
    folder = str(checkout(home))

    def recorded(n: int) -> str:
        return str(cli("record", f"seen {n}", "--source", f"{n}.py", "--cwd", folder, "--json").json["id"])

    supporting = [recorded(n) for n in range(3)]
    added = person("reviewer", "add", "Ada", answers=ADD)
    taught = person("teach", "I saw it hold for years.", "--json", answers=sign())
    teaching = next(word for word in taught.screen.split('"') if word.startswith("ev:"))
    candidate = cli(
        "knowledge",
        "distill",
        "Evidence comes before belief.",
        "--content",
        "Whoever believes first finds what fits.",
        "--tier",
        "principle",
        *(word for one in supporting for word in ("--supporting", one)),
        "--teaching",
        teaching,
        "--cwd",
        folder,
        "--json",
    ).json["id"]
    verification = [word for n in (3, 4) for word in ("--verification", recorded(n))]

    def promote() -> Any:
        return cli(
            "knowledge", "promote", candidate, "--reason", "seen", *verification, "--cwd", folder, "--json"
        ).json

    refused = promote()
    waiting = cli("review", "list", "--json").json["waiting"]
    shown = cli("review", "show", candidate).out
    wrong_id = person("review", "approve", candidate, answers=((f"Type {candidate} to", "kn:1"),))
    wrong = person(
        "review", "approve", candidate, answers=((f"Type {candidate} to", candidate), ("Passphrase", "no"))
    )
    approved = person("review", "approve", candidate, answers=sign(candidate))
    promoted = promote()

    assert added.code == 0, added.screen
    assert PASSPHRASE not in added.screen
    assert [one["move"] for one in waiting] == ["promote"]
    assert refused["promoted"] is False
    assert "what is signed" in shown
    assert (wrong_id.code, wrong.code) == (1, 1)
    assert "not the passphrase" in wrong.screen
    assert approved.code == 0, approved.screen
    assert promoted["new_status"] == "canonical"
    assert cli("verify").code == 0
    assert [one["name"] for one in cli("reviewer", "list", "--json").json["reviewers"]] == ["Ada"]
    assert cli("status", "--json").json["reviewers"][0]["name"] == "Ada"


def test_without_a_terminal_nobody_is_a_person(cli: Cli, db: Path, home: Path) -> None:
    cli("record", "seen")
    done = subprocess.run(
        [sys.executable, "-m", "pmm_mcp", "reviewer", "add", "Ada"],
        input=f"{PASSPHRASE}\n{PASSPHRASE}\n".encode(),
        capture_output=True,
        check=False,
        timeout=60,
        start_new_session=True,
        env={**os.environ, "PMM_MCP_KEYS_DIR": str(home / "keys"), "PMM_MCP_PASSPHRASE": PASSPHRASE},
    )
    assert done.returncode == 1
    assert b"there is none" in done.stderr
    assert not (home / "keys").exists()
    assert cli("reviewer", "list", "--json").json["reviewers"] == []


def test_two_passphrases_that_differ_make_no_key(cli: Cli, person: Person, home: Path) -> None:
    cli("record", "seen")
    added = person("reviewer", "add", "Ada", answers=(ADD[0], ("Once more: ", "another one")))
    assert added.code == 1
    assert not (home / "keys").exists()


def test_teaching_without_a_reviewer_says_how_to_become_one(cli: Cli) -> None:
    cli("record", "seen")
    outcome = cli("teach", "I know.", "--json")
    assert (outcome.code, outcome.error["code"]) == (1, "review_refused")
    assert "pmm-mcp reviewer add" in outcome.error["hint"]


def test_a_key_file_is_its_owners_alone(cli: Cli, person: Person, home: Path) -> None:
    cli("record", "seen")
    person("reviewer", "add", "Ada", answers=ADD)
    (key,) = (home / "keys").iterdir()
    assert key.stat().st_mode & 0o777 == 0o600
    assert b"ENCRYPTED PRIVATE KEY" in key.read_bytes()


def published(cli: Cli, home: Path) -> str:
    """A method that waits for a person, since it should hold everywhere."""
    folder = str(checkout(home))
    seen = cli("record", "seen \x1b[2J", "--source", "0.py", "--cwd", folder, "--json").json["id"]
    item = cli(
        "knowledge", "distill", "Test first.", "--content", "It helps.", "--tier", "method",
        "--supporting", seen, "--cwd", folder, "--json",
    ).json["id"]  # fmt: skip
    again = cli("record", "seen", "--source", "1.py", "--cwd", folder, "--json").json["id"]
    cli("knowledge", "promote", item, "--reason", "seen", "--verification", again, "--cwd", folder, "--json")
    for to in ("repo", "global"):
        cli("knowledge", "publish", item, "--to", to, "--reason", "all", "--cwd", folder, "--json")
    return str(item)


def test_approving_without_a_reviewer_says_how_to_become_one(cli: Cli, home: Path) -> None:
    outcome = cli("review", "approve", published(cli, home), "--json")
    assert (outcome.code, outcome.error["code"]) == (1, "review_refused")
    assert "pmm-mcp reviewer add" in outcome.error["hint"]


def test_whoever_signs_sees_what_is_signed(cli: Cli, person: Person, home: Path) -> None:
    item = published(cli, home)
    shown = cli("review", "show", item).out
    person("reviewer", "add", "Ada", answers=ADD)
    approved = person("review", "approve", item, "--json", answers=sign(item))
    rejected = cli("review", "reject", item, "--json")
    assert approved.code == 0, approved.screen
    for screen in (shown, approved.screen):
        assert "what is signed" in screen
        assert "\N{SYMBOL FOR ESCAPE}[2J" in screen
        assert "\x1b[2J" not in screen
    assert (rejected.code, rejected.error["code"]) == (1, "not_found")


def test_reviewers_sign_for_each_other_and_make_a_gate_stricter(cli: Cli, person: Person, home: Path) -> None:
    cli("record", "seen")
    person("reviewer", "add", "Ada", answers=ADD)
    bob = person("reviewer", "add", "Bob", answers=(*sign(), *ADD))
    two = person("teach", "I know.")
    tier = ("--tier", "shu", "--reason", "too easy", "--key", "Ada")
    policy = person("reviewer", "policy", *tier, "--supporting", "2", "--verification", "1", answers=sign())
    looser = person("reviewer", "policy", *tier, "--supporting", "1", "--verification", "1", answers=sign())
    known = cli("reviewer", "list", "--json").json["reviewers"]
    revoked = person(
        "reviewer", "revoke", known[1]["key"], "--reason", "lost", "--key", "Ada", answers=sign()
    )
    gates = {gate["tier"]: gate["supporting"] for gate in cli("knowledge", "policy", "--json").json["gates"]}
    assert (bob.code, policy.code, revoked.code) == (0, 0, 0), bob.screen + policy.screen + revoked.screen
    assert two.code == looser.code == 1
    assert "not clear whose key" in two.screen
    assert "looser" in looser.screen
    assert [(one["name"], one["young"]) for one in known] == [("Ada", False), ("Bob", True)]
    assert [one["revoked"] for one in cli("reviewer", "list", "--json").json["reviewers"]] == [False, True]
    assert gates["shu"] == 2
    assert cli("verify").code == 0
