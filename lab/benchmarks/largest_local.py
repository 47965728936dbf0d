"""Noise and time for the sum of the k smallest salaries (COQ17 sec. 6, Figure 3), k = 10%, ..., 100% of n.

    DITHER_DATA=... python lab/benchmarks/largest_local.py
    DITHER_DATA=... python lab/benchmarks/largest_local.py --epsilon 0.5 --json

The chain of datasets of COQ17 Ex. 5 and 14: the salaries are public, how many of them (smallest first) are in the
dataset is not.  ``delta = eps / (2 n)`` as in the paper.  Amplitude: the scale of the Laplace noise, the mean absolute
error.  "change one" is another question, the same sum with private salaries under the usual neighbours, with smooth
sensitivity.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from rich.console import Console
from rich.table import Table

import dither
from dither.mechanisms.largest_local import LargestLocal, descending_bounds
from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.smooth import Smooth
from dither.noise.laplace import Laplace
from dither.privacy import Loss
from dither.queries.smallest import ChainSum, SmallestSum
from dither_lab.bench.machine import machine


def salaries() -> np.ndarray:
    """TotalPay of sf_salaries."""
    path = Path(os.environ["DITHER_DATA"]) / "tables" / "sf_salaries.parquet"
    return duckdb.sql(f"SELECT TotalPay FROM '{path}'").fetchnumpy()["TotalPay"].astype(np.float64)


def clocked(work: Callable[[], Any], rounds: int) -> tuple[Any, float]:
    """The result and the median time in milliseconds."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        result = work()
        times.append(1e3 * (time.perf_counter() - began))
    return result, statistics.median(times)


def scale_of(prepared: Any, data: Any) -> float:
    """The scale of the noise in the data's own units: NOT private."""
    bound = prepared.statistic.ladder(data).smooth(prepared.point.beta)
    return float(bound / prepared.point.alpha * prepared.statistic.answers.step)


def unremembered(prepared: Any, data: Any) -> float:
    """The same by climbing all levels above, as NRS11 defines the smooth sensitivity."""
    levels, beta = prepared.statistic.levels, float(prepared.point.beta)
    above = levels.sensitivities[data:].astype(np.float64)
    bound = float((above * np.exp(-beta * np.arange(len(above)))).max())
    return bound / float(prepared.point.alpha) * float(prepared.statistic.answers.step)


def measure(epsilon: float, rounds: int) -> dict[str, Any]:
    """A row for each share."""
    pay = salaries()
    n = len(pay)
    loss = Loss(epsilon, epsilon / (2 * n))
    began = time.perf_counter()
    query = ChainSum(pay, step=0.01)
    statistic = query.resolve(query.shape(0))
    building = 1e3 * (time.perf_counter() - began)
    ask = MechanismSpec(statistic, loss, Laplace())
    began = time.perf_counter()
    ours = LargestLocal().prepare(ask)
    preparing = 1e3 * (time.perf_counter() - began)
    paper = LargestLocal(constants="paper").prepare(ask)
    smooth, smooth_paper = Smooth().prepare(ask), Smooth(constants="paper").prepare(ask)
    growth = 1 + Fraction(epsilon / float(np.log(1 / loss.delta)) / 2).limit_denominator(10**6)
    began = time.perf_counter()
    printed = descent_in_floats(statistic.levels, float(growth))
    descending = 1e3 * (time.perf_counter() - began)
    rows = []
    for tenth in range(1, 11):
        k = n * tenth // 10
        amplitude, _ = clocked(lambda k=k: scale_of(ours, k), rounds)
        _, released = clocked(lambda k=k: ours.run(k), rounds)
        _, plain = clocked(lambda k=k: unremembered(smooth, k), rounds)
        private = SmallestSum(k=k, bounds=(-1000, 600_000), step=0.01)
        shape = private.shape(pay)
        column = private.read(pay, shape)
        change_one = Smooth().prepare(MechanismSpec(private.resolve(shape), loss, Laplace()))
        rows.append(
            {
                "share": tenth / 10,
                "k": k,
                "sum": float(statistic.value(k) * statistic.answers.step),
                "lls": amplitude,
                "lls_paper": scale_of(paper, k),
                "lls_printed": 2 * printed[k] / epsilon * float(statistic.answers.step),
                "ss": scale_of(smooth, k),
                "ss_paper": scale_of(smooth_paper, k),
                "change_one": scale_of(change_one, column),
                "worst_case": float(statistic.cap * statistic.answers.step) / epsilon,
                "release_ms": released,
                "ss_climb_ms": plain,
            }
        )
    return {
        "epsilon": epsilon,
        "delta": loss.delta,
        "n": n,
        "building_ms": building,
        "preparing_ms": preparing,
        "descending_ms": descending,
        "rows": rows,
    }


def descent_in_floats(levels: Any, growth: float) -> list[float]:
    """COQ17's Algorithm 1 as printed, exception included, in floats; checked against ``descending_bounds``."""
    bounds = levels.sensitivities.astype(np.float64).tolist()
    results = [bounds[-1]]
    for own, above in zip(bounds[-2::-1], bounds[:0:-1], strict=True):
        results.append(results[-1] if above < own * growth else max(own, results[-1] / growth))
    results.reverse()
    small = dither.Levels(levels.sensitivities[-40:].tolist())
    exactly = descending_bounds(small, Fraction(growth))
    if not np.allclose([float(item) for item in exactly], results[-40:]):
        raise ArithmeticError("the two forms of Algorithm 1 differ")
    return results


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Largest local sensitivities on salaries.")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    result = measure(options.epsilon, options.rounds)
    if options.json:
        print(json.dumps({"machine": machine(), "dither": dither.__version__, **result}, indent=1))
        return
    price = Loss(result["epsilon"], result["delta"])
    table = Table(title=f"Sum of the k smallest of n = {result['n']:,} salaries, {price}")
    headings = {
        "k / n": "share",
        "sum": "sum",
        "LLS": "lls",
        "LLS, paper's constants": "lls_paper",
        "LLS as printed": "lls_printed",
        "SS": "ss",
        "SS, paper's constants": "ss_paper",
        "worst case": "worst_case",
        "change one (SS)": "change_one",
        "LLS release, ms": "release_ms",
        "SS climb, ms": "ss_climb_ms",
    }
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in result["rows"]:
        table.add_row(*(f"{row[key]:,.4g}" if key == "share" else f"{row[key]:,.2f}" for key in headings.values()))
    console = Console(width=None if sys.stdout.isatty() else 190)
    console.print(table)
    console.print(
        f"building the chain {result['building_ms']:.0f} ms, choice of the point {result['preparing_ms']:.0f} ms, "
        f"whole descent of Algorithm 1 in Python {result['descending_ms']:.0f} ms (each once)"
    )


if __name__ == "__main__":
    main()
