"""Facts with the time they hold."""

from typing import Annotated

from pydantic import Field

from pmm_mcp.server.tools.arguments import Cursor, Cwd, Limit, RequestId
from pmm_mcp.server.visits import Visit
from pmm_mcp.services.facts import AssertResult, CheckResult, FactsResult


async def pmm_fact_assert(
    visit: Visit,
    *,
    subject: Annotated[str, Field(description="what it is about")],
    predicate: Annotated[str, Field(description="which property")],
    object: Annotated[str, Field(description="what it is")],
    source: Annotated[str, Field(description="ev:N")],
    valid_from: Annotated[str, Field(description="day or RFC 3339; empty: now")] = "",
    single_valued: Annotated[bool, Field(description="a new value ends the old one")] = True,
    confidence_pct: Annotated[int, Field(description="0 to 100")] = 100,
    end: Annotated[bool, Field(description="it no longer holds from valid_from on")] = False,
    cwd: Cwd = "",
    request_id: RequestId = "",
) -> AssertResult:
    """Assert a fact, with the evidence for it, or end one. What held before stays known."""
    app = await visit.app()
    return await app.facts.assert_fact(
        subject=subject,
        predicate=predicate,
        object=object,
        valid_from=valid_from,
        single_valued=single_valued,
        confidence_pct=confidence_pct,
        source=source,
        end=end,
        call=await visit.call(cwd=cwd, request_id=request_id),
    )


async def pmm_fact_query(
    visit: Visit,
    *,
    subject: Annotated[str, Field(description="what it is about")] = "",
    predicate: Annotated[str, Field(description="which property")] = "",
    object: Annotated[str, Field(description="what it is")] = "",
    as_of: Annotated[str, Field(description="day or RFC 3339; empty: now")] = "",
    include_ended: Annotated[bool, Field(description="what held once too")] = False,
    limit: Limit = 20,
    cursor: Cursor = "",
    cwd: Cwd = "",
) -> FactsResult:
    """Ask which facts hold, or held at a moment."""
    app = await visit.app()
    return await app.facts.query(
        subject=subject,
        predicate=predicate,
        object=object,
        as_of=as_of,
        include_ended=include_ended,
        limit=limit,
        cursor=cursor,
        call=await visit.call(cwd=cwd),
    )


async def pmm_fact_check(
    visit: Visit,
    *,
    text: Annotated[str, Field(description="what to check")],
    now: Annotated[str, Field(description="day or RFC 3339; empty: now")] = "",
    cwd: Cwd = "",
) -> CheckResult:
    """Compare a text with known facts: contradictions, ended facts, names that look alike."""
    app = await visit.app()
    return await app.facts.check(text, now=now, call=await visit.call(cwd=cwd))
