"""Where this directory is, as the memory sees it."""

from collections.abc import Iterator

import typer
from rich.text import Text

from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.terminal import Answer, line
from pmm_mcp.services.places import PlaceResult


async def show(visit: Visit) -> Answer:
    """Show which checkout and repository this is, and what can be seen from here."""
    async with visit.app() as app:
        result = await app.placing.show(call=await visit.call(app))
    return Answer(result, _place(result))


async def confirm(visit: Visit) -> Answer:
    """Accept that this checkout belongs to another repository than before."""
    async with visit.app() as app:
        result = await app.placing.confirm(call=await visit.call(app))
    return Answer(result, _place(result))


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    group = typer.Typer(help="Where this directory is, as the memory sees it.", no_args_is_help=True)
    add(group, show, reads=True)
    add(group, confirm, reads=True)
    program.add_typer(group, name="place")


def _place(result: PlaceResult) -> Iterator[Text]:
    facts = {
        "worktree": result.worktree,
        "repo": result.repo,
        "git dir": result.git_dir,
        "commit": result.commit,
        "was": result.was,
    }
    for name, value in facts.items():
        if value:
            yield line((f"{name:>10}  ", "dim"), value)
    yield line(("   visible  ", "dim"), ", ".join(result.visible))
    if result.notice:
        yield line((result.notice, "yellow"))
