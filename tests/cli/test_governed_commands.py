"""Knowledge, cards, adoption, research and facts on the command line."""

import json

from tests.cli.conftest import Cli

REPORT = {
    "report_id": "r1",
    "title": "Caches",
    "sources": [{"id": "s1", "title": "A paper"}],
    "findings": [{"id": "f1", "text": "Caches help.", "source_ids": ["s1"]}],
}


def candidate(cli: Cli, statement: str = "Use make.") -> str:
    seen = cli("record", f"seen: {statement}", "--json").json["id"]
    made = cli(
        "knowledge",
        "distill",
        statement,
        "--content",
        "It is there.",
        "--tier",
        "tool",
        "--supporting",
        seen,
        "--json",
    )
    return str(made.json["id"])


def test_the_gate_says_what_is_missing_and_exits_with_1(cli: Cli) -> None:
    item = candidate(cli)
    closed = cli("knowledge", "gate", item)
    refused = cli("knowledge", "promote", item, "--reason", "sure")
    assert (closed.code, refused.code) == (1, 1)
    assert "missing: 1 verification" in closed.out
    assert "candidate → candidate" in refused.out


def test_lists_and_policy_gloss_the_tiers(cli: Cli) -> None:
    item = candidate(cli)
    listed, policy = cli("knowledge", "list"), cli("knowledge", "policy")
    assert f"{item}  candidate, qi (tool)" in listed.out
    assert "dao_tian (universal principle)" in policy.out
    assert cli("knowledge", "list", "--awaiting", "review").out == "nothing here\n"


def test_a_candidate_is_retired_and_a_replay_shows_what_was_believed(cli: Cli) -> None:
    item = candidate(cli)
    retired = cli(
        "knowledge", "demote", item, "--status", "retired", "--reason", "x", "--reason-type", "out_of_scope"
    )
    assert "candidate → retired" in retired.out
    assert "nothing was believed or promised here" in cli("replay").out
    assert cli("replay", "--to", "999").code == 2


def test_withdrawing_names_what_leaned_on_it(cli: Cli) -> None:
    item = candidate(cli)
    withdrawn = cli("withdraw", "ev:2", "--reason", "wrong")
    assert f"cited by {item}" in withdrawn.out


def test_cards_are_made_linked_and_backfilled(cli: Cli) -> None:
    item = candidate(cli)
    dry = cli("card", "backfill", "--json").json
    card = cli("card", "create", "--from", item, "--json").json["id"]
    linked = cli("card", "link", card, "ev:2", "--role", "supporting")
    after = cli("card", "backfill", "--execute", "--json").json
    assert (dry["ready"], after["existing"], after["created"]) == ([item], [card], [])
    assert "nothing changed" in linked.out
    assert "no active card" in cli("card", "retrieve", "make").out


def test_signals_are_drawn_and_a_closed_gate_exits_with_1(cli: Cli) -> None:
    item = candidate(cli)
    cli("adoption", "record", "rejected", "--item", item, "--note", "no")
    report = cli("adoption", "report", "--item", item)
    gate = cli("adoption", "report", "--gate", "evaluator-api")
    assert "rejected     1  █" in report.out
    assert "1 from the command line" in report.out
    assert (gate.code, "closed" in gate.out) == (1, True)


def test_a_report_is_validated_and_recorded(cli: Cli) -> None:
    cli("record", "seen")
    bad = cli("research", "validate", json.dumps(REPORT | {"title": ""}))
    good = cli("research", "validate", json.dumps(REPORT))
    first = cli("research", "record", json.dumps(REPORT), "--json").json
    again = cli("research", "record", json.dumps(REPORT), "--json").json
    assert (bad.code, good.code) == (1, 0)
    assert "$.title" in bad.out
    assert again["recorded"][0] == {**first["recorded"][0], "duplicate": True}


def test_facts_are_asserted_asked_for_and_checked(cli: Cli) -> None:
    cli("record", "seen")
    cli("fact", "assert", "billing", "database", "MySQL", "--source", "ev:2", "--valid-from", "2023-01-01")
    cli("fact", "assert", "billing", "database", "Oracle", "--source", "ev:2", "--valid-from", "2024-01-01")
    then = cli("fact", "query", "--as-of", "2023-06-01", "--json").json
    check = cli("fact", "check", "the billing database MySQL")
    assert [one["object"] for one in then["facts"]] == ["MySQL"]
    assert (check.code, "contradiction: MySQL" in check.out) == (1, True)
    assert cli("fact", "check", "a walk in the park").code == 0
