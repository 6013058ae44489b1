"""Research reports: checked to the item, and evidence is all they become."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.domain.research import Report, read_report
from tests.apps import mind_of

REPORT: dict[str, Any] = {
    "report_id": "R-1",
    "title": "Caches",
    "sources": [
        {"id": "s1", "title": "A paper", "url": "https://example.org/p"},
        {"id": "s2", "title": "A book"},
    ],
    "findings": [
        {"id": "f1", "text": "Caches help.", "source_ids": ["s1"]},
        {"id": "f2", "text": "Caches hurt.", "source_ids": ["s1", "s2"]},
    ],
    "candidate_insights": ["Measure first."],
}


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"report_id": ""}, "$.report_id"),
        ({"title": 3}, "$.title"),
        ({"sources": []}, "$.sources"),
        ({"sources": [{"id": "s1"}]}, "$.sources[0].title"),
        ({"sources": [{"id": "s1", "title": "x"}] * 2}, "$.sources[1].id"),
        ({"findings": "x"}, "$.findings"),
        ({"findings": [{"id": "f1", "text": "x", "source_ids": ["s9"]}]}, "$.findings[0].source_ids[0]"),
        ({"findings": [{"id": "f1", "text": "x", "source_ids": []}]}, "$.findings[0].source_ids"),
        ({"findings": [{"id": "f1", "text": "", "source_ids": ["s1"]}]}, "$.findings[0].text"),
        ({"findings": [7]}, "$.findings[0]"),
        ({"status": "promoted"}, "$.status"),
        ({"candidate_insights": [1]}, "$.candidate_insights"),
    ],
)
def test_everything_that_is_wrong_is_named_with_its_path(change: dict[str, Any], path: str) -> None:
    problems = read_report(REPORT | change)
    assert not isinstance(problems, Report)
    assert path in {one.path for one in problems}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*REPORT, "x"]), inner),
    max_leaves=10,
)


@given(JSON)
def test_any_json_is_read_without_raising(data: Any) -> None:
    read_report(json.dumps(data))


async def test_findings_become_research_evidence_once_and_nothing_else(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        app = mind.app
        plan = await app.research.validate(json.dumps(REPORT))
        rehearsed = await app.research.record(REPORT, dry_run=True, call=mind.call)
        first = await app.research.record(REPORT, dry_run=False, call=mind.call)
        again = await app.research.record(REPORT, dry_run=False, call=mind.call)
        kinds = await mind.kinds()
        items = [await app.items.get(one.id) for one in first.recorded]
    assert plan.valid
    assert [one.finding_id for one in plan.plan] == ["f1", "f2"]
    assert [one.id for one in rehearsed.recorded] == ["", ""]
    assert [(one.id, one.duplicate) for one in again.recorded] == [(one.id, True) for one in first.recorded]
    assert kinds.count("evidence_recorded") == 2
    assert {kind for kind in kinds if kind.startswith(("knowledge", "card"))} == set()
    assert [item.item.details["provenance"] for item in items] == ["research", "research"]
    assert items[1].item.texts["source"] == "https://example.org/p; A book"


async def test_a_report_with_problems_writes_nothing(tmp_path: Path) -> None:
    async with mind_of(tmp_path) as mind:
        head = await mind.head()
        with pytest.raises(InvalidArgumentError, match="problems"):
            await mind.app.research.record(REPORT | {"title": ""}, dry_run=False, call=mind.call)
        assert await mind.head() == head
