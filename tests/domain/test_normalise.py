"""Normalisation: what enters is valid Unicode, and what was changed is said."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmm_mcp.domain.normalise import normalise

ANY_TEXT = st.text(st.characters(exclude_categories=()) | st.sampled_from("\x00\ud83c\udf78"))


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    text: str
    value: str
    changes: tuple[str, ...] = ()


CASES = (
    Case(name="plain_text_is_kept", text=" a\r\n\tb ", value=" a\r\n\tb "),
    Case(name="decomposed_accents_are_kept", text="e\u0301", value="e\u0301"),
    Case(name="a_pair_is_joined", text="x\ud83c\udf78", value="x🍸", changes=("surrogates_joined",)),
    Case(name="a_lone_half_is_replaced", text="\ud800a", value="\ufffda", changes=("surrogates_replaced",)),
    Case(name="halves_in_the_wrong_order_are_no_pair", text="\udf78\ud83c", value="\ufffd" * 2,
         changes=("surrogates_replaced",)),
    Case(name="nul_is_removed", text="hello\x00world", value="helloworld", changes=("nul_removed",)),
    Case(name="nul_between_halves_makes_no_pair", text="\ud83c\x00\udf78", value="\ufffd" * 2,
         changes=("surrogates_replaced", "nul_removed")),
    Case(name="all_changes_are_named", text="\ud83c\udf78\ud800\x00", value="🍸\ufffd",
         changes=("surrogates_joined", "surrogates_replaced", "nul_removed")),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_normalise(case: Case) -> None:
    result = normalise(case.text)
    assert (result.value, result.changes) == (case.value, case.changes)


@given(ANY_TEXT)
def test_any_text_becomes_utf8_without_nul_and_stays_so(text: str) -> None:
    result = normalise(text)
    assert "\x00" not in result.value.encode().decode()
    assert normalise(result.value).changes == ()
    assert (result.value == text) == (result.changes == ())
