"""V17 Theorem 2.7 by its own mechanism, and two of section 3's alternatives: stable values, restricted sensitivity."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dither.mechanisms.margin_test import MarginTest
from dither.noise.gaussian import Gaussian
from dither.privacy import Loss
from dither_lab.reproduce import drawing
from dither_lab.reproduce.counterfactual import power, put, times
from dither_lab.reproduce.experiment import (
    SEEDED,
    Claim,
    Experiment,
    Judged,
    MeasuredPoints,
    Point,
    Rule,
    Setting,
    settle,
)
from dither_lab.reproduce.intervals import exact, share, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILON, DELTA = 1.0, 1e-6
MISS = 0.01
PLAIN, MENDED = "independent Gaussian noise", "Theorem 2.7: large errors found and answered again"


# --- Theorem 2.7 --------------------------------------------------------------------------------------------------


@functools.cache
def deviation(epsilon: float, delta: float) -> float:
    """The standard deviation of Gaussian noise for l2 sensitivity 1, exactly calibrated."""
    return 1 / float(Gaussian().point(Loss(epsilon, delta), beta=Fraction(0)).alpha)


def upper(tail: float) -> float:
    """What |N(0, 1)| exceeds with this probability."""
    from scipy.stats import norm  # noqa: PLC0415

    return float(norm.isf(tail / 2))


@dataclass(frozen=True)
class Mended:
    """Steinke and Ullman's mechanism for k counting queries, by public numbers.

    Gaussian noise on all; then the sparse vector technique finds at most c answers whose error exceeds a limit, and
    these are answered again.  Epsilon and delta are split 8 : 1 : 1.
    """

    k: float

    @property
    def first(self) -> float:
        """The deviation of the first noise."""
        return math.sqrt(self.k) * deviation(0.8 * EPSILON, 0.8 * DELTA)

    @property
    def tail(self) -> float:
        """The share of the answers that is to be found: 1/ln^6 k."""
        return min(math.log(self.k) ** -6, 0.5)

    @property
    def limit(self) -> float:
        """What the first noise exceeds with that probability: about sqrt(12 ln ln k) deviations."""
        return self.first * upper(self.tail)

    @property
    def found(self) -> float:
        """c: by Bernstein's inequality no more errors exceed the limit, but with probability e^-20."""
        expected = self.k * self.tail
        return math.ceil(expected + math.sqrt(40 * expected) + 14)

    @property
    def each(self) -> float:
        """The epsilon of each of c searches; advanced composition gives a tenth of epsilon and delta."""
        return 0.1 * EPSILON / (2 * math.sqrt(2 * self.found * math.log(10 / DELTA)))

    @property
    def slack(self) -> float:
        """How far k noises Lap(4/e) and c noises Lap(2/e) of the searches go, but with probability 0.003."""
        return (4 * math.log(self.k / 0.002) + 2 * math.log(self.found / 0.001)) / self.each

    @property
    def again(self) -> float:
        """The deviation of the noise of the second answers."""
        return math.sqrt(self.found) * deviation(0.1 * EPSILON, 0.1 * DELTA)

    @property
    def largest_error(self) -> float:
        """What the largest error exceeds with probability 0.01 at most."""
        return max(self.limit + 2 * self.slack, self.again * upper(0.005 / self.found))

    def run(self, rng: np.random.Generator) -> float:
        """The largest error of one release; the records do not matter for it."""
        k = int(self.k)
        error = rng.normal(0, self.first, k)
        left, threshold = self.found, self.limit + self.slack + rng.laplace(0, 2 / self.each)
        above = np.abs(error) + rng.laplace(0, 4 / self.each, k)
        for place in range(k):
            if left and above[place] > threshold:
                error[place] = rng.normal(0, self.again)
                left -= 1
                threshold = self.limit + self.slack + rng.laplace(0, 2 / self.each)
        return float(np.abs(error).max())


def plain_error(k: float) -> float:
    """What the largest error of independent Gaussian noise exceeds with probability 0.01."""
    return math.sqrt(k) * deviation(EPSILON, DELTA) * upper(MISS / k)


def bound(k: float) -> float:
    """sqrt(k ln(1/delta) ln ln k) / eps."""
    return math.sqrt(k * math.log(1 / DELTA) * math.log(math.log(k))) / EPSILON


def _many(setting: Setting) -> Iterator[Point]:
    for power_of_ten in (3, 6, 9, 12, 20, 40, 80, 140, 200, 280):
        k = 10.0**power_of_ten
        yield Point("error / bound", PLAIN, power_of_ten, exact(plain_error(k) / bound(k)))
        yield Point("error / bound", MENDED, power_of_ten, exact(Mended(k).largest_error / bound(k)))
    rng, trials = setting.rng("theorem-2-7"), setting.pick(tiny=5, quick=20, full=40)
    for k in setting.pick(tiny=(2**12,), quick=(2**12, 2**15), full=(2**12, 2**15, 2**18)):
        mended = Mended(k)
        inside = sum(mended.run(rng) <= mended.largest_error for _ in range(trials))
        yield Point("runs", "within the bound of the law", k, share(inside, trials))


def _judge_many(points: MeasuredPoints) -> Judged:
    mended, plain = points.of("error / bound", MENDED), points.of("error / bound", PLAIN)
    late = [k for k, x in enumerate(mended.xs) if x >= 12]
    grows, flat = plain.ys[-1] / plain.ys[late[0]], mended.ys[-1] / mended.ys[late[0]]
    inside = min(p.y.value for p in points.of("runs"))
    ahead = [int(x) for x, a, b in zip(mended.xs, mended.ys, plain.ys, strict=True) if a < b]
    return settle(
        flat <= 1.1 and grows >= 2 and inside >= 0.9,
        f"largest error over sqrt(k ln(1/delta) ln ln k)/eps: {short(mended.ys[late[0]])} at k = 10^12, "
        f"{short(mended.ys[-1])} at 10^{mended.xs[-1]:.0f}, independent Gaussian noise {short(plain.ys[late[0]])} and "
        f"{short(plain.ys[-1])}; {short(inside)} of the runs or more stay within the law's bound",
        "it grows faster than the bound",
        remark="of no use in practice: with this split the error is below that of independent noise "
        + (f"only from k = 10^{ahead[0]} on" if ahead else "nowhere"),
    )


def _draw_many(figure: Figure, points: MeasuredPoints) -> None:
    (ax,) = drawing.panels(figure, ["Largest error of k counts over Theorem 2.7's bound"])
    drawing.lines(ax, points, "error / bound")
    drawing.finish(ax, "log10 k", "ratio", log="y")


# --- stable values ------------------------------------------------------------------------------------------------


def _mode(x: tuple[int, ...]) -> int:
    return min(range(3), key=lambda v: (-x.count(v), v))


@functools.cache
def _universe(records: int) -> tuple[list[tuple[int, ...]], dict[tuple[int, ...], int]]:
    """All data over three values, and the number of changes up to which the mode stays (by search)."""
    everything = list(itertools.product(range(3), repeat=records))
    modes = {x: _mode(x) for x in everything}
    margins = {
        x: min(sum(a != b for a, b in zip(x, y, strict=True)) for y in everything if modes[y] != modes[x]) - 1
        for x in everything
    }
    return everything, margins


def stable_divergence(records: int, epsilon: float, delta: float, lowered: float = 0.0) -> float:
    """The largest exact delta at epsilon between neighbours: the mode if its margin passes the test, else nothing.

    ``lowered``: by how much the threshold is lowered, to plant a mistake.
    """
    everything, margins = _universe(records)
    threshold = math.log(1 / (2 * delta)) / epsilon - lowered

    def passes(margin: int) -> float:
        over = epsilon * (margin - threshold)
        return math.exp(over) / 2 if over <= 0 else 1 - math.exp(-over) / 2

    worst = 0.0
    for x in everything:
        for place, value in itertools.product(range(records), range(3)):
            y = (*x[:place], value, *x[place + 1 :])
            p, q = passes(margins[x]), passes(margins[y])
            same = _mode(x) == _mode(y)
            result = max(p - math.exp(epsilon) * q, 0.0) if same else p
            worst = max(worst, result + max((1 - p) - math.exp(epsilon) * (1 - q), 0.0))
    return worst


def _stable(setting: Setting) -> Iterator[Point]:
    del setting
    epsilon, delta = 1.0, 0.05
    for records in (3, 4, 5, 6):
        yield Point("delta", "stable values", records, exact(stable_divergence(records, epsilon, delta)))
        yield Point("delta", "threshold lowered by 1", records, exact(stable_divergence(records, epsilon, delta, 1.0)))
        yield Point("delta", "allowed", records, exact(delta))
    test = MarginTest(Fraction(1), Fraction(1, 10**6))
    for margin in (0, 5, 10, 13, 15, 20, 25, 30, 40):
        yield Point("released", "delta = 1e-6", margin, exact(test.chance(margin)))


def _judge_stable(points: MeasuredPoints) -> Judged:
    result, allowed = points.of("delta", "stable values").ys, points.of("delta", "allowed").ys
    low, far = points.at("released", "delta = 1e-6", 0), points.at("released", "delta = 1e-6", 30)
    lowered = points.of("delta", "threshold lowered by 1").ys
    return settle(
        bool(np.all(result <= allowed * (1 + 1e-9))) and low.value <= 1e-6 * (1 + 1e-9) and far.value > 0.999,
        f"the mode of 3 to 6 records over three values, all neighbours: delta {short(result.max())} of "
        f"{short(allowed[0])} "
        f"at most (a threshold lower by 1: {short(lowered.max())}); at eps 1, delta 1e-6 a margin of 30 is released "
        f"as it "
        f"is with probability {far.value:.6f}, one of 0 with {short(low.value)}",
        "neighbours are told apart, or stable data are refused",
    )


def _draw_stable(figure: Figure, points: MeasuredPoints) -> None:
    (ax,) = drawing.panels(figure, ["The exact value is released, eps 1, delta 1e-6"])
    drawing.lines(ax, points, "released")
    drawing.finish(ax, "changes that the value survives", "probability")


# --- restricted sensitivity ---------------------------------------------------------------------------------------


@functools.cache
def restricted(vertices: int, degree: int) -> tuple[int, int, int]:
    """Edges under node privacy: restricted sensitivity on graphs of bounded degree, least and largest LS on them."""
    pairs = list(itertools.combinations(range(vertices), 2))
    at = {pair: 1 << k for k, pair in enumerate(pairs)}
    own = [sum(bit for pair, bit in at.items() if v in pair) for v in range(vertices)]
    degrees = [[(code & mask).bit_count() for mask in own] for code in range(1 << len(pairs))]
    inside = [max(row) <= degree for row in degrees]
    # A neighbour has other edges at one vertex: any subset of the vertex's pairs.
    subsets = [[sum(c) for r in range(vertices) for c in itertools.combinations(_bits(mask), r)] for mask in own]
    most, local = 0, []
    for code in range(1 << len(pairs)):
        if not inside[code]:
            continue
        largest = 0
        for mask, options in zip(own, subsets, strict=True):
            for option in options:
                other = code & ~mask | option
                change = abs(other.bit_count() - code.bit_count())
                largest = max(largest, change)
                if inside[other]:
                    most = max(most, change)
        local.append(largest)
    return most, min(local), max(local)


def _bits(mask: int) -> list[int]:
    return [1 << k for k in range(mask.bit_length()) if mask >> k & 1]


def _restricted(setting: Setting) -> Iterator[Point]:
    del setting
    for degree in (1, 2, 3):
        most, least, largest = restricted(5, degree)
        yield Point("sensitivity", "restricted to degree at most D", degree, exact(most))
        yield Point("sensitivity", "local, least over these graphs", degree, exact(least))
        yield Point("sensitivity", "local, largest over these graphs", degree, exact(largest))


def _judge_restricted(points: MeasuredPoints) -> Judged:
    within = points.of("sensitivity", "restricted to degree at most D").ys
    least, most = (points.of("sensitivity", f"local, {which} over these graphs").ys for which in ("least", "largest"))
    return settle(
        within[0] <= least[0] / 2 and bool(np.all(within <= most)),
        f"edges of all graphs on 5 vertices, one vertex rewired: with degrees up to 1, 2, 3 the restricted "
        f"sensitivity is "
        f"{within[0]:g}, {within[1]:g}, {within[2]:g}, the local one at least {least[0]:g}, {least[1]:g}, {least[2]:g} "
        f"and up to {most[0]:g}",
        "the local sensitivity is no larger",
    )


def _draw_restricted(figure: Figure, points: MeasuredPoints) -> None:
    (ax,) = drawing.panels(figure, ["Edges of graphs on 5 vertices, node privacy"])
    drawing.lines(ax, points, "sensitivity")
    drawing.finish(ax, "D", "edges")
    drawing.whole(ax)


EXPERIMENTS = [
    Experiment(
        "v17",
        "theorem-2-7",
        "Theorem 2.7: k counting queries with sqrt(log log k)",
        _many,
        [
            Claim(
                "Theorem 2.7, Table 2.1",
                "largest error O(sqrt(k log(1/delta) log log k) / (eps n)) for any k counting queries",
                _judge_many,
                Rule(
                    "the largest error, at 99% by the mechanism's law, over the bound is at k = 10^280 at most 1.1 "
                    "times "
                    "that at 10^12, where independent Gaussian noise's doubles at least; and 90% of runs or more stay "
                    "within the law's bound",
                    "a constant does not grow; sqrt(ln k / ln ln k) grows by 3.5 in that range",
                    SEEDED,
                ),
                power("error / bound", MENDED, of=0.5),
            )
        ],
        _draw_many,
        note="The excerpt at hand has the theorem's use only; the mechanism is Steinke and Ullman's (2016): Gaussian "
        "noise, then the sparse vector technique finds the largest errors, and these are answered again. Epsilon 1, "
        "delta 1e-6, errors in records.",
    ),
    Experiment(
        "v17",
        "stable-values",
        "Releasing stable values",
        _stable,
        [
            Claim(
                "sec. 3, alternative 3",
                "a value that survives many changes can be released as it is",
                _judge_stable,
                Rule(
                    "no pair of neighbours among all data of 3 to 6 records over three values has an exact delta "
                    "above the "
                    "allowed 0.05 at eps 1; a margin of 0 is released with at most delta = 1e-6, one of 30 with 0.999",
                    "delta = P(Lap(1/eps) > ln(1/(2 delta))/eps) is attained; 30 is 17 above the threshold",
                ),
                times("delta", "stable values", by=2),
            )
        ],
        _draw_stable,
        note="The mode of records over three values; its margin is found by search.",
    ),
    Experiment(
        "v17",
        "restricted",
        "Restricted sensitivity",
        _restricted,
        [
            Claim(
                "sec. 3, restricted sensitivity",
                "on graphs of bounded degree it can be much smaller than even the local sensitivity",
                _judge_restricted,
                Rule(
                    "for degrees up to 1 the restricted sensitivity is at most half of the local one of every such "
                    "graph on five vertices, and up to 2 and 3 not above the largest local one",
                    "all 1,024 graphs and all rewirings of a vertex are listed",
                ),
                put("sensitivity", 5.0, "restricted to degree at most D"),
            )
        ],
        _draw_restricted,
        note="How many edges there are; neighbours differ in the edges of one vertex.",
    ),
]
