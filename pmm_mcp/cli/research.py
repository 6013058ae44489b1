"""Research reports: checking one, and recording its findings as evidence."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.options import text_or_stdin
from pmm_mcp.cli.terminal import Answer, line
from pmm_mcp.services.research import ResearchResult, ValidateResult

Report = Annotated[str, typer.Argument(help="The report as JSON; - reads stdin.", callback=text_or_stdin)]


async def validate(visit: Visit, *, report: Report) -> Answer:
    """Check a report to the item, and plan what each finding would become."""
    async with visit.app() as app:
        result = await app.research.validate(report)
    return Answer(result, _validated(result), exit_code=0 if result.valid else 1)


async def record(
    visit: Visit,
    *,
    report: Report,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check only.")] = False,
) -> Answer:
    """Record the findings of a report as evidence with provenance research."""
    async with visit.app() as app:
        result = await app.research.record(report, dry_run=dry_run, call=await visit.call(app))
    return Answer(result, _recorded(result))


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    group = typer.Typer(help="Reports of what others found out.", no_args_is_help=True)
    add(group, validate, reads=True)
    add(group, record)
    program.add_typer(group, name="research")


def _validated(result: ValidateResult) -> Iterator[Text]:
    for one in result.errors:
        yield line((one.path, "bold"), f"  {one.problem}")
    for planned in result.plan:
        yield line((planned.finding_id, "bold"), f"  {planned.would_record.content}")
        yield line((f"  {planned.would_record.source}", "dim"))


def _recorded(result: ResearchResult) -> Iterator[Text]:
    for one in result.recorded:
        known = "  was here already" if one.duplicate else ""
        yield line((one.finding_id, "bold"), f"  {one.id or '-'}{known}")
    if result.notice:
        yield line((result.notice, "yellow"))
