"""Writing out everything the ledger holds."""

import asyncio
import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer
from pydantic import BaseModel, ConfigDict

from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.files import replacing
from pmm_mcp.cli.markdown import TITLE, markdown_of
from pmm_mcp.cli.terminal import Answer, Terminal, json_of, line
from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.services.ledger import EventExported

_OF_SQLITE: Final = ("", "-wal", "-shm", "-journal")


class Format(StrEnum):
    """What an export looks like."""

    MD = "md"
    JSONL = "jsonl"


class ExportResult(BaseModel):
    """What was written, and where."""

    model_config = ConfigDict(frozen=True)

    path: str
    format: str
    events: int
    size_bytes: int


def export(
    visit: Visit,
    *,
    form: Annotated[Format, typer.Argument(metavar="md|jsonl", help="To read, or to verify elsewhere.")],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where; without it, stdout.")] = None,
) -> Answer | None:
    """Write out every event: `md` to read, `jsonl` with all it takes to verify it elsewhere."""
    if out is None:
        if visit.terminal.json:
            raise InvalidArgumentError("--json without --out", hint="Name a file, or leave --json out.")
        asyncio.run(_export(visit, form, visit.terminal.write, told=not visit.terminal.out.is_terminal))
        return None
    _check_out(out, visit.settings.db)
    with replacing(out, private=True) as file:
        size = 0

        def write(data: bytes) -> None:
            nonlocal size
            size += file.write(data)

        events = asyncio.run(_export(visit, form, write, told=True))
    result = ExportResult(path=str(out), format=form, events=events, size_bytes=size)
    return Answer(result, [line(f"wrote {events} events, {size:,} bytes, to {out}")])


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    add(program, export, reads=True)


async def _export(visit: Visit, form: Format, write: Callable[[bytes], None], *, told: bool) -> int:
    """Write page by page, whatever the ledger's size; return how many events there were."""
    render = _line_of if form is Format.JSONL else markdown_of
    terminal = visit.terminal if told else Terminal(json=True)
    events = 0
    async with visit.app() as app:
        if form is Format.MD:
            await asyncio.to_thread(write, TITLE)
        with terminal.progress("export") as progress:
            async for page in app.log.export(progress=progress):
                await asyncio.to_thread(write, b"".join(map(render, page)))
                events += len(page)
    return events


def _line_of(event: EventExported) -> bytes:
    return json_of(event) + b"\n"


def _check_out(out: Path, db: Path) -> None:
    real = os.path.realpath(out)
    if real in {os.path.realpath(db) + suffix for suffix in _OF_SQLITE}:
        raise InvalidArgumentError("--out names the ledger itself", hint="Choose another file.")
