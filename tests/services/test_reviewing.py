"""A principle becomes law by raising, evidence and a person's signature, and by nothing less."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.case import Requirements
from pmm_mcp.domain.errors import NotFoundError, PmmError, PolicyViolationError, ReviewRefusedError
from pmm_mcp.domain.events.memory import EvidenceRecorded, Origin, Provenance
from pmm_mcp.domain.events.review import ReviewRecorded, TeachingSigned
from pmm_mcp.domain.records import Draft
from pmm_mcp.domain.tiers import Tier
from pmm_mcp.services.knowledge.distilling import DistillInput
from pmm_mcp.services.knowledge.promoting import PromoteResult
from tests.houses import DAY_S, FILES, House, Person, house_of


async def test_a_principle_takes_evidence_teaching_and_a_signature(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        item, verification = await house.principle(ada)
        refused = await house.promote(item, verification)
        waiting = await house.mind.app.reviewing.waiting()
        case = await house.mind.app.reviewing.show(item)
        await house.decide(item, ada)
        promoted = await house.promote(item, verification)
        listed = await house.mind.app.reviewing.waiting()
        verified = await house.mind.app.log.verify(projections=True)

    assert [reason.partition(":")[0] for reason in refused.gate.reasons] == ["review_missing"]
    assert any("review" in missing for missing in refused.gate.missing)
    assert [(one.id, one.move, one.to) for one in waiting.waiting] == [(item, "promote", "canonical")]
    assert [one.role for one in case.evidence] == ["supporting"] * 3 + ["verification"] * 2 + ["teaching"]
    assert (promoted.promoted, promoted.new_status) == (True, "canonical")
    assert listed.waiting == []
    assert verified.ok, verified.problems


async def test_a_law_is_raised_to_a_principle_and_comes_back_when_it_falls(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        teaching = await house.taught(ada)
        given = DistillInput(
            statement="Look before you leap.",
            content="Twice it was not done, and twice it went wrong.",
            tier="dao_ren",
            supporting_refs=[await house.seen(name) for name in FILES[:3]],
            teaching_refs=[teaching],
        )
        law = (await house.mind.app.distilling.distill(given, call=house.call())).id
        first = await house.promote(law, [await house.seen(FILES[3], session="two")])
        raised = await house.mind.app.distilling.raise_tier(
            law, statement="", content="", reason="it holds everywhere", call=house.call()
        )
        verification = [await house.seen(name, session="three") for name in FILES[4:6]]
        await house.promote(raised.id, verification, session="three")
        await house.decide(raised.id, ada)
        second = await house.promote(raised.id, verification, session="three")
        superseded = await house.mind.app.items.get(law)
        fallen = await house.mind.app.demoting.demote(
            raised.id,
            status="demoted",
            evidence_refs=[await house.seen(FILES[6])],
            reason="not here",
            reason_type="contradicted",
            call=house.call(),
        )
        back = await house.mind.app.items.get(law)
        waiting = await house.mind.app.reviewing.waiting()

    assert first.promoted
    assert (second.promoted, second.superseded) == (True, law)
    assert superseded.item.status == "demoted"
    assert fallen.moved_with == [law]
    assert back.item.status == "promoted"
    assert [(one.id, one.move) for one in waiting.waiting] == [(raised.id, "uphold"), (law, "uphold")]


async def approved(house: House, ada: Person) -> tuple[str, list[str]]:
    item, verification = await house.principle(ada)
    await house.promote(item, verification)
    await house.decide(item, ada)
    return item, verification


async def other_evidence(house: House, ada: Person) -> PromoteResult:
    item, verification = await approved(house, ada)
    return await house.promote(item, [*verification, await house.seen(FILES[6], session="two")])


async def expired(house: House, ada: Person) -> PromoteResult:
    item, verification = await approved(house, ada)
    house.clock.advance(31 * DAY_S)
    return await house.promote(item, verification)


async def revoked_since(house: House, ada: Person) -> PromoteResult:
    item, verification = await approved(house, ada)
    await house.mind.app.reviewers.revoke(
        ada.key, reason="lost", by=ada.key, sign=ada.sign, call=house.terminal
    )
    return await house.promote(item, verification)


async def used_up(house: House, ada: Person) -> PromoteResult:
    item, verification = await approved(house, ada)
    await house.promote(item, verification)
    against = await house.seen(FILES[6])
    await house.mind.app.demoting.demote(
        item,
        status="demoted",
        evidence_refs=[against],
        reason="obsolete",
        reason_type="obsolete",
        call=house.call(),
    )
    again = [await house.seen(name, session="three", importance=1) for name in FILES[3:5]]
    return await house.promote(item, again, session="three")


async def rejected(house: House, ada: Person) -> PromoteResult:
    item, verification = await house.principle(ada)
    await house.promote(item, verification)
    await house.decide(item, ada, decision="reject")
    return await house.promote(item, verification)


async def never_asked(house: House, ada: Person) -> PromoteResult:
    item, verification = await house.principle(ada)
    return await house.promote(item, verification)


@pytest.mark.parametrize("attempt", [other_evidence, expired, revoked_since, used_up, rejected, never_asked])
async def test_a_signature_fits_once_and_only_what_was_signed(
    tmp_path: Path, attempt: Callable[[House, Person], Any]
) -> None:
    async with house_of(tmp_path) as house:
        result = await attempt(house, await house.person())
    assert not result.promoted
    assert any(reason.startswith("review_missing") for reason in result.gate.reasons)


async def test_a_forged_review_proves_nothing_and_is_found(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        item, verification = await house.principle(ada)
        await house.promote(item, verification)
        case = await house.mind.app.reviewing.show(item)
        await house.mind.app.reviewing.decide(
            case, decision="approve", note="", key=ada.key, sign=lambda _: "0" * 128, call=house.terminal
        )
        result = await house.promote(item, verification)
        verified = await house.mind.app.log.verify()
    assert not result.promoted
    assert [problem.code for problem in verified.problems] == ["signature_invalid"]


async def test_an_agent_writes_no_review(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        item, verification = await house.principle(ada)
        await house.promote(item, verification)
        case = await house.mind.app.reviewing.show(item)
        with pytest.raises(PolicyViolationError):
            await house.mind.app.reviewing.decide(
                case, decision="approve", note="", key=ada.key, sign=ada.sign, call=house.call()
            )


async def test_what_changed_since_it_was_shown_is_not_signed(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        item, verification = await house.principle(ada)
        await house.promote(item, verification)
        shown = await house.mind.app.reviewing.show(item)
        await house.promote(item, [*verification, await house.seen(FILES[6], session="two")])
        with pytest.raises(ReviewRefusedError):
            await house.mind.app.reviewing.decide(
                shown, decision="approve", note="", key=ada.key, sign=ada.sign, call=house.terminal
            )


async def test_a_later_key_is_signed_by_an_earlier_one_and_waits_a_day(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        with pytest.raises(ReviewRefusedError):
            await house.person("Mallory")
        bob = await house.person("Bob", by=ada)
        item, verification = await house.principle(ada)
        await house.promote(item, verification)
        with pytest.raises(ReviewRefusedError, match="younger than a day"):
            await house.decide(item, bob)
        house.clock.advance(DAY_S + 1)
        await house.decide(item, bob)
        result = await house.promote(item, verification)
        verified = await house.mind.app.log.verify()
    assert result.promoted
    assert verified.ok, verified.problems


async def test_a_key_that_was_never_registered_decides_nothing(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        item, verification = await house.principle(ada)
        await house.promote(item, verification)
        with pytest.raises(ReviewRefusedError):
            await house.decide(item, await house.stranger())


async def test_a_reviewer_makes_a_gate_stricter_and_nobody_looser(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()

        async def tighten(needs: Requirements) -> None:
            await house.mind.app.reviewers.tighten(
                Tier.QI, needs, reason="too easy", key=ada.key, sign=ada.sign, call=house.terminal
            )

        await tighten(Requirements(supporting=1, verification=2, teaching=0, review=False))
        with pytest.raises(ReviewRefusedError):
            await tighten(Requirements(supporting=1, verification=1, teaching=0, review=False))
        given = DistillInput(
            statement="Use the tool.",
            content="It works.",
            tier="tool",
            supporting_refs=[await house.seen(FILES[0])],
        )
        item = (await house.mind.app.distilling.distill(given, call=house.call())).id
        one = await house.promote(item, [await house.seen(FILES[1], session="two")])
        two = await house.promote(item, [await house.seen(name, session="two") for name in FILES[1:3]])
        verified = await house.mind.app.log.verify()
    assert (one.promoted, one.gate.requirements.verification, two.promoted) == (False, 2, True)
    assert verified.ok, verified.problems


async def test_global_takes_a_signature_and_repo_does_not(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        given = DistillInput(
            statement="Run the tests first.",
            content="Often enough they were red.",
            tier="method",
            supporting_refs=[await house.seen(FILES[0])],
        )
        item = (await house.mind.app.distilling.distill(given, call=house.call())).id
        await house.promote(item, [await house.seen(FILES[1], session="two")])

        async def publish(to: str) -> Any:
            return await house.mind.app.publishing.publish(item, to=to, reason="all", call=house.call())

        with pytest.raises(PmmError):
            await publish("global")
        repo = await publish("repo")
        refused = await publish("global")
        await house.decide(item, ada)
        allowed = await publish("global")
        seen = await house.mind.app.items.get(item)
    assert repo.new_anchor == "repo://host/o/n"
    assert (refused.published, refused.new_anchor) == (False, "repo://host/o/n")
    assert (allowed.published, allowed.new_anchor, seen.item.anchor) == (
        True,
        "global://default",
        "global://default",
    )


async def test_what_was_believed_is_retired_and_restored_by_a_person_only(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        given = DistillInput(
            statement="Use make.",
            content="It is there.",
            tier="qi",
            supporting_refs=[await house.seen(FILES[0])],
        )
        item = (await house.mind.app.distilling.distill(given, call=house.call())).id
        await house.promote(item, [await house.seen(FILES[1], session="two")])
        against = await house.seen(FILES[2])

        async def retire() -> str:
            result = await house.mind.app.demoting.demote(
                item,
                status="retired",
                evidence_refs=[against],
                reason="gone",
                reason_type="obsolete",
                call=house.call(),
            )
            return result.new_status

        async def restore() -> str:
            call = house.call()
            return (await house.mind.app.demoting.restore(item, reason="back", call=call)).new_status

        statuses = [await retire()]
        await house.decide(item, ada, move="retire")
        statuses += [await retire(), await restore()]
        await house.decide(item, ada, move="restore")
        statuses.append(await restore())
        with pytest.raises(NotFoundError):
            await house.mind.app.reviewing.show(item)
    assert statuses == ["promoted", "retired", "retired", "candidate"]


async def test_a_review_answers_a_counterexample(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        against = await house.seen(FILES[6])
        given = DistillInput(
            statement="Use ruff.",
            content="It is fast.",
            tier="qi",
            supporting_refs=[await house.seen(FILES[0])],
            counterexample_refs=[against],
        )
        item = (await house.mind.app.distilling.distill(given, call=house.call())).id
        verification = [await house.seen(FILES[1], session="two")]
        blocked = await house.promote(item, verification)
        await house.decide(item, ada)
        passed = await house.promote(item, verification)
        records = await house.mind.history()
    assert [reason.partition(":")[0] for reason in blocked.gate.reasons] == ["counterexample_unanswered"]
    assert passed.promoted
    (review,) = [record.event for record in records if isinstance(record.event, ReviewRecorded)]
    assert review.answered == (int(against.partition(":")[2]),)


async def test_verify_finds_a_review_that_was_written_past_the_rules(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        item, verification = await house.principle(ada)
        await house.promote(item, verification)
        await house.decide(item, ada)
        records = await house.mind.history()
        event = next(one.event for one in records if isinstance(one.event, ReviewRecorded))
        copied = replace(house.terminal)
        await house.mind.app.ledger.write(
            lambda tx: tx.append(Draft(event.model_copy(update={"item": 1}))), call=copied
        )
        verified = await house.mind.app.log.verify()
    assert [problem.code for problem in verified.problems] == ["signature_invalid"]


async def contested(house: House) -> tuple[str, str]:
    """Something believed that rests on evidence which is gone, and that evidence."""
    item = await house.believed()
    gone = await house.seen(FILES[0])
    await house.mind.app.withdrawing.withdraw(gone, reason="wrong", call=house.call())
    return item, gone


async def signed_and_demoted(house: House, ada: Person) -> tuple[str, list[str]]:
    item, verification = await approved(house, ada)
    assert (await house.promote(item, verification)).promoted
    await house.demote(item, await house.seen(FILES[6]), reason="it failed on Monday")
    return item, verification


async def waiting(house: House) -> list[tuple[str, str]]:
    return [(one.id, one.move) for one in (await house.mind.app.reviewing.waiting()).waiting]


async def awaited(house: House) -> list[str] | None:
    return (await house.mind.app.status.status(call=house.call(), brief=False)).awaiting_review


@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_a_person_looks_at_a_demotion_once(tmp_path: Path, decision: str) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        item, _ = await signed_and_demoted(house, ada)
        before = (await waiting(house), await awaited(house))
        case = await house.mind.app.reviewing.show(item)
        await house.decide(item, ada, decision=decision)
        after = (await waiting(house), await awaited(house))
    assert before == ([(item, "uphold")], [item])
    assert (case.why, case.reason) == ("demoted by agent someone", "it failed on Monday")
    assert [change.kind for change in case.history] == [
        "promotion_refused",
        "review_recorded",
        "knowledge_promoted",
        "knowledge_demoted",
    ]
    assert after == ([], [])


async def test_who_lets_a_demotion_stand_answers_nothing_that_speaks_against_it(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        item, _ = await signed_and_demoted(house, ada)
        await house.decide(item, ada)
        again = [await house.seen(name, session="three", importance=1) for name in FILES[3:5]]
        result = await house.promote(item, again, session="three")
    codes = {reason.partition(":")[0] for reason in result.gate.reasons}
    assert codes == {"counterexample_unanswered", "review_missing"}


async def test_who_retires_something_answers_nothing_that_speaks_against_it(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        item = await house.believed()
        against = await house.seen(FILES[6])
        await house.demote(item, against)
        for _ in range(2):
            await house.demote(item, against, status="retired")
            if await waiting(house):
                await house.decide(item, ada)
        for _ in range(2):
            await house.mind.app.demoting.restore(item, reason="back", call=house.call())
            if await waiting(house):
                await house.decide(item, ada)
        result = await house.promote(item, [await house.seen(FILES[4], session="two")])
        seen = await house.mind.app.items.get(item)
    assert seen.item.status == "candidate"
    assert [reason.partition(":")[0] for reason in result.gate.reasons] == ["counterexample_unanswered"]


async def test_what_is_upheld_no_longer_waits_until_something_new_speaks_against_it(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        item, _ = await contested(house)
        before = await waiting(house)
        await house.decide(item, ada, decision="reject")
        (rejected,) = (await house.mind.app.reviewing.waiting()).waiting
        await house.decide(item, ada)
        upheld = await waiting(house)
        looked = await house.seen(FILES[1], session="two", labels=["Use make."])
        await house.mind.app.withdrawing.withdraw(looked, reason="wrong", call=house.call())
        again = await waiting(house)
    assert (before, upheld, again) == ([(item, "uphold")], [], [(item, "uphold")])
    assert "a reviewer rejected it" in rejected.why


async def test_evidence_withdrawn_since_it_was_shown_is_not_signed(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        item, _ = await contested(house)
        shown = await house.mind.app.reviewing.show(item)
        looked = await house.seen(FILES[1], session="two", labels=["Use make."])
        await house.mind.app.withdrawing.withdraw(looked, reason="wrong", call=house.call())
        with pytest.raises(ReviewRefusedError, match="has changed since it was shown"):
            await house.mind.app.reviewing.decide(
                shown, decision="approve", note="", key=ada.key, sign=ada.sign, call=house.terminal
            )


async def test_who_signs_signs_the_end_of_the_ledger_that_was_seen(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        item, verification = await house.principle(ada)
        await house.promote(item, verification)
        shown = await house.mind.app.reviewing.show(item)
        await house.seen(FILES[7])
        await house.mind.app.reviewing.decide(
            shown, decision="approve", note="", key=ada.key, sign=ada.sign, call=house.terminal
        )
        records = await house.mind.history()
        verified = await house.mind.app.log.verify()
    (review,) = [record.event for record in records if isinstance(record.event, ReviewRecorded)]
    assert (review.since_seq, review.head_hash) == (shown.head, records[shown.head - 1].hash.hex())
    assert verified.ok, verified.problems


async def test_only_a_move_that_waits_is_shown(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        item, verification = await house.principle(ada)
        await house.promote(item, verification)
        for move in ("retire", "uphold", "nonsense"):
            with pytest.raises(NotFoundError):
                await house.mind.app.reviewing.show(item, move=move)
        assert (await house.mind.app.reviewing.show(item, move="promote")).to == "canonical"


@pytest.mark.parametrize("forged", ["nobody", "another key", "another record"])
async def test_a_teaching_that_nobody_signed_teaches_nothing_and_is_found(
    tmp_path: Path, forged: str
) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()

        def write(tx: Any) -> str:
            event = EvidenceRecorded(provenance=Provenance.HUMAN, origin=Origin.SIGNED)
            (record,) = tx.append(Draft(event, {"content": Admitted("It holds.")}))
            if forged != "nobody":
                digest = "0" * 64 if forged == "another record" else record.hash.hex()
                signature = ada.sign(b"something else")
                tx.append(
                    Draft(
                        TeachingSigned(evidence=record.seq, digest=digest, key=ada.key, signature=signature)
                    )
                )
            return f"ev:{record.seq}"

        taught = await house.mind.app.ledger.write(write, call=house.terminal)
        item = await house.distill(
            tier="dao_tian",
            supporting_refs=[await house.seen(name) for name in FILES[:3]],
            teaching_refs=[taught],
        )
        verification = [await house.seen(name, session="two") for name in FILES[3:5]]
        result = await house.promote(item, verification)
        verified = await house.mind.app.log.verify()
    codes = {reason.partition(":")[0] for reason in result.gate.reasons}
    assert codes == {"teaching_short", "review_missing"}
    assert not verified.ok
    assert {problem.code for problem in verified.problems} == {"signature_invalid"}


async def test_what_was_taught_before_a_key_was_revoked_stays_taught(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada = await house.person()
        bob = await house.person("Bob", by=ada)
        item, verification = await house.principle(bob)
        await house.mind.app.reviewers.revoke(
            bob.key, reason="lost", by=ada.key, sign=ada.sign, call=house.terminal
        )
        result = await house.promote(item, verification)
        with pytest.raises(ReviewRefusedError, match="was revoked"):
            await house.taught(bob)
        with pytest.raises(ReviewRefusedError, match="was revoked"):
            await house.decide(item, bob)
    assert [reason.partition(":")[0] for reason in result.gate.reasons] == ["review_missing"]


async def test_a_key_is_registered_once_and_under_its_own_name(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        ada, stranger = await house.person(), await house.stranger()

        async def register(key: str, public_key: str) -> None:
            await house.mind.app.reviewers.register(
                "Eve", key=key, public_key=public_key, by=ada.key, sign=ada.sign, call=house.terminal
            )

        with pytest.raises(ReviewRefusedError, match="is known here"):
            await register(ada.key, ada.public_key)
        with pytest.raises(ReviewRefusedError, match="not the name of this key"):
            await register("0" * 16, stranger.public_key)
        known = await house.mind.app.reviewers.reviewers()
    assert [(one.name, one.young, one.revoked) for one in known.reviewers] == [("Ada", False, False)]
