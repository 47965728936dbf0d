"""Plain counts with igraph: not private."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def triangles(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """Transitivity: triangles and connected triples are counted, not listed."""
    import igraph

    graph = igraph.Graph(n=int(data["n"]), edges=data["edges"])
    return lambda: float(graph.transitivity_undirected())


def cut(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """The least number of edges whose removal disconnects the graph."""
    import igraph

    graph = igraph.Graph(n=int(data["n"]), edges=data["edges"])
    return lambda: float(graph.mincut().value)
