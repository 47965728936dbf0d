"""The smoothed ladder beside smooth noise, the inverse draw and the ladder mechanism, at equal loss.

Errors are those of the mechanisms' own laws, which the audit compares with independent ones and with draws: mean and
95% quantile without an interval, then the usual half-width of a 95% interval.  All are divided by the oracle's: Laplace
noise of scale U_0/epsilon, which is not private.

Run: python lab/benchmarks/smoothed_ladder.py [--data FOLDER] [--epsilon 0.1 0.5 1 2] [--only trimmed]
Graphs are read from ``FOLDER/graphs/*.npz``; without a folder they are left out.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import dither as dt
from dither.errors import DitherError
from dither.mechanisms.choice import applicable, prepare
from dither.mechanisms.error import Mixture
from dither.mechanisms.smooth import Smooth
from dither.mechanisms.smoothed_ladder import SmoothedLadder

RNG = np.random.default_rng(11)
GRAPHS = ("power", "ca-GrQc", "ca-HepTh", "ca-CondMat")
SHARES = (30, 14, 10, 5)
CONFIDENCE = 0.95


def columns() -> Iterator[tuple[str, Any, Any]]:
    """(name, statistic, records) of columns."""
    pays = {n: (RNG.lognormal(11, 0.6, n), (0, 6e5)) for n in (500, 5_000, 20_000)}
    split = np.where(RNG.random(5_000) < 0.5, RNG.normal(100, 10, 5_000), RNG.normal(900, 10, 5_000)), (0, 1000)
    ages = np.rint(RNG.normal(45, 15, 3_000)), (0, 120)
    shapes = {f"lognormal {n}": pay for n, pay in pays.items()} | {"two heaps 5000": split, "whole ages 3000": ages}
    for shape, (values, bounds) in shapes.items():
        for query in (dt.Median(bounds=bounds), dt.TrimmedMean(trim=0.1, bounds=bounds), dt.IQR(bounds=bounds)):
            known = query.shape(values)
            yield f"{query.name} {shape}", query.resolve(known), query.read(values, known)
        mean = dt.Mean(bounds=bounds)
        known = replace(mean.shape(values), private=True, neighbours=dt.Neighbours.ADD_REMOVE_CHANGE)
        yield f"filtered mean {shape}", mean.resolve(known), mean.read(values, mean.shape(values))


def graphs(folder: Path) -> Iterator[tuple[str, Any, Any]]:
    """(name, statistic, graph) of public graphs."""
    for name in GRAPHS:
        held = np.load(folder / "graphs" / f"{name}.npz")
        graph = dt.Graph(held["edges"], n=int(held["n"]))
        for query in (dt.Triangles(), dt.KStars(3), dt.KTriangles(2), dt.KCliques(4)):
            yield f"{query.noun} {name}", query.resolve(graph.shape), graph


def ways(statistic: Any, epsilon: float) -> dict[str, Any]:
    """Mechanisms by label; betas are parts of the answer's share of epsilon."""
    served = applicable(statistic)
    made: dict[str, Any] = {"smooth": Smooth(), "smooth eps/30": Smooth(beta=epsilon * 0.75 / 30)}
    made |= {name: name for name in ("inverse", "ladder") if name in served}
    return made | {f"smoothed eps/{share}": SmoothedLadder(beta=epsilon * 0.9 / share) for share in SHARES}


def figures(statistic: Any, records: Any, epsilon: float, mechanism: Any) -> tuple[float, float, float]:
    """Mean and 95% quantile of the error, and the usual half-width."""
    _, plain = prepare(statistic, epsilon=epsilon, mechanism=mechanism)
    (law,) = plain.error_laws(records)
    _, with_interval = prepare(statistic, epsilon=epsilon, mechanism=mechanism, confidence=CONFIDENCE)
    widths = with_interval.typical_half_widths(records)
    return law.mean, Mixture([law]).quantile(1 - CONFIDENCE), math.nan if widths is None else widths[0]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 0.5, 1.0, 2.0])
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    cases = [*columns(), *(graphs(options.data) if options.data else ())]
    for name, statistic, records in cases:
        if options.only not in name:
            continue
        least = max(float(statistic.ladder(records)[0]), 1.0)
        for epsilon in options.epsilon:
            oracle = least / epsilon
            units = (oracle, oracle * math.log(20.0), oracle * math.log(20.0))
            row = []
            for label, mechanism in ways(statistic, epsilon).items():
                try:
                    result = figures(statistic, records, epsilon, mechanism)
                    row.append(f"{label}: " + " ".join(f"{a / b:.3g}" for a, b in zip(result, units, strict=True)))
                except DitherError as refused:
                    row.append(f"{label}: {type(refused).__name__}")
            print(f"{name}, epsilon {epsilon:g} | " + " | ".join(row), flush=True)


if __name__ == "__main__":
    main()
