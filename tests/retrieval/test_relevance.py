"""Relevance: an absolute score, from the share of the question or of the statement that is met."""

from pathlib import Path

import pytest

from pmm_mcp.domain.ids import SEQ_MAX
from pmm_mcp.domain.tiers import Status, Tier
from pmm_mcp.domain.words import GOVERNED_TERM
from pmm_mcp.retrieval.grammar import plain
from pmm_mcp.retrieval.relevance import (
    CONTENT_SHARE,
    FLOOR,
    MILLION,
    WEAK_WORDS,
    Among,
    Ranking,
    distinct,
    strong,
    weights_of,
)
from pmm_mcp.retrieval.sqlite.relevance import BEST_OF_EACH, POSTINGS_MAX, TERMS_MIN, FtsRelevance, _rarest
from tests.apps import ELSEWHERE, HERE, Mind, mind_of
from tests.beliefs import ACTIVE, believe


async def rank(mind: Mind, query: str, *, as_of: int = SEQ_MAX, domain: str = "") -> Ranking:
    among = Among(anchors=HERE.visible, statuses=tuple(Status), domain=domain, as_of=as_of)
    async with mind.app.ledger.reader.view() as view:
        return await view.carry_out(FtsRelevance().rank(distinct(plain(query).terms), among=among))


async def scores(mind: Mind, query: str) -> dict[str, int]:
    """The score of every item above the floor."""
    return {f"kn:{one.item}": one.score for one in (await rank(mind, query)).best}


# A hand of statements, and questions with those that are about them; none is about the others.
STATEMENTS = {
    "pytest": ("Use pytest -n auto to run the test suite.", "Parallel runs take 40 s instead of 3 min."),
    "ruff": ("Use ruff for linting and formatting; do not add black.", "One tool does both."),
    "utc": ("Store timestamps in UTC and convert at the edge.", "Local times broke a report."),
    "sqlite": ("Prefer SQLite in WAL mode as the embedded database.", "PostgreSQL needs a server."),
    "regression": ("Write a failing test before fixing a bug.", "Three bugs came back."),
    "retry": ("Never retry a request that is not idempotent.", "A duplicated payment cost a day."),
    "migrate": ("Run database migrations before deploying new code.", "A rollout failed for a column."),
    "lock": ("getUserName must be called with the session lock held.", "It reads two fields."),
}
QUESTIONS = (
    ("which database should we use?", {"sqlite", "migrate"}),
    ("postgresql or sqlite?", {"sqlite"}),
    ("how do I run the tests faster?", {"pytest", "regression"}),
    ("fix a bug in the parser", {"regression"}),
    ("should I format the code with black?", {"ruff"}),
    ("deploy the new release", {"migrate"}),
    ("retrying a payment", {"retry"}),
    ("where is the user name read?", {"lock"}),
    ("use", {"pytest", "ruff"}),
    ("what should I do next?", set[str]()),
    ("how to bake a cake", set[str]()),
    ("write documentation for the project", set[str]()),
    ("make good use of the new file", set[str]()),
    ("测试", set[str]()),
)


@pytest.mark.parametrize(
    ("question", "about"), QUESTIONS, ids=lambda part: part if isinstance(part, str) else ""
)
async def test_a_question_finds_what_is_about_it_and_nothing_else(
    tmp_path: Path, question: str, about: set[str]
) -> None:
    async with mind_of(tmp_path) as mind:
        ids = {await believe(mind, *texts): name for name, texts in STATEMENTS.items()}
        found = await scores(mind, question)

    assert {ids[one] for one in found} == about
    assert all(FLOOR <= score <= MILLION for score in found.values())


@pytest.mark.parametrize("alone", [True, False])
async def test_a_score_does_not_depend_on_what_else_there_is(tmp_path: Path, alone: bool) -> None:
    async with mind_of(tmp_path) as mind:
        pytest_id = await believe(mind, *STATEMENTS["pytest"])
        if not alone:
            for n in range(30):
                await believe(mind, f"Badger number {n} digs.")

        assert await scores(mind, "which database should we use?") == {}
        assert (await scores(mind, "pytest"))[pytest_id] == MILLION


async def test_a_word_of_the_statement_counts_more_than_one_of_the_reasons(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        reasons = await believe(mind, "Feed it twice.", "An otter eats much.")
        stated = await believe(mind, "An otter is fed twice.", "It eats much.")

        found = await scores(mind, "otter")

    assert list(found) == [stated, reasons]
    assert list(found.values()) == pytest.approx([MILLION, CONTENT_SHARE], abs=1)


async def test_a_long_question_finds_the_statement_it_holds(tmp_path: Path) -> None:
    words = " ".join(f"word{n} thing{n}" for n in range(20))
    async with mind_of(tmp_path) as mind:
        item = await believe(mind, "Lock the session first.")

        assert list(await scores(mind, f"{words} session {words[:90]} lock")) == [item]
        assert await scores(mind, f"{words} session") == {}


async def test_a_word_counts_once_in_all_its_forms() -> None:
    assert distinct(("test", "tests", "tested", "testing", "fail", "is", "ing", "测试")) == (
        "test", "fail", "is", "ing", "测试",
    )  # fmt: skip


async def test_equal_scores_stand_in_the_order_they_came(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        ids = [await believe(mind, "otter", tier=tier) for tier in (Tier.QI, Tier.SHU, Tier.QI, Tier.DAO_REN)]
        found = await rank(mind, "otter")

    assert [f"kn:{one.item}" for one in found.best] == ids


async def test_each_tier_and_status_has_its_best_and_all_are_counted(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        for n in range(BEST_OF_EACH + 5):
            await believe(mind, f"otter {n}")
        for status in (Status.CANDIDATE, Status.DEMOTED, Status.RETIRED):
            await believe(mind, "otter rare", tier=Tier.QI, status=status)
        await believe(mind, "otter there", anchor=ELSEWHERE.repo)
        found = await rank(mind, "otter")

    assert len(found.best) == BEST_OF_EACH + 3
    assert found.totals == {
        Status.PROMOTED: BEST_OF_EACH + 5,
        Status.CANDIDATE: 1,
        Status.DEMOTED: 1,
        Status.RETIRED: 1,
    }


async def test_it_is_judged_as_it_stood_then(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await believe(mind, "otter", status=Status.DEMOTED)
        born = next(record.seq for record in await mind.history() if record.kind == "knowledge_distilled")
        then = {seq: (await rank(mind, "otter", as_of=seq)).best for seq in range(born - 1, born + 3)}

    assert {seq: [one.status for one in best] for seq, best in then.items()} == {
        born - 1: [],
        born: [Status.CANDIDATE],
        born + 1: [Status.PROMOTED],
        born + 2: [Status.DEMOTED],
    }


async def test_other_documents_never_pass_for_knowledge(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await believe(mind, "An unrelated badger.", status=ACTIVE)
        await mind.record(f"otter {GOVERNED_TERM} {GOVERNED_TERM.capitalize()}Otter")

        assert await scores(mind, f"otter {GOVERNED_TERM}") == {}


def test_the_rarest_terms_are_kept_while_they_are_few_passages() -> None:
    assert _rarest({"a": 10, "b": 20}) == ("a", "b")
    assert _rarest({"none": 0, "many": POSTINGS_MAX, "few": 5}) == ("none", "few", "many")
    assert _rarest(dict.fromkeys("edcba", POSTINGS_MAX + 1)) == tuple("abc"[:TERMS_MIN])
    assert _rarest({"a": 1, "b": 2, "c": 3, "d": POSTINGS_MAX, "none": 0}) == ("none", "a", "b", "c")


def test_a_rare_word_weighs_more_and_a_weak_one_a_quarter() -> None:
    weights = weights_of({"rare": 1, "none": 0, "often": 500, "all": 9_999, "use": 1}, items=1_000)

    assert weights["none"] > weights["rare"] > weights["often"] > weights["all"] > 0
    assert weights["use"] == weights["rare"] // 4
    assert strong(("use", "otter", "thing")) == ("otter",)
    assert all(word.isalpha() and word.islower() for word in WEAK_WORDS)
