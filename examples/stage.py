"""What the examples stand on: a ledger, a repository, servers as an IDE starts them, a person's terminal."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters


@dataclass(frozen=True)
class Stage:
    """A directory with a ledger of its own."""

    home: Path

    @property
    def environment(self) -> dict[str, str]:
        # Nothing of whoever runs this: no settings of theirs, no repository of theirs.
        outside = {key: value for key, value in os.environ.items() if not key.startswith(("PMM_", "GIT_"))}
        return outside | {
            "PMM_MCP_DB": str(self.home / "ledger.db"),
            "PMM_MCP_LOG_DIR": str(self.home / "logs"),
            "PMM_MCP_KEYS_DIR": str(self.home / "keys"),
            "PMM_MCP_TOOLSETS": "all",
        }

    @asynccontextmanager
    async def session(self) -> AsyncGenerator["Agent", None]:
        """Start a server process; each one is a session of its own."""
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "pmm_mcp"], env=self.environment, cwd=self.home
        )
        async with Client(parameters, read_timeout_seconds=60) as client:
            yield Agent(client)

    def repository(self, name: str, **files: str) -> Path:
        """Make a repository with some files, committed."""
        folder = self.home / name
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        for file, content in files.items():
            (folder / file.replace("_", ".")).write_text(content)
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", "begin")
        return folder

    def command(self, *arguments: str) -> dict[str, Any]:
        """Run `pmm-mcp` and return its JSON."""
        done = subprocess.run(
            [sys.executable, "-m", "pmm_mcp", *arguments, "--json"],
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            check=True,
        )
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    def person(self, *arguments: str, answers: Sequence[tuple[str, str]]) -> str:
        """Run `pmm-mcp` at a terminal of its own, as a person does; return what the screen showed."""
        import fcntl
        import pty
        import termios

        child, terminal = pty.fork()
        if child == 0:
            with suppress(OSError):  # It controls us already where pty.fork has seen to that.
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            os.chdir(self.home)
            os.execve(sys.executable, [sys.executable, "-m", "pmm_mcp", *arguments], self.environment)
        screen, asked, waiting = b"", 0, list(answers)
        while True:
            if not select.select([terminal], [], [], 60)[0]:  # It asks what nobody answers.
                os.kill(child, signal.SIGKILL)
                break
            try:
                data = os.read(terminal, 4_096)
            except OSError:  # The child has closed its side.
                break
            screen += data
            if not data:
                break
            if waiting and waiting[0][0].encode() in screen[asked:]:
                os.write(terminal, waiting.pop(0)[1].encode() + b"\n")
                asked = len(screen)
        _, status = os.waitpid(child, 0)
        os.close(terminal)
        text = screen.decode("utf-8", "replace")
        if os.waitstatus_to_exitcode(status):
            raise SystemExit(text)
        return text


@dataclass(frozen=True)
class Agent:
    """An agent's session with the memory."""

    client: Client

    async def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; an error ends the example with what it says."""
        result = await self.client.call_tool(tool, arguments)
        answer: dict[str, Any] = result.structured_content or {}
        if result.is_error:
            raise SystemExit(f"{tool}: {json.dumps(answer, ensure_ascii=False)}")
        return answer


@contextmanager
def stage() -> Iterator[Stage]:
    """Set a stage that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="pmm-example-") as folder:
        yield Stage(Path(folder).resolve())


def git(folder: Path, *arguments: str) -> None:
    """Run git as someone who signs nothing."""
    settings = ("user.name=Someone", "user.email=someone@example.org", "commit.gpgsign=false")
    someone = [word for setting in settings for word in ("-c", setting)]
    outside = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    subprocess.run(["git", *someone, *arguments], cwd=folder, env=outside, check=True, capture_output=True)


def say(text: str) -> None:
    """Tell what happens."""
    print(text)
