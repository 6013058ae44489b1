"""Time that moves when a test says so, and randomness that repeats."""

from hashlib import sha256

START_US = 1_700_000_000_000_000


class ManualClock:
    """Both clocks of a machine. Every look at the monotonic one takes a moment, so no wait is endless."""

    def __init__(self, now_us: int = START_US, *, tick_s: float = 0.0005) -> None:
        self._now_us = now_us
        self._monotonic = 1_000.0
        self._tick_s = tick_s

    def now_us(self) -> int:
        return self._now_us

    def monotonic(self) -> float:
        self._monotonic += self._tick_s
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let time pass on both clocks."""
        self._monotonic += seconds
        self._now_us += int(seconds * 1_000_000)

    def set_wall(self, now_us: int) -> None:
        """Set the wall clock, as a person or a time server does."""
        self._now_us = now_us


class SeededIds:
    """Tokens that are the same in every run."""

    def __init__(self, seed: str = "") -> None:
        self._seed = seed
        self._count = 0

    def token(self, size: int) -> bytes:
        self._count += 1
        return sha256(f"{self._seed}:{self._count}".encode()).digest()[:size]
