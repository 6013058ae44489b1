"""Words: passages lose nothing, and what FTS5 misses is written beside the text."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmm_mcp.domain.words import (
    PASSAGES_MAX,
    compare_words,
    extra_terms,
    is_content_word,
    passages,
    phrase_terms,
    query_terms,
)

MIB = 1_048_576
PASSAGE_CHARS_MAX = 1_000

PIECES = st.sampled_from(
    ["word ", "End. ", "\n", "健康", "。", "getUserName", " ", "x" * 300, "🚀", "\u3000", "e\u0301"]
)
TEXTS = st.lists(PIECES | st.text(max_size=5), max_size=200).map("".join)


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    text: str
    extras: str = ""


CASES = (
    Case(name="plain_words_need_nothing", text="The user_name is in src/pmm/words.py, isn't it? 20.04"),
    Case(name="camel_case", text="getUserName", extras="get user name"),
    Case(name="pascal_case_with_an_acronym", text="HTTPServer", extras="http server"),
    Case(name="a_plural_acronym_is_one_word", text="URLs"),
    Case(name="digits_and_letters_part", text="utf8 E1234", extras="utf 8 1234"),
    Case(name="versions", text="v2.3.1", extras="2"),
    Case(name="a_hash_is_no_compound", text="3f2a9c81d0e4b5a6c7d8"),
    Case(name="cjk_bigrams", text="用户身份", extras="用户 户身 身份"),
    Case(name="a_single_cjk_character_stands_for_itself", text="健", extras="健"),
    Case(name="latin_glued_to_cjk_is_split_off", text="重跑gen-itgc后", extras="重跑 gen itgc 后"),
    Case(name="kana_and_hangul", text="テスト 사용자", extras="テス スト 사용 용자"),
    Case(name="pieces_of_hangul_are_joined", text="\u1112\u1161\u11ab\u1100\u1173\u11af", extras="한글"),
    Case(name="repeated_bigrams_stay", text="哈哈哈", extras="哈哈 哈哈"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_extra_terms(case: Case) -> None:
    assert extra_terms(case.text) == case.extras


def test_query_terms_are_distinct_lower_case_and_in_order() -> None:
    terms = query_terms("🚀launch getUserName, POL-358 GET utf8 重跑gen 健康")
    assert terms == (
        "launch", "getusername", "get", "user", "name", "pol", "358", "utf8", "utf", "8", "重跑", "gen",
        "健康",
    )  # fmt: skip


def test_a_phrase_keeps_repeated_words_and_whole_names() -> None:
    assert phrase_terms("go go getUserName 哈哈哈") == ("go", "go", "getusername", "哈哈", "哈哈")


def test_function_words_are_not_content() -> None:
    assert not any(map(is_content_word, ("the", "is", "of", "don", "t")))
    assert all(map(is_content_word, ("database", "健康", "358")))


def test_near_duplicates_compare_high_and_strangers_low() -> None:
    assert compare_words("Use WAL mode.", "use wal MODE") == 1_000_000
    assert compare_words("use wal mode", "use wal journal") == 500_000
    assert compare_words("use wal", "健康") == 0
    assert compare_words("", "!") == 0


def test_passages_end_where_sentences_end() -> None:
    first, second = ("word " * 29 + "end.", "Next " + "word " * 28 + "end!")
    assert passages(f"{first} {second}") == (first, second)
    assert passages(f"{first}\n{second}\n") == (first, second)


def test_a_cjk_text_is_cut_at_its_full_stops() -> None:
    sentence = "健康" * 25 + "。"
    assert passages(sentence * 3) == (sentence,) * 3


def test_a_short_text_is_one_passage_and_an_empty_one_is_none() -> None:
    assert passages(" one. two.\n") == ("one. two.",)
    assert passages(" \n") == ()


@given(TEXTS)
def test_passages_lose_nothing_but_white_space(text: str) -> None:
    found = passages(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(passage and passage == passage.strip() for passage in found)
    assert all(len("".join(passage.split())) <= PASSAGE_CHARS_MAX for passage in found)


@pytest.mark.parametrize("piece", ["a", "a ", "健", "。", "a. ", "\n", "Aa1", " ", '"a" ', "e\u0301"])
def test_a_mebibyte_of_anything_has_at_most_so_many_passages(piece: str) -> None:
    text = piece * (MIB // len(piece.encode()))
    found = passages(text)
    assert len(found) <= PASSAGES_MAX
    assert sum(map(len, found)) <= len(text)
    extra_terms(text)
    query_terms(text)


@given(TEXTS)
def test_terms_of_any_text_hold_no_space_and_no_quote(text: str) -> None:
    for term in (*query_terms(text), *phrase_terms(text), *extra_terms(text).split(" ")):
        assert not set(term) & set(' "\x00')
    assert all(query_terms(text))


@given(TEXTS, TEXTS)
def test_likeness_is_symmetric_and_bounded(a: str, b: str) -> None:
    assert 0 <= compare_words(a, b) == compare_words(b, a) <= 1_000_000
    assert compare_words(a, a) in {0, 1_000_000}
