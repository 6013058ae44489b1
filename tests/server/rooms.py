"""The server in this process, with the real client in front of it and a real ledger behind it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from mcp import Client

from pmm_mcp.bootstrap import App, open_app
from pmm_mcp.config import TOOLSETS, Settings, load_settings
from pmm_mcp.providers.scripted import ScriptedChat
from pmm_mcp.server.app import Server, build_server
from pmm_mcp.server.desk import Desk
from tests.apps import FixedPlaces, OneModel, Reply
from tests.clocks import ManualClock, SeededIds

MODES: Final = ("legacy", "2026-07-28")


async def settings_at(home: Path, **settings: Any) -> Settings:
    """Settings for a ledger in this directory; reading them blocks, so not on the loop."""
    given = {"db": home / "ledger.db", "log_dir": home} | settings
    return await asyncio.to_thread(load_settings, **given)


def opened(settings: Settings, *replies: Reply) -> AbstractAsyncContextManager[App]:
    """Open the app with a model that says these things."""
    return open_app(
        settings,
        role="test",
        models=OneModel(ScriptedChat(replies)),
        places=FixedPlaces(),
        clock=ManualClock(),
        ids=SeededIds(),
        environment={},
    )


def closed_desk() -> Desk:
    """A desk that nobody goes to."""
    return Desk(lambda: opened(Settings()))


def server_at(desk: Desk, *, toolsets: tuple[str, ...] = TOOLSETS, read_only: bool = False) -> Server:
    return build_server(desk, toolsets=toolsets, read_only=read_only)


@asynccontextmanager
async def room(home: Path, *replies: Reply, mode: str = "legacy", **settings: Any) -> AsyncGenerator[Client]:
    """A client of the whole program, in this process."""
    chosen = await settings_at(home, **settings)
    desk = Desk(lambda: opened(chosen, *replies))
    async with desk, Client(server_at(desk), mode=mode, read_timeout_seconds=30) as client:
        yield client


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must succeed."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.structured_content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must be refused."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    assert isinstance(result.structured_content, dict)
    return result.structured_content
