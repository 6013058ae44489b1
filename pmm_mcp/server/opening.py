"""Opening the app off the handshake's path: even what it is made of is imported only then."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pmm_mcp.config import Settings
from pmm_mcp.server.desk import Opener

if TYPE_CHECKING:
    from pmm_mcp.bootstrap import App


def opening(settings: Settings, *, role: str, **parts: Any) -> Opener:
    """Return what opens the app of these settings; `parts` are handed to `open_app`."""

    @asynccontextmanager
    async def opened() -> "AsyncGenerator[App, None]":
        bootstrap = await asyncio.to_thread(import_module, "pmm_mcp.bootstrap")
        async with bootstrap.open_app(settings, role=role, **parts) as app:
            embedding = None if settings.read_only else asyncio.create_task(app.embedding.run())
            try:
                yield app
            finally:
                if embedding is not None:
                    embedding.cancel()
                    await asyncio.wait({embedding})

    return opened
