"""Means of a private number of records: a noisy count first, beside smoothness by a public rule, at equal loss.

Errors are those of the mechanisms' own laws, which the audit compares with independent ones and with draws; half-widths
are the usual ones of a 95% interval.  All are divided by (high - low)/(n epsilon), what one record can move the mean by
over epsilon.

Run: python lab/benchmarks/filtered_means.py [--epsilon 0.1 1] [--grouped]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import dither as dt
from dither.mechanisms.choice import prepare
from dither.mechanisms.mechanism import Mechanism
from dither.sources.column import RankedRecords
from dither.statistics.statistic import Statistic

SIZES = (50, 200, 500, 2_000, 5_000, 50_000, 500_000)
CONFIDENCE = 0.95


def columns(size: int, relation: dt.Neighbours) -> Iterator[tuple[str, Statistic[RankedRecords], RankedRecords]]:
    """(name, statistic, records) of five shapes."""
    rng = np.random.default_rng(size)
    shapes = {
        "lognormal pays in 0 to 600,000": (rng.lognormal(11, 0.6, size), (0, 6e5)),
        "heavy pays in 0 to 1e9": (rng.pareto(1.1, size) * 3e4, (0, 1e9)),
        "two heaps": (
            np.where(rng.random(size) < 0.5, rng.normal(100, 10, size), rng.normal(900, 10, size)),
            (0, 1000),
        ),
        "whole ages": (np.rint(rng.normal(45, 15, size)), (0, 120)),
        "one in ten true": ((rng.random(size) < 0.1).astype(float), (0, 1)),
    }
    for name, (values, bounds) in shapes.items():
        query = dt.Mean(bounds=bounds)
        known = query.shape(values)
        statistic = query.resolve(replace(known, private=True, neighbours=relation))
        if isinstance(statistic, Statistic):
            yield name, statistic, query.read(values, known)


def ways(epsilon: float) -> dict[str, Mechanism]:
    """Mechanisms by label."""
    return {
        "noisy count": dt.NoisyCount(),
        "count 1%": dt.NoisyCount(share=0.01),
        "count 4%": dt.NoisyCount(share=0.04),
        "smooth": dt.Smooth(),
        "smoothed eps/30": dt.SmoothedLadder(beta=epsilon * 0.9 / 30),
    }


def main() -> None:
    """Print a table: error, then half-width, of each mechanism on each shape."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 1.0])
    parser.add_argument("--grouped", action="store_true")
    options = parser.parse_args()
    relation = dt.Neighbours.ADD_REMOVE if options.grouped else dt.Neighbours.ADD_REMOVE_CHANGE
    for epsilon in options.epsilon:
        for size in SIZES:
            rows: dict[str, list[tuple[float, float, float]]] = {}
            for name, statistic, records in columns(size, relation):
                low, high = statistic.answers.ends
                unit = (high - low) / (size * epsilon)
                row = []
                for label, mechanism in ways(epsilon).items():
                    _, plain = prepare(statistic, epsilon=epsilon, mechanism=mechanism)
                    _, wide = prepare(statistic, epsilon=epsilon, mechanism=mechanism, confidence=CONFIDENCE)
                    (law,), (shown,), widths = (
                        plain.error_laws(records),
                        wide.error_laws(records),
                        wide.typical_half_widths(records),
                    )
                    result = (law.mean / unit, shown.mean / unit, (math.nan if widths is None else widths[0]) / unit)
                    rows.setdefault(label, []).append(result)
                    row.append(f"{label}: " + " ".join(f"{item:.3g}" for item in result))
                print(f"epsilon {epsilon:g}, n {size}, {name} | " + " | ".join(row), flush=True)
            for label, each in rows.items():
                means = np.exp(np.mean(np.log(each), axis=0))
                print(
                    f"= epsilon {epsilon:g}, n {size}, {label}: "
                    + ", ".join(f"{a:.3g} ({b:.3g})" for a, b in zip(means, np.max(each, axis=0), strict=True)),
                    flush=True,
                )


if __name__ == "__main__":
    main()
