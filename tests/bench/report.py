"""What was measured, beside its floor and its target: lines of a table, and JSON to keep."""

import json
import os
import platform
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
RESULTS: Final = ROOT / ".bench"

HEADINGS: Final = ("what", "measured", "floor of the same run", "figure", "target", "")
WIDTHS: Final = (38, 26, 30, 16, 19, 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table. `met` is None where there is no target; `numbers` is what is kept for later."""

    what: str
    measured: str
    floor: str = "–"
    figure: str = "–"
    target: str = "–"
    met: bool | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        return "" if self.met is None else "met" if self.met else "MISSED"

    @property
    def cells(self) -> tuple[str, ...]:
        return (self.what, self.measured, self.floor, self.figure, self.target, self.verdict)


def aligned(cells: Sequence[str]) -> str:
    """One line of the table."""
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def closing_table(rows: Sequence[Row]) -> list[str]:
    """Every row, and how many targets are met."""
    targets = [row for row in rows if row.met is not None]
    return [
        aligned(HEADINGS),
        aligned(["-" * width for width in WIDTHS]),
        *(aligned(row.cells) for row in rows),
        f"{sum(1 for row in targets if row.met)} of {len(targets)} targets met; {machine()}",
    ]


def save(name: str, rows: Sequence[Row]) -> None:
    """Keep the rows of a benchmark in .bench/."""
    RESULTS.mkdir(exist_ok=True)
    found: dict[str, Any] = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "rows": [asdict(row) for row in rows],
    }
    text = json.dumps(found, indent=1, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


def machine() -> str:
    """What this ran on, and how fast it was just then: two runs compare only as far as this does."""
    return (
        f"{os.cpu_count()} cores {platform.machine()}, Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}, a million empty loops in {_million_loops_s() * 1e3:.0f} ms"
    )


def _million_loops_s() -> float:
    started = time.perf_counter()
    for _ in range(1_000_000):
        pass
    return time.perf_counter() - started
