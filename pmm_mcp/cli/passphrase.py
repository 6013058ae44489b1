"""Asking a person at the terminal itself: stdin and the environment are within an agent's reach."""

import os
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Final

from pmm_mcp.domain.errors import ReviewRefusedError

ANSWER_BYTES_MAX: Final = 1_024
_TERMINAL: Final = "CONOUT$" if sys.platform == "win32" else "/dev/tty"
_NO_TERMINAL: Final = "this takes a person at a terminal, and there is none"
_HINT: Final = "Run it in a terminal window of your own; a passphrase is read from nowhere else."


def tell(lines: Iterable[str]) -> None:
    """Show lines where a person is about to be asked.

    Raises:
        ReviewRefusedError: there is no terminal.

    """
    try:
        with open(_TERMINAL, "w", encoding="utf-8", errors="backslashreplace") as terminal:
            terminal.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise ReviewRefusedError(_NO_TERMINAL, hint=_HINT) from error


def ask_passphrase(question: str) -> str:
    """Return what a person types, unseen.

    Raises:
        ReviewRefusedError: there is no terminal.

    """
    return _ask(question, echo=False)


def ask_line(question: str) -> str:
    """Return a line that a person types.

    Raises:
        ReviewRefusedError: there is no terminal.

    """
    return _ask(question, echo=True).strip()


def new_passphrase() -> str:
    """Return a new passphrase, typed twice.

    Raises:
        ReviewRefusedError: there is no terminal, or the two differ.

    """
    first = ask_passphrase("New passphrase: ")
    if ask_passphrase("Once more: ") != first:
        raise ReviewRefusedError("the two differ", hint="Nothing was made; try again.")
    return first


if sys.platform == "win32":
    import msvcrt

    def _ask(question: str, *, echo: bool) -> str:
        if not sys.stdin.isatty():
            raise ReviewRefusedError(_NO_TERMINAL, hint=_HINT)
        for char in question:
            msvcrt.putwch(char)
        typed: list[str] = []
        while (char := msvcrt.getwch()) not in "\r\n":
            if char == "\x03":
                raise KeyboardInterrupt
            if char == "\b":
                typed = typed[:-1]
                continue
            typed.append(char)
            if echo:
                msvcrt.putwch(char)
        msvcrt.putwch("\n")
        return "".join(typed)

else:
    import termios

    def _ask(question: str, *, echo: bool) -> str:
        try:
            terminal = os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY)
        except OSError as error:
            raise ReviewRefusedError(_NO_TERMINAL, hint=_HINT) from error
        try:
            with _as_typed(terminal, echo=echo):
                os.write(terminal, question.encode())
                answer = _line(terminal)
            if not echo:
                os.write(terminal, b"\n")
        finally:
            os.close(terminal)
        return answer.decode("utf-8", "replace")

    def _line(terminal: int) -> bytes:
        answer = b""
        while not answer.endswith(b"\n") and len(answer) < ANSWER_BYTES_MAX:
            typed = os.read(terminal, ANSWER_BYTES_MAX)
            if not typed:
                raise ReviewRefusedError(_NO_TERMINAL, hint=_HINT)
            answer += typed
        return answer.rstrip(b"\r\n")

    @contextmanager
    def _as_typed(terminal: int, *, echo: bool) -> Generator[None]:
        before = termios.tcgetattr(terminal)
        changed = termios.tcgetattr(terminal)
        if not echo:
            changed[3] &= ~termios.ECHO
        # What was typed ahead, before the question, is no answer to it.
        termios.tcsetattr(terminal, termios.TCSAFLUSH, changed)
        try:
            yield
        finally:
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
