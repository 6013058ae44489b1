"""Waking up."""

from typing import Annotated

from pydantic import Field

from pmm_mcp.server.tools.arguments import Cwd
from pmm_mcp.server.visits import Visit
from pmm_mcp.services.status import StatusResult


async def pmm_status(
    visit: Visit,
    *,
    cwd: Cwd = "",
    brief: Annotated[bool, Field(description="false: ledger, counts, model, commitments too")] = True,
) -> StatusResult:
    """Wake up: where you are, what is promised, what matters most. Call it first in a session."""
    app = await visit.app()
    return await app.status.status(call=await visit.call(cwd=cwd), brief=brief)
