"""A person at a terminal: a pseudo-terminal of a child's own, where a passphrase is typed, not passed."""

import os
import select
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

STEP_S: Final = 30.0


@dataclass(frozen=True)
class Typed:
    """How a program ended, and all that its terminal showed."""

    code: int
    screen: str


def at_a_terminal(
    arguments: Sequence[str], answers: Sequence[tuple[str, str]], *, environment: Mapping[str, str], cwd: str
) -> Typed:
    """Run the program in a session with a terminal of its own; answer each question as it is asked."""
    import fcntl
    import pty
    import termios

    child, terminal = pty.fork()
    if child == 0:
        with suppress(OSError):  # It controls us already where pty.fork has seen to that.
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        os.chdir(cwd)
        os.execve(sys.executable, [sys.executable, "-m", "pmm_mcp", *arguments], dict(environment))
    screen, waiting = b"", list(answers)
    while True:
        ready, _, _ = select.select([terminal], [], [], STEP_S)
        if not ready:
            os.kill(child, 9)
            break
        try:
            data = os.read(terminal, 4_096)
        except OSError:  # The child has closed its side.
            break
        if not data:
            break
        screen += data
        if waiting and waiting[0][0].encode() in screen.split(b"\0")[-1]:
            _, answer = waiting.pop(0)
            os.write(terminal, answer.encode() + b"\n")
            screen += b"\0"  # What was asked before is no question any more.
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return Typed(os.waitstatus_to_exitcode(status), screen.replace(b"\0", b"").decode("utf-8", "replace"))
