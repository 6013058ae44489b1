"""Real servers, driven by the real client over stdio; and killed."""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from pmm_mcp.config import PREFIX


def environment(home: Path, **settings: Any) -> dict[str, str]:
    """Return the environment of a server whose ledger is in this directory, and nothing of the user's."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    ours = {"PMM_MCP_DB": home / "ledger.db", "PMM_MCP_LOG_DIR": home / "logs", "PMM_MCP_TOOLSETS": "all"}
    named = {f"{PREFIX}{name.upper()}": value for name, value in settings.items()}
    return inherited | {name: str(value) for name, value in (ours | named).items()}


@asynccontextmanager
async def server(home: Path, *, name: str = "window", **settings: Any) -> AsyncGenerator[Client, None]:
    """Start a server as an IDE does; close stdin and wait for it at the end."""
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "pmm_mcp"], env=environment(home, **settings), cwd=home
    )
    with (home / f"{name}.stderr").open("w+") as stderr:
        async with Client(stdio_client(parameters, errlog=stderr), read_timeout_seconds=60) as client:
            yield client


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must succeed."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.structured_content
    answer: dict[str, Any] = result.structured_content or {}
    return answer
