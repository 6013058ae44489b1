"""Stored text is shown as data: quoted line by line, whatever it holds."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmm_mcp.context.quoting import ELLIPSIS, one_line, quoted, shortened, tokens_of

ANYTHING = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from("\n\r\x0b\x0c\x1c\x85\u2028\u2029\x1b\u202e>`# ")
)
LAYOUT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@given(ANYTHING, st.none() | st.integers(2, 60))
def test_every_line_of_a_quotation_is_marked_and_nothing_can_move_the_cursor(
    text: str, limit: int | None
) -> None:
    shown = quoted(text, chars_max=limit)
    assert all(line.startswith("> ") for line in shown.split("\n"))
    assert shown.splitlines() == shown.split("\n")
    assert not LAYOUT.search(shown.replace("\n", ""))


@given(ANYTHING, st.integers(2, 60))
def test_one_line_is_one_line(text: str, limit: int) -> None:
    shown = one_line(text, chars_max=limit)
    assert len(shown.splitlines()) <= 1
    assert len(shown) <= limit
    assert not LAYOUT.search(shown)


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [("abc", 3, "abc"), ("abcd", 3, f"a{ELLIPSIS}"), ("ab  cdef", 6, f"ab{ELLIPSIS}"), ("", 2, "")],
)
def test_what_was_cut_is_marked(text: str, limit: int, expected: str) -> None:
    assert shortened(text, chars_max=limit) == expected


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("語", 1), ("語語ab", 3), ("한국", 2), ("🚀", 1)],
)
def test_tokens_are_bytes_by_four_and_wide_characters_by_one(text: str, tokens: int) -> None:
    assert tokens_of(text) == tokens
