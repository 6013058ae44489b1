"""A ledger with a place that has files to cite, agents in several sessions, and persons with keys."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pmm_mcp.domain.anchors import Anchor, Place
from pmm_mcp.domain.records import Actor, Call
from pmm_mcp.keys import KeyRing, Sign
from pmm_mcp.services.knowledge.distilling import DistillInput, DistillResult
from pmm_mcp.services.knowledge.giving_up import DemoteResult
from pmm_mcp.services.knowledge.promoting import PromoteResult
from pmm_mcp.services.record import EvidenceInput
from tests.apps import Mind, mind_of
from tests.clocks import ManualClock

DAY_S: Final = 24 * 3_600
PASSPHRASE: Final = "correct horse battery"
FILES: Final = ("a.py", "b.py", "c.py", "d.py", "e.py", "f.py", "g.py", "h.py")


@dataclass
class Person:
    """Someone with a key of this ledger."""

    key: str
    public_key: str
    sign: Sign


@dataclass
class House:
    """A ledger, its clock, and a place with files to cite."""

    mind: Mind
    clock: ManualClock
    ring: KeyRing
    place: Place

    def call(self, session: str = "one", *, kind: Any = "agent") -> Call:
        return Call(actor=Actor(kind=kind, name="someone", session=session), place=self.place)

    @property
    def terminal(self) -> Call:
        return self.call("cli", kind="human")

    async def stranger(self) -> Person:
        made = await asyncio.to_thread(self.ring.create, PASSPHRASE)
        sign = await asyncio.to_thread(self.ring.unlock, made.key, PASSPHRASE)
        return Person(made.key, made.public_key, sign)

    async def person(self, name: str = "Ada", *, by: Person | None = None) -> Person:
        person = await self.stranger()
        signer = by or person
        await self.mind.app.reviewers.register(
            name,
            key=person.key,
            public_key=person.public_key,
            by=signer.key,
            sign=signer.sign,
            call=self.terminal,
        )
        return person

    async def seen(self, file: str, *, session: str = "one", **given: Any) -> str:
        evidence = EvidenceInput(content=f"{file} shows it, {given}", source=file, **given)
        return (await self.mind.app.records.record(evidence, call=self.call(session))).id

    async def taught(self, person: Person) -> str:
        result = await self.mind.app.reviewers.teach(
            "I have seen it hold for years.",
            field="general",
            source="",
            key=person.key,
            sign=person.sign,
            call=self.terminal,
        )
        return result.id

    async def principle(self, person: Person) -> tuple[str, list[str]]:
        """A candidate that lacks nothing but a signature, and the verifications for it."""
        supporting = [await self.seen(name) for name in FILES[:3]]
        given = DistillInput(
            statement="Evidence comes before belief.",
            content="Whoever believes first looks for what fits.",
            tier="principle",
            supporting_refs=supporting,
            teaching_refs=[await self.taught(person)],
        )
        item = (await self.mind.app.distilling.distill(given, call=self.call())).id
        return item, [await self.seen(name, session="two") for name in FILES[3:5]]

    async def distill(self, statement: str = "Use make.", *, session: str = "one", **given: Any) -> str:
        """A candidate of a tool, resting on the first file."""
        return (await self.proposed(statement, session=session, **given)).id

    async def proposed(
        self, statement: str = "Use make.", *, session: str = "one", **given: Any
    ) -> DistillResult:
        if "supporting_refs" not in given:
            given["supporting_refs"] = [await self.seen(FILES[0])]
        proposal = DistillInput(**({"statement": statement, "content": "It is there.", "tier": "qi"} | given))
        return await self.mind.app.distilling.distill(proposal, call=self.call(session))

    async def believed(self, statement: str = "Use make.", **given: Any) -> str:
        """A tool that has passed its gate."""
        item = await self.distill(statement, **given)
        looked = await self.seen(FILES[1], session="two", labels=[statement[:40]])
        result = await self.promote(item, [looked])
        assert result.promoted, result.gate
        return item

    async def demote(
        self,
        item: str,
        *evidence: str,
        status: str = "demoted",
        reason_type: str = "contradicted",
        session: str = "one",
        **given: Any,
    ) -> DemoteResult:
        return await self.mind.app.demoting.demote(
            item,
            status=status,
            evidence_refs=evidence,
            reason=given.get("reason", "it failed"),
            reason_type=reason_type,
            call=self.call(session),
        )

    async def promote(self, item: str, verification: list[str], *, session: str = "two") -> PromoteResult:
        return await self.mind.app.promoting.promote(
            item,
            verification_refs=verification,
            reason="it has been seen; reviewer: Ada",
            target_status="",
            call=self.call(session),
        )

    async def decide(self, item: str, person: Person, *, decision: Any = "approve", move: str = "") -> str:
        case = await self.mind.app.reviewing.show(item, move=move)
        result = await self.mind.app.reviewing.decide(
            case, decision=decision, note="", key=person.key, sign=person.sign, call=self.terminal
        )
        return result.id


@asynccontextmanager
async def house_of(directory: Path) -> AsyncGenerator[House]:
    root = await asyncio.to_thread(directory.resolve)
    for name in FILES:
        (root / name).write_text(f"{name}\n")
    place = Place(worktree=Anchor(f"worktree://{root.as_posix()}"), repo=Anchor("repo://host/o/n"))
    clock = ManualClock()
    async with mind_of(root, place=place, clock=clock) as mind:
        yield House(mind, clock, KeyRing(root / "keys"), place)
