"""What is believed about a question."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.terminal import Answer, line
from pmm_mcp.services.context import ContextInput, ContextResult


async def context(
    visit: Visit,
    *,
    query: Annotated[str, typer.Argument(help="What you want to do.")],
    domain: Annotated[str, typer.Option(help="project, agent, skill, global; any without it.")] = "",
    field: Annotated[str, typer.Option(help="Preferred subject area.")] = "",
    max_items: Annotated[int, typer.Option("--max-items", "-n", help="At most so many.")] = 12,
    token_budget: Annotated[int, typer.Option(help="How long the text may be.")] = 1_500,
    dao_tian_limit: Annotated[int, typer.Option(help="At most so many universal principles.")] = 1,
    evidence: Annotated[
        bool, typer.Option("--evidence", "--include-evidence", help="What was seen, too.")
    ] = False,
    cards: Annotated[bool, typer.Option("--cards", "--include-cards", help="Cards, too.")] = False,
    candidates: Annotated[
        bool, typer.Option("--candidates", "--include-candidates", help="What is only proposed, too.")
    ] = False,
    as_of: Annotated[int, typer.Option(help="As it was at this seq; 0 is now.")] = 0,
) -> Answer:
    """Say what is believed here about a task: principles, laws, methods, tools."""
    given = ContextInput(
        query=query,
        domain=domain,
        field=field,
        max_items=max_items,
        token_budget=token_budget,
        dao_tian_limit=dao_tian_limit,
        include_evidence=evidence,
        include_cards=cards,
        include_candidates=candidates,
        as_of=as_of,
    )
    async with visit.app() as app:
        result = await app.context.context(given, call=await visit.call(app))
    return Answer(result, _lines(result))


def add_to(program: typer.Typer) -> None:
    """Offer the command of this file."""
    add(program, context, reads=True)


def _lines(result: ContextResult) -> Iterator[Text]:
    if result.sections:
        for text in result.rendered.split("\n"):
            yield line(text)
        yield line()
    if result.left_out_total:
        named = ", ".join(f"{one.id} ({one.reason})" for one in result.left_out)
        yield line((f"{result.left_out_total} left out: {named}", "dim"))
    yield line((f"{result.context_id}  {result.tokens} tokens", "dim"))
    if result.notice:
        yield line((result.notice, "yellow"))
