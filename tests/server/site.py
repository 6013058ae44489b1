"""A server process over HTTP, and clients of it."""

import json
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import httpx2
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from tests.processes.servers import environment

PROGRAM: Final = Path(__file__).with_name("serve_over_http.py")
START_S_MAX: Final = 30


class Site:
    """One server on a port of its own."""

    def __init__(
        self, home: Path, *, kind: str = "http", tokens: Path | None = None, **settings: Any
    ) -> None:
        self.kind = kind
        argv = [sys.executable, str(PROGRAM), kind, *([] if tokens is None else [str(tokens)])]
        self.process = subprocess.Popen(
            argv, stderr=subprocess.PIPE, env=environment(home, **settings), cwd=home, text=True
        )
        assert self.process.stderr is not None
        watchdog = threading.Timer(START_S_MAX, self.process.kill)
        watchdog.start()
        self.said = self.process.stderr.readline()
        watchdog.cancel()
        self.url = self.said.split()[-1]

    @property
    def base(self) -> str:
        return self.url.rpartition("/")[0]

    @asynccontextmanager
    async def client(self, mode: str, token: str = "") -> AsyncGenerator[Client]:
        headers = bearer(token)
        if self.kind == "sse":
            async with Client(
                sse_client(self.url, headers=headers), mode=mode, read_timeout_seconds=30
            ) as client:
                yield client
            return
        async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(transport, mode=mode, read_timeout_seconds=30) as client:
                yield client

    def post(self, body: bytes | Any, *, token: str = "", **headers: str) -> httpx2.Response:
        """Send a body as it is to `/mcp`."""
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        sent |= bearer(token) | {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx2.post(self.url, content=body, headers=sent, timeout=30)

    def call_raw(self, tool: str, arguments: str, *, token: str = "") -> dict[str, Any]:
        """Call a tool with arguments that are this very JSON."""
        head = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":'
        answer = self.post(f"{head}{arguments}}}}}".encode(), token=token)
        data: dict[str, Any] = answer.json()["result"]["structuredContent"]
        return data

    def stop(self) -> int:
        """Ask it to end."""
        self.process.terminate()
        return self.process.wait(20)

    def discard(self) -> None:
        """Leave nothing of it."""
        self.process.kill()
        self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def write_tokens(path: Path, rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Write a token file: the token itself, and what it allows."""
    named = [
        {"name": token, "token_sha256": sha256(token.encode()).hexdigest(), **row}
        for token, row in rows.items()
    ]
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(named))
    fresh.replace(path)
