"""What a person or a program sees: text that can do nothing to a terminal, or one JSON document."""

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from io import TextIOWrapper
from typing import Final

import orjson
from pydantic import BaseModel
from rich.console import Console
from rich.progress import Progress
from rich.text import Text

from pmm_mcp.domain.invisible import HIDDEN

Told = Callable[[int, int], None]
"""Told how many of how many are done."""
Styled = str | tuple[str, str]

ELLIPSIS: Final = " …"
LINES_MAX: Final = 10
"""How many lines of progress a long command writes where there is no terminal."""

_PICTURES: Final = 0x2400
_DELETE: Final = 0x7F
_SPACE: Final = 0x20


def visible(text: str) -> str:
    """Return the text with control characters as pictures of themselves; tabs and line feeds stay."""
    return HIDDEN.sub(lambda found: _picture(ord(found[0])), text)


def gist(text: str, *, chars_max: int) -> str:
    """Return the beginning of a text on one line."""
    line = visible(" ".join(text[: 4 * chars_max].split()))
    return line if len(line) <= chars_max else line[: chars_max - len(ELLIPSIS)].rstrip() + ELLIPSIS


def quoted(text: str) -> Iterator[str]:
    """Return the lines of a text with `> ` before each, so that it can never open or close anything."""
    return (f"> {visible(line)}" for line in text.split("\n"))


def line(*parts: Styled) -> Text:
    """Return a line to show, made of texts and of (text, style); no text can style itself."""
    return Text.assemble(
        *(visible(part) if isinstance(part, str) else (visible(part[0]), part[1]) for part in parts)
    )


def json_of(result: BaseModel) -> bytes:
    """Return a result as one line of JSON that is safe to look at in a terminal."""
    text = result.model_dump_json(exclude_none=True)
    return HIDDEN.sub(lambda found: _escape(found[0]), text).encode()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command found: the same for programs and, as lines, for people."""

    result: BaseModel
    lines: Iterable[Text]
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class Terminal:
    """The two streams a command writes to. With `json` nothing but JSON is written."""

    json: bool = False
    out: Console = field(default_factory=lambda: _console(stderr=False))
    err: Console = field(default_factory=lambda: _console(stderr=True))

    def show(self, answer: Answer) -> int:
        """Write an answer; return the exit code."""
        if self.json:
            self.write(json_of(answer.result) + b"\n")
        else:
            for text in answer.lines:
                self.out.print(text, soft_wrap=True)
            sys.stdout.flush()
        return answer.exit_code

    def write(self, data: bytes) -> None:
        """Write bytes to stdout, as they are."""
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def fail(self, *, code: str, message: str, hint: str = "") -> None:
        """Say on stderr what went wrong and what to do about it."""
        if self.json:
            data = orjson.dumps({"code": code, "message": _plain(message), "hint": _plain(hint)})
            sys.stderr.write(HIDDEN.sub(lambda found: _escape(found[0]), data.decode()) + "\n")
            return
        self.err.print(line(("pmm-mcp: ", "bold red"), message), soft_wrap=True)
        if hint:
            self.err.print(line(hint), soft_wrap=True)

    @contextmanager
    def progress(self, what: str) -> Generator[Told]:
        """Show how far something is: a bar on a terminal, a few lines elsewhere, nothing beside JSON."""
        if self.json:
            yield lambda _done, _total: None
        elif self.err.is_terminal:
            with Progress(console=self.err, transient=True) as bars:
                task = bars.add_task(what, total=None)
                yield lambda done, total: bars.update(task, completed=done, total=total)
        else:
            yield _Steps(self.err, what)

    def waiting(self, what: str) -> AbstractContextManager[object]:
        """Show on a terminal that something takes its time."""
        return self.err.status(what) if self.err.is_terminal and not self.json else nullcontext()


@dataclass(slots=True)
class _Steps:
    """Progress as lines: one a tenth."""

    err: Console
    what: str
    _step: int = -1

    def __call__(self, done: int, total: int) -> None:
        step = LINES_MAX * done // max(1, total)
        if step != self._step:
            self._step = step
            self.err.print(line(f"{self.what}: {done} of {total}"), soft_wrap=True)


def ready_streams() -> None:
    """Let no character be the end of a command, whatever the terminal's encoding cannot say."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def silence_stdout() -> None:
    """Stop writing for a reader that went away, also when the interpreter flushes at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _console(*, stderr: bool) -> Console:
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def _picture(code: int) -> str:
    if code < _SPACE:
        return chr(_PICTURES + code)
    return "\N{SYMBOL FOR DELETE}" if code == _DELETE else f"<U+{code:04X}>"


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _plain(text: str) -> str:
    """A path that is no UTF-8 holds half surrogate pairs, which JSON cannot."""
    return text.encode("utf-8", "backslashreplace").decode()
