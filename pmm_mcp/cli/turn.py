"""Speaking with the persistent mind."""

from typing import Annotated, Final

import typer

from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.options import Conversation, RequestId, text_or_stdin
from pmm_mcp.cli.terminal import Answer, line

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
    settings = visit.settings()
    # Nobody else holds this call up, so it waits until the turn is over.
    patient = settings.model_copy(update={"turn_patience_s": settings.turn_deadline_s})
    async with visit.app(patient) as app:
        call = await visit.call(app, conversation=conversation, request_id=request_id)
        with visit.terminal.waiting("asking the model"):
            result = await app.turns.run(prompt, call=call, model=model, output_tokens=budget)
    lines = [line(text) for text in result.assistant.split("\n")] if result.assistant else []
    if failure := result.generation_failure:
        lines.append(line((f"{failure.status}: {failure.reason}", "red")))
    lines += [line(("opened  ", "green"), f"{one.id}  {one.text or ''}") for one in result.opened]
    lines += [line(("closed  ", "green"), f"{one.id}  {one.text or ''}") for one in result.closed]
    lines += [
        line(("claimed ", "green"), f"{one.id}  {one.type}  {one.subject or ''}") for one in result.claims
    ]
    lines += [
        line(("failed  ", "red"), f"line {one.line}: {one.reason}  {one.detail or ''}")
        for one in result.validation_failures
    ]
    lines.append(
        line(
            (
                f"{result.turn}  {result.generation_status}  {result.model or ''}  {result.latency_ms} ms",
                "dim",
            )
        )
    )
    if result.notice:
        lines.append(line((result.notice, "yellow")))
    return Answer(result, lines, exit_code=0 if result.generation_status in _RUNNING else 1)


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    add(program, turn)
