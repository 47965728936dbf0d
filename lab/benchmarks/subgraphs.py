"""Smooth noise for k-triangles and k-cliques: the public rule for beta beside a fourteenth of epsilon.

Errors are the means of the laws of the noise, half-widths the usual ones of a 95% interval, each over those of
beta = eps/14 at the same epsilon.

Run: python lab/benchmarks/subgraphs.py FOLDER [--epsilon 0.05 0.1 0.2 0.5 1 2]
Graphs are read from ``FOLDER/graphs/*.npz``.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path

import numpy as np

import dither as dt
from dither.mechanisms.mechanism import point_of
from dither.mechanisms.smooth import half_width_factor, interval_and_answer
from dither.noise.blunt_power_law import BluntPowerLaw
from dither.privacy import Loss
from dither.sensitivity.ladder import Ladder
from dither.statistics.statistic import Statistic

GRAPHS = ("power", "ca-GrQc", "ca-HepTh", "ca-CondMat", "ego-Facebook", "email-Enron")
QUERIES = (dt.KTriangles(2), dt.KTriangles(3), dt.KTriangles(4), dt.KTriangles(5), dt.KCliques(4), dt.KCliques(5))
DENSE = "ego-Facebook"
"""Its cliques take too long to list."""
CONFIDENCE = Fraction(19, 20)


def figures(
    rungs: Ladder, epsilon: float, beta: Fraction | None, statistic: Statistic[dt.Graph]
) -> tuple[float, float]:
    """Mean error without an interval, and the half-width of one; beta None: by the rule, else a part of epsilon."""
    interval, answer = interval_and_answer(Loss(epsilon), CONFIDENCE)
    assert interval is not None
    whole = Loss(epsilon)
    betas = [
        loss.exact_epsilon * beta if beta is not None else statistic.smoothness(loss.exact_epsilon, interval=wide)
        for loss, wide in ((whole, False), (answer, True))
    ]
    alone, beside = (point_of(BluntPowerLaw(), loss, item) for loss, item in zip((whole, answer), betas, strict=True))
    spread = float(beside.beta / interval.exact_epsilon)
    return (
        float(rungs.smooth(alone.beta) / alone.alpha) * alone.law.typical,
        float(rungs.smooth(beside.beta) / beside.alpha) * half_width_factor(beside.law, spread, 0.05),
    )


def main() -> None:
    """Print ratios by graph, query and epsilon, and their geometric means by epsilon."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.05, 0.1, 0.2, 0.5, 1.0, 2.0])
    options = parser.parse_args()
    results: dict[float, list[tuple[float, float]]] = {}
    for name in GRAPHS:
        held = np.load(options.folder / "graphs" / f"{name}.npz")
        graph = dt.Graph(held["edges"], n=int(held["n"]))
        for query in QUERIES:
            if name == DENSE and isinstance(query, dt.KCliques):
                continue
            statistic = query.resolve(graph.shape)
            rungs = statistic.ladder(graph)
            for epsilon in options.epsilon:
                ours = figures(rungs, epsilon, None, statistic)
                fixed = figures(rungs, epsilon, Fraction(1, 14), statistic)
                ratios = (ours[0] / fixed[0], ours[1] / fixed[1])
                results.setdefault(epsilon, []).append(ratios)
                print(f"{name}, {query}, epsilon {epsilon:g}: {ratios[0]:.2f}, {ratios[1]:.2f}", flush=True)
    for epsilon, each in results.items():
        means, least, most = np.exp(np.mean(np.log(each), axis=0)), np.min(each, axis=0), np.max(each, axis=0)
        shown = ", ".join(f"{a:.2f} ({b:.2f} to {c:.2f})" for a, b, c in zip(means, least, most, strict=True))
        print(f"epsilon {epsilon:g}: {shown}")


if __name__ == "__main__":
    main()
