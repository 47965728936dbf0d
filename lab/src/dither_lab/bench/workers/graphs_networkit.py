"""Plain counts with networkit: not private."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def triangles(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """Triangles of every edge, its parallel count, and their sum."""
    import networkit as nk
    import numpy as np

    first, second = (np.ascontiguousarray(ends, dtype=np.uint64) for ends in data["edges"].T)
    graph = nk.GraphFromCoo((first, second), int(data["n"]))
    graph.indexEdges()

    def work() -> float:
        count = nk.sparsification.TriangleEdgeScore(graph)
        count.run()
        return float(sum(count.scores())) / 3

    return work
