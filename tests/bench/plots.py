"""Draws what `make bench` kept: the time and the memory of a search, by the size of a ledger."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.bench.report import RESULTS, ROOT

TARGETS: Final[Mapping[int, int]] = {10_000: 6, 100_000: 15, 1_000_000: 60}
PICTURE: Final = ROOT / "docs" / "search-by-size.svg"


def rows() -> Sequence[Mapping[str, Any]]:
    """Return what was measured of searches, smallest ledger first."""
    found = [
        row["numbers"]
        for path in RESULTS.glob("search*.json")
        for row in json.loads(path.read_text(encoding="utf-8"))["rows"]
        if "documents" in row["numbers"]
    ]
    return sorted(found, key=lambda numbers: numbers["documents"])


def draw(measured: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write one picture with two fields."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "pmm-mcp"
    import matplotlib.pyplot as plt

    sizes = [numbers["documents"] for numbers in measured]
    figure, (times, memory) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for key, label, style in (
        ("search_p50_us", "search, p50", "o-"),
        ("search_p95_us", "search, p95", "o--"),
        ("query_p50_us", "one FTS5 query, p50", "s:"),
    ):
        times.plot(sizes, [numbers[key] / 1_000 for numbers in measured], style, label=label)
    times.plot(list(TARGETS), list(TARGETS.values()), "k_", markersize=18, label="target, p50")
    times.set(xscale="log", yscale="log", xlabel="documents", ylabel="ms", title="One search")
    times.legend(frameon=False, fontsize="small")
    memory.plot(sizes, [numbers["memory_mb"] for numbers in measured], "o-")
    memory.set(xscale="log", xlabel="documents", ylabel="MB", title="Memory that the first search takes")
    figure.savefig(path, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    measured = rows()
    if not measured:
        sys.exit("nothing was measured yet: make bench")
    draw(measured, PICTURE)
    print(f"wrote {PICTURE}")
