"""The least an MCP server can be: one tool, no memory. Given a file, the tool reads one event from it."""

import json
import sqlite3
import sys
from typing import Any

from mcp.server import MCPServer
from pydantic import BaseModel

_EVENT = {"seq": 1, "ts": "2026-01-01T00:00:00.000000Z", "kind": "evidence_recorded", "text": "x" * 300}
_SQL = "SELECT record, text FROM events LEFT JOIN event_text USING (seq) WHERE seq > ? ORDER BY seq LIMIT ?"

server = MCPServer("bare", log_level="WARNING")
files = [sqlite3.connect(f"file:{path}?mode=ro", uri=True) for path in sys.argv[1:]]


class Page(BaseModel):
    """What the tool answers."""

    events: list[dict[str, Any]]


@server.tool()
async def events(after: int = 0, limit: int = 1) -> Page:
    """Page through events."""
    if not files:
        return Page(events=[_EVENT] * limit)
    rows = files[0].execute(_SQL, (after, limit))
    return Page(events=[{**json.loads(record), "text": text} for record, text in rows])


if __name__ == "__main__":
    server.run()
