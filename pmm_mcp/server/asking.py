"""Asking whoever sits at the client, where the client can show a question."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

if TYPE_CHECKING:
    from pmm_mcp.domain.events.knowledge import Elicited

Ask = Callable[[str], Awaitable["Elicited"]]

WAIT_S: Final = 30.0
"""How long a question stands; the call has to be answered within a minute."""
HANDSHAKES: Final = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"})
"""The protocols in which a server may ask while it answers."""


class _Answer(BaseModel):
    """A yes or a no: the action says it."""

    note: str = ""


def asker_of(ctx: Context[Any, Any]) -> Ask | None:
    """Return what asks at this client; None where nobody can be asked."""
    can = ctx.client_capabilities
    if can is None or can.elicitation is None or ctx.protocol_version not in HANDSHAKES:
        return None

    async def ask(question: str) -> "Elicited":
        try:
            async with asyncio.timeout(WAIT_S):
                return (await ctx.elicit(question, _Answer)).action
        except (TimeoutError, MCPError, ValueError):
            return ""

    return ask
