"""Speaking with the persistent mind."""

from typing import Annotated

from pydantic import Field

from pmm_mcp.server.tools.arguments import Conversation, Cwd, RequestId
from pmm_mcp.server.visits import Visit
from pmm_mcp.services.turn import BegunTurn, TurnResult


async def pmm_turn(
    visit: Visit,
    *,
    prompt: Annotated[str, Field(description="what to put to the mind")],
    model: Annotated[str, Field(description="provider:model; empty: the configured one")] = "",
    cwd: Cwd = "",
    conversation: Conversation = "",
    include_events: Annotated[bool, Field(description="also list the turn's first events")] = False,
    output_budget_tokens: Annotated[int, Field(description="0: the configured budget")] = 0,
    request_id: RequestId = "",
) -> TurnResult:
    """Run one turn of the persistent mind through its model: prompt, context, reply and effects are recorded.

    For when the user asks to speak with the mind. A turn that takes long answers "running"; ask
    pmm_get("turn:N") later.
    """
    app = await visit.app()
    return await app.turns.run(
        prompt,
        call=await visit.call(cwd=cwd, conversation=conversation, request_id=request_id),
        model=model,
        output_tokens=output_budget_tokens,
        include_events=include_events,
    )


async def pmm_turn_begin(
    visit: Visit,
    *,
    prompt: Annotated[str, Field(description="what the user puts to the mind")],
    cwd: Cwd = "",
    conversation: Conversation = "",
    deadline_s: Annotated[int, Field(description="seconds until the turn is closed unanswered")] = 3_600,
    request_id: RequestId = "",
) -> BegunTurn:
    """Begin a turn that you answer yourself: think with `system` and `context`, then pmm_turn_finish."""
    app = await visit.app()
    call = await visit.call(cwd=cwd, conversation=conversation, request_id=request_id)
    return await app.turns.begin(prompt, call=call, deadline_s=deadline_s)


async def pmm_turn_finish(
    visit: Visit,
    *,
    turn: Annotated[str, Field(description="turn:N from pmm_turn_begin")],
    reply: Annotated[str, Field(description="your whole reply, control lines included")],
    model: Annotated[str, Field(description="your model's name")] = "",
    request_id: RequestId = "",
) -> TurnResult:
    """End a turn you began: your reply is recorded and its control lines take effect, all at once."""
    app = await visit.app()
    return await app.turns.finish(turn, reply, call=await visit.call(request_id=request_id), model=model)
