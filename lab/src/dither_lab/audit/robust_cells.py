"""R_H with three coefficients over a whole small universe: the exact law of the released cell, for all neighbours."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from typing import TypeAlias

import numpy as np

from dither.privacy import Loss
from dither.procedures.cell_regression import FitCells, cells_of
from dither_lab.audit.checks import Check, Effort, Evidence

CHOICE, TEST, DELTA = 0.5, 3.0, 0.01
CLAIMED = Loss(CHOICE + TEST, DELTA)
MIDDLE = (0.5, 0.5, 0.5)
AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
SLANTED = (1.0, 2.0, 2.0)
KINDS = tuple(
    (x, sum(part * place for part, place in zip(x, at, strict=True)))
    for x, at in (
        (AXES[0], MIDDLE),
        (AXES[1], (1.0, 1.0, 1.0)),
        (SLANTED, MIDDLE),
        (SLANTED, (2.5, 2.5, 2.5)),
        ((0.0, 0.0, 0.0), MIDDLE),
    )
)
"""Records through the middle of a cell, through its corner, far from it, and one without features."""
FIXED = tuple((axis, 0.5) for axis, copies in zip(AXES, (3, 6, 6), strict=True) for _ in range(copies))
FREE = 4
Margin: TypeAlias = Callable[[int], float]
Law: TypeAlias = dict[object, float]  # a grid and its cell, or None for a refusal


@functools.cache
def _universe() -> dict[tuple[int, ...], FitCells]:
    results = {}
    for dataset in combinations_with_replacement(range(len(KINDS)), FREE):
        records = [*FIXED, *(KINDS[k] for k in dataset)]
        design, response = np.array([x for x, _ in records]), np.array([y for _, y in records])
        results[dataset] = cells_of(design, response, np.ones(3))
    return results


def _law(cells: FitCells, margin: Margin) -> Law:
    """A grid by the exponential mechanism, then a test with Laplace noise, as docs/proofs/regression.md states them."""
    weights = [math.exp(CHOICE / 2 * margin(item)) for item in cells.margins]
    threshold = math.log(1 / (2 * DELTA)) / TEST
    law: Law = {None: 0.0}
    for k, (corner, item) in enumerate(zip(cells.corners, cells.margins, strict=True)):
        short = threshold - margin(item)
        passed = 0.5 * math.exp(-TEST * short) if short >= 0 else 1 - 0.5 * math.exp(TEST * short)
        passed = 0.0 if corner is None else passed
        law[k, corner] = passed * weights[k] / sum(weights)
        law[None] += (1 - passed) * weights[k] / sum(weights)
    return law


def _over_all(margin: Margin) -> Evidence:
    """The largest divergence over all neighbours."""
    universe = _universe()
    laws = {dataset: _law(cells, margin) for dataset, cells in universe.items()}
    worst, cases, larger = 0.0, 0, 0
    for dataset, here in laws.items():
        for place in range(FREE):
            for kind in range(len(KINDS)):
                there = laws[tuple(sorted((*dataset[:place], kind, *dataset[place + 1 :])))]
                apart = (mass - math.exp(CLAIMED.epsilon) * there.get(key, 0.0) for key, mass in here.items())
                worst, cases = max(worst, sum(max(item, 0.0) for item in apart)), cases + 1
        larger = max(larger, *universe[dataset].margins)
    held = worst <= DELTA * (1 + 1e-9) and larger > 0
    return Evidence(held, CLAIMED, cases=cases, note=f"delta {worst:.3g} of {DELTA}, margins up to {larger}")


def robust_cell_checks() -> Iterator[Check]:
    """Margins of three coefficients and the law that they lead to."""
    names = frozenset({"regression", "Regression", "regression robust"})
    detail = "R_H, three coefficients"
    yield Check("regression", "exhaustive", lambda _: _over_all(float), detail=detail, covers=names, proof="regression")


def in_robust_cells() -> Iterator[Check]:
    """Margins that begin one earlier, where a neighbour's cell is not looked for; margins that move by two."""
    cases: dict[str, Margin] = {
        "margins that begin one earlier": lambda margin: margin + 1.0,
        "margins of added or deleted records": lambda margin: 2.0 * margin + 1.0,
    }
    for name, margin in cases.items():

        def run(effort: Effort, margin: Margin = margin) -> Evidence:  # noqa: ARG001
            return _over_all(margin)

        yield Check(name, "exhaustive", run, detail="R_H, three coefficients", proof="regression")
