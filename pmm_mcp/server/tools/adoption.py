"""Adoption: whether what was remembered helped; and what others found out."""

from typing import Annotated, Any

from pydantic import Field

from pmm_mcp.server.tools.arguments import Cursor, Cwd, Limit, RequestId
from pmm_mcp.server.visits import Visit
from pmm_mcp.services.adoption import AdoptionResult, ReportResult, SignalInput
from pmm_mcp.services.research import ResearchResult, ValidateResult

Report = Annotated[
    str | dict[str, Any], Field(description="{report_id, title, sources[], findings[]}, as JSON or object")
]


async def pmm_adoption_record(
    visit: Visit,
    *,
    signal: Annotated[
        str, Field(description="used, accepted, rejected, miss, rollback, contradiction, neutral")
    ],
    item_id: Annotated[str, Field(description="what it is about")] = "",
    context_id: Annotated[str, Field(description="ci:… of the pack")] = "",
    track: Annotated[
        str,
        Field(description="what it is a sign of"),
    ] = "runtime_adoption",
    feature: Annotated[str, Field(description="what was used")] = "context",
    query: Annotated[str, Field(description="what was asked")] = "",
    evaluator_id: Annotated[str, Field(description="who judged")] = "",
    research_report_id: Annotated[str, Field(description="which report")] = "",
    note: Annotated[str, Field(description="why")] = "",
    metadata: Annotated[dict[str, Any], Field(description="anything else")] = {},  # noqa: B006 - never changed
    request_id: RequestId = "",
) -> AdoptionResult:
    """Say what became of an item or a pack."""
    app = await visit.app()
    given = SignalInput(
        signal=signal,
        item_id=item_id,
        context_id=context_id,
        track=track,
        feature=feature,
        query=query,
        evaluator_id=evaluator_id,
        research_report_id=research_report_id,
        note=note,
        metadata=metadata,
    )
    return await app.adoption.record(given, call=await visit.call(request_id=request_id))


async def pmm_adoption_report(
    visit: Visit,
    *,
    track: Annotated[str, Field(description="only this track")] = "",
    feature: Annotated[str, Field(description="only this feature")] = "",
    item_id: Annotated[str, Field(description="only about this")] = "",
    candidate: Annotated[
        str,
        Field(description="a readiness gate"),
    ] = "",
    limit: Limit = 20,
    cursor: Cursor = "",
) -> ReportResult:
    """Count signals; with candidate, what a readiness gate lacks."""
    app = await visit.app()
    return await app.adoption.report(
        track=track, feature=feature, item_id=item_id, candidate=candidate, limit=limit, cursor=cursor
    )


async def pmm_research_validate(visit: Visit, *, report: Report) -> ValidateResult:
    """Check a research report to the item, and plan what it would become."""
    app = await visit.app()
    return await app.research.validate(report)


async def pmm_research_record(
    visit: Visit,
    *,
    report: Report,
    cwd: Cwd = "",
    dry_run: Annotated[bool, Field(description="check only")] = False,
) -> ResearchResult:
    """Record a report's findings as evidence; it can become nothing else by itself."""
    app = await visit.app()
    return await app.research.record(report, dry_run=dry_run, call=await visit.call(cwd=cwd))
