"""Recording evidence: once, whole, without secrets, and with its source looked up."""

import asyncio
from dataclasses import dataclass, field, replace
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest

from pmm_mcp.domain.anchors import UNSCOPED, Place
from pmm_mcp.domain.errors import (
    InvalidArgumentError,
    NotFoundError,
    PmmError,
    RequestIdConflictError,
    SecretRefusedError,
    TooLargeError,
)
from pmm_mcp.domain.events.memory import Origin
from pmm_mcp.ledger.sqlite.ledger import SqliteLedger
from pmm_mcp.ledger.sqlite.reader import READERS_MAX
from tests.apps import BESIDE, ELSEWHERE, HERE, Mind, body, call_of, files_with, mind_of, texts
from tests.houses import house_of
from tests.ledgers import HUMAN, redact

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

BY_THEN = 5.0
"""No wait in these tests takes longer, in seconds."""


# ------------------------------------------------------------------------------------------ repeats


@dataclass(frozen=True, kw_only=True)
class Again:
    """The same content a second time, with something else about it."""

    name: str
    first: dict[str, Any] = field(default_factory=dict)
    second: dict[str, Any] = field(default_factory=dict)
    content: str = "The pool is 32."
    duplicate: bool = False


AGAIN = (
    Again(name="all_the_same", duplicate=True),
    Again(name="the_same_source", first={"source": "a"}, second={"source": " a "}, duplicate=True),
    Again(name="another_importance_is_no_other_evidence", second={"importance": 5}, duplicate=True),
    Again(name="other_labels_are_no_other_evidence", second={"labels": ["x"]}, duplicate=True),
    Again(name="another_source", first={"source": "a"}, second={"source": "b"}),
    Again(name="a_source_and_none", first={"source": "a"}),
    Again(name="another_domain", second={"domain": "agent"}),
    Again(name="another_field", second={"field": "build"}),
    Again(name="another_case", content="the pool is 32."),
    Again(name="white_space_at_the_end", content="The pool is 32. "),
    Again(name="nul_is_nothing", content="The pool is\x00 32.", duplicate=True),
)


@pytest.mark.parametrize("case", AGAIN, ids=lambda case: case.name)
async def test_only_an_exact_repeat_is_a_duplicate(tmp_path: Path, case: Again) -> None:
    async with mind_of(tmp_path) as mind:
        first = await mind.record("The pool is 32.", **case.first)
        head = await mind.head()
        second = await mind.record(case.content, **case.second)

        assert second.duplicate == case.duplicate
        assert (second.id == first.id) == case.duplicate
        assert (await mind.head() == head) == case.duplicate


async def test_each_place_has_its_own_evidence(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        here = await mind.record("The pool is 32.")
        there = await mind.at(ELSEWHERE).record("The pool is 32.")
        beside = await mind.at(BESIDE).record("The pool is 32.")

    assert not there.duplicate
    assert not beside.duplicate
    assert len({here.anchor, there.anchor, beside.anchor}) == 3


async def test_research_belongs_to_the_repository_and_observation_to_the_checkout(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        seen = await mind.record("seen")
        read = await mind.record("read", provenance=" Research ")
        again = await mind.at(BESIDE).record("read", provenance="research")

    assert seen.anchor == mind.call.place.worktree
    assert read.anchor == mind.call.place.repo
    assert again.id == read.id


async def test_pain_01_a_burst_of_recordings_survives_whole(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        results = await asyncio.gather(*(mind.record(f"fact number {n}") for n in range(40)))
        contents = texts(await mind.history(), "evidence_recorded", "content")
        documents = (await mind.search("fact")).scope.documents

    assert len({result.id for result in results}) == 40
    assert sorted(filter(None, contents)) == sorted(f"fact number {n}" for n in range(40))
    assert documents == 40


async def test_pain_28_what_was_recorded_stays_verbatim_and_is_stored_once(tmp_path: Path) -> None:
    content = '<recalled-memory>  \n\t"The pool is 32."\r\n</recalled-memory>'
    async with mind_of(tmp_path) as mind:
        results = [await mind.record(content) for _ in range(5)]
        assert texts(await mind.history(), "evidence_recorded", "content") == [content]

    assert [result.duplicate for result in results] == [False, True, True, True, True]


async def test_pain_29_evidence_whose_text_was_removed_can_be_recorded_again(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        first = await mind.record("The pool is 32.")
        await mind.app.ledger.write(redact(int(first.id[3:])), call=HUMAN)
        assert await mind.found("pool") == []
        second = await mind.record("The pool is 32.")
        third = await mind.record("The pool is 32.")

        assert (second.duplicate, third.duplicate) == (False, True)
        assert await mind.found("pool") == [second.id] == [third.id]
        assert await mind.is_sound()


async def test_pain_30_what_is_alike_is_kept_and_only_mentioned(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        first = await mind.record("The connection pool of the billing service holds 32 connections.")
        other = await mind.record("Bananas are yellow.")
        second = await mind.record("The connection pool of the billing service holds 64 connections.")

    assert not second.duplicate
    assert [ref.id for ref in second.near] == [first.id]
    assert second.near[0].text.startswith("The connection pool")
    assert other.near == []


NOT_GRAMMAR = (
    'the "exact phrase" of pool sizes -force kind:evidence',
    "-verbose -x is what the pool wants",
    "status:500 from the pool, since:yesterday",
)


@pytest.mark.parametrize("content", NOT_GRAMMAR)
async def test_content_is_never_read_as_a_search(tmp_path: Path, content: str) -> None:
    async with mind_of(tmp_path) as mind:
        first = await mind.record(content)
        second = await mind.record(f"{content}!")

    assert [ref.id for ref in second.near] == [first.id]


async def test_pain_40_an_answer_means_that_it_is_stored(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        result = await mind.record("durable")
    async with mind_of(tmp_path, seed="another process") as mind:
        item = await mind.app.items.get(result.id)

    assert item.item.texts["content"] == "durable"
    assert result.head >= int(result.id[3:])


# ------------------------------------------------------------------------------------------ dry run


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    name: str
    given: dict[str, Any]
    error: type[PmmError] | None = None
    duplicate: bool = False


REHEARSALS = (
    Rehearsal(name="new", given={"content": "new"}),
    Rehearsal(name="repeat", given={"content": "there"}, duplicate=True),
    Rehearsal(name="empty", given={"content": " "}, error=InvalidArgumentError),
    Rehearsal(
        name="source_that_is_not_there", given={"content": "x", "source": "ev:99"}, error=NotFoundError
    ),
    Rehearsal(name="answer_to_nothing", given={"content": "x", "answers": "ev:99"}, error=NotFoundError),
    Rehearsal(name="source_that_is_there", given={"content": "x", "source": "ev:2"}),
)


@pytest.mark.parametrize("case", REHEARSALS, ids=lambda case: case.name)
async def test_a_dry_run_answers_like_a_run_and_writes_nothing(tmp_path: Path, case: Rehearsal) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.record("there")
        head = await mind.head()
        if case.error is not None:
            for dry_run in (True, False):
                with pytest.raises(case.error):
                    await mind.record(**case.given, dry_run=dry_run)
        else:
            dry = await mind.record(**case.given, dry_run=True)
            assert await mind.head() == head
            wet = await mind.record(**case.given)
            assert dry.duplicate == wet.duplicate == case.duplicate
            assert (dry.anchor, dry.masked, dry.near) == (wet.anchor, wet.masked, wet.near)
            assert dry.source_resolved == wet.source_resolved
            assert dry.id == (wet.id if case.duplicate else "")


# ------------------------------------------------------------------------------------------ secrets


async def test_a_secret_is_masked_reported_and_nowhere_in_the_files(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        result = await mind.record(f"the token is {SECRET}", source=f"https://host/?t={SECRET}")
        found = await mind.search("token")
        await mind.record(f"the token is {SECRET}", dry_run=True)
        assert await mind.is_sound()
        assert files_with(SECRET, tmp_path) == []

    assert result.masked == ["github_token"]
    assert SECRET not in found.model_dump_json()
    assert files_with(SECRET, tmp_path) == []


@pytest.mark.parametrize("argument", ["labels", "field", "speaker", "evaluator_id"])
async def test_a_secret_as_a_name_is_refused(tmp_path: Path, argument: str) -> None:
    value = [SECRET] if argument == "labels" else SECRET
    async with mind_of(tmp_path) as mind:
        with pytest.raises(SecretRefusedError):
            await mind.record("harmless", **{argument: value})
    assert files_with(SECRET, tmp_path) == []


async def test_a_secret_is_refused_or_kept_when_the_settings_say_so(tmp_path: Path) -> None:
    async with mind_of(tmp_path / "refuse", secrets="refuse") as mind:
        with pytest.raises(SecretRefusedError):
            await mind.record(f"it is {SECRET}")
        assert await mind.kinds() == ["ledger_opened"]
    async with mind_of(tmp_path / "allow", secrets="allow") as mind:
        assert (await mind.record(f"it is {SECRET}")).masked == []


# ---------------------------------------------------------------------------------------- arguments

REFUSED: tuple[tuple[dict[str, Any], type[PmmError]], ...] = (
    ({"content": ""}, InvalidArgumentError),
    ({"content": " \n\x00"}, InvalidArgumentError),
    ({"content": "é" * 600_000}, TooLargeError),
    ({"importance": -1}, InvalidArgumentError),
    ({"importance": 6}, InvalidArgumentError),
    ({"labels": ["a\nb"]}, InvalidArgumentError),
    ({"labels": ["x" * 65]}, InvalidArgumentError),
    ({"labels": ["x²"]}, InvalidArgumentError),
    ({"labels": [f"l{n}" for n in range(101)]}, InvalidArgumentError),
    ({"field": "a;b"}, InvalidArgumentError),
    ({"field": "½"}, InvalidArgumentError),
    ({"speaker": "a\u2028b"}, InvalidArgumentError),
    ({"occurred_at": "yesterday"}, InvalidArgumentError),
    ({"occurred_at": "2026-01-01"}, InvalidArgumentError),
    ({"occurred_at": "2026-01-01T00:00:00"}, InvalidArgumentError),
    ({"provenance": "human"}, InvalidArgumentError),
    ({"provenance": "import"}, InvalidArgumentError),
    ({"provenance": "runtime"}, InvalidArgumentError),
    ({"domain": "global"}, InvalidArgumentError),
    ({"domain": "work"}, InvalidArgumentError),
    ({"answers": "msg:3"}, InvalidArgumentError),
    ({"answers": "7"}, InvalidArgumentError),
    ({"answers": "ev:1"}, NotFoundError),
    ({"source": "ev:1"}, NotFoundError),
    ({"source": "kn:2"}, NotFoundError),
    ({"source": "co:2"}, NotFoundError),
)


@pytest.mark.parametrize(("given", "error"), REFUSED, ids=lambda given: str(given)[:40])
async def test_what_is_not_allowed_is_refused_and_nothing_written(
    tmp_path: Path, given: dict[str, Any], error: type[PmmError]
) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.record("first")
        head = await mind.head()
        with pytest.raises(error):
            await mind.record(**({"content": "fine"} | given))
        assert await mind.head() == head


async def test_what_is_allowed_is_kept(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.record(
            "fine", domain=" Agent ", field="build", importance=5, labels=["b", "a", "b", " "], speaker="Ann",
            occurred_at="2026-01-01T01:00:00+01:00", evaluator_id="judge",
        )  # fmt: skip
        event = body((await mind.history())[1])

    assert (event.domain, event.field, event.importance, event.labels) == ("agent", "build", 5, ("a", "b"))
    assert (event.speaker, event.occurred_at, event.evaluator) == (
        "Ann",
        "2026-01-01T00:00:00.000000Z",
        "judge",
    )


# ------------------------------------------------------------------------------------------ sources


@dataclass(frozen=True, kw_only=True)
class Sourced:
    name: str
    source: str
    resolved: bool = False


SOURCES = (
    Sourced(name="none", source=""),
    Sourced(name="a_url", source="https://example.org/ev:2"),
    Sourced(name="a_file", source="src/pool.py:12"),
    Sourced(name="evidence", source="ev:2", resolved=True),
    Sourced(name="evidence_with_blanks", source=" ev:2 ", resolved=True),
    Sourced(name="a_turn", source="turn:4", resolved=True),
    Sourced(name="a_message", source="msg:4", resolved=True),
)


@pytest.mark.parametrize("case", SOURCES, ids=lambda case: case.name)
async def test_a_source_that_names_an_event_is_resolved(tmp_path: Path, case: Sourced) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.record("first words")
        await mind.answer("fine")
        result = await mind.record("second", source=case.source)
        item = await mind.app.items.get(result.id)

    assert result.source_resolved == case.resolved
    assert [ref.id for ref in result.refs or []] == ([case.source.strip()] if case.resolved else [])
    assert [related.role for related in item.references] == (["source"] if case.resolved else [])


ORIGINS = (
    ("", Origin.CITED),
    ("https://example.org/a.py", Origin.CITED),
    ("a.py", Origin.FILE),
    ("a.py:1", Origin.FILE),
    ("msg:{prompt}", Origin.MESSAGE),
    ("turn:{prompt}", Origin.MESSAGE),
    ("msg:{reply}", Origin.MODEL),
    ("ev:{evidence}", Origin.MODEL),
)


@pytest.mark.parametrize(("source", "origin"), ORIGINS)
async def test_the_server_says_what_a_source_is(tmp_path: Path, source: str, origin: Origin) -> None:
    async with house_of(tmp_path) as house:
        mind = Mind(house.mind.app, house.mind.chat, house.call())
        await mind.record("from a file", source="a.py")
        await mind.answer("a reply", prompt="what was said")
        seqs = {record.kind: record.seq for record in await mind.history()}
        named = source.format(
            evidence=seqs["evidence_recorded"],
            prompt=seqs["user_message"],
            reply=seqs["assistant_message"],
        )
        result = await mind.record("second", source=named)
        event = body((await mind.history())[-1])

    assert event.origin is origin
    assert result.source_resolved == (origin is not Origin.CITED)


async def test_a_file_is_recorded_as_it_was_when_it_was_cited(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        here = replace(house.place, head="c" * 40)
        mind = Mind(house.mind.app, house.mind.chat, call_of(here))
        (tmp_path / "pool.py").write_bytes(b"one\ntwo\nthree\n")
        await mind.record("The pool is 32.", source="./pool.py:2-3")
        record = (await mind.history(after=1))[0]

    event = body(record)
    assert (event.first_line, event.last_line, event.commit) == (2, 3, "c" * 40)
    assert event.blob == sha1(b"blob 14\0one\ntwo\nthree\n").hexdigest()
    assert (record.texts["source"], record.texts["path"]) == ("./pool.py:2-3", "pool.py")


UNREAD = (
    ("none.py", "'none.py' is no file of this checkout"),
    ("../a.py", "'../a.py' is no file of this checkout"),
    ("a.py:2", "'a.py' has 1 lines, and no line 2"),
    ("a.py:1-9", "'a.py' has 1 lines, and no line 9"),
)


@pytest.mark.parametrize(("source", "why"), UNREAD)
async def test_a_file_that_was_not_read_is_cited_and_the_answer_says_why(
    tmp_path: Path, source: str, why: str
) -> None:
    async with house_of(tmp_path) as house:
        mind = Mind(house.mind.app, house.mind.chat, house.call())
        rehearsed = await mind.record("seen", source=source, dry_run=True)
        result = await mind.record("seen", source=source)
        duplicate = await mind.record("seen", source=source)
        event = body((await mind.history(after=1))[0])

    assert (event.origin, event.blob, event.first_line) == (Origin.CITED, "", 0)
    assert not result.source_resolved
    for notice in (result.notice, duplicate.notice, rehearsed.notice):
        assert notice is not None
        assert why in notice
        assert "record it again with" in notice


async def test_without_a_checkout_no_file_is_looked_for(tmp_path: Path) -> None:
    async with mind_of(tmp_path, place=Place(worktree=None, repo=UNSCOPED)) as mind:
        result = await mind.record("seen", source="a.py")

    assert not result.source_resolved
    assert "no checkout here" in (result.notice or "")


async def test_a_source_that_looks_like_no_file_deserves_no_word(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        assert (await mind.record("seen", source="Ada on the phone")).notice is None


async def test_two_ranges_of_one_file_are_one_source_and_two_files_are_two(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        mind = Mind(house.mind.app, house.mind.chat, house.call())
        (tmp_path / "pool.py").write_text("one\ntwo\n")
        first = await mind.record("The pool is 32.", source="pool.py:1")
        for spelling in ("pool.py:1-2", "./pool.py", str(tmp_path / "pool.py")):
            again = await mind.record("The pool is 32.", source=spelling)
            assert (again.id, again.duplicate, again.source_resolved) == (first.id, True, True)
        other = await mind.record("The pool is 32.", source="a.py")
        unread = await mind.record("The pool is 32.", source="pool.py:9")

    assert len({first.id, other.id, unread.id}) == 3


async def test_a_request_id_stands_for_what_was_said_however_the_file_has_changed(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        mind = Mind(house.mind.app, house.mind.chat, replace(house.call(), request_id="k"))
        first = await mind.record("once", source="a.py:1")
        (tmp_path / "a.py").write_text("another content\n")
        changed = await mind.record("once", source="a.py:1")
        (tmp_path / "a.py").unlink()
        gone = await mind.record("once", source="a.py:1")
        with pytest.raises(RequestIdConflictError):
            await mind.record("once", source="b.py:1")

    for again in (changed, gone):
        assert (again.id, again.repeated, again.source_resolved, again.notice) == (first.id, True, True, None)


async def test_two_sessions_that_answer_in_the_same_words_are_two_answers(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        doubt = await mind.record("a doubt")
        actor = replace(mind.call.actor, session="two")
        later = Mind(mind.app, mind.chat, replace(mind.call, actor=actor))
        one = await mind.record("It holds.", answers=doubt.id)
        two = await later.record("It holds.", answers=doubt.id)
        again = await later.record("It holds.", answers=doubt.id)

    assert two.id != one.id
    assert (again.id, again.duplicate) == (two.id, True)


async def test_an_answer_names_the_evidence_it_answers(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.record("the claim of a counterexample")
        result = await mind.record("an answer to it", answers="ev:2")
        item = await mind.app.items.get("ev:2")

    assert [(ref.id, ref.text) for ref in result.refs or []] == [("ev:2", "the claim of a counterexample")]
    assert [(one.id, one.role) for one in item.dependants] == [(result.id, "answers")]


async def test_every_answer_shows_what_was_cited(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.record("a counterexample")
        keyed = Mind(mind.app, mind.chat, mind.keyed("k"))
        given: dict[str, Any] = {"content": "seen", "source": "ev:2", "answers": "ev:2"}
        first = await keyed.record(**given)
        repeated = await keyed.record(**given)
        duplicate = await mind.record(**given)
        rehearsed = await mind.record(**given, dry_run=True)

    assert (repeated.repeated, duplicate.duplicate, rehearsed.duplicate) == (True, True, True)
    assert [ref.id for ref in first.refs or []] == ["ev:2", "ev:2"]
    assert first.refs == repeated.refs == duplicate.refs == rehearsed.refs


async def test_a_counterexample_can_be_answered_in_words_that_were_recorded_before(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        one, other = await mind.record("one doubt"), await mind.record("another doubt")
        before = await mind.record("It holds.")
        answer = await mind.record("It holds.", answers=one.id)
        second = await mind.record("It holds.", answers=other.id)
        again = await mind.record("It holds.", answers=other.id)
        plain = await mind.record("It holds.")

    assert len({before.id, answer.id, second.id}) == 3
    assert (again.id, again.duplicate) == (second.id, True)
    assert (plain.id, plain.duplicate) == (before.id, True)
    assert before.id in [ref.id for ref in answer.near]


NOT_KEPT: tuple[tuple[dict[str, Any], str | None], ...] = (
    ({}, None),
    ({"importance": 3, "labels": ["a"], "speaker": "Ann"}, None),
    ({"importance": 5}, "importance"),
    ({"labels": ["a", "c"]}, "labels"),
    ({"speaker": "Bob", "evaluator_id": "judge"}, "speaker, evaluator_id"),
    ({"occurred_at": "2026-01-01T00:00:00Z"}, "occurred_at"),
)


@pytest.mark.parametrize(("given", "lost"), NOT_KEPT, ids=str)
async def test_a_duplicate_says_what_of_it_was_not_kept(
    tmp_path: Path, given: dict[str, Any], lost: str | None
) -> None:
    async with mind_of(tmp_path) as mind:
        await mind.record("seen", importance=3, labels=["a", "b"], speaker="Ann")
        rehearsed = await mind.record("seen", **given, dry_run=True)
        result = await mind.record("seen", **given)

    said = result.notice and result.notice.partition("says of: ")[2]
    assert (result.duplicate, said) == (True, lost)
    assert rehearsed.notice == "; ".join(filter(None, ("dry run: nothing was written", result.notice)))


# ----------------------------------------------------------------------------------------- waiting


async def test_records_that_wait_for_another_process_hold_up_no_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = 0
    write = SqliteLedger.write

    async def counted(ledger: SqliteLedger, *args: Any, **given: Any) -> Any:
        nonlocal waiting
        waiting += 1
        return await write(ledger, *args, **given)

    async with mind_of(tmp_path) as mind, mind_of(tmp_path, seed="another process") as other:
        await mind.record("The pool is 32.")
        monkeypatch.setattr(SqliteLedger, "write", counted)
        async with other.app.ledger.keep_lease(), asyncio.timeout(BY_THEN):
            records = [asyncio.create_task(mind.record(f"fact {n}")) for n in range(READERS_MAX)]
            while waiting < READERS_MAX:  # noqa: ASYNC110 - the state of others, which signals nothing
                await asyncio.sleep(0)
            found = await mind.found("pool")
            held_up = any(record.done() for record in records)
        await asyncio.gather(*records)

    assert found == ["ev:2"]
    assert not held_up


# ------------------------------------------------------------------------------------- request ids


async def test_a_repeated_request_returns_the_first_result(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        keyed = Mind(mind.app, mind.chat, mind.keyed("k"))
        first = await keyed.record("once", source="s", labels=["l"])
        await mind.record("between")
        second = await keyed.record("once", source="s", labels=["l"])

        assert texts(await mind.history(), "evidence_recorded", "content") == ["once", "between"]
    assert (second.id, second.duplicate, second.repeated) == (first.id, False, True)


@pytest.mark.parametrize(
    "given",
    [{"content": "other"}, {"source": "t"}, {"source": ""}, {"labels": []}, {"domain": "agent"}],
    ids=str,
)
async def test_a_request_id_stands_for_the_same_arguments(tmp_path: Path, given: dict[str, Any]) -> None:
    first: dict[str, Any] = {"content": "once", "source": "s", "labels": ["l"]}
    async with mind_of(tmp_path) as mind:
        keyed = Mind(mind.app, mind.chat, mind.keyed("k"))
        await keyed.record(**first)
        with pytest.raises(RequestIdConflictError):
            await keyed.record(**(first | given))


@pytest.mark.parametrize(
    ("place", "conversation"), [(BESIDE, ""), (HERE, "another")], ids=["place", "conversation"]
)
async def test_a_request_id_stands_for_the_same_place(
    tmp_path: Path, place: Place, conversation: str
) -> None:
    async with mind_of(tmp_path) as mind:
        await Mind(mind.app, mind.chat, mind.keyed("k")).record("once")
        other = mind.at(place, conversation=conversation)
        with pytest.raises(RequestIdConflictError):
            await Mind(mind.app, mind.chat, other.keyed("k")).record("once")


async def test_a_request_id_stands_for_no_source_as_well(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        keyed = Mind(mind.app, mind.chat, mind.keyed("k"))
        await keyed.record("once")
        with pytest.raises(RequestIdConflictError):
            await keyed.record("once", source="s")


async def test_long_texts_are_compared_by_their_beginnings(tmp_path: Path) -> None:
    words = "lorem ipsum dolor sit amet " * 10_000
    async with mind_of(tmp_path) as mind:
        first = await mind.record(words + "one")
        second = await mind.record(words + "two")

    assert [ref.id for ref in second.near] == [first.id]
