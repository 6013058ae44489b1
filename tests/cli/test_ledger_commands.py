"""Reading along, verifying, rebuilding, importing, exporting."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pmm_mcp.domain.chain import GENESIS, record_hash, text_digest
from tests.cli.conftest import Cli
from tests.pmm_ledgers import small_ledger


def fill(cli: Cli, count: int) -> list[str]:
    return [cli("record", f"fact number {n}", "--json").json["id"] for n in range(count)]


def damage(db: Path, seq: int) -> None:
    with closing(sqlite3.connect(db)) as file:
        file.execute("DROP TRIGGER events_are_final")
        file.execute("UPDATE events SET hash = zeroblob(32) WHERE seq = ?", (seq,))
        file.commit()


def test_log_shows_the_last_events_in_order(cli: Cli) -> None:
    fill(cli, 3)

    found = cli("log", "-n", "2", "--json").json

    assert [event["seq"] for event in found["events"]] == [found["head"] - 1, found["head"]]
    lines = cli("log", "-n", "2").out.splitlines()
    assert len(lines) == 2
    assert "fact number 2" in lines[-1]


def test_events_are_paged_with_a_cursor(cli: Cli) -> None:
    fill(cli, 3)

    first = cli("events", "--kind", "evidence_recorded", "-n", "2", "--json").json
    rest = cli(
        "events", "--kind", "evidence_recorded", "-n", "2", "--cursor", first["next_cursor"], "--json"
    ).json

    texts = [event["texts"]["content"] for event in first["events"] + rest["events"]]
    assert texts == [f"fact number {n}" for n in range(3)]


def test_a_page_is_as_long_as_asked_for(cli: Cli) -> None:
    text = "long " * 150
    for n in range(12):
        cli("record", f"{n} {text}")

    assert len(cli("log", "-n", "12", "--json").json["events"]) == 12


def test_verify_says_that_all_holds(cli: Cli) -> None:
    fill(cli, 2)

    found = cli("verify", "--projections", "--json")
    shown = cli("verify")

    assert (found.code, found.err) == (0, "")
    assert found.json["ok"]
    assert shown.out.startswith("ok: ")
    assert "verify: " in shown.err
    assert cli("verify", "--since-last", "--json").json["checked"] == 0


def test_verify_names_the_first_bad_event_and_exits_with_1(cli: Cli, db: Path) -> None:
    fill(cli, 3)
    damage(db, 3)

    found = cli("verify", "--json")

    assert found.code == 1
    assert found.json["first_bad"] == 3
    assert "the first bad event is 3" in cli("verify").out
    assert cli("verify", "--from-seq", "5").code == 0


def test_verify_writes_no_event_and_opens_no_writer(
    cli: Cli, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(cli, 2)
    head = cli("status", "--json").json["head"]
    moved = db.rename(db.with_name("moved.db"))
    monkeypatch.setattr("pmm_mcp.bootstrap.open_app", None)
    monkeypatch.setattr("pmm_mcp.bootstrap.open_ledger", None)

    found = cli("verify", "--projections", "--db", str(moved), "--json").json

    assert (found["ok"], found["head"], found["checked"]) == (True, head, head)
    assert "notes" not in found or found["notes"] == []
    assert cli("verify", "--since-last", "--db", str(moved), "--json").json["checked"] == 0
    with closing(sqlite3.connect(moved)) as file:
        assert file.execute("SELECT MAX(seq) FROM events").fetchone() == (head,)


def test_verify_and_since_last_miss_a_tail_that_was_cut(cli: Cli, db: Path) -> None:
    fill(cli, 3)
    head = cli("verify", "--json").json["head"]
    with closing(sqlite3.connect(db)) as file:
        file.execute("DROP TRIGGER events_are_kept")
        file.execute("DROP TRIGGER texts_go_by_redaction")
        file.execute("DELETE FROM event_text WHERE seq >= ?", (head - 1,))
        file.execute("DELETE FROM events WHERE seq >= ?", (head - 1,))
        file.commit()

    for options in ((), ("--since-last",)):
        found = cli("verify", *options, "--json")
        assert (found.code, found.json["first_bad"]) == (1, head - 1)
        assert [problem["code"] for problem in found.json["problems"]] == ["missing"]


def test_verify_judges_a_file_that_no_ledger_can_be_opened_from(cli: Cli, db: Path) -> None:
    db.write_bytes(b"x" * 8192)

    found = cli("verify", "--json")

    assert (found.code, found.json["problems"][0]["code"]) == (1, "storage")


def test_read_only_reads_and_writes_nothing(cli: Cli, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(cli, 2)
    moved = db.rename(db.with_name("moved.db"))
    before = moved.read_bytes()
    monkeypatch.setenv("PMM_MCP_DB", str(moved))
    monkeypatch.setenv("PMM_MCP_READ_ONLY", "1")

    assert len(cli("search", "fact", "--json").json["results"]) == 2
    assert cli("log").code == cli("status").code == cli("verify", "--projections").code == 0
    for refused in (cli("record", "more", "--json"), cli("rebuild", "--json")):
        assert (refused.code, refused.error["code"]) == (3, "read_only")
    assert moved.read_bytes() == before


def test_rebuild_replays_every_event(cli: Cli) -> None:
    fill(cli, 2)
    head = cli("status", "--json").json["head"]

    assert cli("rebuild", "--json").json == {"replayed": head}
    assert cli("search", "fact", "--json").json["scope"]["documents"] == 2


def test_pmm_is_imported_once_and_its_forks_are_told(cli: Cli, home: Path) -> None:
    source = small_ledger()
    fork = source.add("reflection", "another branch", after=3)
    path = source.write(home / "pmm.json")

    first, second = cli("import", "pmm", str(path), "--json"), cli("import", "pmm", str(path), "--json")
    text = cli("import", "pmm", str(path))

    assert (first.json["imported"], first.json["repeated"]) == (len(source.rows), False)
    assert (second.json["imported"], second.json["repeated"]) == (0, True)
    assert second.json["forks"] == [fork]
    assert f"forks: the source branches at its events {fork}" in text.out
    assert f"import: {len(source.rows)} of {len(source.rows)}" in text.err


def test_a_source_that_does_not_verify_is_refused_with_1(cli: Cli, home: Path) -> None:
    source = small_ledger()
    source.rows[3]["content"] = "changed"
    path = source.write(home / "pmm.json")

    refused = cli("import", "pmm", str(path), "--json")

    assert (refused.code, refused.error["code"]) == (1, "import_refused")


def test_an_export_verifies_without_the_ledger(cli: Cli, home: Path) -> None:
    fill(cli, 2)
    cli("record", "\x1b[31m \u202e \U000e0041 é 漢 \u2028 " + "long " * 2_000)
    out = home / "ledger.jsonl"

    result = cli("export", "jsonl", "--out", str(out), "--json").json

    events = [json.loads(line) for line in out.read_text(encoding="utf-8").split("\n")[:-1]]
    assert (result["events"], result["size_bytes"]) == (len(events), out.stat().st_size)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    previous = GENESIS
    for event in events:
        data = json.loads(event["record"])
        assert record_hash(event["record"].encode()).hex() == event["hash"]
        assert data["prev_hash"] == previous
        assert {name: data[name] for name in ("ts", "kind", "actor", "anchor", "body")} == {
            name: event[name] for name in ("ts", "kind", "actor", "anchor", "body")
        }
        digests = {
            name: text_digest(
                salt=bytes.fromhex(event["salts"][name]), seq=event["seq"], field=name, text=text
            )
            for name, text in event["texts"].items()
        }
        assert digests == data.get("texts", {})
        previous = event["hash"]
    assert cli("export", "jsonl").out == out.read_text(encoding="utf-8")


def test_an_export_names_the_texts_that_were_removed(cli: Cli, db: Path) -> None:
    (one,) = fill(cli, 1)
    with closing(sqlite3.connect(db)) as file:
        file.execute("DROP TRIGGER texts_go_by_redaction")
        file.execute("DELETE FROM event_text WHERE seq = ?", (int(one.removeprefix("ev:")),))
        file.commit()

    events = [json.loads(line) for line in cli("export", "jsonl").out.splitlines()]

    assert [event.get("removed") for event in events if event["kind"] == "evidence_recorded"] == [["content"]]
    assert "removed      content" in cli("export", "md").out


def test_an_export_to_read_quotes_every_text(cli: Cli) -> None:
    cli("record", "first\n## 9 forged\r\u2028## 10 forged\x1b[0m\n\n    hash 00")

    document = cli("export", "md").out

    headings = [line for line in document.split("\n") if line.startswith("#")]
    assert headings[0] == "# A ledger"
    assert headings[1] == "## 1 ledger_opened"
    assert not any("forged" in line for line in headings)
    assert "> first\n> ## 9 forged" in document
    assert "\x1b" not in document


def test_an_export_replaces_a_file_whole_and_keeps_it_private(cli: Cli, home: Path) -> None:
    fill(cli, 1)
    out = home / "out.md"

    cli("export", "md", "--out", str(out))
    cli("export", "md", "--out", str(out))

    assert out.stat().st_mode & 0o777 == 0o600
    assert out.read_text().startswith("# A ledger")
    assert [path.name for path in home.iterdir() if "out.md" in path.name] == ["out.md"]


def test_a_failed_export_leaves_the_old_file(cli: Cli, db: Path, home: Path) -> None:
    fill(cli, 1)
    out = home / "out.jsonl"
    out.write_text("old")
    with closing(sqlite3.connect(db)) as file:
        file.execute("DROP TRIGGER events_are_final")
        file.execute("""UPDATE events SET record = CAST('{"seq":2}' AS BLOB) WHERE seq = 2""")
        file.commit()

    failed = cli("export", "jsonl", "--out", str(out), "--json")

    assert (failed.code, failed.error["code"]) == (3, "ledger_damaged")
    assert out.read_text() == "old"
    assert [path.name for path in home.iterdir()] == ["out.jsonl"]


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_an_export_never_overwrites_the_ledger(cli: Cli, db: Path, suffix: str) -> None:
    fill(cli, 1)

    assert cli("export", "md", "--out", f"{db}{suffix}").code == 2
    assert cli("verify").code == 0
