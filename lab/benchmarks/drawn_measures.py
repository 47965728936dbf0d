"""What public measures and costs do for drawn order statistics: extremes, round numbers on fine grids, coarse grids.

Errors are the expected ones of the mechanisms' own laws, which the audit compares with independent ones and with draws:
no sampling.  For extremes each way is divided by what was done before (one-sided draws, on coarse grids from points
that are all alike), and errors below 1/10,000 of the range count as that; printed are the geometric mean over all
shapes and the largest ratio.  Round numbers: the error with all points alike, and with half of the weight on round
numbers.  Coarse grids: the error of the usual draw, and what permute and flip and the middle score are of it.

Run: python lab/benchmarks/drawn_measures.py [extremes|round|coarse]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import dither as dt
from dither.mechanisms.base_measure import Measure
from dither.mechanisms.choice import prepare
from dither.mechanisms.exponential import ExponentialDraw
from dither.privacy import Loss
from dither.statistics.order import COARSE_POINTS

EPSILONS = {"extremes": (0.3, 1.0, 2.0, 3.0, 5.0, 6.0, 8.0, 12.0, 20.0), "round": (0.1, 0.5, 1.0, 2.0)}
EPSILONS["coarse"] = (0.1, 0.5, 1.0, 2.0, 5.0)
DRAWS = 20
"""Datasets of each shape of a coarse grid."""
SMALL = 1e-4
Shape = tuple[str, NDArray[np.float64], tuple[float, float], float | None]


def outermost() -> Iterator[Shape]:
    """(name, records, bounds, step) of extremes."""
    rng = np.random.default_rng(7)
    for n in (30, 300, 5_000):
        ages = np.clip(np.rint(rng.normal(45, 18, n)), 18, 90)
        yield f"ages from 18, n = {n}", ages, (0, 100), 1
        yield f"grades, n = {n}", np.clip(np.rint(rng.normal(70, 12, n)), 0, 100), (0, 100), 1
        yield f"thousands of pay, n = {n}", np.clip(np.rint(rng.lognormal(4, 0.5, n)), 0, 1_000), (0, 1_000), 1
        yield f"minutes, n = {n}", np.clip(np.rint(rng.exponential(90, n)), 0, 1_440), (0, 1_440), 1
        yield f"beds, n = {n}", np.clip(rng.poisson(2, n), 0, 20).astype(float), (0, 20), 1
        yield f"years, n = {n}", rng.integers(1950, 2011, n).astype(float), (1900, 2030), 1
        yield f"pays, n = {n}", np.clip(rng.lognormal(11, 0.6, n), 0, 6e5), (0, 6e5), None
        yield f"heavy pays, n = {n}", np.clip(rng.lognormal(11, 2, n), 0, 1e9), (0, 1e9), None
        yield f"normal, n = {n}", rng.normal(50, 8, n), (0, 100), None
        yield f"uniform in a fifth to four fifths, n = {n}", rng.uniform(20, 80, n), (0, 100), None
        yield f"two heaps, n = {n}", np.where(rng.random(n) < 0.5, 100, 900) + rng.normal(0, 10, n), (0, 1_000), None
        alone = rng.uniform(40, 60, n)
        alone[:2] = 5, 97
        yield f"two far from all others, n = {n}", alone, (0, 100), None


def extremes() -> None:
    """Print geometric mean / largest of the ratios."""
    ratios: dict[tuple[str, str], list[list[float]]] = {}
    for _, x, bounds, step in outermost():
        for kind in (dt.Minimum, dt.Maximum):
            query = kind(bounds=bounds) if step is None else kind(bounds=bounds, step=step)
            shape = query.shape(x)
            statistic, column = query.resolve(shape), query.read(x, shape)
            coarse = statistic.answers.points <= COARSE_POINTS
            errors: dict[str, list[float]] = {}
            for epsilon in EPSILONS["extremes"]:
                exact = Fraction(epsilon)
                one = replace(ExponentialDraw.of(statistic, Loss(epsilon), exact, None), rate=exact, one_sided=True)
                even = Measure.even(statistic.answers.ends)
                ways = {
                    "before": replace(one, measure=even) if coarse else one,
                    "one-sided, leaning": one,
                    "two-sided, even": replace(one, measure=even, rate=exact / 2, one_sided=False),
                    "two-sided, leaning": replace(one, rate=exact / 2, one_sided=False),
                    "smooth": prepare(statistic, epsilon=epsilon, mechanism="smooth")[1],
                    "auto": prepare(statistic, epsilon=epsilon)[1],
                }
                for label, way in ways.items():
                    error = way.error_laws(column)[0].mean / statistic.answers.points
                    errors.setdefault(label, []).append(max(error, SMALL))
            for label, row in errors.items():
                over = [error / first for error, first in zip(row, errors["before"], strict=True)]
                ratios.setdefault(("coarse" if coarse else "fine", label), []).append(over)
    print("epsilon | " + " | ".join(f"{epsilon:g}" for epsilon in EPSILONS["extremes"]))
    for (grid, label), rows in sorted(ratios.items()):
        means, most = np.exp(np.log(rows).mean(0)), np.max(rows, axis=0)
        print(f"{grid}, {label} | " + " | ".join(f"{a:.2f}, {b:.1f}" for a, b in zip(means, most, strict=True)))


def inner() -> Iterator[Shape]:
    """(name, records, bounds, no step) of medians and 90% quantiles."""
    rng = np.random.default_rng(9)
    for n in (300, 3_000, 20_000):
        yield f"grades, n = {n}", np.clip(np.rint(rng.normal(5.6, 0.8, n)), 0, 10), (0, 10), None
        yield f"whole ages, n = {n}", np.clip(np.rint(rng.normal(45, 18, n)), 0, 100), (0, 120), None
        yield f"tenths, n = {n}", np.rint(rng.normal(368, 5, n)) / 10, (30, 45), None
        yield f"whole pays, n = {n}", np.rint(rng.lognormal(11, 0.6, n)), (0, 6e5), None
        yield f"pays in hundreds, n = {n}", np.rint(rng.lognormal(11, 0.6, n) / 100) * 100, (0, 6e5), None
        yield f"ratings 20, 40, ..., n = {n}", rng.choice([20.0, 40, 60, 80, 100], n), (0, 100), None
        yield f"pays, n = {n}", rng.lognormal(11, 0.6, n), (0, 6e5), None
        yield f"normal, middle 50, n = {n}", rng.normal(50, 8, n), (0, 100), None
        yield f"shares, n = {n}", rng.beta(2, 5, n), (0, 1), None
        yield f"heavy pays, n = {n}", np.clip(rng.lognormal(11, 2, n), 0, 1e9), (0, 1e9), None


def round_numbers() -> None:
    """Print errors and their ratios."""
    for name, x, bounds, _ in inner():
        for share in (0.5, 0.9):
            query = dt.Quantile(q=share, bounds=bounds)
            shape = query.shape(x)
            statistic, column = query.resolve(shape), query.read(x, shape)
            step, cells = float(statistic.answers.step), []
            for epsilon in EPSILONS["round"]:
                drawn = ExponentialDraw.of(statistic, Loss(epsilon), Fraction(epsilon), None, rounded=True)
                plain = replace(drawn, measure=Measure.even(statistic.answers.ends))
                before, now = (way.error_laws(column)[0].mean * step for way in (plain, drawn))
                cells.append(f"{before:.3g} to {now:.3g} ({now / max(before, 1e-30):.2f})")
            print(f"{name}, {share:g} | " + " | ".join(cells), flush=True)


def tied(n: int, rng: np.random.Generator) -> Iterator[Shape]:
    """(name, records, bounds, step) on coarse grids; of the last two the grid is finer than the records' unit."""
    yield "whole ages", np.clip(np.rint(rng.normal(45, 18, n)), 0, 120), (0, 120), 1
    yield "grades", np.clip(np.rint(rng.normal(5.6, 0.8, n)), 0, 10), (0, 10), 1
    yield "minutes", np.clip(np.rint(rng.gamma(4, 90, n)), 0, 1_440), (0, 1_440), 1
    yield "thousands of pay", np.clip(np.rint(rng.lognormal(4, 0.5, n)), 0, 1_000), (0, 1_000), 1
    yield "beds", np.clip(rng.poisson(2, n), 0, 20).astype(float), (0, 20), 1
    yield "years", rng.integers(1950, 2011, n).astype(float), (1900, 2030), 1
    yield "ratings 20, 40, ...", rng.choice([20.0, 40, 60, 80, 100], n, p=[0.05, 0.1, 0.2, 0.4, 0.25]), (0, 100), 1
    yield "0 or 100", rng.choice([0.0, 100.0], n, p=[0.45, 0.55]), (0, 100), 1


def coarse() -> None:
    """Print the mean error of ``inverse``, and that of the others over it."""
    rng = np.random.default_rng(11)
    for n in (100, 1_000, 10_000):
        found: dict[tuple[str, float], list[list[float]]] = {}
        for _ in range(DRAWS):
            for name, x, bounds, step in tied(n, rng):
                query = dt.Median(bounds=bounds, step=step)
                shape = query.shape(x)
                statistic, column = query.resolve(shape), query.read(x, shape)
                for epsilon in EPSILONS["coarse"]:
                    found.setdefault((name, epsilon), []).append(
                        [
                            prepare(statistic, epsilon=epsilon, mechanism=way)[1].error_laws(column)[0].mean
                            for way in ("inverse", "permute_and_flip", "middle_score")
                        ]
                    )
        for name in dict.fromkeys(name for name, _ in found):
            cells = []
            for epsilon in EPSILONS["coarse"]:
                usual, flipped, middle = np.mean(found[name, epsilon], axis=0)
                over = [f"{number / usual:.2f}" if usual > SMALL * 1e-6 else "-" for number in (flipped, middle)]
                cells.append(f"{usual:.2g}: {over[0]}, {over[1]}")
            print(f"{name}, n = {n} | " + " | ".join(cells), flush=True)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", choices=EPSILONS, default="extremes", nargs="?")
    {"extremes": extremes, "round": round_numbers, "coarse": coarse}[parser.parse_args().which]()


if __name__ == "__main__":
    main()
