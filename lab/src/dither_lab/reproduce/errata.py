"""Errors found in DMNS06, NRS11 and DL09, each as a small demonstration, computed exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dither.accounting.cascades import paper_robust, printed_robust
from dither.noise.gaussian import Gaussian
from dither.sensitivity.low_sample import check_premises
from dither_lab.audit.divergence import hockey_stick
from dither_lab.reproduce import drawing
from dither_lab.reproduce.experiment import Claim, Experiment, Judged, MeasuredPoints, Point, Rule, Setting, settle
from dither_lab.reproduce.intervals import exact, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = "claimed and true"


def pairs(values: Sequence[tuple[str, float]]) -> Iterator[Point]:
    """Points of a demonstration, in order."""
    return (Point(SHOWN, name, k, exact(value)) for k, (name, value) in enumerate(values))


def value(points: MeasuredPoints, name: str) -> float:
    """The number with this name."""
    return float(points.of(SHOWN, name).ys[0])


def draw(x: str, *, log: bool = False) -> Callable[[Figure, MeasuredPoints], None]:
    """A bar for each number."""

    def drawn(figure: Figure, points: MeasuredPoints) -> None:
        count = len(points.series(SHOWN))
        (ax,) = drawing.panels(figure, [""])
        figure.set_size_inches(5.8, 0.9 + 0.34 * count)
        drawing.bars(ax, points, SHOWN, x=x, log=log)

    return drawn


def erratum(
    key: str,
    title: str,
    where: str,
    says: str,
    measure: Callable[[Setting], Iterator[Point]],
    judge: Callable[[MeasuredPoints], Judged],
    x: str,
    *,
    rule: Rule,
    planted: Callable[[MeasuredPoints], MeasuredPoints],
    log: bool = False,
    note: str = "",
) -> Experiment:
    """An experiment with one claim, and bars."""
    return Experiment("errata", key, title, measure, [Claim(where, says, judge, rule, planted)], draw(x, log=log), note)


def other(**numbers: float) -> Callable[[MeasuredPoints], MeasuredPoints]:
    """The demonstration with other numbers at some places (``at_0=...``): a counterfactual."""
    places = {int(name.removeprefix("at_")): number for name, number in numbers.items()}
    return lambda points: MeasuredPoints(replace(p, y=exact(places.get(int(p.x), p.y.value))) for p in points)


def largest(fits: Callable[[float], bool], high: float) -> float:
    """The largest number that fits, by bisection."""
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


# --- NRS11 --------------------------------------------------------------------------------------------------------


def _two_halves(setting: Setting) -> Iterator[Point]:
    del setting
    law, epsilon, delta = Gaussian(), 8.0, 1e-3

    def both(shift: float, dilation: float) -> float:
        return max(hockey_stick(law, shift, sign * dilation, epsilon / 2).delta for sign in (1, -1))

    alpha = largest(lambda a: both(a, 0.0) <= delta / 2, 10.0)
    beta = largest(lambda b: both(0.0, b) <= delta / 2, 2.0)
    ends = [(alpha * min(1.0, math.exp(sign * beta)), sign * beta) for sign in (1, -1)]
    together = max(hockey_stick(law, shift, dilation, epsilon).delta for shift, dilation in ends)
    proof = delta / 2 * (1 + math.exp(epsilon / 2))
    return pairs([("delta claimed", delta), ("true delta", together), ("what the proof gives", proof)])


def _judge_halves(points: MeasuredPoints) -> Judged:
    true, claimed = value(points, "true delta"), value(points, "delta claimed")
    return settle(
        true <= claimed,
        f"Gaussian noise that meets both conditions at eps = 8, delta = 0.001 has delta {short(true)}",
        "a slide and a dilation, each within (eps/2, delta/2), add up to (delta/2)(1 + e^(eps/2)); we prove each point "
        "by the exact condition on the whole box instead",
    )


def _attention(setting: Setting) -> Iterator[Point]:
    del setting
    here = np.array([[0, 0, 0], [0, 0, 2], [0, 1, 1], [0, 0, 1], [1, 0, 1], [0, 2, 0]])
    there = here.copy()
    there[3] = [0, 2, 0]
    radii = [np.sort(np.abs(z[:, None] - z[None]).sum(axis=2), axis=1) for z in (here, there)]
    majority = (6 + 1) // 2 + 1
    centres = [z[r[:, majority - 1] == r[:, majority - 1].min()] for z, r in zip((here, there), radii, strict=True)]
    moved = float(np.abs(centres[0][:, None] - centres[1][None]).sum(axis=2).max())
    beyond = np.sort(radii[0][:, majority])
    ours = 2 * float(beyond[:majority].mean())
    return pairs([("2 r_1(t0 + s), claimed", 2.0 * beyond[0]), ("true move", moved), ("2 rho(t0 + s), ours", ours)])


def _judge_attention(points: MeasuredPoints) -> Judged:
    claimed, moved, ours = (p.y.value for p in points.of(SHOWN))
    return settle(
        moved <= claimed,
        f"six answers in three dimensions, one changed: the centre moves by {moved:g}, the bound is "
        f"{claimed:g}; 2 rho = {short(ours)} holds",
        "2 r_1 bounds the move of a centre that may lie anywhere; one that must be an answer moves up to half as far "
        "again. The S of the paper, with rho and the factor 2, is right all the same if 2s <= a <= t0 + s "
        "(docs/proofs/aggregate.md)",
    )


def _average(setting: Setting) -> Iterator[Point]:
    del setting
    blocks, top = 9, 1_000_000
    here = np.zeros((blocks, 1))
    here[-1] = top
    radii = np.sort(np.abs(here - here.T), axis=1)
    return pairs(
        [
            ("rho(t), one outlier, a = m", float(radii[:, 6].mean())),
            ("rho'(t + s), none", 0.0),
            ("rho(t), a = t0 = 6", float(np.sort(radii[:, 6])[:6].mean())),
        ]
    )


def _judge_average(points: MeasuredPoints) -> Judged:
    wide, none, narrow = (p.y.value for p in points.of(SHOWN))
    return settle(
        wide > 1000 and narrow == none == 0,
        "it is needed: averaging over all m radii, one answer moves rho from "
        f"{none:g} to {short(wide)}; over a majority it stays {narrow:g}",
        "it is not needed",
    )


# --- DL09 ---------------------------------------------------------------------------------------------------------


def _thresholds(setting: Setting) -> Iterator[Point]:
    del setting
    values = [(f"delta at n = {n:,}, e = 0.1", n ** (-0.1 * math.log(n)) / 2) for n in (100, 1000, 10_000)]
    values.append(("pass at margin 1, ln^2 n + 1, n = 1,000, e = 0.5", math.exp(-0.5 * math.log(1000) ** 2) / 2))
    values.append(("pass at margin 1, ln^2 n + 2, n = 1,000, e = 0.5", math.exp(-0.5 * (math.log(1000) ** 2 + 1)) / 2))
    return pairs(values)


def _judge_thresholds(points: MeasuredPoints) -> Judged:
    first = points.of(SHOWN)[0].y.value
    item, two = (p.y.value for p in points.of(SHOWN)[3:])
    last = points.of(SHOWN)[2].y.value
    return settle(
        last < first,
        f"delta is {short(first)} for 100 records at e = 0.1, {short(last)} for 10,000; the two "
        f"thresholds differ by a factor {short(item / two)} in delta",
        "it does not fall",
        correction=""
        if first <= 0.01
        else "delta follows from n and cannot be chosen, and is not small for few records; S tests against ln^2 "
        "n + 1 and M against ln^2 n + 2. With a margin that starts at 0 and a delta of one's own there is one "
        "threshold, ln(1/(2 delta))/e",
    )


def _prices(setting: Setting) -> Iterator[Point]:
    del setting
    values: list[tuple[str, float]] = []
    for p in (1, 2, 3):
        values.append((f"p = {p}, printed", float(printed_robust(p, Fraction(1), Fraction(0)).epsilon)))
        values.append((f"p = {p}, right", float(paper_robust(p, Fraction(1), Fraction(0)).epsilon)))
    return pairs(values)


def _judge_prices(points: MeasuredPoints) -> Judged:
    printed, right = value(points, "p = 2, printed"), value(points, "p = 2, right")
    return settle(
        printed >= right,
        f"p = 2: {right:g} e, not {printed:g} e",
        "the statistic of each of 2^p tests counts added or deleted points and moves by 2 when a record changes, and "
        "Lap(h_d/e) on each of p coordinates costs p e",
    )


def _moves_by_two(setting: Setting) -> Iterator[Point]:
    del setting
    here = np.linspace(0.1, 0.9, 11)
    there = here.copy()
    there[0] = 5.0

    def changes(y: np.ndarray) -> float:
        """Least |subgradient| of sum |y_i - b| on the ends of the cell (0, 1): points to add or delete."""
        return min(abs(float(np.sign(b - y).sum())) for b in (0.0, 1.0))

    return pairs([("points to add or delete, data", changes(here)), ("the same, one record changed", changes(there))])


def _judge_moves(points: MeasuredPoints) -> Judged:
    here, there = (p.y.value for p in points.of(SHOWN))
    return settle(
        abs(here - there) <= 1,
        f"one coefficient, eleven records in a cell: {here:g} points, and {there:g} after one record changed",
        "deleting a record and adding another are two such steps, so noise Lap(1/e) gives 2e, not e",
    )


# --- DMNS06 -------------------------------------------------------------------------------------------------------


def _deviation(setting: Setting) -> Iterator[Point]:
    """The variance of density e^(-|y|)/2 by the trapezoid rule on [0, 60]: what is beyond weighs less than 1e-22."""
    del setting
    y = np.linspace(0, 60, 600_001)
    variance = float(np.trapezoid(y**2 * np.exp(-y), y))
    return pairs([("claimed", 1.0), ("true", math.sqrt(variance))])


def _judge_deviation(points: MeasuredPoints) -> Judged:
    return settle(
        math.isclose(value(points, "true"), value(points, "claimed"), rel_tol=0.01),
        f"it is {short(value(points, 'true'))} times lambda",
        "the variance of density e^(-|y|/lambda)/(2 lambda) is 2 lambda^2; confidence intervals by lambda would be too "
        "short",
    )


def _sign(setting: Setting) -> Iterator[Point]:
    del setting
    distance = np.abs(np.arange(6) - 2)
    printed, right = (np.exp(sign * distance / 2) for sign in (1, -1))
    return pairs(
        [
            ("chance of the truth, as printed", float(printed[2] / printed.sum())),
            ("chance of the truth, with a minus", float(right[2] / right.sum())),
            ("chance of the farthest, as printed", float(printed[5] / printed.sum())),
        ]
    )


def _judge_sign(points: MeasuredPoints) -> Judged:
    printed, right, far = (p.y.value for p in points.of(SHOWN))
    return settle(
        printed > far,
        f"six points in a row, truth the third: as printed it has chance {short(printed)} and the "
        f"farthest {short(far)}; with a minus sign {short(right)}",
        "the exponent lacks its minus sign, so far answers are the likeliest; on unbounded spaces it does not even "
        "integrate",
    )


def _guessing(setting: Setting) -> Iterator[Point]:
    del setting
    reads = Fraction(1, 3)

    def guess(x: Sequence[int]) -> list[tuple[Fraction, set[int], int]]:
        return [(reads, {0}, x[0]), ((1 - reads) / 2, set(), 0), ((1 - reads) / 2, set(), 1)]

    result = check_premises(guess, lambda x: x[0], domain=(0, 1), records=1, within=0)
    sensitivity = max(abs(x - y) for x in (0, 1) for y in (0, 1))
    return pairs(
        [
            ("chance of being right", float(result.chance)),
            ("(1 + alpha)/2", float((1 + reads) / 2)),
            ("2 sigma, claimed", 0.0),
            ("true sensitivity", sensitivity),
        ]
    )


def _judge_guessing(points: MeasuredPoints) -> Judged:
    return settle(
        value(points, "chance of being right") < value(points, "(1 + alpha)/2")
        or value(points, "true sensitivity") <= value(points, "2 sigma, claimed"),
        "a bit that is read with probability 1/3 and else guessed is right with chance exactly (1+alpha)/2 = 2/3, so "
        "sigma = 0, yet its sensitivity is 1",
        "at equality the conditional chance is 1/2, not above it, and two disjoint sets of half the mass need not "
        "meet: the lemma needs a strict inequality",
    )


def _covariance(setting: Setting) -> Iterator[Point]:
    del setting
    n = 6
    x = np.repeat(np.array([[1.0, 0.0]]), n, axis=0)
    worst = 0.0
    for item in ([0, 1], [0, -1], [-1, 0], [1, 0]):
        for other in ([0, 1], [0, -1], [-1, 0], [1, 0]):
            u, v = x.copy(), x.copy()
            u[0], v[0] = item, other
            worst = max(worst, float(np.abs(np.cov(u.T, bias=True) - np.cov(v.T, bias=True)).sum()))
    return pairs(
        [("8 gamma^2/n, claimed", 8 / n), ("largest change found", worst), ("6 gamma^2 (n-1)/n^2", 6 * (n - 1) / n**2)]
    )


def _judge_loose(points: MeasuredPoints) -> Judged:
    claimed, result, ours = (p.y.value for p in points.of(SHOWN))
    return settle(
        result <= claimed,
        f"n = 6: the largest change is {short(result)}, exactly 6 gamma^2 (n-1)/n^2 = {short(ours)}",
        "exceeded",
        remark=f"a true bound, and {short(claimed / result)} times too large" if claimed > 1.01 * result else "",
    )


EXPERIMENTS = [
    erratum(
        "dmns06-deviation",
        "The standard deviation of Laplace noise",
        "DMNS06 sec. 2",
        "Lap(lambda) has standard deviation lambda",
        _deviation,
        _judge_deviation,
        "standard deviation / lambda",
        rule=Rule("the standard deviation, integrated, is within 1% of lambda", "the integral is exact to 1e-6"),
        planted=other(at_1=1.0),
    ),
    erratum(
        "dmns06-sign",
        "The sign in the metric mechanism",
        "DMNS06 Eq. 4",
        "answers with density exp(+eps d(y, f(x)) / 2S)",
        _sign,
        _judge_sign,
        "probability",
        rule=Rule("the truth is likelier than the farthest answer", "noise that prefers what is wrong is no noise"),
        planted=other(at_0=0.4),
    ),
    erratum(
        "dmns06-lemma-1",
        "Low sample complexity at equality",
        "DMNS06 Lemma 1",
        "right within sigma with probability at least (1+alpha)/2 implies S(f) <= 2 sigma",
        _guessing,
        _judge_guessing,
        "value",
        rule=Rule(
            "no algorithm that meets the premises has a sensitivity above 2 sigma; one that does refutes the lemma",
            "the lemma is about all algorithms",
        ),
        planted=other(at_3=0.0),
    ),
    erratum(
        "dmns06-covariance",
        "The sensitivity of a covariance matrix",
        "DMNS06 sec. 3.2",
        "at most 8 gamma^2/n",
        _covariance,
        _judge_loose,
        "l1 change",
        rule=Rule(
            "the largest change, over all pairs of corners, is at most the bound; the bound is loose, a remark, if "
            "it exceeds that change by more than 1%",
            "the change is convex in each record, so that corners suffice; 1% allows for rounding",
        ),
        planted=other(at_1=2.0),
    ),
    erratum(
        "nrs11-lemma-2-6",
        "Sliding and dilation together",
        "NRS11 Lemma 2.6",
        "noise that is admissible for (eps/2, delta/2) each gives (eps, delta)",
        _two_halves,
        _judge_halves,
        "delta",
        log=True,
        rule=Rule("the exact delta of noise that meets both conditions is at most delta", "that is the lemma"),
        planted=other(at_1=0.0009),
    ),
    erratum(
        "nrs11-centre",
        "How far a centre of attention moves",
        "NRS11 sec. 4.4.2",
        "LS_g^(s) <= 2 r_1(t0 + s)",
        _attention,
        _judge_attention,
        "distance",
        rule=Rule(
            "the centre of a neighbour lies within 2 r_1(t0 + s)", "one pair of neighbours farther apart refutes"
        ),
        planted=other(at_1=2.0),
    ),
    erratum(
        "nrs11-average",
        "Averaging over too many radii",
        "NRS11 sec. 4.4.2",
        "a = ceil(s/beta) makes S about 2 beta-smooth",
        _average,
        _judge_average,
        "rho",
        rule=Rule(
            "one outlier leaves rho at 0 with a = t0, and lifts it above 1,000 with a = m",
            "the outlier is at 1,000,000: a mean of nine radii that it enters is above 100,000",
        ),
        planted=other(at_2=166_667.0),
    ),
    erratum(
        "dl09-thresholds",
        "Thresholds and delta",
        "DL09 sec. 3",
        "thresholds ln^2 n + 1 (S) and ln^2 n + 2 (M); delta is negligible",
        _thresholds,
        _judge_thresholds,
        "probability",
        log=True,
        rule=Rule(
            "delta at n = 10,000 is below delta at n = 100; a correction, if delta is above 0.01 for 100 records",
            "negligible means falling faster than any power; with 1 in 100 a record is not protected",
        ),
        planted=other(at_2=0.5),
    ),
    erratum(
        "dl09-count",
        "What the test of R_H counts",
        "DL09 sec. 4.2, Q_2",
        "points to add or delete, with noise Lap(1/e)",
        _moves_by_two,
        _judge_moves,
        "points",
        rule=Rule("the count moves by at most 1 when one record changes", "Lap(1/e) hides a move of 1 at epsilon e"),
        planted=other(at_1=10.0),
    ),
    erratum(
        "dl09-price",
        "The price of R_H",
        "DL09 Theorem 6 (a)",
        "(2^p + 3p + 1) e: 11 e for p = 2",
        _prices,
        _judge_prices,
        "price / e",
        rule=Rule("the printed loss is at least what composition of the parts gives for p = 2", "losses add up"),
        planted=other(at_2=16.0),
    ),
]
