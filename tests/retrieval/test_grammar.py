"""The search grammar: four forms, and every string is a search."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmm_mcp.retrieval.grammar import (
    FILTER_FIELDS,
    QUERY_CHARS_MAX,
    TERMS_MAX,
    SearchText,
    parse,
    plain,
    with_words,
)


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    text: str
    expected: SearchText


CASES = (
    Case(name="words", text="Database migration", expected=SearchText(terms=("database", "migration"))),
    Case(name="function_words_go", text="where is the ledger", expected=SearchText(terms=("ledger",))),
    Case(name="function_words_stay_alone", text="The who?", expected=SearchText(terms=("the", "who"))),
    Case(name="a_phrase", text='say "hi there" now',
         expected=SearchText(terms=("say",), phrases=(("hi", "there"),))),
    Case(name="a_lone_quote_is_nothing", text='say "hi', expected=SearchText(terms=("say", "hi"))),
    Case(name="a_quote_inside_code_is_nothing", text='f("a b")', expected=SearchText(terms=("f", "b"))),
    Case(name="an_exclusion", text="cat -dog", expected=SearchText(terms=("cat",), excluded=(("dog",),))),
    Case(name="an_excluded_phrase", text='cat -"hot dog"',
         expected=SearchText(terms=("cat",), excluded=(("hot", "dog"),))),
    Case(name="an_excluded_name_is_one_thing", text="cat -hot_dog",
         expected=SearchText(terms=("cat",), excluded=(("hot", "dog"),))),
    Case(name="a_hyphen_inside_excludes_nothing", text="pre-edit",
         expected=SearchText(terms=("pre", "edit"))),
    Case(name="a_flag_excludes_nothing", text="--force", expected=SearchText(terms=("force",))),
    Case(name="a_negative_number_excludes_nothing", text="-5 degrees",
         expected=SearchText(terms=("5", "degrees"))),
    Case(name="a_filter", text="Kind:evidence wal",
         expected=SearchText(terms=("wal",), filters=(("kind", "evidence"),))),
    Case(name="a_quoted_filter", text='label:"my notes" since:2026-01-01',
         expected=SearchText(filters=(("label", "my notes"), ("since", "2026-01-01")))),
    Case(name="an_unknown_field_is_words", text="memory:safe std::vector",
         expected=SearchText(terms=("memory", "safe", "std", "vector"))),
    Case(name="a_field_without_a_value_is_a_word", text="kind: wal",
         expected=SearchText(terms=("kind", "wal"))),
    Case(name="punctuation_is_nothing", text="*(!\"'", expected=SearchText()),
    Case(name="nul_and_surrogates_are_no_words", text="wal\x00mode \ud800 x",
         expected=SearchText(terms=("walmode", "x"))),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_parse(case: Case) -> None:
    assert parse(case.text) == case.expected


@pytest.mark.parametrize("field", FILTER_FIELDS)
def test_every_filter_field_is_known(field: str) -> None:
    assert parse(f"{field}:x:y").filters == ((field, "x:y"),)


def test_of_a_long_query_the_tail_is_kept_and_the_cut_reported() -> None:
    search = parse("head " + "filler " * 200_000 + "tail")
    assert search.terms == ("filler", "tail")
    assert search.cut == 5 + 7 * 200_000 + 4 - QUERY_CHARS_MAX


def test_the_last_terms_are_kept() -> None:
    terms = parse(" ".join(f"w{n}x" for n in range(1000, 2000))).terms
    assert len(terms) == TERMS_MAX
    assert "w1999x" in terms


def test_only_words_make_a_search() -> None:
    assert parse("kind:note -cat").empty
    assert not parse('"cat"').empty


@given(st.text(st.characters(exclude_categories=()) | st.sampled_from('"-: \x00ab')))
def test_any_string_is_a_search(text: str) -> None:
    search = parse(text)
    assert len(search.terms) <= TERMS_MAX
    assert all(search.phrases)
    assert all(search.excluded)
    assert search.cut == 0


def test_plain_words_have_no_grammar() -> None:
    search = plain('say "hi there" -not kind:evidence')
    assert search == SearchText(terms=("say", "hi", "kind", "evidence"))
    assert plain("the who").terms == ("the", "who")
    assert plain("x" * (QUERY_CHARS_MAX + 3)).cut == 3


def test_words_are_added_to_a_search_once() -> None:
    search = with_words(parse('pool "big one" status:500'), "status 500 pool")
    assert search.terms == ("pool", "status", "500")
    assert search.phrases == (("big", "one"),)
    assert len(with_words(parse(" ".join(f"w{n}x" for n in range(99))), "last").terms) == TERMS_MAX
