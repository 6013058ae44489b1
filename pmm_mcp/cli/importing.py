"""Bringing in what other programs remember."""

from pathlib import Path
from typing import Annotated

import typer

from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.terminal import Answer, line


async def pmm(
    visit: Visit,
    *,
    file: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, help="PMM's SQLite file, or a JSON list of its events."),
    ],
) -> Answer:
    """Import a ledger of PMM, or what is new in it. One that does not verify is refused whole."""
    async with visit.app() as app:
        with visit.terminal.progress("import") as told:
            result = await app.imports.pmm(file, call=await visit.call(app), progress=told)
    if result.repeated:
        lines = [line(f"all {result.total} events of {result.name} were here already")]
    else:
        lines = [line(f"imported {result.imported} of {result.total} events of {result.name}")]
        lines.append(line((f"made {result.mapped} events of them; head {result.head}", "dim")))
    lines += [line((f"{count:>8}  ", "dim"), kind) for kind, count in result.kinds.items()]
    if result.forks:
        seqs = ", ".join(map(str, result.forks))
        lines.append(
            line(("forks", "yellow"), f": the source branches at its events {seqs}; all branches are here")
        )
    return Answer(result, lines)


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    group = typer.Typer(help="Bring in what other programs remember.", no_args_is_help=True)
    add(group, pmm)
    program.add_typer(group, name="import")
