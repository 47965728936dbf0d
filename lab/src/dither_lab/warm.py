"""Compile the kernels that users wait for, so that numba's cache has them: ``make setup`` runs this once.

Kernels are compiled for types and not for sizes, so one small example of each question is enough.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import dither as dt
from dither.kernels.compiled import compile_always

_EPSILON = 1.0


def questions(folder: Path) -> list[Callable[[], object]]:  # what they release is not looked at
    """One call for each family of kernels: graphs, weighted graphs, text files, clusters."""
    ring = [(i, (i + step) % 30) for i in range(30) for step in (1, 2)]
    graph = dt.Graph(ring, n=30)
    weighted = dt.Graph(ring, n=30, weights=np.linspace(0.0, 1.0, len(ring)), cap=1)
    text = folder / "numbers.csv"
    text.write_text("a\n" + "1\n2.5\n" * 50)
    points = np.stack([np.linspace(-3, 3, 2_000), np.tile([-2.0, 2.0], 1_000)], axis=1)
    return [
        lambda: dt.triangles(graph, epsilon=_EPSILON),
        lambda: dt.kstars(graph, k=2, epsilon=_EPSILON),
        lambda: dt.ktriangles(graph, k=2, epsilon=_EPSILON),
        lambda: dt.kcliques(graph, k=4, epsilon=_EPSILON),
        lambda: dt.min_cut(graph, epsilon=_EPSILON),
        lambda: dt.mst_cost(weighted, epsilon=_EPSILON),
        lambda: dt.weighted_min_cut(weighted, epsilon=_EPSILON),
        lambda: dt.open(text, columns={"a": dt.Real(0, 10)}, budget=dt.Budget(9.0)).ask(
            dt.Median("a"), epsilon=_EPSILON
        ),
        lambda: dt.kmeans(points, k=2, bounds=[(-9, 9)] * 2, epsilon=_EPSILON, delta=1e-6),
    ]


def main() -> None:
    """Ask everything once."""
    compile_always()
    with tempfile.TemporaryDirectory() as folder:
        for ask in questions(Path(folder)):
            ask()


if __name__ == "__main__":
    main()
