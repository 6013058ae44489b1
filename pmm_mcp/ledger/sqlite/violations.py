"""Refused attempts to write what an actor may not: recorded, but never a way to fill the disk."""

from collections import deque
from typing import Final

from pmm_mcp.domain.errors import PolicyViolationError
from pmm_mcp.domain.records import Actor
from pmm_mcp.ports import Clock

PER_MINUTE: Final = 20
_MINUTE_S: Final = 60
_REMEMBERED_MAX: Final = 1_000


class Violations:
    """Decides which refusals are news."""

    def __init__(self, clock: Clock) -> None:
        """Remember nothing yet."""
        self._clock = clock
        self._recent: deque[float] = deque()
        self._known: dict[tuple[str, str, str], None] = {}
        self.uncounted = 0
        """How many were not recorded, because there were too many at once."""

    def is_news(self, error: PolicyViolationError, *, by: Actor) -> bool:
        """Say whether to record it: not the same refusal twice in a session, and not over 20 a minute."""
        attempt = (by.session, by.name, error.kind)
        if attempt in self._known:
            return False
        now = self._clock.monotonic()
        while self._recent and now - self._recent[0] > _MINUTE_S:
            self._recent.popleft()
        if len(self._recent) >= PER_MINUTE:
            self.uncounted += 1
            return False
        self._recent.append(now)
        if len(self._known) >= _REMEMBERED_MAX:
            self._known.clear()
        self._known[attempt] = None
        return True
