"""Research reports: what one must look like, and what each finding would become. A report decides nothing."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pmm_mcp.domain.names import as_name

REPORT_CHARS_MAX: Final = 1_000_000
SOURCES_MAX: Final = 200
FINDINGS_MAX: Final = 100
TEXT_CHARS_MAX: Final = 20_000
_KEYS: Final = frozenset({"report_id", "title", "sources", "findings", "candidate_insights"})


@dataclass(frozen=True, slots=True)
class ReportProblem:
    """What is wrong with a report, and where."""

    path: str
    problem: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding, and the evidence it would become."""

    id: str
    content: str
    source: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A report that holds."""

    id: str
    title: str
    findings: tuple[Finding, ...]
    sources: int
    insights: int


def read_report(report: str | Mapping[str, Any]) -> Report | tuple[ReportProblem, ...]:
    """Return the report, or everything that is wrong with it, each with its path; it never raises."""
    if isinstance(report, str):
        if len(report) > REPORT_CHARS_MAX:
            return (ReportProblem("$", f"is longer than {REPORT_CHARS_MAX} characters"),)
        try:
            data = json.loads(report)
        except (ValueError, RecursionError) as error:
            return (ReportProblem("$", f"is no JSON: {str(error)[:120]}"),)
    else:
        data = report
    if not isinstance(data, Mapping):
        return (ReportProblem("$", "must be an object"),)
    problems = tuple(_problems(data))
    return problems or _report(data)


def _problems(data: Mapping[str, Any]) -> Iterator[ReportProblem]:
    for key in sorted(map(str, data.keys() - _KEYS)):
        yield ReportProblem(f"$.{key[:40]}", "is no part of a report")
    for key in ("report_id", "title"):
        yield from _text(data.get(key), f"$.{key}", most=200)
    known: set[str] = set()
    for path, source in _objects(data.get("sources"), "$.sources", most=SOURCES_MAX):
        if isinstance(source, ReportProblem):
            yield source
            continue
        yield from _text(source.get("id"), f"{path}.id", most=64)
        yield from _text(source.get("title"), f"{path}.title", most=500)
        if source.get("url") is not None:
            yield from _text(source["url"], f"{path}.url", most=2_000)
        if (name := str(source.get("id"))) in known:
            yield ReportProblem(f"{path}.id", f"{name[:64]!r} is there twice")
        known.add(name)
    seen: set[str] = set()
    for path, finding in _objects(data.get("findings"), "$.findings", most=FINDINGS_MAX):
        if isinstance(finding, ReportProblem):
            yield finding
            continue
        yield from _text(finding.get("id"), f"{path}.id", most=64)
        yield from _text(finding.get("text"), f"{path}.text", most=TEXT_CHARS_MAX)
        if (name := str(finding.get("id"))) in seen:
            yield ReportProblem(f"{path}.id", f"{name[:64]!r} is there twice")
        seen.add(name)
        cited = finding.get("source_ids")
        if not isinstance(cited, list) or not cited:
            yield ReportProblem(f"{path}.source_ids", "must be a list of at least one id of a source")
            continue
        for n, one in enumerate(cited):
            if not isinstance(one, str) or one not in known:
                yield ReportProblem(f"{path}.source_ids[{n}]", "is no id of a source of this report")
    insights = data.get("candidate_insights", [])
    if not isinstance(insights, list) or not all(isinstance(one, str) for one in insights):
        yield ReportProblem("$.candidate_insights", "must be a list of texts")


def _text(value: object, path: str, *, most: int) -> Iterator[ReportProblem]:
    if not isinstance(value, str) or not value.strip():
        yield ReportProblem(path, "must be a text")
    elif len(value) > most:
        yield ReportProblem(path, f"has {len(value)} characters, the limit is {most}")


def _objects(value: object, path: str, *, most: int) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, list) or not value:
        yield path, ReportProblem(path, "must be a list with at least one item")
        return
    if len(value) > most:
        yield path, ReportProblem(path, f"has {len(value)} items, the limit is {most}")
        return
    for n, item in enumerate(value):
        here = f"{path}[{n}]"
        yield here, item if isinstance(item, Mapping) else ReportProblem(here, "must be an object")


def _report(data: Mapping[str, Any]) -> Report:
    sources = {source["id"]: source for source in data["sources"]}
    report_id = as_name(data["report_id"], otherwise="report")
    findings = tuple(
        Finding(
            id=finding["id"],
            content=finding["text"].strip(),
            source="; ".join(_cited(sources[one]) for one in finding["source_ids"]),
            labels=("research", report_id),
        )
        for finding in data["findings"]
    )
    return Report(report_id, data["title"], findings, len(sources), len(data.get("candidate_insights", [])))


def _cited(source: Mapping[str, Any]) -> str:
    return str(source.get("url") or source["title"]).strip()
