"""Admission: repaired, measured, free of secrets; in that order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmm_mcp.domain.admission import TEXT_BYTES_MAX, SecretsMode, admit
from pmm_mcp.domain.errors import SecretRefusedError, TooLargeError

KEY = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"


def test_clean_text_is_admitted_as_it_came() -> None:
    assert admit("We chose WAL.") == admit("We chose WAL.", secrets=SecretsMode.REFUSE)
    assert admit("We chose WAL.").changes == ()


def test_every_change_is_named() -> None:
    admitted = admit(f"\x00use {KEY}")
    assert admitted.value == "use [masked:github_token]"
    assert admitted.changes == ("nul_removed", "masked:github_token")


def test_a_secret_hidden_by_nul_is_found() -> None:
    assert KEY not in admit(f"{KEY[:20]}\x00{KEY[20:]}").value


def test_a_refusal_names_the_kind_and_never_the_value() -> None:
    with pytest.raises(SecretRefusedError) as caught:
        admit(f"use {KEY}", field="note", secrets=SecretsMode.REFUSE)
    assert "note" in str(caught.value)
    assert "github_token" in str(caught.value)
    assert KEY[4:] not in f"{caught.value} {caught.value.hint}"


def test_secrets_can_be_allowed() -> None:
    assert admit(KEY, secrets=SecretsMode.ALLOW).value == KEY


@pytest.mark.parametrize("char", ["a", "é", "健", "🍸"])
def test_the_limit_counts_bytes_and_is_never_a_cut(char: str) -> None:
    most = char * (TEXT_BYTES_MAX // len(char.encode()))
    assert admit(most).value == most
    with pytest.raises(TooLargeError, match="note"):
        admit(most + char, field="note")


@given(st.text())
def test_admitting_twice_changes_nothing_more(text: str) -> None:
    once = admit(text)
    assert admit(once.value).changes == ()
