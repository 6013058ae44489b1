"""Random agents against the lifecycle: whatever they call, nothing is believed that the rules do not allow.

What is lawful is judged here a second time, from the events alone and in other words than the gate's.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from pmm_mcp.bootstrap import App
from pmm_mcp.domain.anchors import Anchor, Place
from pmm_mcp.domain.case import FLOOR
from pmm_mcp.domain.errors import PmmError
from pmm_mcp.domain.events.cards import CardCreated, CardLinked, CardPromoted, CardUnlinked
from pmm_mcp.domain.events.knowledge import (
    Candidate,
    KnowledgeDemoted,
    KnowledgePromoted,
    KnowledgePublished,
    KnowledgeRaised,
    KnowledgeRestored,
    KnowledgeRetired,
)
from pmm_mcp.domain.events.memory import EvidenceRecorded, EvidenceWithdrawn
from pmm_mcp.domain.records import Actor, Call, Recorded
from pmm_mcp.domain.tiers import ACTIVE, Status, Tier
from pmm_mcp.services.knowledge.distilling import DistillInput
from pmm_mcp.services.knowledge.listing import ListInput
from pmm_mcp.services.record import EvidenceInput
from tests.apps import mind_of
from tests.ledgers import history

CHANCES: Final = st.builds(random.Random, st.integers(0, 2**32))
FILES: Final = ("a.py", "b.py", "c.py", "d.py", "e.py", "copy_of_a.py")
COMMITS: Final = ("a" * 40, "b" * 40)
SESSIONS: Final = ("one", "two", "three")
SOURCES: Final = (*FILES, *FILES, "a.py:1", "b.py:1-2", "", "https://example.org", "none.py", "../secret")
REACHED_AT_LEAST: Final = 0.05
WANTED: Final = {
    "card_created",
    "card_promoted",
    "evidence_withdrawn",
    "knowledge_distilled",
    "knowledge_raised",
    "knowledge_promoted",
    "knowledge_demoted",
    "promotion_refused",
}


@dataclass
class Agent:
    """Calls whatever comes to its mind, through two servers of one ledger."""

    apps: Sequence[App]
    place: Place
    chance: random.Random = field(default_factory=random.Random)
    evidence: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    commit: str = COMMITS[0]

    @property
    def app(self) -> App:
        return self.chance.choice(self.apps)

    def call(self) -> Call:
        return Call(
            actor=Actor(kind="agent", name="agent", session=self.chance.choice(SESSIONS)),
            place=replace(self.place, head=self.commit),
        )

    def some(self, ids: Sequence[str], most: int) -> list[str]:
        """A few of the ids, now and then one twice, or one that is nothing."""
        chosen = self.chance.choices(ids or ["ev:1"], k=self.chance.randint(0, most))
        return [*chosen, *(["ev:999"] if self.chance.random() < 0.03 else [])]

    async def one_item(self) -> str:
        """An item, more often than not one that is believed; rather one that was raised than another."""
        listed = await self.app.knowledge.list(ListInput(anchor="*", limit=30), call=self.call())
        active = [item.id for item in listed.items if item.status in ("promoted", "canonical")]
        return self.chance.choice((active[:3] * 3 + self.items) or ["kn:1"])

    async def record(self, chance: random.Random) -> None:
        self.chance = chance
        sources = (*SOURCES, *self.said, *self.evidence[-2:])
        given = EvidenceInput(
            content=f"seen {self.chance.randint(0, 40)}",
            source=self.chance.choice(sources),
            provenance="research" if self.chance.random() < 0.15 else "",
            evaluator_id="judge" if self.chance.random() < 0.05 else "",
            answers=self.chance.choice(self.evidence) if self.evidence and self.chance.random() < 0.3 else "",
        )
        self.evidence.append((await self.app.records.record(given, call=self.call())).id)

    async def speak(self, chance: random.Random) -> None:
        self.chance = chance
        begun = await self.app.turns.begin("is it so?", call=self.call())
        ended = await self.app.turns.finish(begun.turn, "It is so.", call=self.call())
        self.said += [begun.turn.replace("turn", "msg"), f"msg:{ended.event_range.first + 1}"]

    async def distill(self, chance: random.Random) -> None:
        self.chance = chance
        given = DistillInput(
            statement=f"It is so {self.chance.randint(0, 25)}.",
            content="For reasons.",
            tier=self.chance.choice(list(Tier)),
            supporting_refs=self.some(self.evidence, 4),
            teaching_refs=self.some(self.evidence, 1) if self.chance.random() < 0.2 else [],
            counterexample_refs=self.some(self.evidence, 1) if self.chance.random() < 0.1 else [],
        )
        self.items.append((await self.app.distilling.distill(given, call=self.call())).id)

    async def promote(self, chance: random.Random) -> None:
        self.chance = chance
        await self.app.promoting.promote(
            self.chance.choice(self.items or ["kn:1"]),
            verification_refs=self.some(self.evidence[-8:], 5),
            reason="it is so; reviewer: Alice (human), approved",
            target_status=self.chance.choice(["", "", "", "canonical", "promoted"]),
            call=self.call(),
        )

    async def promote_with_care(self, chance: random.Random) -> None:
        """Do what the gate asks for: look again, in another session, at files, and cite that."""
        self.chance = chance
        given = ListInput(awaiting="promotion", anchor="*", limit=5)
        waiting = (await self.app.knowledge.list(given, call=self.call())).items
        for name in self.chance.sample(FILES, k=3):
            seen = EvidenceInput(
                content=f"looked again {self.chance.random()}",
                source=name,
                answers=self.chance.choice(self.evidence) if self.evidence else "",
            )
            self.evidence.append((await self.app.records.record(seen, call=self.call())).id)
        if waiting:
            await self.app.promoting.promote(
                self.chance.choice(waiting).id,
                verification_refs=self.evidence[-3:],
                reason="seen again",
                target_status="",
                call=self.call(),
            )

    async def demote(self, chance: random.Random) -> None:
        self.chance = chance
        await self.app.demoting.demote(
            await self.one_item(),
            status=self.chance.choice(["demoted", "demoted", "retired"]),
            evidence_refs=self.some(self.evidence, 2),
            reason="it is not so",
            reason_type=self.chance.choice(["contradicted", "obsolete", "superseded", "out_of_scope"]),
            call=self.call(),
        )

    async def raise_tier(self, chance: random.Random) -> None:
        self.chance = chance
        raised = await self.app.distilling.raise_tier(
            await self.one_item(),
            statement=self.chance.choice(["", f"It is always so {self.chance.randint(0, 9)}."]),
            content="",
            reason="it holds more widely",
            call=self.call(),
        )
        self.items.append(raised.id)

    async def publish(self, chance: random.Random) -> None:
        self.chance = chance
        await self.app.publishing.publish(
            await self.one_item(),
            to=self.chance.choice(["repo", "global"]),
            reason="everybody should know",
            call=self.call(),
        )

    async def make_card(self, chance: random.Random) -> None:
        self.chance = chance
        listed = await self.app.knowledge.list(
            ListInput(kind="knowledge", anchor="*", limit=30), call=self.call()
        )
        known = [item.id for item in listed.items]
        of_evidence = chance.random() < 0.3
        given = DistillInput(
            statement=f"A card says so {chance.randint(0, 9)}." if of_evidence else "",
            content="For reasons." if of_evidence else "",
            tier=chance.choice(["qi", "shu"]) if of_evidence else "",
            supporting_refs=self.some(self.evidence, 3) if of_evidence else [],
        )
        from_id = "" if of_evidence else chance.choice(known or ["kn:1"])
        self.items.append((await self.app.cards.create(given, from_id=from_id, call=self.call())).id)

    async def link(self, chance: random.Random) -> None:
        self.chance = chance
        cards = [item for item in self.items if item.startswith("card:")]
        await self.app.card_links.link(
            chance.choice(cards or ["card:1"]),
            evidence_id=chance.choice(self.evidence or ["ev:1"]),
            role=chance.choice(["supporting", "verification", "verification", "teaching", "counterexample"]),
            note="",
            unlink=chance.random() < 0.2,
            call=self.call(),
        )

    async def withdraw(self, chance: random.Random) -> None:
        self.chance = chance
        await self.app.withdrawing.withdraw(
            self.chance.choice(self.evidence or ["ev:1"]), reason="never mind", call=self.call()
        )

    async def restore(self, chance: random.Random) -> None:
        self.chance = chance
        await self.app.demoting.restore(
            self.chance.choice(self.items or ["kn:1"]), reason="after all", call=self.call()
        )


Move = Callable[[Agent, random.Random], Coroutine[Any, Any, None]]
MOVES: Final[dict[Move, int]] = {
    Agent.record: 9,
    Agent.speak: 1,
    Agent.distill: 5,
    Agent.promote: 8,
    Agent.promote_with_care: 5,
    Agent.demote: 3,
    Agent.raise_tier: 3,
    Agent.publish: 2,
    Agent.make_card: 3,
    Agent.link: 2,
    Agent.withdraw: 1,
    Agent.restore: 1,
}
"""How often each is called."""


class Court:
    """Judges every promotion of a history by the events before it."""

    def __init__(self, records: Sequence[Recorded]) -> None:
        self.records = {record.seq: record for record in records}
        self.gone: set[int] = set()
        self.refs: dict[int, dict[str, set[int]]] = {}
        self.demoted_at: Counter[int] = Counter()
        self.answered: dict[int, set[int]] = {}
        self.status: dict[int, Status] = {}
        self.superseded: dict[int, int] = {}
        self.carries: dict[int, int] = {}
        self.raised: dict[int, int] = {}
        self.said: dict[int, tuple[str, str]] = {}
        """What each item says, and where."""

    def verdicts(self) -> Iterator[str]:
        """Yield what is unlawful."""
        for record in self.records.values():
            match record.event:
                case EvidenceWithdrawn(evidence=evidence):
                    self.gone.add(evidence)
                case CardLinked() as event:
                    for item in filter(None, (event.item, event.twin)):
                        self.refs[item][event.role].add(event.evidence)
                        if event.role == "counterexample":
                            self.answered[item].discard(event.evidence)
                case CardUnlinked() as event:
                    for item in filter(None, (event.item, event.twin)):
                        self.refs[item][event.role].discard(event.evidence)
                case Candidate() as event:
                    self.born(record, event)
                case KnowledgePromoted() as event:
                    self.refs[event.item]["verification"] |= set(event.linked)
                    yield from self.unlawful(event)
                    yield from self.said_twice(event.item)
                    self.answered[event.item] |= set(event.answered)
                    self.status[event.item] = event.to_status
                case KnowledgeDemoted() as event:
                    self.against(event.item, event.counterexample)
                    self.demoted_at[event.item] = record.seq
                    self.status[event.item] = Status.DEMOTED
                    if event.superseded_by:
                        self.superseded[event.item] = event.superseded_by
                case KnowledgeRetired() as event:
                    if event.from_status is not Status.CANDIDATE:
                        yield f"kn:{event.item} was believed, and retired without a person"
                    self.against(event.item, event.counterexample)
                    self.status[event.item] = Status.RETIRED
                case KnowledgeRestored() as event:
                    successor = self.superseded.get(event.item)
                    if successor is None or self.status[successor] is not Status.DEMOTED:
                        yield f"kn:{event.item} came back for no reason"
                    self.against(event.item, event.counterexample)
                    self.status[event.item] = event.to_status
                    yield from self.said_twice(event.item)
                case KnowledgePublished() as event:
                    self.said[event.item] = (self.said[event.item][0], record.anchor)
                    yield from self.said_twice(event.item)
                    if left := self.spoken_against(event.item) - self.answered[event.item]:
                        yield f"kn:{event.item} was published over {left}"
                    if record.anchor.startswith("global"):
                        yield "something became global without a person"
                case _:
                    pass
        yield from self.disagreements()

    def born(self, record: Recorded, event: Candidate) -> None:
        if isinstance(event, CardCreated) and event.from_item is not None:
            self.carries[record.seq] = event.from_item
        if isinstance(event, KnowledgeRaised):
            self.raised[record.seq] = event.origin
        roles = ("supporting", "verification", "teaching", "counterexample")
        self.refs[record.seq] = {role: set(getattr(event, role)) for role in roles}
        self.answered[record.seq] = set()
        self.status[record.seq] = Status.CANDIDATE
        self.said[record.seq] = ((record.texts["statement"] or "").strip(" ."), record.anchor)

    def disagreements(self) -> Iterator[str]:
        """Yield which cards are believed while their knowledge is not, or the other way round."""
        gone = {Status.DEMOTED, Status.RETIRED}
        for card, item in self.carries.items():
            both = {self.status[card], self.status[item]}
            if both & ACTIVE and both & gone:
                yield f"card:{card} is {self.status[card]}, kn:{item} is {self.status[item]}"

    def against(self, item: int, evidence: Sequence[int]) -> None:
        self.refs[item]["counterexample"] |= set(evidence)
        self.answered[item] -= set(evidence)

    def spoken_against(self, item: int) -> set[int]:
        """Return what speaks against a sentence: all these agents work in one repository."""
        alike = [one for one, (words, _) in self.said.items() if words == self.said[item][0]]
        if item in self.raised:
            alike.append(self.raised[item])
        return {seq for one in alike for seq in self.refs[one]["counterexample"]}

    def said_twice(self, item: int) -> Iterator[str]:
        """Yield what is believed beside an item and says the same there; its own kin may."""
        kin = {item, self.raised.get(item, 0)}
        kin |= {self.carries.get(one, 0) for one in kin}
        kin |= {card for card, carried in self.carries.items() if carried in kin}
        for other, said in self.said.items():
            if said == self.said[item] and other not in kin and self.status[other] in ACTIVE:
                yield f"kn:{item} and kn:{other} both say {said}"

    def unlawful(self, event: KnowledgePromoted) -> Iterator[str]:
        belief = self.carries.get(event.item, event.item)
        born, refs = self.records[belief], self.refs[event.item]
        if isinstance(event, CardPromoted) and belief != event.item:
            self.answered[event.item] |= self.answered[belief]
        needs = FLOOR[event.tier]
        if event.tier is Tier.DAO_TIAN:
            yield f"kn:{event.item} became a principle without a person"
        against = self.spoken_against(event.item)
        supporting = [seq for seq in refs["supporting"] - against if self.counts(seq)]
        taken = refs["supporting"] | against
        verification = [
            seq
            for seq in refs["verification"] - taken
            if self.counts(seq) and self.verifies(seq, event, born)
        ]
        support = {self.source(seq, event.tier) for seq in supporting}
        looked = {self.source(seq, event.tier) for seq in verification}
        enough = (
            len(support) >= needs.supporting
            and len(looked) >= needs.verification
            and len(support | looked) >= needs.supporting + needs.verification
        )
        if not enough:
            yield f"kn:{event.item}: {support} and {looked} are not enough for {event.tier}"
        if all(self.body(seq).provenance == "research" for seq in (*supporting, *verification)):
            yield f"kn:{event.item} rests on research alone"
        for seq in against - self.answered[event.item]:
            answers = [
                one
                for one in verification
                if self.body(one).answers == seq
                and (self.body(one).source_event or one) > seq
                and self.records[one].actor.session != self.records[seq].actor.session
            ]
            if not answers:
                yield f"kn:{event.item}: nobody answered ev:{seq}"

    def body(self, seq: int) -> EvidenceRecorded:
        event = self.records[seq].event
        assert isinstance(event, EvidenceRecorded)
        return event

    def counts(self, seq: int) -> bool:
        return seq not in self.gone

    def verifies(self, seq: int, event: KnowledgePromoted, born: Recorded) -> bool:
        record, candidate = self.records[seq], born.event
        assert isinstance(candidate, Candidate)
        elsewhen = record.actor.session != born.actor.session or (
            self.body(seq).commit != candidate.commit and record.anchor == candidate.worktree
        )
        known = seq
        if self.body(seq).origin == "message":
            known = min(seq, self.body(seq).source_event)
            elsewhen = elsewhen and self.records[known].actor.session != born.actor.session
        is_newer = known > born.seq and known > self.demoted_at[event.item]
        return elsewhen and is_newer and self.source(seq, event.tier) != ""

    def source(self, seq: int, tier: Tier) -> str:
        """Name a source by what it holds: a copy of a file is that file; what was not read has no name."""
        event = self.body(seq)
        if event.origin == "file":
            return event.blob
        if event.origin == "message" and tier in (Tier.SHU, Tier.QI):
            return f"turn {event.source_event}"
        return ""


class Agents(RuleBasedStateMachine):
    """Agents in two servers of one ledger; when a run ends, a court judges its whole history."""

    lives: ClassVar[list[Sequence[Recorded]]] = []

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(mkdtemp(prefix="pmm-lives-")).resolve()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.agent = self.runner.run(self.begin())

    async def begin(self) -> Agent:
        for name in FILES:
            (self.directory / name).write_text("a\nb\n" if "a.py" in name else f"{name}\n\n")
        checkout = Anchor(f"worktree://{self.directory.as_posix()}")
        place = Place(worktree=checkout, repo=Anchor("repo://host/o/n"))
        minds = [
            await self.stack.enter_async_context(mind_of(self.directory, place=place, seed=str(n)))
            for n in range(2)
        ]
        return Agent([mind.app for mind in minds], place)

    def teardown(self) -> None:
        records = self.runner.run(history(self.agent.apps[0].ledger))
        found = self.runner.run(self.agent.apps[0].ledger.verify(projections=True))
        self.runner.run(self.stack.aclose())
        self.runner.close()
        rmtree(self.directory)
        self.lives.append(records)
        assert list(Court(records).verdicts()) == []
        assert found.ok

    @rule(chance=CHANCES)
    def acts(self, chance: random.Random) -> None:
        """Make a few calls, of any kind: with a rule for each, most kinds would be left out of most runs."""
        for move in chance.choices(list(MOVES), weights=list(MOVES.values()), k=3):
            with suppress(PmmError):
                self.runner.run(move(self.agent, chance))

    @rule(commit=st.sampled_from(COMMITS))
    def checks_out(self, commit: str) -> None:
        self.agent.commit = commit


def test_whatever_agents_call_nothing_is_believed_that_the_rules_do_not_allow() -> None:
    """And an agent that does what the gate asks gets through: no tier is out of reach but the highest."""
    Agents.lives.clear()
    run_state_machine_as_test(Agents)
    promoted = [
        {one.event.tier for one in records if isinstance(one.event, KnowledgePromoted)}
        for records in Agents.lives
    ]
    reached = {tier: sum(tier in tiers for tiers in promoted) / len(promoted) for tier in Tier}
    assert {tier for tier, share in reached.items() if share >= REACHED_AT_LEAST} == set(Tier) - {
        Tier.DAO_TIAN
    }
    kinds = {record.kind for records in Agents.lives for record in records}
    assert WANTED - kinds == set()
