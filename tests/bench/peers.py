"""A client that is a pipe and JSON, so that only the server takes time."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import orjson

from tests.bench.report import ROOT

BARE: Final = (str(ROOT / "tests" / "bench" / "bare_server.py"),)
OURS: Final = ("-m", "pmm_mcp")
_HELLO: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "0"},
}
_GONE_S: Final = 10


def environment(home: Path, **settings: str) -> dict[str, str]:
    """What a server is started with: nothing of whoever runs the benchmark."""
    given = {f"PMM_MCP_{name.upper()}": value for name, value in settings.items()}
    return {"PATH": os.environ["PATH"], "HOME": str(home), "PMM_MCP_LOG_DIR": str(home / "logs"), **given}


class Peer:
    """A server process over stdio; `started` is when it was asked for."""

    def __init__(self, arguments: Sequence[str], env: Mapping[str, str]) -> None:
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            cwd=ROOT,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self._calls = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._in.close()
        late = threading.Timer(_GONE_S, self._process.kill)
        late.start()
        self._process.wait()
        late.cancel()
        self._out.close()

    def initialize(self) -> None:
        self._request("initialize", _HELLO)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool that must succeed; return what it answered."""
        result = self._request("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return result["structuredContent"]

    def elapsed_s(self) -> float:
        return time.perf_counter() - self.started

    def resident_bytes(self) -> int:
        """How much memory the process holds; 0 where the system does not say."""
        status = Path(f"/proc/{self._process.pid}/status")
        lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
        sizes = (int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))
        return next(sizes, 0)

    def _request(self, method: str, params: Mapping[str, Any]) -> Any:
        self._calls += 1
        self._send({"jsonrpc": "2.0", "id": self._calls, "method": method, "params": params})
        while line := self._out.readline():
            message = orjson.loads(line)
            if message.get("id") == self._calls:
                return message["result"]
        raise RuntimeError(f"the server has ended with {self._process.wait()}")

    def _send(self, message: Mapping[str, Any]) -> None:
        self._in.write(orjson.dumps(message) + b"\n")
        self._in.flush()
