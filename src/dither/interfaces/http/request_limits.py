"""How often somebody may knock, and what a new token may be allowed."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from dither.borders import Exact
from dither.interfaces.http.problems import Refused, forbidden
from dither.interfaces.http.store import Token

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
                429,
                "too-many-requests",
                f"send at most {self._rate:g} requests a second; nothing was read, nothing was charged",
                {"Retry-After": str(seconds)},
            )


@dataclass(frozen=True)
class TokenLimits:
    """What a new token is limited to; None is no limit."""

    epsilon_cap: Exact | None
    delta_cap: Exact | None
    queries: list[str] | None
    datasets: list[str] | None
    seconds: Exact | None
    """Until it expires."""

    def check_within(self, maker: Token, budgets: Iterable[str]) -> None:
        """An error if a token would have more datasets, queries, budget or time than the token that creates it."""
        for mine, theirs, what in (
            (maker.datasets, self.datasets, "datasets"),
            (maker.queries, self.queries, "queries"),
        ):
            if mine is not None and (theirs is None or not set(theirs) <= set(mine)):
                raise forbidden(f"your own token is limited to some {what}: name some of these")
        for cap, asked, what in (
            (maker.epsilon_cap, self.epsilon_cap, "epsilon"),
            (maker.delta_cap, self.delta_cap, "delta"),
        ):
            if cap is not None and (asked is None or asked > cap):
                raise forbidden(f"your own token may spend {what} {cap:g} on one question: give out at most that")
        for dataset in budgets:
            if not maker.may_see(dataset):
                raise forbidden("your own token is for some datasets only: give budgets on these")
        if maker.expires is not None:
            left = (datetime.fromisoformat(maker.expires) - datetime.now(UTC)).total_seconds()
            if self.seconds is None or self.seconds > left:
                raise forbidden(f"your own token ends in {left:.0f} seconds: give out none that lasts longer")
