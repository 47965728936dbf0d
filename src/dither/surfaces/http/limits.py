"""How often somebody may knock."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

from dither.surfaces.http.problems import Refused

_MOST_KEPT = 10_000


class RateLimit:
    """``rate`` requests a second from each caller, and ``burst`` of them at once."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, float(burst)
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, cost: float = 1.0) -> None:
        """Count a request, or refuse it."""
        now = time.monotonic()
        with self._lock:
            left, before = self._seen.pop(caller, (self._burst, now))
            left = min(self._burst, left + (now - before) * self._rate)
            allowed = left >= cost
            self._seen[caller] = (left - cost if allowed else left, now)
            while len(self._seen) > _MOST_KEPT:
                self._seen.popitem(last=False)
        if not allowed:
            seconds = max(1, round((cost - left) / self._rate + 0.5))
            raise Refused(
                429, "too-many-requests",
                f"at most {self._rate:g} requests a second are accepted; nothing was read, nothing was charged",
                {"Retry-After": str(seconds)},
            )  # fmt: skip
