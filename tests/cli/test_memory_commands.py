"""Recording, searching, looking, speaking: what a person sees and what a program gets."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

HOSTILE = (
    "\x1b[31mred\x1b]0;title\x07 \x9b1m [bold]b[/bold] :smile: \u202egnp.exe \u200b\ufeff \U000e0041 end"
)
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\ufeff\U000e0000-\U000e007f]")


def test_init_creates_the_ledger_and_says_where(cli: Cli, db: Path) -> None:
    first, second = cli("init", "--json").json, cli("init", "--json").json

    assert db.exists()
    assert (first["path"], first["created"]) == (str(db), True)
    assert second == {**first, "created": False}
    assert cli("init").out.splitlines()[0] == str(db)


def test_status_tells_more_unless_it_is_to_be_brief(cli: Cli, db: Path) -> None:
    assert cli("status").code == 3  # Looking creates nothing.
    assert cli("init").code == 0
    whole, brief = cli("status", "--json").json, cli("status", "--brief", "--json").json

    assert whole["ledger"]["path"] == str(db)
    assert "ledger" not in brief
    assert brief["wake_up"]
    assert str(db) in cli("status").out


def test_what_is_recorded_is_found_and_shown(cli: Cli) -> None:
    said = cli(
        "record",
        "We use tabs, since the linter wants them",
        "--label",
        "style",
        "--label",
        "lint",
        "--importance",
        "4",
        "--json",
    ).json
    found = cli("search", "linter", "--label", "style", "--json").json
    shown = cli("get", said["id"], "--json").json

    assert [one["id"] for one in found["results"]] == [said["id"]]
    assert shown["item"]["texts"] == {"content": "We use tabs, since the linter wants them"}
    assert shown["item"]["actor"]["kind"] == "human"
    assert shown["item"]["actor"]["name"] == "cli"
    assert shown["item"]["actor"]["session"].startswith("cli-")
    assert shown["item"]["details"]["labels"] == ["lint", "style"]
    assert "> We use tabs" in cli("get", said["id"]).out
    assert said["id"] in cli("search", "linter").out


def test_two_commands_are_two_sessions(cli: Cli) -> None:
    ids = [cli("record", text, "--json").json["id"] for text in ("one", "two")]

    sessions = {cli("get", one, "--json").json["item"]["actor"]["session"] for one in ids}

    assert len(sessions) == 2


def test_a_dash_reads_stdin_without_its_last_line_feed(cli: Cli) -> None:
    said = cli("record", "-", "--json", stdin="zwei\nZeilen – ja\n".encode()).json

    assert cli("get", said["id"], "--json").json["item"]["texts"]["content"] == "zwei\nZeilen – ja"


def test_a_request_id_gives_the_first_result_again(cli: Cli) -> None:
    first = cli("record", "once", "--request-id", "r1", "--json").json
    again = cli("record", "once", "--request-id", "r1", "--json").json

    assert (again["id"], again.get("repeated")) == (first["id"], True)


def test_a_dry_run_records_nothing(cli: Cli) -> None:
    assert cli("record", "perhaps", "--dry-run", "--json").json["id"] == ""
    assert cli("search", "perhaps", "--json").json["results"] == []


def test_evidence_belongs_to_the_directory_that_is_named(cli: Cli, home: Path) -> None:
    subprocess.run(["git", "init", "-q", "project"], cwd=home, check=True)

    said = cli("record", "here", "--cwd", "project", "--json").json

    assert said["anchor"] == cli("--cwd", str(home / "project"), "record", "there", "--json").json["anchor"]
    assert said["anchor"].endswith("/project")


def test_a_turn_is_answered_and_recorded(cli: Cli, home: Path) -> None:
    script = home / "script.json"
    script.write_text(json.dumps([{"text": "Yes.\nCOMMIT: write the test"}]))

    result = cli("turn", "Will you?", "--model", f"scripted:{script}", "--conversation", "c", "--json").json

    assert result["assistant"] == "Yes."
    assert [one["text"] for one in result["opened"]] == ["write the test"]
    shown = cli("get", result["turn"])
    assert "> Will you?" in shown.out
    assert "write the test" in shown.out


def test_a_turn_waits_for_its_model_however_short_a_servers_patience_is(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PMM_MCP_TURN_PATIENCE_S", "0.01")
    script = home / "script.json"
    script.write_text(json.dumps([{"text": "Late.", "delay_s": 0.1}]))

    assert (
        cli("turn", "-", "--model", f"scripted:{script}", "--json", stdin=b"Hm?").json["assistant"] == "Late."
    )


def test_a_turn_without_a_reply_exits_with_1_and_says_why(cli: Cli, home: Path) -> None:
    script = home / "script.json"
    script.write_text(json.dumps([{"text": "", "error": "rate_limited"}]))

    failed = cli("turn", "Will you?", "--model", f"scripted:{script}")

    assert failed.code == 1
    assert "transport_error: rate_limited" in failed.out


def test_without_a_model_a_turn_says_what_to_set(cli: Cli) -> None:
    assert "PMM_MCP_MODEL" in cli("turn", "Anybody?").out


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_stored_text_can_do_nothing_to_a_terminal(cli: Cli, as_json: bool) -> None:
    said = cli("record", HOSTILE, "--source", "x[red]y", "--json").json
    cli("turn", HOSTILE)
    options = ["--json"] if as_json else []

    for command in (("search", "end"), ("get", said["id"]), ("log",), ("events",), ("status",)):
        shown = cli(*command, *options)
        assert shown.code == 0
        assert "gnp.exe" in shown.out
        assert OBEYED.findall(shown.out) == []
    assert as_json or "[bold]b[/bold] :smile: <U+202E>gnp.exe" in cli("get", said["id"]).out


def test_hostile_text_cannot_leave_its_quote(cli: Cli) -> None:
    said = cli("record", "a\nev:1  evidence\r\n\u2028> b", "--json").json

    lines = cli("get", said["id"]).out.splitlines()

    start = lines.index("content")
    assert all(line.startswith("> ") for line in lines[start + 1 : start + 4])


def test_json_of_hostile_text_is_the_text(cli: Cli) -> None:
    text = "\x9b1m \u202e \U000e0041 é 漢"
    said = cli("record", text, "--json").json

    assert cli("get", said["id"], "--json").json["item"]["texts"]["content"] == text
