"""How often 95% error bars cover the statistic of the clamped records, with a 99% interval for that share.

Run: python lab/benchmarks/interval_coverage.py [--runs 2000]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import beta

import dither as dt
from dither.mechanisms.choice import prepare

RNG = np.random.default_rng(11)
LOGNORMAL = (np.clip(RNG.lognormal(11, 0.6, 20_000), 0, 1e6), (0, 1e6))
UNIFORM = (RNG.random(3_000), (0, 1))
NORMAL = (RNG.normal(0, 1, 5_000), (-10, 10))
TIED = (RNG.choice([18, 18, 18, 45, 45, 60], 4_000), (0, 120))
LAPLACE = {"noise": "laplace", "delta": 1e-6}
CASES: list[tuple[str, Any, Any, float, str, dict[str, Any]]] = [
    ("median", dt.Median, LOGNORMAL, 1.0, "inverse", {}),
    ("median", dt.Median, UNIFORM, 0.2, "inverse", {}),
    ("median", dt.Median, TIED, 1.0, "inverse", {}),
    ("0.9 quantile", lambda **k: dt.Quantile(q=0.9, **k), NORMAL, 1.0, "inverse", {}),
    ("median", dt.Median, LOGNORMAL, 1.0, "smooth", {}),
    ("median", dt.Median, NORMAL, 0.5, "smooth", LAPLACE),
    ("trimmed mean", lambda **k: dt.TrimmedMean(trim=0.2, **k), LOGNORMAL, 1.0, "inverse", {}),
    ("trimmed mean", lambda **k: dt.TrimmedMean(trim=0.2, **k), NORMAL, 1.0, "smooth", {}),
    ("iqr", dt.IQR, LOGNORMAL, 1.0, "inverse", {}),
    ("mean", dt.Mean, UNIFORM, 0.5, "worst_case", {}),
    ("variance", dt.Variance, NORMAL, 0.5, "worst_case", {}),
    ("count", lambda **_: dt.Count(), (RNG.random(2_000) < 0.3, (0, 1)), 0.5, "worst_case", {}),
]


def covered(make: Any, data: Any, epsilon: float, mechanism: str, options: dict[str, Any], runs: int) -> int:
    """The number of bars that cover."""
    values, bounds = data
    query = make(bounds=bounds)
    shape = query.shape(values)
    statistic = query.resolve(shape)
    _, prepared = prepare(statistic, epsilon=epsilon, mechanism=mechanism, confidence=0.95, **options)
    records = query.read(values, shape)
    true = statistic.value(records)
    hits = 0
    for _ in range(runs):
        low, high = prepared.run(records).interval
        hits += low <= true <= high
    return hits


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2_000)
    runs = parser.parse_args().runs
    names = {id(LOGNORMAL): "lognormal", id(UNIFORM): "uniform", id(NORMAL): "normal", id(TIED): "tied"}
    table = Table("query", "data", "epsilon", "mechanism", "noise", "covered", "99% interval", box=None)
    for label, make, data, epsilon, mechanism, options in CASES:
        hits = covered(make, data, epsilon, mechanism, options, runs)
        low = beta.ppf(0.005, hits, runs - hits + 1)
        high = beta.ppf(0.995, hits + 1, runs - hits) if hits < runs else 1.0
        place = names.get(id(data), "bits")
        row = (label, place, f"{epsilon:g}", mechanism, options.get("noise", "auto"))
        table.add_row(*row, f"{hits / runs:.2%}", f"{low:.2%} to {high:.2%}")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
