"""Figures with intervals: a centre of repeated measurements and a ratio of two, by the bootstrap.

Errors vary from dataset to dataset and times from round to round; what is drawn again is a whole dataset or round, the
same for both sides of a ratio, because both were measured on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm as normal
from scipy.stats import t as student

LEVEL = 0.99
RESAMPLES = 10_000
SAME = 0.005
"""Ratios within half a percent of one are equal: exact computations that round differently."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Figure:
    """A value with the interval it lies in."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if self.low == self.high:
            return short(self.value)
        return f"{short(self.value)} [{short(self.low)}, {short(self.high)}]"


def short(number: float) -> str:
    """Three digits.

    >>> short(0.01234), short(1234567.0), short(0.0)
    ('0.0123', '1,230,000', '0')
    """
    if not math.isfinite(number) or number == 0:
        return "0" if number == 0 else str(number)
    digits = 2 - math.floor(math.log10(abs(number)))
    rounded = round(number, digits)
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:.3g}"


def figure(values: Floats, centre: str) -> Figure:
    """The centre of measurements, with its interval."""
    middle = _centre(values[None, :], centre)[0]
    if np.ptp(values) == 0:
        return Figure(float(middle), float(middle), float(middle))
    return _interval(float(middle), _centre(values[_drawn(len(values))], centre), len(values))


def ratio(ours: Floats, theirs: Floats, centre: str) -> Figure | None:
    """Our centre over theirs, measured on the same datasets or rounds; None if only theirs is zero.

    >>> ratio(np.array([1.0, 2.0]), np.array([2.0, 4.0]), "mean")
    Figure(value=0.5, low=0.5, high=0.5)
    """
    mine, other = (float(_centre(values[None, :], centre)[0]) for values in (ours, theirs))
    if other == 0:
        return Figure(1.0, 1.0, 1.0) if mine == 0 else None
    if np.ptp(ours) == 0 and np.ptp(theirs) == 0:
        return Figure(mine / other, mine / other, mine / other)
    paired = len(ours) == len(theirs)
    first = _drawn(len(ours))
    second = first if paired else _drawn(len(theirs), seed=1)
    above, below = _centre(ours[first], centre), _centre(theirs[second], centre)
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = np.where(below > 0, above / below, np.where(above > 0, math.inf, 1.0))
    return _interval(mine / other, drawn, min(len(ours), len(theirs)))


def growth(sizes: Floats, times: list[Floats]) -> Figure:
    """The exponent of the power of the size by which a time grows, with its interval."""
    logs = np.log(sizes)
    rounds = min(len(time) for time in times)
    medians = np.array([np.median(time) for time in times])
    value = float(np.polyfit(logs, np.log(medians), 1)[0])
    table = np.stack([time[:rounds] for time in times])
    drawn = np.median(table[:, _drawn(rounds)], axis=2)
    if rounds == 1:
        return Figure(value, value, value)
    return _interval(value, np.polyfit(logs, np.log(drawn), 1)[0], rounds)


def _centre(values: Floats, centre: str) -> Floats:
    numbers: Floats = np.median(values, axis=1) if centre == "median" else values.mean(axis=1)
    return numbers


def _drawn(length: int, seed: int = 0) -> NDArray[np.int64]:
    return np.random.default_rng([length, seed]).integers(0, length, (RESAMPLES, length))


def _interval(value: float, drawn: Floats, count: int) -> Figure:
    """Quantiles of what was drawn, further out for few measurements: the bootstrap alone is too narrow for them.

    Hesterberg's expanded percentiles: the tails are those of the normal law where Student's law with ``count - 1``
    degrees of freedom has its own.
    """
    wide = float(student.ppf((1 + LEVEL) / 2, count - 1)) * math.sqrt(count / (count - 1))
    tail = float(normal.cdf(-wide))
    low, high = np.quantile(drawn, [tail, 1 - tail], method="inverted_cdf")
    return Figure(value, min(value, float(low)), max(value, float(high)))
