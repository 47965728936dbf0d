"""Numbers with intervals: exact ones, bootstrapped means and medians, shares, slopes, processor time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

LEVEL = 0.95
RESAMPLES = 1000


@dataclass(frozen=True)
class Estimate:
    """A number, an interval, and what kind of interval it is."""

    value: float
    low: float
    high: float
    how: str

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"value": self.value, "low": self.low, "high": self.high, "interval": self.how}

    def __str__(self) -> str:
        if self.low == self.high:
            return short(self.value)
        return f"{short(self.value)} ({short(self.low)} to {short(self.high)})"

    def __format__(self, form: str) -> str:
        return format(str(self), form)

    def times(self, factor: float) -> Estimate:
        """In another unit."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor, self.how)


def short(number: float) -> str:
    """Three significant digits, with commas at thousands."""
    if not math.isfinite(number) or number == 0:
        return f"{number:g}"
    if abs(number) >= 1e7 or abs(number) < 1e-4:
        return f"{number:.2e}".replace("e-0", "e-").replace("e+0", "e")
    if abs(number) >= 1000:
        return f"{round(number, 2 - math.floor(math.log10(abs(number)))):,.0f}"
    return f"{number:.3g}"


def exact(value: Any) -> Estimate:
    """A number that is computed, not sampled."""
    return Estimate(float(value), float(value), float(value), "exact")


def mean(samples: ArrayLike) -> Estimate:
    """The mean, with a 95% percentile bootstrap."""
    return _resampled(np.asarray(samples, dtype=float), np.mean, "mean")


def median(samples: ArrayLike) -> Estimate:
    """The median, with a 95% percentile bootstrap."""
    return _resampled(np.asarray(samples, dtype=float), np.median, "median")


def _resampled(samples: np.ndarray, statistic: Any, name: str) -> Estimate:
    if len(samples) == 0:
        raise ValueError("an estimate needs samples")
    rng = np.random.default_rng(len(samples))
    picked = samples[rng.integers(0, len(samples), (RESAMPLES, len(samples)))]
    low, high = np.quantile(statistic(picked, axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(float(statistic(samples)), float(low), float(high), f"{name} of {len(samples)}, bootstrap 95%")


def share(hits: int, trials: int) -> Estimate:
    """A probability from counts: Clopper and Pearson's interval."""
    from scipy.stats import beta  # noqa: PLC0415

    miss = (1 - LEVEL) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(miss, hits, trials - hits + 1))
    high = 1.0 if hits == trials else float(beta.ppf(1 - miss, hits + 1, trials - hits))
    return Estimate(hits / trials, low, high, f"{hits} of {trials}, Clopper-Pearson 95%")


def slope(xs: ArrayLike, ys: ArrayLike, *, logarithmic: bool = True) -> Estimate:
    """The exponent of a power law (or the slope of a line), least squares with Student's 95% interval."""
    from scipy.stats import linregress, t  # noqa: PLC0415

    x, y = np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)
    if logarithmic:
        x, y = np.log(x), np.log(y)
    fit = linregress(x, y)
    wide = float(t.ppf((1 + LEVEL) / 2, len(x) - 2)) * float(fit.stderr) if len(x) > 2 else math.inf
    return Estimate(float(fit.slope), float(fit.slope) - wide, float(fit.slope) + wide, f"fit of {len(x)} points, 95%")


def processor(
    work: Callable[..., Any], rounds: int, *given: Any, fresh: Callable[[], tuple[Any, ...]] | None = None
) -> Estimate:
    """Milliseconds of processor time of ``work(*given)``, all cores together: the median and range of several rounds.

    ``fresh`` gives new arguments for each round, off the clock, where the work keeps what it computed.
    """
    spent = []
    for _ in range(rounds):
        now = given if fresh is None else fresh()
        began = time.process_time()
        work(*now)
        spent.append(1e3 * (time.process_time() - began))
    return Estimate(float(np.median(spent)), min(spent), max(spent), f"median and range of {rounds} rounds")
