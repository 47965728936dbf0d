"""Quantiles with dither: neighbours change one record; and the smooth sensitivity of a median of sorted records."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

import dither as dt
from dither.mechanism_names import MechanismName
from dither.sources.column import Column, read_column, shape_of
from dither.typing import IntervalName
from dither_lab.bench.anchors.quantiles import JointExp, SliceQuantiles

PAY_BOUNDS = (0, 600_000)
CHOICES: dict[str, dict[str, Any]] = {
    "auto": {"mechanism": "auto"},
    "smooth": {"mechanism": "smooth", "noise": "power_law"},
    "inverse": {"mechanism": "inverse"},
    "permute_and_flip": {"mechanism": "permute_and_flip"},
    "middle_score": {"mechanism": "middle_score"},
    "step of 1": {"step": 1},
    "largest_local": {"mechanism": "largest_local"},
    "one bound": {"mechanism": dt.LargestLocal(levels=dt.Margin(bound=2_000))},
}


def quantile(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """The public functions, from the array to the number."""
    given = {"bounds": tuple(options["bounds"]), "epsilon": options["epsilon"], "confidence": None}
    given |= CHOICES[options.get("choice", "auto")]
    x, q = data["x"], options["q"]
    plain = {0.5: dt.median, 0.0: dt.minimum, 1.0: dt.maximum}.get(q)
    if plain is None:
        return lambda: float(dt.quantile(x, q=q, **given).value)
    return lambda: float(plain(x, **given).value)


class OneQuantileOptions(TypedDict):
    """Which quantile, within which bounds, at which loss."""

    q: float
    bounds: tuple[float, float]
    epsilon: float


def quantile_oracle(options: OneQuantileOptions, data: dict[str, NDArray[np.float64]]) -> Callable[[], float]:
    """A quantile with Laplace noise of its local sensitivity over epsilon, which is not private."""
    low, high = options["bounds"]
    x, rng = np.sort(data["x"]).astype(np.float64), np.random.default_rng()
    rank = max(int(np.ceil(options["q"] * len(x))), 1)
    around = np.concatenate([[low], x, [high]])[rank - 1 : rank + 2]
    scale = float(np.diff(around).max()) / options["epsilon"]
    return lambda: float(around[1] + rng.laplace(0.0, scale))


def half_width(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """Half of the width of the 95% interval of a median or a trimmed mean."""
    ask = _interval_asked(options, data)

    def width() -> float:
        low, high = ask().interval or (0.0, 0.0)
        return float(high - low) / 2.0

    return width


class IntervalOptions(TypedDict):
    """Of what an interval is asked for, and what it is to cover."""

    of: str
    epsilon: float
    interval: IntervalName


def interval(options: IntervalOptions, data: dict[str, NDArray[np.float64]]) -> Callable[[], list[float]]:
    """The 95% interval of a median, a mean, a slope or a program's answer: for the records or for the population."""
    x, epsilon, covered = data["x"], options["epsilon"], options["interval"]
    asks: dict[str, Callable[[], dt.Release]] = {
        "median": lambda: dt.median(x, bounds=PAY_BOUNDS, epsilon=epsilon, interval=covered),
        "mean": lambda: dt.mean(x, bounds=PAY_BOUNDS, epsilon=epsilon, interval=covered),
        "trimmed mean": lambda: dt.trimmed_mean(x, bounds=PAY_BOUNDS, epsilon=epsilon, interval=covered),
        "slope": lambda: dt.regression(x, data["y"], epsilon=epsilon, interval=covered),
        "Gini by a program": lambda: dt.sample_and_aggregate(
            x, gini, bounds=(0, 1), executor="trusted", epsilon=epsilon, interval=covered
        ),
    }

    def ends() -> list[float]:
        _, _, (low, high) = asks[options["of"]]().rows()[-1]
        return [float(low), float(high)]

    return ends


def gini(block: NDArray[np.float64]) -> float:
    """The Gini coefficient of a block."""
    ordered, count = np.sort(block), len(block)
    return float(((2 * np.arange(1, count + 1) - count - 1) * ordered).sum() / (count * ordered.sum()))


def value(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """The answer that comes with such an interval, whose part of epsilon it lacks."""
    ask = _interval_asked(options, data)
    return lambda: float(ask().value)


def _interval_asked(
    options: dict[str, Any], data: dict[str, Any]
) -> Callable[[], dt.Release[float, tuple[float, float]]]:
    given = {"bounds": tuple(options["bounds"]), "epsilon": options["epsilon"], **CHOICES[options["choice"]]}
    trim = options.get("trim")
    if trim is None:
        return lambda: dt.median(data["x"], **given)
    return lambda: dt.trimmed_mean(data["x"], trim=trim, **given)


def oracle(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """A trimmed mean with Laplace noise of its local sensitivity over epsilon, which is not private.

    With ``width`` the half-width of its 95% interval, which it knows.
    """
    x, rng = np.sort(data["x"]), np.random.default_rng()
    n, m = len(x), int(options["trim"] * len(x))
    least = float(max(x[n - m - 1] - x[m - 1], x[n - m] - x[m])) / (n - 2 * m) / options["epsilon"]
    if options.get("width"):
        return lambda: least * float(np.log(20.0))
    centre = float(x[m : n - m].mean())
    return lambda: centre + float(rng.laplace(0.0, least))


class ColumnWithGaps(TypedDict):
    """One column; what has no value is NaN."""

    x: NDArray[np.float64]


class MeanOptions(TypedDict):
    """Of a mean of the records that have a value."""

    bounds: tuple[float, float]
    epsilon: float
    confidence: float | None
    mechanism: MechanismName
    width: bool
    """Whether half of the width of the interval is asked for, instead of the answer."""


def selected_mean(options: MeanOptions, data: ColumnWithGaps) -> Callable[[], float]:
    """The mean of the records that have a value; how many have one is private."""
    low, high = options["bounds"]

    def ask() -> float:
        release = dt.mean(
            data["x"],
            bounds=(low, high),
            nulls="drop",
            epsilon=options["epsilon"],
            mechanism=options["mechanism"],
            confidence=options["confidence"],
        )
        if not options["width"] or release.interval is None:
            return float(release.value)
        return float(release.interval[1] - release.interval[0]) / 2.0

    return ask


def selected_oracle(options: MeanOptions, data: ColumnWithGaps) -> Callable[[], float]:
    """The same with Laplace noise of what one record can move it by, which is not private."""
    kept, rng = data["x"][~np.isnan(data["x"])], np.random.default_rng()
    low, high = options["bounds"]
    least = (high - low) / len(kept) / options["epsilon"]
    if options["width"]:
        return lambda: least
    centre = float(kept.mean())
    return lambda: centre + float(rng.laplace(0.0, least))


def deciles(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], list[float]]:
    """Nine quantiles, or another number of them, by one joint draw; without bounds if there are none."""
    asked, bounds, epsilon = _spaced(options.get("count", 9)), options.get("bounds"), options["epsilon"]
    ends = None if bounds is None else tuple(bounds)
    return lambda: list(dt.quantiles(data["x"], q=asked, bounds=ends, epsilon=epsilon, confidence=None).value)


def separate(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], list[float]]:
    """The same as one release for each, with its part of epsilon."""
    asked, bounds = _spaced(options.get("count", 9)), options.get("bounds")
    ends, each = None if bounds is None else tuple(bounds), options["epsilon"] / len(asked)
    return lambda: [float(dt.quantile(data["x"], q=q, bounds=ends, epsilon=each, confidence=None).value) for q in asked]


class QuantileOptions(TypedDict):
    """Evenly spaced quantiles, for published methods."""

    bounds: tuple[float, float]
    epsilon: float
    delta: float
    count: int
    grid: float
    """The least distance of two records, as somebody guessed it: it sets how many records a slice has."""


_JOINT: dict[int, JointExp] = {}
"""Of the dataset whose turn it is: its tables take hundreds of megabytes."""


def joint_exp(options: QuantileOptions, data: ColumnWithGaps) -> Callable[[], list[float]]:
    """JointExp in floats."""
    x, asked, rng = data["x"], _spaced(options["count"]), np.random.default_rng()
    low, high = options["bounds"]

    def work() -> list[float]:
        if id(x) not in _JOINT:
            _JOINT.clear()
            _JOINT[id(x)] = JointExp(x, asked, bounds=(low, high), epsilon=options["epsilon"])
        drawn: list[float] = _JOINT[id(x)].draw(rng).tolist()
        return drawn

    return work


def slice_quantiles(options: QuantileOptions, data: ColumnWithGaps) -> Callable[[], list[float]]:
    """SliceQuantiles in floats."""
    rng, (low, high) = np.random.default_rng(), options["bounds"]
    law = SliceQuantiles(
        data["x"],
        _spaced(options["count"]),
        bounds=(low, high),
        grid=options["grid"],
        epsilon=options["epsilon"],
        delta=options["delta"],
    )
    return lambda: law.draw(rng).tolist()


def _spaced(count: int) -> list[float]:
    return [k / (count + 1) for k in range(1, count + 1)]


def mean(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """A mean with bounds, with the largest record as a bound that somebody guessed, or without."""
    x, epsilon, bounds = data["x"], options["epsilon"], options.get("bounds")
    if bounds is None:
        positive = options["non_negative"]
        return lambda: float(dt.mean(x, non_negative=positive, epsilon=epsilon, nulls=0, confidence=None).value)
    ends = (0.0, float(x.max())) if bounds == "largest" else tuple(bounds)
    return lambda: float(dt.mean(x, bounds=ends, epsilon=epsilon, nulls="lower", confidence=None).value)


def refined_iqr(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float | None]:
    """DL09's refined interquartile range; None if refused."""
    return lambda: dt.iqr(data["x"], **options, mechanism="propose_test", confidence=None).value


def drawn_iqr(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float | None]:
    """What is the default."""
    return lambda: dt.iqr(data["x"], **options, confidence=None).value


def coarse_scale(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float | None]:
    """DL09's algorithm S; None if refused."""
    return lambda: dt.scale(data["x"], **options, confidence=None).value


def smooth(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """The exact smooth sensitivity of the median of sorted records that have been read."""
    query, x = dt.Median(bounds=tuple(options["bounds"])), data["x"]
    shape = shape_of(x)
    statistic = query.statistic(shape, query.grid(whole=shape.whole))
    records = read_column(x, query.grid(whole=shape.whole)).values
    column = Column(records, statistic.answers, ordered=True)
    beta = Fraction(options["beta"])
    return lambda: float(statistic.ladder(column).smooth(beta))


def sort(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """What any quantile of unsorted records costs at least by sorting them."""
    x = np.random.default_rng(0).permutation(data["x"])
    return lambda: float(np.sort(x)[len(x) // 2])
