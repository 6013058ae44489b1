"""Taking evidence out of use."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.options import RequestId
from pmm_mcp.cli.terminal import Answer, line, quoted
from pmm_mcp.services.withdraw import WithdrawResult


async def withdraw(
    visit: Visit,
    *,
    item_id: Annotated[str, typer.Argument(metavar="ID", help="ev:N.")],
    reason: Annotated[str, typer.Option(help="Why it should no longer be used.")],
    request_id: RequestId = "",
) -> Answer:
    """Take evidence out of searches, contexts and gates; it stays citable."""
    async with visit.app() as app:
        call = await visit.call(app, request_id=request_id)
        result = await app.withdrawing.withdraw(item_id, reason=reason, call=call)
    return Answer(result, _withdrawn(result))


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    add(program, withdraw, reads=True)


def _withdrawn(result: WithdrawResult) -> Iterator[Text]:
    yield line((result.id, "bold"), "  withdrawn")
    for one in result.dependants:
        yield line(f"cited by {one.id}, {one.tier}, {one.status}")
        for text in quoted(one.statement):
            yield line(text)
    if result.notice:
        yield line((result.notice, "yellow"))
