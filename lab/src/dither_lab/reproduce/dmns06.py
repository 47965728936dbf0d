"""DMNS06 section 3: histograms without regard to the number of bins, means and covariances."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import dither as dt
from dither.mechanisms.choice import prepare
from dither_lab.reproduce import drawing
from dither_lab.reproduce.counterfactual import power, times
from dither_lab.reproduce.experiment import (
    SEEDED,
    Chance,
    Claim,
    Experiment,
    Judged,
    MeasuredPoints,
    Point,
    Rule,
    Setting,
    settle,
)
from dither_lab.reproduce.intervals import Estimate, exact, mean, short, slope

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILON = 1.0
FLAT = 0.15
"""How far a mean |error| may be from 2/eps."""
TOGETHER, COMPOSED, SULQ = "one histogram, Lap(2/eps)", "each bin a query, Lap(2d/eps)", "each bin a query, sqrt(d)/eps"


# --- histograms ---------------------------------------------------------------------------------------------------


TRIED = 20_000
"""Noisy bins drawn for each number of bins: the mean |error| then has a relative standard deviation of 0.7%."""


def _histograms(setting: Setting) -> Iterator[Point]:
    most = (2, 8, 32, 128, 512, 2048, 8192, 32_768)
    sizes = setting.pick(tiny=most[2:5], quick=most[:-2], full=most)
    rng, n = setting.rng("histograms"), 50_000
    for bins in sizes:
        data = rng.integers(0, bins, n)
        truth, query = np.bincount(data, minlength=bins), dt.Histogram(edges=range(bins + 1))
        statistic, column = query.resolve(query.shape(data)), cast("Any", query.read(data, query.shape(data)))
        _, prepared = prepare(statistic, epsilon=EPSILON, delta=0.0, mechanism="worst_case", noise="laplace")
        trials = -(-TRIED // bins)
        together = [float(np.abs(np.array(prepared.run(column).answer) - truth).mean()) for _ in range(trials)]
        yield Point("error of a bin", TOGETHER, bins, mean(together))
        yield Point("error of a bin", COMPOSED, bins, exact(2 * bins / EPSILON))
        yield Point("error of a bin", SULQ, bins, exact(math.sqrt(2 * bins / math.pi) / EPSILON))


def _judge_independent(points: MeasuredPoints) -> Judged:
    own = points.of("error of a bin", TOGETHER)
    off = float(np.abs(own.ys * EPSILON / 2 - 1).max())
    return settle(
        off < FLAT,
        f"mean |error| of a bin {own[0].y} with {own.xs[0]:.0f} bins, {own[-1].y} with "
        f"{own.xs[-1]:,.0f}: at most {short(100 * off)}% from 2/eps",
        "it depends on the number of bins",
    )


def _judge_factor(points: MeasuredPoints) -> Judged:
    own, sulq, composed = (points.of("error of a bin", name) for name in (TOGETHER, SULQ, COMPOSED))
    ratio = slope(sulq.xs, sulq.ys / own.ys)
    return settle(
        abs(ratio.value - 0.5) < 0.1,
        f"the older framework's error over ours grows like d^{ratio.value:.2f} "
        f"({short(sulq.ys[-1] / own.ys[-1])} times at {own.xs[-1]:,.0f} bins); queries by themselves, with delta = 0, "
        f"{short(composed.ys[-1] / own.ys[-1])} times",
        "another factor",
    )


def _draw_histograms(figure: Figure, points: MeasuredPoints) -> None:
    (ax,) = drawing.panels(figure, ["Histogram of d bins, epsilon 1"])
    drawing.lines(ax, points, "error of a bin")
    drawing.finish(ax, "bins", "mean |error| of a bin", log="xy")


# --- means and covariances ----------------------------------------------------------------------------------------


BY_NORM, BY_OLDER = "by l1 sensitivity", "d^2 queries of the older framework"
BY_ENTRY = "d^2 queries by themselves, delta = 0"


def _covariance_change(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.abs(np.cov(x.T, bias=True) - np.cov(y.T, bias=True)).sum())


def _sensitivities(setting: Setting) -> Iterator[Point]:
    """The largest change that a search finds among records at the corners of the l1 ball, gamma = 1."""
    rng, tries = setting.rng("sensitivities"), setting.pick(tiny=200, quick=3000, full=20_000)
    for n in (2, 3, 5, 10, 30, 100):
        corners = np.concatenate([np.eye(2), -np.eye(2)])
        of_mean = of_covariance = 0.0
        for _ in range(tries):
            coin = rng.random()
            x = corners[rng.integers(0, 4, n)] if coin < 0.5 else np.repeat(corners[[rng.integers(0, 4)]], n, axis=0)
            y = x.copy()
            x[0], y[0] = corners[rng.integers(0, 4)], corners[rng.integers(0, 4)]
            of_mean = max(of_mean, float(np.abs(x.mean(axis=0) - y.mean(axis=0)).sum()))
            of_covariance = max(of_covariance, _covariance_change(x, y))
        yield Point(
            "sensitivity of the mean", "found", n, Estimate(of_mean, of_mean, 2 / n, f"best of {tries}, and a bound")
        )
        yield Point("sensitivity of the mean", "2 / n", n, exact(2 / n))
        sharp = 6 * (n - 1) / n**2
        result = Estimate(of_covariance, of_covariance, sharp, f"best of {tries}, and a bound")
        yield Point("sensitivity of the covariance", "found", n, result)
        yield Point("sensitivity of the covariance", "8 / n (paper)", n, exact(8 / n))
        yield Point("sensitivity of the covariance", "6 (n-1) / n^2 (ours)", n, exact(sharp))
    n, trials = 20_000, setting.pick(tiny=3, quick=30, full=100)
    for d in setting.pick(tiny=(2, 4), quick=(2, 4, 8, 16), full=(2, 4, 8, 16, 32)):
        gamma = 1.0
        rows = rng.dirichlet(np.ones(d), n) * gamma
        truth = np.cov(rows.T, bias=True)
        together = rng.laplace(0, 6 * (n - 1) / n**2 / EPSILON, (400, d, d))
        older = rng.normal(0, math.sqrt(d * d) * 2.0 / n / EPSILON, (400, d, d))
        apart = rng.laplace(0, d * d * 2.0 / n / EPSILON, (400, d, d))
        yield Point("l1 error of the covariance", BY_NORM, d, mean(np.abs(together).sum(axis=(1, 2))))
        yield Point("l1 error of the covariance", BY_OLDER, d, mean(np.abs(older).sum(axis=(1, 2))))
        yield Point("l1 error of the covariance", BY_ENTRY, d, mean(np.abs(apart).sum(axis=(1, 2))))
        # dither bounds each entry by its columns' ranges; the same question with bounds in place of gamma.
        release = [
            dt.covariance(rows, bounds=(0, 1), epsilon=EPSILON, confidence=None).value
            for _ in range(max(trials // 10, 2))
        ]
        upper = truth[np.triu_indices(d)]
        wide = [float(np.abs(np.array(item, dtype=float) - upper).sum()) for item in release]
        yield Point("l1 error of the covariance", "dither, columns in 0..1 (upper half)", d, mean(wide))


def _judge_mean(points: MeasuredPoints) -> Judged:
    result, bound = points.of("sensitivity of the mean", "found").ys, points.of("sensitivity of the mean", "2 / n").ys
    return settle(
        bool(np.all(result <= bound * (1 + 1e-9))) and bool(result[0] >= 0.99 * bound[0]),
        f"the largest change found is {short((result / bound).min())} to {short((result / bound).max())} of 2 gamma/n",
        "exceeded",
    )


def _judge_covariance(points: MeasuredPoints) -> Judged:
    names = ("found", "8 / n (paper)", "6 (n-1) / n^2 (ours)")
    result, paper, ours = (points.of("sensitivity of the covariance", name).ys for name in names)
    return settle(
        bool(np.all(result <= paper)),
        f"the largest change found is {short((result / paper).max())} of 8 gamma^2/n at "
        f"most, and {short((result / ours).min())} to {short((result / ours).max())} of 6 gamma^2 (n-1)/n^2",
        "exceeded",
        remark="loose: 6 gamma^2 (n-1)/n^2 is the exact sensitivity, a quarter less noise"
        if (result / paper).max() < 0.8
        else "",
    )


def _judge_dimension(points: MeasuredPoints) -> Judged:
    ours, older, apart = (points.of("l1 error of the covariance", name) for name in (BY_NORM, BY_OLDER, BY_ENTRY))
    fit, pure = slope(ours.xs, older.ys / ours.ys), slope(ours.xs, apart.ys / ours.ys)
    return settle(
        abs(fit.value - 1) < 0.15,
        f"the ratio grows like d^{fit.value:.2f}; like d^{pure.value:.2f} where all d^2 entries are queries of their "
        "own with delta = 0",
        "another factor",
    )


def _draw_sensitivities(figure: Figure, points: MeasuredPoints) -> None:
    left, right = drawing.panels(
        figure, ["Change of a covariance matrix by one record (gamma = 1)", "Error of all entries, n = 20,000"]
    )
    drawing.lines(left, points, "sensitivity of the covariance", dashed=["8 / n (paper)"], wide=["found"])
    drawing.finish(left, "n", "largest l1 change", log="xy")
    drawing.lines(right, points, "l1 error of the covariance")
    drawing.finish(right, "d", "l1 error", log="xy")


EXPERIMENTS = [
    Experiment(
        "dmns06",
        "histograms",
        "Histograms",
        _histograms,
        [
            Claim(
                "Example 3, sec. 3.2",
                "sensitivity 2 whatever the number of bins, so noise does not depend on it",
                _judge_independent,
                Rule(
                    f"the mean |error| of a bin is within {FLAT:.0%} of 2/eps for every number of bins",
                    "noise that grew like d^(1/4) would be off by 41% from the smallest number of bins to the next",
                    Chance(
                        1e-6,
                        f"{TRIED:,} draws of Lap(2/eps) for each d: 11% is 15 standard deviations of their mean, and "
                        "whole numbers have a mean |error| 4% below 2/eps",
                    ),
                ),
                power("error of a bin", TOGETHER, of=0.25),
            ),
            Claim(
                "sec. 3.2",
                "bins as queries of the older framework have noise O(sqrt(d)/eps): a factor sqrt(d) more",
                _judge_factor,
                Rule(
                    "the older framework's error over ours grows like d to a power within 0.1 of 1/2",
                    "the powers next to it in the discussion are 0 and 1",
                    Chance(
                        1e-6,
                        "the fitted power has a standard deviation of 0.0012 or less, 0.7% of a mean spread over d = "
                        "2 to 2,048",
                    ),
                ),
                power("error of a bin", SULQ, of=0.5),
            ),
        ],
        _draw_histograms,
        note="50,000 records; the older framework by Gaussian noise of standard deviation "
        "sqrt(d)/eps, which needs a delta.",
    ),
    Experiment(
        "dmns06",
        "means",
        "Mean vectors and covariance matrices",
        _sensitivities,
        [
            Claim(
                "sec. 3.2",
                "one record changes a mean vector by at most 2 gamma/n in l1",
                _judge_mean,
                Rule(
                    "no change found by the search exceeds 2 gamma/n, and for n = 2 one attains 99% of it",
                    "a bound has no exceptions; one that nothing comes near is not the sensitivity",
                    SEEDED,
                ),
                times("sensitivity of the mean", "found", by=1.2),
            ),
            Claim(
                "sec. 3.2",
                "one record changes a covariance matrix by at most 8 gamma^2/n in l1",
                _judge_covariance,
                Rule(
                    "no change found exceeds 8 gamma^2/n; a remark, if all stay below 80% of it",
                    "a bound has no exceptions; the exact sensitivity would be attained at some corner",
                    SEEDED,
                ),
                times("sensitivity of the covariance", "found", by=1.5),
            ),
            Claim(
                "sec. 3.2",
                "as d^2 queries of the older framework a covariance matrix has O(d) times the noise",
                _judge_dimension,
                Rule(
                    "the ratio of the errors grows like d to a power within 0.15 of 1",
                    "the powers next to it are 0 and 2; the noise of a fixed seed moves the fit by less than 0.1",
                    SEEDED,
                ),
                power("l1 error of the covariance", BY_OLDER, of=1.0),
            ),
        ],
        _draw_sensitivities,
        note="Sensitivities by search over records at the corners of the l1 ball of radius gamma = 1. The older "
        "framework by Gaussian noise of standard deviation sqrt(k)/eps for k queries of sensitivity 1.",
    ),
]
