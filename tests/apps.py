"""The whole program on a real ledger, at a fixed place, with a model that says what a test wrote down."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pmm_mcp.bootstrap import App, open_app
from pmm_mcp.config import load_settings
from pmm_mcp.domain.anchors import Anchor, Place
from pmm_mcp.domain.records import Actor, Call, Recorded
from pmm_mcp.ports import ChatModel, Clock
from pmm_mcp.providers.scripted import ScriptedChat, ScriptedReply
from pmm_mcp.services.record import EvidenceInput, RecordResult
from pmm_mcp.services.search import SearchInput, SearchResult
from pmm_mcp.services.turn import TurnResult
from tests import ledgers
from tests.clocks import ManualClock, SeededIds

HERE: Final = Place(worktree=Anchor("worktree:///code/here"), repo=Anchor("repo://host/owner/here"))
ELSEWHERE: Final = Place(worktree=Anchor("worktree:///code/else"), repo=Anchor("repo://host/owner/else"))
BESIDE: Final = replace(HERE, worktree=Anchor("worktree:///code/beside"))
"""Another checkout of the repository of `HERE`."""

Reply = str | ScriptedReply


@dataclass(frozen=True)
class FixedPlaces:
    """Every call comes from one place; implements the port `Places`."""

    place: Place = HERE

    async def find(self, _cwd: str | None) -> Place:
        return self.place


@dataclass(frozen=True)
class OneModel:
    """One model whatever it is called; implements the port `ChatModels`."""

    chat: ChatModel

    @property
    def default(self) -> str:
        return self.chat.name

    def get(self, _name: str) -> ChatModel:
        return self.chat


def call_of(
    place: Place = HERE, *, conversation: str = "", request_id: str = "", client: str = "agent"
) -> Call:
    return Call(
        actor=Actor(kind="agent", name=client, session="one"),
        place=place,
        conversation=conversation,
        request_id=request_id,
    )


@dataclass(frozen=True)
class Mind:
    """An app, and the small change of talking to it."""

    app: App
    chat: ScriptedChat
    call: Call

    def at(self, place: Place = HERE, *, conversation: str = "") -> "Mind":
        return replace(self, call=call_of(place, conversation=conversation))

    def keyed(self, request_id: str) -> Call:
        return replace(self.call, request_id=request_id)

    async def run(self, prompt: str = "hello?", **given: Any) -> TurnResult:
        return await self.app.turns.run(prompt, **({"call": self.call} | given))

    async def answer(self, reply: str, *, prompt: str = "hello?") -> TurnResult:
        """A turn that the caller answers by itself."""
        begun = await self.app.turns.begin(prompt, call=self.call)
        return await self.app.turns.finish(begun.turn, reply, call=self.call)

    async def record(self, content: str, **given: Any) -> RecordResult:
        return await self.app.records.record(EvidenceInput(content=content, **given), call=self.call)

    async def search(self, query: str, **given: Any) -> SearchResult:
        return await self.app.search.search(SearchInput(query=query, **given), call=self.call)

    async def found(self, query: str, **given: Any) -> list[str]:
        return [item.id for item in (await self.search(query, **given)).results]

    async def history(self, *, after: int = 0) -> list[Recorded]:
        return [record for record in await ledgers.history(self.app.ledger) if record.seq > after]

    async def kinds(self, *, after: int = 0) -> list[str]:
        return [record.kind for record in await self.history(after=after)]

    async def head(self) -> int:
        return (await self.history())[-1].seq

    async def is_sound(self) -> bool:
        return (await self.app.ledger.verify(projections=True)).ok


@asynccontextmanager
async def mind_of(
    directory: Path,
    *replies: Reply,
    place: Place = HERE,
    clock: Clock | None = None,
    chat: ChatModel | None = None,
    seed: str = "",
    name: str = "l.db",
    **settings: Any,
) -> AsyncGenerator[Mind]:
    """Open the app on the ledger of this directory, as a process of its own."""
    scripted = ScriptedChat(replies)
    async with open_app(
        await asyncio.to_thread(load_settings, db=directory / name, **settings),
        role="test",
        models=OneModel(chat or scripted),
        places=FixedPlaces(place),
        clock=clock or ManualClock(),
        ids=SeededIds(seed),
        environment={},
    ) as app:
        yield Mind(app, scripted, call_of(place))


def lines(*parts: str) -> str:
    return "\n".join(parts)


def texts(records: Sequence[Recorded], kind: str, field: str) -> list[str | None]:
    """The texts of all events of a kind, in order."""
    return [record.texts.get(field) for record in records if record.kind == kind]


def body(record: Recorded) -> Any:
    """The event itself, for a look at the fields of its kind."""
    return record.event


def files_with(text: str, directory: Path) -> list[str]:
    """The files below a directory that hold these bytes anywhere."""
    return [
        path.name for path in directory.rglob("*") if path.is_file() and text.encode() in path.read_bytes()
    ]
