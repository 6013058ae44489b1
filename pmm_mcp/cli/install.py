"""Telling an agent about the server."""

import difflib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel, ConfigDict
from rich.text import Text

from pmm_mcp.cli import clients
from pmm_mcp.cli.clients import Client, Scope
from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.files import keep_copy, replacing, unwritable
from pmm_mcp.cli.terminal import Answer, line
from pmm_mcp.domain.errors import InvalidArgumentError


class FileResult(BaseModel):
    """What became of a file: created, changed, unchanged, or printed, that is, left alone."""

    model_config = ConfigDict(frozen=True)

    path: str
    action: str
    text: str | None = None
    diff: str | None = None
    backup: str | None = None


class InstallResult(BaseModel):
    """The files that tell a client about the server."""

    model_config = ConfigDict(frozen=True)

    client: str
    scope: str
    files: list[FileResult]
    notice: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    """A file as it is and as it shall be."""

    path: Path
    before: bytes | None
    after: bytes

    @property
    def diff(self) -> str:
        """The change, as a unified diff."""
        old, new = (self.before or b"").decode(), self.after.decode()
        lines = difflib.unified_diff(
            old.splitlines(), new.splitlines(), str(self.path), str(self.path), lineterm="", n=2
        )
        return "\n".join(lines)

    def write(self) -> FileResult:
        """Put the new text in the place of the old one, of which a copy is kept."""
        if self.before == self.after:
            return FileResult(path=str(self.path), action="unchanged")
        backup = None
        if self.before is not None:
            if _read(self.path) != self.before:
                raise InvalidArgumentError(f"{self.path} has just been changed", hint="Call again.")
            backup = str(keep_copy(self.path, self.before))
        else:
            _make_directory(self.path.parent)
        with replacing(self.path) as file:
            file.write(self.after)
        action = "created" if self.before is None else "changed"
        return FileResult(path=str(self.path), action=action, diff=self.diff, backup=backup)


def install(
    visit: Visit,
    *,
    client: Annotated[Client, typer.Argument(metavar="claude|codex", help="Whom to tell.")],
    scope: Annotated[Scope, typer.Option(help="For all your projects, or for this one.")] = Scope.USER,
    print_only: Annotated[
        bool, typer.Option("--print", help="Print what belongs where; write nothing.")
    ] = False,
    instructions: Annotated[
        bool | None,
        typer.Option(
            "--instructions/--no-instructions",
            help="Also add six lines to CLAUDE.md or AGENTS.md; asks by default.",
        ),
    ] = None,
) -> Answer:
    """Write the client's configuration, so that it launches this server; all else in the file stays."""
    if visit.db and not os.path.isabs(visit.db):
        raise InvalidArgumentError(f"--db {visit.db} is relative", hint="Give it as an absolute path.")
    home, project = Path.home(), Path(visit.cwd or Path.cwd())
    entry = clients.entry_for(client, db=visit.db)
    config = clients.config_file(client, scope, home=home, project=project)
    advice = clients.instructions_file(client, scope, home=home, project=project)
    if print_only:
        texts = {config: clients.snippet(client, entry), advice: clients.INSTRUCTIONS}
        files = [FileResult(path=str(path), action="printed", text=text) for path, text in texts.items()]
        return Answer(InstallResult(client=client, scope=scope, files=files), _printed(files))
    edits = [_edited(config, lambda text: clients.with_entry(client, text, entry, path=config))]
    advised = _edited(advice, lambda text: clients.with_instructions(text, path=advice))
    if instructions is None:
        instructions = advised.before != advised.after and _asks(visit, advised)
    if instructions:
        edits.append(advised)
    files = [edit.write() for edit in edits]
    notice = None if instructions else f"--instructions adds six lines to {advice}"
    if advised.before == advised.after:
        notice = None
    result = InstallResult(client=client, scope=scope, files=files, notice=notice)
    return Answer(result, _written(result))


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    add(program, install)


def _edited(path: Path, change: Callable[[str], str]) -> _Edit:
    before = _read(path)
    try:
        text = (before or b"").decode()
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(
            f"{path} is not UTF-8", hint="Nothing was written; edit it by hand."
        ) from error
    return _Edit(path=path, before=before, after=change(text).encode())


def _asks(visit: Visit, advised: _Edit) -> bool:
    """Ask a person; a program is not asked, and nothing is added for it."""
    if visit.terminal.json or not (sys.stdin.isatty() and visit.terminal.err.is_terminal):
        return False
    for text in _diff(advised.diff):
        visit.terminal.err.print(text, soft_wrap=True)
    return typer.confirm("Add these lines to your standing instructions?", default=False, err=True)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unwritable(path, error) from error


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error


def _printed(files: Sequence[FileResult]) -> Iterator[Text]:
    for file in files:
        yield line((f"{file.path}:", "bold"))
        for text in (file.text or "").splitlines():
            yield line(text)
        yield line()


def _written(result: InstallResult) -> Iterator[Text]:
    for file in result.files:
        yield from _diff(file.diff or "")
        yield line(
            (file.path, "bold"), f"  {file.action}", (f", backup {file.backup}" if file.backup else "", "dim")
        )
    if result.notice:
        yield line((result.notice, "yellow"))


def _diff(diff: str) -> Iterator[Text]:
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for text in diff.splitlines():
        yield line((text, styles.get(text[:1], "")))
