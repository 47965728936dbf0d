"""Plain counts with networkit: not private."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def triangles(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """Triangles of every edge, its parallel count, and their sum."""
    import networkit as nk

    graph = nk.Graph(int(data["n"]))
    for u, v in data["edges"].tolist():
        graph.addEdge(u, v)
    graph.indexEdges()

    def work() -> float:
        count = nk.sparsification.TriangleEdgeScore(graph)
        count.run()
        return float(sum(count.scores())) / 3

    return work
