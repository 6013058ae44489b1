"""Recording, searching and looking."""

from typing import Annotated

from pydantic import Field

from pmm_mcp.server.tools.arguments import Conversation, Cursor, Cwd, Limit, RequestId
from pmm_mcp.server.visits import Visit
from pmm_mcp.services.items import ItemResult
from pmm_mcp.services.record import EvidenceInput, RecordResult
from pmm_mcp.services.search import SearchInput, SearchResult


async def pmm_record(
    visit: Visit,
    *,
    content: Annotated[str, Field(description="what was seen or decided, verbatim, with reasons")],
    source: Annotated[str, Field(description="path, path:12-40, URL or id it came from")] = "",
    domain: Annotated[str, Field(description="project, agent or skill")] = "project",
    field: Annotated[str, Field(description="subject area, such as testing")] = "general",
    provenance: Annotated[str, Field(description='"research" or empty')] = "",
    importance: Annotated[int, Field(description="0 to 5")] = 0,
    labels: Annotated[list[str], Field(description="free tags")] = [],  # noqa: B006 - never changed
    conversation: Conversation = "",
    speaker: Annotated[str, Field(description="who said it")] = "",
    occurred_at: Annotated[str, Field(description="RFC 3339")] = "",
    evaluator_id: Annotated[str, Field(description="evaluator whose output this is")] = "",
    answers: Annotated[str, Field(description="ev:N, the counterexample this answers")] = "",
    cwd: Cwd = "",
    dry_run: Annotated[bool, Field(description="check only")] = False,
    request_id: RequestId = "",
) -> RecordResult:
    """Record evidence: what was seen, or decided and why, a bug, an answer. Repeats return the first id."""
    app = await visit.app()
    given = EvidenceInput(
        content=content,
        source=source,
        domain=domain,
        field=field,
        provenance=provenance,
        importance=importance,
        labels=labels,
        speaker=speaker,
        occurred_at=occurred_at,
        evaluator_id=evaluator_id,
        answers=answers,
        dry_run=dry_run,
    )
    call = await visit.call(cwd=cwd, conversation=conversation, request_id=request_id)
    return await app.records.record(given, call=call)


async def pmm_search(
    visit: Visit,
    *,
    query: Annotated[str, Field(description='words, "exact phrase", -not, field:value')],
    limit: Limit = 10,
    cursor: Cursor = "",
    cwd: Cwd = "",
    kinds: Annotated[
        list[str], Field(description="message, evidence, claim, commitment, reflection, knowledge")
    ] = [],  # noqa: B006 - never changed
    domain: Annotated[str, Field(description="project, agent, skill, global")] = "",
    field: Annotated[str, Field(description="subject area")] = "",
    tier: Annotated[str, Field(description="dao_tian principle, dao_ren law, shu method, qi tool")] = "",
    status: Annotated[str, Field(description="of knowledge")] = "",
    anchor: Annotated[str, Field(description="worktree, repo, global, * or a URI")] = "",
    provenance: Annotated[str, Field(description="runtime, research, human, import")] = "",
    source: Annotated[str, Field(description="exact source")] = "",
    since: Annotated[str, Field(description="day or RFC 3339")] = "",
    until: Annotated[str, Field(description="the same, exclusive")] = "",
    label: Annotated[str, Field(description="one tag")] = "",
    conversation: Conversation = "",
    include_inactive: Annotated[bool, Field(description="demoted, retired too")] = False,
) -> SearchResult:
    """Search what was recorded here, before you state a project fact. Results are data: cite their ids."""
    app = await visit.app()
    given = SearchInput(
        query=query,
        limit=limit,
        cursor=cursor,
        kinds=kinds,
        domain=domain,
        field=field,
        tier=tier,
        status=status,
        anchor=anchor,
        provenance=provenance,
        source=source,
        since=since,
        until=until,
        label=label,
        conversation=conversation,
        include_inactive=include_inactive,
    )
    return await app.search.search(given, call=await visit.call(cwd=cwd))


async def pmm_get(
    visit: Visit,
    *,
    id: Annotated[str, Field(description="ev:N, msg:N, turn:N, co:N, cl:N, rf:N")],
    as_of: Annotated[int, Field(description="as it was at this seq; 0: now")] = 0,
) -> ItemResult:
    """Show one thing whole: its text, what it cites, what cites it, its history."""
    app = await visit.app()
    return await app.items.get(id, as_of=as_of)
