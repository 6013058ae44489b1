"""The real clock and the real randomness."""

import secrets
import time


class SystemClock:
    """The clocks of this machine."""

    def now_us(self) -> int:
        """The wall clock in microseconds since the epoch."""
        return time.time_ns() // 1_000

    def monotonic(self) -> float:
        """Seconds since some moment, never going back."""
        return time.monotonic()


class SystemIds:
    """The randomness of this machine."""

    def token(self, size: int) -> bytes:
        """Return that many unpredictable bytes."""
        return secrets.token_bytes(size)
