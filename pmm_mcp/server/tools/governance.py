"""What an agent rarely needs: taking evidence out of use."""

from typing import Annotated

from pydantic import Field

from pmm_mcp.server.tools.arguments import RequestId
from pmm_mcp.server.visits import Visit
from pmm_mcp.services.withdraw import WithdrawResult


async def pmm_withdraw(
    visit: Visit,
    *,
    id: Annotated[str, Field(description="ev:N")],
    reason: Annotated[str, Field(description="why it should no longer be used")],
    request_id: RequestId = "",
) -> WithdrawResult:
    """Take evidence out of searches, contexts and gates; it stays citable. Names what leaned on it."""
    app = await visit.app()
    return await app.withdrawing.withdraw(id, reason=reason, call=await visit.call(request_id=request_id))
