"""Research: a report is checked to the item, and its findings become evidence, which is all it can become."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.domain.events.memory import Provenance
from pmm_mcp.domain.records import Call
from pmm_mcp.domain.research import Report, ReportProblem, read_report
from pmm_mcp.domain.sizes import cut, fitting
from pmm_mcp.ports import Ledger
from pmm_mcp.queries import events
from pmm_mcp.services.record import EvidenceInput, RecordService
from pmm_mcp.services.results import Part, Result

LIST_BYTES: Final = 3_600
TEXT_BYTES: Final = 300


class ProblemShown(Part):
    """What is wrong with a report, and where."""

    path: str
    problem: str


class WouldRecord(Part):
    """The evidence a finding would become."""

    content: str
    source: str
    provenance: str
    labels: list[str]


class Planned(Part):
    """A finding, and what it would become."""

    finding_id: str
    would_record: WouldRecord


class ValidateResult(Result):
    """Whether a report holds; if not, everything that is wrong, else what it would become."""

    valid: bool
    errors: list[ProblemShown] = []
    plan: list[Planned] = []
    counts: dict[str, int] = {}


class Recorded(Part):
    """A finding, and the evidence it became."""

    finding_id: str
    id: str
    duplicate: bool


class ResearchResult(Result):
    """The evidence that the findings of a report became."""

    report_id: str
    recorded: list[Recorded]


@dataclass(frozen=True, slots=True)
class ResearchService:
    """Takes in what others found out."""

    ledger: Ledger
    records: RecordService

    async def validate(self, report: str | Mapping[str, Any]) -> ValidateResult:
        """Check a report down to every item, and plan what each finding would become; nothing is written."""
        async with self.ledger.reader.view() as view:
            head = await view.ask(events.head())
        read = read_report(report)
        if not isinstance(read, Report):
            return ValidateResult(valid=False, errors=_shown(read), counts={"errors": len(read)}, head=head)
        plan = [
            Planned(
                finding_id=cut(finding.id, bytes_max=TEXT_BYTES),
                would_record=WouldRecord(
                    content=cut(finding.content, bytes_max=TEXT_BYTES),
                    source=cut(finding.source, bytes_max=TEXT_BYTES),
                    provenance=Provenance.RESEARCH,
                    labels=list(finding.labels),
                ),
            )
            for finding in read.findings
        ]
        return ValidateResult(
            valid=True,
            plan=fitting(plan, bytes_max=LIST_BYTES),
            counts={
                "findings": len(read.findings),
                "sources": read.sources,
                "candidate_insights": read.insights,
            },
            head=head,
        )

    async def record(self, report: str | Mapping[str, Any], *, dry_run: bool, call: Call) -> ResearchResult:
        """Record the findings of a report as evidence with provenance research; again adds nothing.

        Raises:
            InvalidArgumentError: the report does not hold; the first problems are named.

        """
        read = read_report(report)
        if not isinstance(read, Report):
            first = "; ".join(f"{one.path} {one.problem}" for one in read[:3])
            raise InvalidArgumentError(
                f"the report has {len(read)} problems: {first}", hint="pmm_research_validate lists all."
            )
        recorded: list[Recorded] = []
        head = 0
        for finding in read.findings:
            given = EvidenceInput(
                content=finding.content,
                source=finding.source,
                provenance=Provenance.RESEARCH,
                labels=finding.labels,
                dry_run=dry_run,
            )
            # The request id is the whole call's: each finding finds itself again by what it says.
            done = await self.records.record(
                given, call=Call(actor=call.actor, place=call.place, conversation=call.conversation)
            )
            head = done.head
            recorded.append(Recorded(finding_id=finding.id, id=done.id, duplicate=done.duplicate))
        return ResearchResult(
            report_id=read.id,
            recorded=fitting(recorded, bytes_max=LIST_BYTES * 2),
            notice="dry run: nothing was written" if dry_run else None,
            head=head,
        )


def _shown(problems: tuple[ReportProblem, ...]) -> list[ProblemShown]:
    shown = [ProblemShown(path=one.path, problem=one.problem) for one in problems]
    return fitting(shown, bytes_max=LIST_BYTES)
