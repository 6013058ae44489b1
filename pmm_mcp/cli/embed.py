"""Giving vectors to what was said, now and all of it."""

import typer
from pydantic import BaseModel, ConfigDict

from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.terminal import Answer, line
from pmm_mcp.domain.errors import EmbedderUnavailableError


class EmbedResult(BaseModel):
    """How many documents got a vector, and of which set."""

    model_config = ConfigDict(frozen=True)

    embedder: str
    embedded: int


async def embed(visit: Visit) -> Answer:
    """Give a vector to every document that has none yet; a server does that by itself."""
    async with visit.app() as app:
        async with app.ledger.reader.view() as view:
            coverage = await view.carry_out(app.embedding.coverage())
        if coverage.wanted is None and not coverage.problem:
            raise EmbedderUnavailableError(
                "no embedder is set, or the default is not installed",
                hint="pip install 'pmm-mcp[static]', or set PMM_MCP_EMBEDDER.",
            )
        with visit.terminal.progress("embed") as told:
            count = await app.embedding.catch_up(progress=told)
    result = EmbedResult(embedder=coverage.wanted or "", embedded=count)
    return Answer(result, [line(f"{count} documents got a vector of {result.embedder}")])


def add_to(program: typer.Typer) -> None:
    """Offer the command of this file."""
    add(program, embed)
