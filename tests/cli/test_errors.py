"""What goes wrong is said on stderr, with a hint, and in the exit code."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pmm_mcp.cli import main
from tests.cli.conftest import Cli

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    arguments: tuple[str, ...]
    exit_code: int
    code: str


CASES = (
    Case(name="no_such_command", arguments=("bogus",), exit_code=2, code="usage"),
    Case(name="an_argument_is_missing", arguments=("search",), exit_code=2, code="usage"),
    Case(name="a_number_is_none", arguments=("log", "-n", "many"), exit_code=2, code="usage"),
    Case(name="a_value_is_not_allowed", arguments=("log", "-n", "0"), exit_code=2, code="invalid_argument"),
    Case(name="an_id_is_none", arguments=("get", "x"), exit_code=2, code="invalid_argument"),
    Case(
        name="a_kind_is_none", arguments=("search", "x", "--kind", "y"), exit_code=2, code="invalid_argument"
    ),
    Case(name="an_empty_text", arguments=("record", " "), exit_code=2, code="invalid_argument"),
    Case(name="a_text_too_large", arguments=("record", "x" * 1_100_000), exit_code=2, code="too_large"),
    Case(
        name="no_such_model",
        arguments=("turn", "x", "--model", "scripted:absent"),
        exit_code=2,
        code="model_unavailable",
    ),
    Case(name="no_such_file", arguments=("import", "pmm", "absent.db"), exit_code=2, code="usage"),
    Case(
        name="two_beginnings",
        arguments=("verify", "--since-last", "--from-seq", "2"),
        exit_code=2,
        code="invalid_argument",
    ),
    Case(name="an_export_beside_json", arguments=("export", "md"), exit_code=2, code="invalid_argument"),
    Case(
        name="an_export_into_nowhere",
        arguments=("export", "md", "--out", "a/b"),
        exit_code=2,
        code="invalid_argument",
    ),
    Case(name="a_thing_that_is_not_there", arguments=("get", "ev:99"), exit_code=1, code="not_found"),
    Case(
        name="a_relative_ledger",
        arguments=("status", "--db", "ledger.db"),
        exit_code=3,
        code="ledger_unavailable",
    ),
    Case(
        name="a_directory_for_a_ledger",
        arguments=("status", "--db", "/"),
        exit_code=3,
        code="ledger_unavailable",
    ),
    Case(
        name="no_ledger_to_verify",
        arguments=("verify", "--db", "/absent/l.db"),
        exit_code=3,
        code="ledger_unavailable",
    ),
    Case(
        name="no_such_toolset", arguments=("serve", "--toolsets", "x"), exit_code=2, code="invalid_argument"
    ),
    Case(
        name="two_addresses",
        arguments=("serve", "--http", "a:1", "--sse", "b:1"),
        exit_code=2,
        code="invalid_argument",
    ),
    Case(
        name="tokens_without_an_address",
        arguments=("serve", "--token-file", "x"),
        exit_code=2,
        code="invalid_argument",
    ),
)


@pytest.fixture(scope="module")
def empty_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "ledger.db"
    assert main(["init", "--db", str(path)], serve=lambda *_, **__: None) == 0
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_error(cli: Cli, empty_ledger: Path, monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    monkeypatch.setenv("PMM_MCP_DB", str(empty_ledger))

    failed = cli(*case.arguments, "--json")

    assert failed.code == case.exit_code
    assert failed.error.keys() == {"code", "message", "hint"}
    assert failed.error["code"] == case.code


@pytest.mark.parametrize("arguments", [("bogus",), ("get", "x"), ("get", "ev:99")], ids=" ".join)
def test_a_person_reads_the_message_and_then_the_hint(cli: Cli, arguments: tuple[str, ...]) -> None:
    cli("init")

    said, error = cli(*arguments), cli(*arguments, "--json").error

    assert said.out == ""
    assert said.err == f"pmm-mcp: {error['message']}\n{error['hint']}\n"


def test_reading_never_creates_a_ledger(cli: Cli, db: Path) -> None:
    for command in (
        ("log",),
        ("events",),
        ("verify",),
        ("rebuild",),
        ("search", "x"),
        ("get", "ev:1"),
        ("export", "md"),
    ):
        assert cli(*command).code == 3
    assert not db.exists()


def test_a_ledger_that_is_none_is_unavailable(cli: Cli, db: Path) -> None:
    db.write_text("no ledger at all " * 100)

    failed = cli("status", "--json")

    assert failed.code == 3
    assert failed.error["hint"]


def test_a_setting_that_is_not_allowed_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMM_MCP_LEASE_WAIT_S", "soon")

    failed = cli("config", "--json")

    assert failed.code == 2
    assert "lease_wait_s" in failed.error["message"]


def test_an_error_cannot_style_the_terminal(cli: Cli) -> None:
    cli("init")

    failed = cli("get", "\x1b[31m[red]x[/red]\x9b")

    assert failed.code == 2
    assert "[red]x[/red]" in failed.err
    assert not {"\x1b", "\x9b"} & set(failed.err)


def test_options_for_all_commands_may_stand_before_or_after(cli: Cli, tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")

    assert cli("--db", other, "--json", "init").json["path"] == other
    assert cli("init", "--db", other, "--json").json["path"] == other


def test_config_says_where_each_value_comes_from(cli: Cli, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMM_MCP_MODEL", "ollama:x")

    settings = cli("config", "--json").json["settings"]

    assert settings["db"] == {"value": str(db), "origin": "environment"}
    assert settings["model"] == {"value": "ollama:x", "origin": "environment"}
    assert settings["embedder"]["origin"] == "default"
    assert cli("config", "--db", "/other.db", "--json").json["settings"]["db"] == {
        "value": "/other.db",
        "origin": "--db",
    }
    assert "ollama:x" in cli("config").out


def test_what_is_served_and_where_is_handed_on(cli: Cli, served: list[dict[str, Any]]) -> None:
    cli(
        "serve",
        "--http",
        "127.0.0.1:1",
        "--token-file",
        "t",
        "--allowed-host",
        "a",
        "--allowed-host",
        "b",
        "--read-only",
        "--toolsets",
        "all",
    )
    cli("serve", "--sse", "127.0.0.1:2")

    first, second = served
    assert (first["http"], first["sse"], first["token_file"]) == ("127.0.0.1:1", "", Path("t"))
    assert first["allowed_hosts"] == ["a", "b"]
    assert (first["settings"].read_only, first["settings"].toolsets) == (True, "all")
    assert (second["http"], second["sse"], second["token_file"]) == ("", "127.0.0.1:2", None)


def program(db: Path, *arguments: str, **options: Any) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-m", "pmm_mcp", "--db", str(db), *arguments],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
        **options,
    )


def test_a_reader_that_has_seen_enough_ends_the_program_quietly(cli: Cli, db: Path) -> None:
    cli("record", "long " * 40_000)

    piped = subprocess.Popen(
        [sys.executable, "-m", "pmm_mcp", "--db", str(db), "export", "md"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert piped.stdout is not None
    assert piped.stdout.read(10) == b"# A ledger"
    piped.stdout.close()
    assert piped.stderr is not None
    said = piped.stderr.read()
    piped.stderr.close()

    assert piped.wait(timeout=60) == 0
    assert b"Traceback" not in said
    assert b"Broken" not in said


def test_the_program_itself_answers_whatever_the_encoding(db: Path) -> None:
    done = program(
        db,
        "record",
        "-",
        "--json",
        input="é 漢".encode(),
        env={"PYTHONIOENCODING": "ascii", "PATH": "", "HOME": str(db.parent)},
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b'{"head":')


def test_serving_with_options_but_no_address_is_serving_over_stdio(db: Path) -> None:
    done = program(db, "serve", "--read-only", input=b"")

    assert (done.returncode, done.stdout) == (0, b"")


def test_serving_over_stdio_imports_nothing_of_the_command_line() -> None:
    code = (
        "import sys, pmm_mcp.__main__, pmm_mcp.server.stdio\n"
        "sys.exit(bool({'typer', 'rich', 'tomlkit'} & set(sys.modules)))"
    )

    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False).returncode == 0


def test_no_hint_names_a_command_that_does_not_exist(cli: Cli) -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "pmm_mcp").rglob("*.py")]
    named = {name for source in sources for name in re.findall(r"`pmm-mcp ([a-z]+)", source)}

    assert {"verify", "status"} <= named
    assert {name for name in named if cli(name, "--help").code != 0} == set()
