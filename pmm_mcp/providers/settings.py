"""What every provider is told."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSettings:
    """How long to wait, how often to try again, and the environment that names servers and keys."""

    timeout_s: float = 120.0
    """For one try; also the longest silence of a server that is sending."""
    retries: int = 2
    backoff_s: float = 0.5
    """The first wait before another try; it doubles."""
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def total_s(self) -> float:
        """The longest an ask may take, tries and waits together."""
        return self.timeout_s * (self.retries + 1)

    def setting(self, *names: str) -> str:
        """Return the first of these variables that is set to something, or ""."""
        return next((value for name in names if (value := self.env.get(name, "").strip())), "")
