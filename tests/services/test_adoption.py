"""Adoption: whether what was remembered helped, counted so that nobody certifies itself."""

from pathlib import Path
from typing import Any

import pytest

from pmm_mcp.domain.adoption import READINESS, ReadinessRule, Said, judge_readiness
from pmm_mcp.domain.errors import InvalidArgumentError, NotFoundError
from pmm_mcp.domain.events.adoption import Signal, Track
from pmm_mcp.services.adoption import SignalInput
from pmm_mcp.services.context import ContextInput
from tests.houses import FILES, House, house_of

RULE = READINESS["card-context-default"]


def said(
    seq: int, signal: Signal = Signal.ACCEPTED, *, session: str = "one", context: int = 1, **given: Any
) -> Said:
    standard: dict[str, Any] = {
        "context": f"ci:{context}",
        "is_ours": True,
        "is_from_command_line": False,
    }
    return Said(seq=seq, signal=signal, session=session, **(standard | given))


THREE = [said(1), said(2, session="two", context=2), said(3, session="two", context=3)]


@pytest.mark.parametrize(
    ("signals", "ready"),
    [
        pytest.param([said(n, context=n) for n in range(3)], False, id="one session alone"),
        pytest.param(THREE, True, id="two sessions over three contexts"),
        pytest.param(THREE[:2], False, id="two of three"),
        pytest.param([said(1), said(2), said(3, session="two")], False, id="one context twice"),
        pytest.param([*THREE[:2], said(3, context=3, is_ours=False)], False, id="a made-up context"),
        pytest.param(
            [*THREE[:2], said(3, context=3, is_from_command_line=True)], False, id="from the command line"
        ),
        pytest.param([*THREE, said(4, Signal.ROLLBACK)], False, id="a rollback"),
        pytest.param([*THREE, said(4, Signal.ROLLBACK, is_resolved=True)], True, id="a resolved rollback"),
        pytest.param(
            [
                *THREE,
                said(4, Signal.ROLLBACK),
                *(said(5 + n, session="two", context=9 + n) for n in range(9)),
            ],
            True,
            id="an outweighed rollback",
        ),
        pytest.param(
            [
                *THREE,
                said(4, Signal.ROLLBACK),
                *(said(5 + n, session="one", context=9 + n) for n in range(9)),
            ],
            False,
            id="outweighed by its own session",
        ),
        pytest.param(
            [*THREE, *(said(4 + n, Signal.REJECTED, context=20 + n) for n in range(4))],
            False,
            id="more rejected than accepted",
        ),
    ],
)
def test_a_gate_counts_distinct_sessions_and_contexts(signals: list[Said], ready: bool) -> None:
    verdict = judge_readiness(RULE, signals)
    assert verdict.ready is ready
    assert bool(verdict.reasons) is not ready
    assert len(verdict.reasons) == len(verdict.missing)


@pytest.mark.parametrize("rule", READINESS.values(), ids=list(READINESS))
def test_every_gate_opens_with_what_it_asks_for_and_closes_with_each_blocker(rule: ReadinessRule) -> None:
    enough = [said(n, rule.signal, session=f"s{n % 2}", context=n) for n in range(max(2, rule.minimum))]
    assert judge_readiness(rule, enough).ready
    for blocker in rule.blockers:
        assert not judge_readiness(rule, [*enough, said(99, blocker)]).ready


async def context_of(house: House, query: str = "make") -> str:
    pack = await house.mind.app.context.context(ContextInput(query=query), call=house.call())
    return pack.context_id


async def signal(house: House, what: str, *, session: str = "one", **given: Any) -> Any:
    return await house.mind.app.adoption.record(SignalInput(signal=what, **given), call=house.call(session))


async def report(house: House, **given: Any) -> Any:
    standard: dict[str, Any] = {
        "track": "",
        "feature": "",
        "item_id": "",
        "candidate": "",
        "limit": 20,
        "cursor": "",
    }
    return await house.mind.app.adoption.report(**(standard | given))


async def test_signals_from_two_sessions_open_a_gate_and_a_rollback_closes_it_until_resolved(
    tmp_path: Path,
) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        contexts = []
        for n in range(3):
            await house.seen(FILES[n])
            contexts.append(await context_of(house))

        async def gate() -> bool:
            return bool((await report(house, candidate="card-context-default")).gate.ready)

        for context in contexts:
            await signal(house, "accepted", context_id=context, track="card_context")
        one_session = await gate()
        for context in contexts:
            await signal(house, "accepted", session="two", context_id=context, track="card_context")
        two_sessions = await gate()
        rollback = await signal(house, "rollback", context_id=contexts[0], track="card_context")
        rolled_back = await gate()
        await house.mind.app.adoption.resolve(
            rollback.id, reason="mended", key=ada.key, sign=ada.sign, call=house.terminal
        )
        resolved = await gate()
        whole = await report(house, track="card_context", limit=3)
        rest = await report(house, track="card_context", limit=50, cursor=whole.next_cursor)
        verified = await house.mind.app.log.verify(projections=True)
    assert (one_session, two_sessions, rolled_back, resolved) == (False, True, False, True)
    assert (whole.totals["accepted"], whole.totals["rollback"]) == (6, 1)
    assert whole.distinct == {"sessions": 2, "contexts": 3}
    assert len(whole.events) + len(rest.events) == 7
    assert verified.ok, verified.problems


async def test_a_made_up_context_is_kept_and_does_not_count(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        await house.seen(FILES[0])
        real = await context_of(house)
        forged = f"{real[:-1]}{'0' if real[-1] != '0' else '1'}"
        result = await signal(house, "accepted", context_id=forged)
        found = await report(house)
    assert result.notice is not None
    assert found.events[0].counts is False


@pytest.mark.parametrize(
    "given",
    [
        {"what": "great"},
        {"what": "used"},
        {"what": "used", "item_id": "kn:x"},
        {"what": "used", "context_id": "ci:1:x", "track": "mine"},
        {"what": "used", "context_id": "ci:1:x", "evaluator_id": "judge"},
        {"what": "used", "context_id": "a\nb"},
    ],
)
async def test_a_bad_signal_is_refused(tmp_path: Path, given: dict[str, Any]) -> None:
    async with house_of(tmp_path) as house:
        with pytest.raises(InvalidArgumentError):
            await signal(house, **given)


async def test_a_signal_is_about_something_that_is_there(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        with pytest.raises(NotFoundError):
            await signal(house, "used", item_id="kn:99")


async def test_a_reply_that_cites_what_it_was_shown_has_used_it(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        item = await house.believed("Use make for the build.")
        other = await house.believed("Use make for the release build.")
        mind = house.mind.at(house.place)
        cited = await mind.answer(f"As {item} says, I use make.", prompt="how do I build with make?")
        totals = (await report(house, item_id=item)).totals
        silent = (await report(house, item_id=other)).totals
        used = [record for record in await house.mind.history() if record.kind == "adoption_recorded"]
    assert cited.context is not None
    assert {item, other} <= set(cited.context.items)
    assert (totals["used"], silent["used"]) == (1, 0)
    assert cited.adoption == {"used": 1}
    assert [record.actor.kind for record in used] == ["runtime"]


def test_tracks_and_gates_fit_each_other() -> None:
    assert {rule.track for rule in READINESS.values()} == set(Track) - {Track.RUNTIME_ADOPTION}
