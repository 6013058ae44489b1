"""The ranking as numbers: what each step is worth, who is asked about, what stands around, what is shown."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmm_mcp.domain.headings import asked_terms, heading_terms, source_terms
from pmm_mcp.domain.words import query_terms
from pmm_mcp.retrieval.people import people_of
from pmm_mcp.retrieval.ranking import MILLION, Player, Weights, fuse, total_of
from pmm_mcp.retrieval.snippets import snippet

TALK = ("repo://r", "talk")


def order(*players: Player, **given: object) -> list[int]:
    return [one.doc for one in fuse({player.doc: player for player in players}, **given)]  # type: ignore[arg-type]


def test_the_best_has_all_and_ties_stand_by_seq() -> None:
    ranked = fuse({doc: Player(doc, lexical=500_000) for doc in (9, 3, 5)})
    assert [(one.doc, one.score) for one in ranked] == [(3, MILLION), (5, MILLION), (9, MILLION)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Player(2, heading=300_000, lexical=500_000), Player(1, lexical=600_000)),
        (Player(2, meaning=300_000, lexical=500_000), Player(1, lexical=600_000)),
        (Player(2, is_of_speaker=True, lexical=500_000), Player(1, lexical=600_000)),
        (Player(2, is_directive=True, lexical=500_000), Player(1, lexical=600_000)),
        (Player(2, is_believed=True, lexical=500_000), Player(1, lexical=500_000)),
        (Player(2, lexical=500_000), Player(1, lexical=500_000, distance=1)),
    ],
    ids=["heading", "meaning", "speaker", "directive", "belief", "place"],
)
def test_each_step_lifts_what_it_is_about(first: Player, second: Player) -> None:
    assert order(second, first) == [2, 1]


def test_a_neighbour_of_a_match_is_found_and_the_nearer_one_first() -> None:
    players = [Player(1, TALK), Player(2, TALK), Player(3, TALK, lexical=MILLION)]
    assert order(*players, next_to=[(2, 3)], near=[(1, 3)]) == [3, 2, 1]


def test_a_conversation_that_is_about_it_lifts_its_documents() -> None:
    others = [Player(doc, TALK, lexical=900_000) for doc in (5, 6)]
    assert order(Player(1, lexical=400_000), Player(2, TALK, lexical=300_000), *others)[-1] == 1


def test_a_document_that_stands_alone_is_no_worse_than_one_among_its_equals() -> None:
    talk = [Player(doc, TALK, lexical=500_000) for doc in (3, 4, 5, 6, 7)]
    pairs = {"next_to": [(3, 4), (4, 5), (5, 6), (6, 7)], "near": [(3, 5), (4, 6), (5, 7)]}
    alone = Player(1, lexical=500_000, ends=(2, 2))
    ranked = fuse({one.doc: one for one in (alone, *talk)}, **pairs)  # type: ignore[arg-type]
    assert [one.doc for one in ranked][:2] == [1, 5]
    assert [one.doc for one in ranked if one.is_beside] == [5, 4, 6, 3, 7]
    assert order(alone, *talk, **pairs, weights=Weights(alone=0))[-1] == 1


def test_weights_can_turn_a_step_off() -> None:
    players = (Player(1, lexical=600_000), Player(2, lexical=500_000, is_of_speaker=True))
    assert order(*players, weights=Weights(speaker=1)) == [1, 2]


PLAYERS = st.lists(
    st.builds(
        Player,
        doc=st.integers(1, 40),
        conversation=st.sampled_from([None, TALK, ("repo://r", "other")]),
        lexical=st.integers(0, MILLION),
        heading=st.integers(0, MILLION),
        meaning=st.integers(-MILLION, 2 * MILLION),
        is_of_speaker=st.booleans(),
        is_directive=st.booleans(),
        distance=st.integers(0, 3),
    ),
    max_size=20,
)


@given(players=PLAYERS, limit=st.integers(0, 25))
def test_the_recorded_steps_add_up_and_order_is_that_of_the_totals(players: list[Player], limit: int) -> None:
    known = {player.doc: player for player in players}
    docs = sorted(known)
    pairs = list(pairwise(docs))
    ranked = fuse(known, next_to=pairs, limit=limit)
    assert len(ranked) == min(limit, len(known))
    assert ranked == fuse(dict(reversed(known.items())), next_to=pairs, limit=limit)
    for one in ranked:
        assert abs(total_of(one.steps) - one.steps["total"]) <= 16
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)


# --------------------------------------------------------------------------------------- who is asked about


@pytest.mark.parametrize(
    ("question", "speaker", "names"),
    [
        ("What did Mira decide about the outbox?", "mira", {"mira"}),
        ("Did Mira or Jonas choose Rust?", "", {"mira", "jonas"}),
        ("What did I say about my desk?", "user", set()),
        ("I told you which editor I use", "user", set()),
        ("How do I run the tests?", "", set()),
        ("Where should I put secrets? Tell me", "", set()),
        ("why does the agent time out", "", set()),
        ("why did the build fail", "", set()),
    ],
)
def test_a_question_is_about_one_speaker_or_none(question: str, speaker: str, names: set[str]) -> None:
    found = people_of(question, query_terms(question), speakers=["user", "agent", "mira", "jonas"])
    assert (found.speaker, set(found.names)) == (speaker, names)


# --------------------------------------------------------------------------------------- what stands around


def test_a_day_and_a_title_can_be_asked_by() -> None:
    assert heading_terms(day="2023-05-08", conversation="tariff-rewrite") == (
        "8", "may", "2023", "tariff", "rewrit",
    )  # fmt: skip
    assert heading_terms(day="", conversation="") == ()
    assert source_terms("services/pricing/surcharge.py") == ("servic", "pric", "surcharg", "py")


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("what happened on 8 May 2023", {"happen", "8", "may", "2023"}),
        ("what may fail in version 2", {"fail", "version"}),
        ("bookings in May", {"book", "may"}),
        ("SQLSTATE 40001", {"sqlstat", "40001"}),
        ("the 3 pods of May", {"3", "pod", "may"}),
    ],
)
def test_small_numbers_and_may_are_dates_beside_each_other_only(question: str, asked: set[str]) -> None:
    assert set(asked_terms(question, query_terms(question))) == asked


# -------------------------------------------------------------------------------------------- what is shown


def test_the_two_best_passages_are_shown_with_what_was_asked_for() -> None:
    passages = ("Nothing of it here.", "The pool has 32 connections.", "More.", "PoolSize is read once.")
    found = snippet(passages, query_terms("connection pool size"))
    assert found.passages == (passages[1], passages[3])
    assert found.left_out == len(passages[0]) + len(passages[2])
    assert found.highlights == ("pool", "connections", "PoolSize")


def test_a_passage_that_holds_nothing_is_shown_only_when_nothing_better_is_there() -> None:
    assert snippet(("a", "the pool"), ["pool"]).passages == ("the pool",)
    assert snippet(("first", "second"), ["nowhere"]).passages == ("first",)
    assert snippet((), ["pool"]).passages == ()


@given(passages=st.lists(st.text(max_size=80), max_size=6), question=st.text(max_size=80))
def test_any_text_has_a_snippet_of_its_own_words(passages: list[str], question: str) -> None:
    found = snippet(passages, query_terms(question))
    assert set(found.passages) <= set(passages)
    assert all(any(word in passage for passage in found.passages) for word in found.highlights)
