"""Speaking with the persistent mind."""

from collections.abc import Iterator
from typing import Annotated, Final

import typer
from rich.text import Text

from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.options import Conversation, RequestId, text_or_stdin
from pmm_mcp.cli.terminal import Answer, line
from pmm_mcp.services.turn import TurnResult

_RUNNING: Final = ("complete", "running")


async def turn(
    visit: Visit,
    *,
    prompt: Annotated[
        str, typer.Argument(help="What to put to the mind; - reads stdin.", callback=text_or_stdin)
    ],
    model: Annotated[str, typer.Option(help="provider:model; without it the configured one.")] = "",
    conversation: Conversation = "",
    budget: Annotated[int, typer.Option(help="Tokens the model may write; 0 is the configured budget.")] = 0,
    request_id: RequestId = "",
) -> Answer:
    """Run one turn: prompt, context, reply and effects are recorded. Exits with 1 without a reply."""
    settings = visit.settings
    # Nobody else holds this call up, so it waits until the turn is over.
    # What it names is configured for this run, also when it is a script.
    ours = {"turn_patience_s": settings.turn_deadline_s, "model": model or settings.model}
    async with visit.app(settings.model_copy(update=ours)) as app:
        call = await visit.call(app, conversation=conversation, request_id=request_id)
        with visit.terminal.waiting("asking the model"):
            result = await app.turns.run(prompt, call=call, model=model, output_tokens=budget)
    exit_code = 0 if result.generation_status in _RUNNING else 1
    return Answer(result, turn_lines(result), exit_code=exit_code)


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    add(program, turn)


def turn_lines(result: TurnResult) -> Iterator[Text]:
    """Return what came of a turn, for people: the reply, its effects, and how it went."""
    if result.assistant:
        for text in result.assistant.split("\n"):
            yield line(text)
    if failure := result.generation_failure:
        yield line((f"{failure.status}: {failure.reason}", "red"))
    for one in result.opened:
        yield line(("opened  ", "green"), f"{one.id}  {one.text or ''}")
    for one in result.closed:
        yield line(("closed  ", "green"), f"{one.id}  {one.text or ''}")
    for claim in result.claims:
        yield line(("claimed  ", "green"), f"{claim.id}  {claim.type}  {claim.subject or ''}")
    for failed in result.validation_failures:
        yield line(("failed  ", "red"), f"line {failed.line}: {failed.reason}  {failed.detail or ''}")
    how = (result.turn, result.generation_status, result.model or "", f"{result.latency_ms} ms")
    yield line(("  ".join(filter(None, how)), "dim"))
    if result.notice:
        yield line((result.notice, "yellow"))
