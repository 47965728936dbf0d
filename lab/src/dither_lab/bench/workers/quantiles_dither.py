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

CHOICES: dict[str, dict[str, Any]] = {
    "auto": {"mechanism": "auto"},
    "smooth": {"mechanism": "smooth", "noise": "power_law"},
    "inverse": {"mechanism": "inverse"},
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


def half_width(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """Half of the width of the 95% interval of a median or a trimmed mean."""
    ask = _interval_asked(options, data)

    def width() -> float:
        interval = ask().interval
        return float(interval[1] - interval[0]) / 2.0

    return width


def value(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """The answer that comes with such an interval, whose part of epsilon it lacks."""
    ask = _interval_asked(options, data)
    return lambda: float(ask().value)


def _interval_asked(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], Any]:
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
    """Nine quantiles by one joint draw."""
    given: dict[str, Any] = {"bounds": tuple(options["bounds"]), "confidence": None}
    asked = [k / 10 for k in range(1, 10)]
    return lambda: [float(one) for one in dt.quantiles(data["x"], q=asked, epsilon=options["epsilon"], **given).value]


def separate(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], list[float]]:
    """The same as nine releases with a ninth of epsilon each."""
    given = {"bounds": tuple(options["bounds"]), "confidence": None, "epsilon": options["epsilon"] / 9}
    return lambda: [float(dt.quantile(data["x"], q=k / 10, **given).value) for k in range(1, 10)]


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
