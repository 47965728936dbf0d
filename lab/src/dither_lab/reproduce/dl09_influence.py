"""DL09 section 1.1: influence functions, and why robust statistics are the private ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from dither_lab.reproduce import drawing
from dither_lab.reproduce.counterfactual import power
from dither_lab.reproduce.experiment import Claim, Experiment, Judged, MeasuredPoints, Point, Rule, Setting, settle
from dither_lab.reproduce.intervals import exact, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BELL = NormalDist()
RECORDS = 2001


def _trimmed(x: np.ndarray) -> float:
    cut = len(x) // 10
    return float(x[cut : len(x) - cut].mean())


def _spread(x: np.ndarray) -> float:
    low, high = np.quantile(x, [0.25, 0.75])
    return float(high - low)


ESTIMATORS: dict[str, Callable[[np.ndarray], float]] = {
    "mean": lambda x: float(x.mean()),
    "median": lambda x: float(np.median(x)),
    "trimmed mean, a tenth on each side": _trimmed,
    "interquartile range": _spread,
}
ROBUST = tuple(ESTIMATORS)[1:]
JUMPS = {"median": (0.0,), "interquartile range": (BELL.inv_cdf(0.25), BELL.inv_cdf(0.75))}


def quantiles(n: int) -> np.ndarray:
    """Records at the quantiles of the standard normal law."""
    return np.array([BELL.inv_cdf((k + 0.5) / n) for k in range(n)])


def influence(name: str, x: float) -> float:
    """IF(x, T; F) for the standard normal law, by the textbook's formulas."""
    if name == "mean":
        return x
    if name == "median":
        return math.copysign(math.sqrt(math.pi / 2), x) if x else 0.0
    if name == "interquartile range":
        q = BELL.inv_cdf(0.75)
        return ((0.75 - (x < q)) - (0.25 - (x < -q))) / BELL.pdf(q)
    edge = BELL.inv_cdf(0.9)
    return min(max(x, -edge), edge) / 0.8


def curve(name: str, data: np.ndarray, x: float) -> float:
    """What one more record at x changes, times the number of records."""
    estimate = ESTIMATORS[name]
    return len(data) * (estimate(np.sort(np.append(data, x))) - estimate(data))


def local(name: str, data: np.ndarray, reach: float) -> float:
    """n times the local sensitivity where records may go anywhere in [-reach, reach].

    The estimators are monotone in each record (the range of quartiles on either side), so that the ends suffice.
    """
    estimate, here = ESTIMATORS[name], ESTIMATORS[name](data)
    worst = 0.0
    for place in (0, len(data) // 4, len(data) // 2, 3 * len(data) // 4, len(data) - 1):
        for value in (-reach, 0.0, reach):
            other = data.copy()
            other[place] = value
            worst = max(worst, abs(estimate(np.sort(other)) - here))
    return len(data) * worst


def _influence(setting: Setting) -> Iterator[Point]:
    data = quantiles(setting.pick(tiny=RECORDS, quick=RECORDS, full=RECORDS))
    for name in ESTIMATORS:
        for x in np.linspace(-5, 5, 41).round(6).tolist():
            yield Point("influence", name, x, exact(influence(name, x)))
            yield Point("one more record, times n", name, x, exact(curve(name, data, x)))
        for jump in JUMPS.get(name, ()):
            for x in (jump - 1e-6, jump + 1e-6):
                yield Point("influence", name, x, exact(influence(name, x)))
        for reach in (5.0, 50.0, 500.0):
            largest = max(abs(curve(name, data, x)) for x in (-reach, -reach / 2, reach / 2, reach))
            yield Point("largest influence of one record", name, reach, exact(largest))
            yield Point("n times the local sensitivity", name, reach, exact(local(name, data, reach)))

    for n in (501, RECORDS, 8001):
        for name in ROBUST:
            yield Point("n times the local sensitivity, against n", name, n, exact(local(name, quantiles(n), 5.0)))


def _judge_bounded(points: MeasuredPoints) -> Judged:
    grown = {name: points.of("largest influence of one record", name).ys for name in ESTIMATORS}
    ratio = {name: float(ys[-1] / ys[0]) for name, ys in grown.items()}
    gap = max(
        abs(a.y.value - b.y.value)
        for name in ("mean", ROBUST[1])
        for a, b in zip(points.of("influence", name), points.of("one more record, times n", name), strict=True)
    )
    return settle(
        ratio["mean"] > 90 and all(ratio[name] < 1.01 for name in ROBUST) and gap < 0.1,
        f"from |x| <= 5 to |x| <= 500 the largest influence of one record grows by {short(ratio['mean'])} for the "
        f"mean and "
        f"by {short(max(ratio[name] for name in ROBUST))} at most for the others; n times its effect is the influence "
        f"function to within {short(gap)} at n = {RECORDS:,}",
        "robust estimators are influenced without bound, or the mean is not",
    )


def _judge_private(points: MeasuredPoints) -> Judged:
    wide = {name: points.of("n times the local sensitivity", name).ys for name in ESTIMATORS}
    largest = {name: float(points.of("largest influence of one record", name).ys.max()) for name in ESTIMATORS}
    ratio = [float(wide[name][-1]) / largest[name] for name in ROBUST]
    grows = float(wide["mean"][-1] / wide["mean"][0])
    by_n = [points.of("n times the local sensitivity, against n", name).ys for name in ROBUST]
    varies = max(float(ys.max() / ys.min()) for ys in by_n)
    return settle(
        grows > 50
        and all(wide[name][-1] <= 1.01 * wide[name][0] for name in ROBUST)
        and max(ratio) <= 2.2
        and varies <= 1.1,
        f"n LS is {short(min(ratio))} to {short(max(ratio))} times the largest influence for the three robust "
        f"estimators, whatever the range of the records, and varies by a factor {short(varies)} from 501 to 8,001 "
        f"records; for the mean it grows by {short(grows)} with the range",
        "local sensitivity does not go with influence",
    )


def _draw_influence(figure: Figure, points: MeasuredPoints) -> None:
    left, right = drawing.panels(
        figure,
        ["Influence functions (dots: one more record)", "n times the local sensitivity"],
    )
    for index, name in enumerate(ESTIMATORS):
        chosen = points.of("influence", name)
        left.plot(chosen.xs, chosen.ys, color=drawing.COLOURS[index], label=name, linewidth=1.8)
        seen = points.of("one more record, times n", name)
        left.plot(seen.xs[::3], seen.ys[::3], "o", color=drawing.COLOURS[index], markersize=3)
    drawing.finish(left, "x", "IF(x)", legend=False)
    drawing.lines(right, points, "n times the local sensitivity")
    drawing.finish(right, "range of the records, +-", "n LS", log="xy", legend=False)
    drawing.shared_legend(figure, right, columns=2)


EXPERIMENTS = [
    Experiment(
        "dl09",
        "influence",
        "Influence functions, and why robust statistics are private ones",
        _influence,
        [
            Claim(
                "sec. 1.1",
                "a robust estimator typically has a bounded influence function",
                _judge_bounded,
                Rule(
                    "from a range of 5 to one of 500 the largest influence of a record grows by more than 90 for the "
                    "mean and "
                    "by less than 1% for median, trimmed mean and interquartile range; and where the formula is smooth "
                    "n times a record's effect is within 0.1 of it",
                    "unbounded means in proportion to the range; at n = 2,001 the effect has an error of order x^2/n",
                ),
                power("largest influence of one record", "median", of=0.5),
            ),
            Claim(
                "sec. 1.2",
                "a robust estimator's local sensitivity g(n) is of order 1/n: n g(n) tends to what depends on F only",
                _judge_private,
                Rule(
                    "n times the local sensitivity of the robust estimators does not grow with the range, is at most "
                    "2.2 times the largest influence and varies by 10% at most from 501 to 8,001 records; for the mean "
                    "it grows by more than 50 with the range",
                    "a change is one record less and one more, twice the influence; 10% for spacings at n = 2,001",
                ),
                power("n times the local sensitivity, against n", "median", of=0.5),
            ),
        ],
        _draw_influence,
        note="2,001 records at the quantiles of the standard normal law.",
    ),
]
