"""A client that speaks raw JSON-RPC to a server process, so that the process can be killed under it."""

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

from tests.processes.servers import environment

PROTOCOL = "2025-11-25"


class Peer:
    """One server process and the answers it has given, by request number."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.answers: dict[int, dict[str, Any]] = {}
        self._arrived = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, home: Path, **settings: Any) -> "Peer":
        """Start a server and shake hands."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "pmm_mcp",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment(home, **settings),
            cwd=home,
            limit=2**24,
        )
        peer = cls(process)
        hello = {
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "peer", "version": "1"},
        }
        peer.send(0, "initialize", hello)
        await peer.answer(0)
        peer._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return peer

    def call(self, number: int, tool: str, **arguments: Any) -> None:
        """Send a tool call and go on."""
        self.send(number, "tools/call", {"name": tool, "arguments": arguments})

    def send(self, number: int, method: str, params: dict[str, Any]) -> None:
        self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    async def answer(self, number: int, *, timeout_s: float = 60) -> dict[str, Any]:
        """Wait for the answer to a request."""
        async with asyncio.timeout(timeout_s), self._arrived:
            await self._arrived.wait_for(lambda: number in self.answers)
        return self.answers[number]

    async def kill(self) -> None:
        """End the process as a power cut would, and read what it had still said."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGKILL)
        await self.process.wait()
        await self._reading

    async def close(self) -> int:
        """Close stdin, as a client does, and wait for the end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(20):
            code = await self.process.wait()
        await self._reading
        return code

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            message = json.loads(line)
            if "id" in message:
                async with self._arrived:
                    self.answers[message["id"]] = message
                    self._arrived.notify_all()
