"""MATCH expressions, asked of a real FTS5 table."""

import sqlite3
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmm_mcp.domain.words import extra_terms
from pmm_mcp.retrieval.grammar import parse
from pmm_mcp.retrieval.sqlite.match import match_expression

CATALOGUE = (
    "POL-358", "pre-edit", "memory:safe", 'say "hi', "foo AND bar", "(python", "don't", "20.04",
    "database migration", "用户身份", "健康", "重跑gen-itgc后",
)  # fmt: skip
NOTHING = ("", " ", "*", '"', '""', "(){}[]^:+-*'\"", "\x00", "\ud800", "-cat", "🚀", "_")

FOUND_BY = (
    (
        "def getUserName(self)",
        ("getUserName", "user name", "username getusername", "GETUSERNAME", '"user name"'),
    ),
    ("see src/pmm_mcp/domain/words.py", ("words.py", "pmm_mcp", "domain/words", '"pmm_mcp/domain"')),
    ("needs v2.3.1 of it", ("v2.3.1", "2.3.1", '"v2.3.1"')),
    ("fails with E1234 twice", ("E1234", "1234", '"E1234"')),
    ("ticket POL-358", ("POL-358", "pol 358", "358", '"POL-358"')),
    ("encoded as utf8", ("utf8", "utf-8", "UTF")),
    ("我们讨论用户身份的问题", ("用户身份", "身份", "用户", '"用户身份"')),
    ("他很健康", ("健康",)),
    ("重跑gen-itgc后", ("gen", "itgc", "gen-itgc", "重跑", '"重跑gen"', '"gen-itgc"')),
    ("🚀launch day", ("launch", "🚀launch")),
    ("사용자가 로그인했다", ("사용자", "로그인")),
    ("migrations of databases", ("database migration",)),
    ("naïve café", ("naive", "cafe\u0301", "CAFÉ")),
    ("哈哈哈哈", ('"哈哈哈"',)),
)


def found(text: str, documents: Iterable[str]) -> list[int]:
    """Return which documents a search finds, by their place."""
    expression = match_expression(parse(text))
    if expression is None:
        return []
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(body, extra, tokenize='porter unicode61')")
        rows = [(n, body, extra_terms(body)) for n, body in enumerate(documents)]
        db.executemany("INSERT INTO t (rowid, body, extra) VALUES (?, ?, ?)", rows)
        return [
            row[0] for row in db.execute("SELECT rowid FROM t WHERE t MATCH ? ORDER BY rowid", (expression,))
        ]
    finally:
        db.close()


@pytest.mark.parametrize("text", CATALOGUE)
def test_what_broke_others_finds_the_document_that_says_it(text: str) -> None:
    assert found(text, [text, "unrelated words"]) == [0]


@pytest.mark.parametrize("text", NOTHING)
def test_a_text_without_words_asks_nothing(text: str) -> None:
    assert match_expression(parse(text)) is None


@pytest.mark.parametrize(("document", "queries"), FOUND_BY)
def test_a_name_is_found_by_its_parts(document: str, queries: tuple[str, ...]) -> None:
    assert [query for query in queries if found(query, ["other", document]) != [1]] == []


def test_a_phrase_is_required_and_words_beside_it_are_not() -> None:
    assert found('"red car" fast', ["red car", "car red fast", "fast red car"]) == [0, 2]


def test_an_excluded_word_leaves_its_documents_out() -> None:
    assert found("car -red", ["red car", "blue car"]) == [1]
    assert found('car -"red car"', ["red car", "car red"]) == [1]
    assert found("讨论 -健康", ["讨论健康", "讨论身份"]) == [1]


def test_operators_of_fts5_are_words() -> None:
    assert found("NEAR OR NOT", ["near miss", "nothing"]) == [0]


PIECES = st.sampled_from(
    ['"', "-", " ", "健康", "AND", "NEAR(", "kind:", "*", "a", "_", "é", "\x00", "²", "ꟲ", "\u0301"]
)


@given(st.lists(PIECES | st.text(max_size=6), max_size=12).map("".join))
def test_no_text_is_ever_a_syntax_error(text: str) -> None:
    found(text, ["document"])


WORDS = st.text(st.sampled_from("abcXYZ019健康用户テ사_-./"), min_size=1, max_size=12)


@given(WORDS, st.sampled_from([" ", "。", "🚀", "\n"]))
def test_a_stored_word_is_found_whatever_stands_around_it(word: str, gap: str) -> None:
    plain = match_expression(parse(word.lstrip("-")))
    assert plain is None or found(word.lstrip("-"), [f"before{gap}{word}{gap}after"]) == [0]


def test_a_mebibyte_of_quotes_is_one_cheap_question() -> None:
    assert found('"a ' * 350_000, ["a"]) == [0]
