"""A server process as a client sees it, byte for byte. Not async, so that several tests may share one."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tests.processes.servers import environment

SERVE: Final = (sys.executable, "-m", "pmm_mcp")
WAIT_S: Final = 20.0
HELLO: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "wire", "version": "1"},
}


class Wire:
    """One server over stdio. `lines` is everything it wrote to stdout."""

    def __init__(self, home: Path, *argv: str, **settings: Any) -> None:
        self.home = home
        self.lines: list[bytes] = []
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._early: dict[int, dict[str, Any]] = {}
        self._next = 0
        with (home / "stderr").open("w") as stderr:
            self.process = subprocess.Popen(
                argv or SERVE,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=environment(home, **settings),
                cwd=home,
            )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def greet(self) -> None:
        """Shake hands, as clients of the older era do."""
        assert "result" in self.ask("initialize", HELLO)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: dict[str, Any] | bytes) -> None:
        """Write one line."""
        assert self.process.stdin is not None
        self.process.stdin.write(
            (message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n"
        )
        self.process.stdin.flush()

    def begin(self, method: str, params: dict[str, Any]) -> int:
        """Send a request and go on."""
        self._next += 1
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        return self._next

    def begin_raw(self, tool: str, arguments: str) -> int:
        """Send a tool call whose arguments are this very JSON."""
        self._next += 1
        head = f'{{"jsonrpc":"2.0","id":{self._next},"method":"tools/call","params":{{"name":"{tool}",'
        self.send(f'{head}"arguments":{arguments}}}}}'.encode())
        return self._next

    def answer(self, number: int, *, timeout_s: float = WAIT_S) -> dict[str, Any]:
        """Wait for the answer to a request."""
        deadline = time.monotonic() + timeout_s
        while number not in self._early:
            message = self._answers.get(timeout=max(0.01, deadline - time.monotonic()))
            self._early[message["id"]] = message
        return self._early.pop(number)

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        return self.answer(self.begin(method, params))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its structured answer, an error's too."""
        return structured(self.ask("tools/call", {"name": tool, "arguments": arguments}))

    def call_raw(self, tool: str, arguments: str) -> dict[str, Any]:
        """Call a tool with arguments that are this very JSON."""
        return structured(self.answer(self.begin_raw(tool, arguments)))

    def begin_call(self, tool: str, **arguments: Any) -> int:
        """Call a tool and go on."""
        return self.begin("tools/call", {"name": tool, "arguments": arguments})

    def close_stdin(self) -> None:
        if self.process.stdin is not None:
            with suppress(BrokenPipeError):
                self.process.stdin.close()

    def wait(self, *, timeout_s: float = WAIT_S) -> int:
        """Wait for the end, and read what was still said."""
        code = self.process.wait(timeout_s)
        self._reading.join(timeout_s)
        return code

    def end(self) -> int:
        """Close stdin, as a client does, and wait."""
        self.close_stdin()
        return self.wait()

    def discard(self) -> None:
        """Leave nothing of it."""
        self.close_stdin()
        self.process.kill()
        self.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def log(self) -> str:
        return "".join(path.read_text() for path in (self.home / "logs").glob("*.log"))

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            message = json.loads(line)
            if "id" in message and "method" not in message:
                self._answers.put(message)


def structured(answer: dict[str, Any]) -> dict[str, Any]:
    """The structured part of an answer, which its text must say too."""
    result = answer["result"]
    data: dict[str, Any] = result["structuredContent"]
    assert [json.loads(block["text"]) for block in result["content"]] == [data]
    return data


def until(condition: Callable[[], Any], *, timeout_s: float = WAIT_S) -> Any:
    """Wait until something is true, and return it."""
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.01)
    return found


def is_running(pid: int) -> bool:
    """Say whether a process still runs; one that only waits to be reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def children(pid: int) -> list[int]:
    """The processes a process has started."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()] if path.exists() else []


LINUX: Final = os.path.exists("/proc/self/stat")
