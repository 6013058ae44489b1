"""Taking times side by side, so that a machine that drifts does so for all alike."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

Subject = Callable[[], Awaitable[object]]

MICRO: Final = 1e6
MILLI: Final = 1e3


@dataclass(frozen=True, slots=True)
class Times:
    """How long each round took, in seconds."""

    values_s: Sequence[float]

    def quantile_s(self, share: float) -> float:
        ordered = sorted(self.values_s)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    @property
    def p50_s(self) -> float:
        return self.quantile_s(0.5)

    @property
    def p95_s(self) -> float:
        return self.quantile_s(0.95)

    def p50_us(self) -> str:
        return f"{self.p50_s * MICRO:.0f} µs"

    def p50_ms(self) -> str:
        return f"{self.p50_s * MILLI:.2f} ms"

    def us(self) -> str:
        return f"p50 {self.p50_s * MICRO:.0f}  p95 {self.p95_s * MICRO:.0f} µs"

    def ms(self) -> str:
        digits = 1 if self.p50_s * MILLI >= 10 else 2
        return f"p50 {self.p50_s * MILLI:.{digits}f}  p95 {self.p95_s * MILLI:.{digits}f} ms"

    def numbers(self, name: str) -> dict[str, float]:
        """The figures to keep."""
        return {f"{name}_p50_us": self.p50_s * MICRO, f"{name}_p95_us": self.p95_s * MICRO}


async def side_by_side(
    subjects: Mapping[str, Subject], *, rounds: int, warm_up: int = 3
) -> Mapping[str, Times]:
    """Let the subjects take turns, in both orders, and return the times of each."""
    values: dict[str, list[float]] = {name: [] for name in subjects}
    order = list(subjects.items())
    for turn in range(-warm_up, rounds):
        for name, subject in order if turn % 2 else reversed(order):
            started = time.perf_counter()
            await subject()
            if turn >= 0:
                values[name].append(time.perf_counter() - started)
    return {name: Times(found) for name, found in values.items()}
