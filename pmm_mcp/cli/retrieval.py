"""Why a turn was shown what it was shown."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.terminal import Answer, line
from pmm_mcp.services.retrieval import RetrievalVerified


async def verify(
    visit: Visit, *, turn: Annotated[str, typer.Argument(metavar="turn:N", help="The turn.")]
) -> Answer:
    """Score again what the context of a turn was chosen from; exits with 1 where that gives another order."""
    async with visit.app() as app:
        result = await app.retrieval.verify(turn)
    return Answer(result, _lines(result), exit_code=0 if result.ok else 1)


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    group = typer.Typer(help="Why a turn was shown what it was shown.", no_args_is_help=True)
    add(group, verify, reads=True)
    program.add_typer(group, name="retrieval")


def _lines(result: RetrievalVerified) -> Iterator[Text]:
    for one in result.candidates:
        mark = "shown  " if one.shown else "       "
        steps = "  ".join(f"{name} {value / 1_000_000:.3f}" for name, value in one.steps.items() if value)
        gone = "  (its text is gone)" if one.is_gone else ""
        yield line((mark, "green"), f"{one.id}  {one.score:.3f}  ", (steps, "dim"), gone)
    for problem in result.problems:
        yield line((problem, "red"))
    if result.ok:
        yield line(f"{len(result.candidates)} candidates, and the order is what their steps give")
