"""Counts in graphs, in one line: the graph first, everything else by keyword, as in ``functions``."""

from __future__ import annotations

from typing import Any

from dither.functions import answer
from dither.kernels.progress import Progress, reporting
from dither.queries.graphs import Edges, KCliques, KStars, KTriangles, Triangles
from dither.release import Release


def edges(
    graph: Any,
    *,
    max_degree: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    calibration: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
) -> Release:
    """The number of edges; neighbours differ in one edge.  Options as for ``triangles``.

    >>> from dither.data.graph import Graph
    >>> -40 < edges(Graph([(0, 1), (1, 2)], n=3), epsilon=1.0).value < 40
    True
    """
    query = Edges(max_degree=max_degree)
    return answer(query, graph, epsilon, delta, calibration, noise, confidence)


def triangles(
    graph: Any,
    *,
    max_degree: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    calibration: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    progress: Progress | None = None,
) -> Release:
    """The number of triangles of a ``Graph``; neighbours differ in one edge.

    max_degree: a public hypothesis: no vertex has more neighbours.  Where it is true the answer is about all triangles,
        with noise for 2 (max_degree - 1) of them; where it is false only edges within the first max_degree at both of
        their vertices count, and the answer is too small.  Privacy holds either way.
    epsilon: the whole price, error bar included.
    delta: only for noise="laplace" or "gaussian"; otherwise it is left unspent.
    calibration: "auto", "smooth", "ladder", "worst_case", or an object such as ``Smooth(beta=0.1)``.
    noise: "auto", "power_law", "cauchy", "student", "laplace", "gaussian", or an object such as ``Cauchy(gamma=4)``.
    confidence: of the error bar; None gives no bar and spends all of epsilon on the answer.
    progress: called with the share done of each search through the graph; for the owner, since that depends on the
        edges.

    >>> from itertools import combinations
    >>> from dither.data.graph import Graph
    >>> complete = Graph(list(combinations(range(50), 2)), n=50)
    >>> 0 <= triangles(complete, epsilon=5.0).value <= 19_600
    True
    """
    query = Triangles(max_degree=max_degree)
    with reporting(progress):
        return answer(query, graph, epsilon, delta, calibration, noise, confidence)


def kstars(
    graph: Any,
    *,
    k: Any,
    epsilon: Any,
    delta: Any = 0.0,
    calibration: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
) -> Release:
    """The number of k-stars (a centre and k of its neighbours); options as for ``triangles``.

    >>> from dither.data.graph import Graph
    >>> kstars(Graph([(0, 1), (0, 2), (0, 3)], n=9), k=2, epsilon=1.0).query
    '2-stars'
    """
    return answer(KStars(k), graph, epsilon, delta, calibration, noise, confidence)


def ktriangles(
    graph: Any,
    *,
    k: Any,
    epsilon: Any,
    delta: Any = 0.0,
    calibration: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    progress: Progress | None = None,
) -> Release:
    """The number of k-triangles (k triangles on one edge); options as for ``triangles``.

    >>> from dither.data.graph import Graph
    >>> ktriangles(Graph([(0, 1), (1, 2), (0, 2)], n=9), k=2, epsilon=1.0).query
    '2-triangles'
    """
    with reporting(progress):
        return answer(KTriangles(k), graph, epsilon, delta, calibration, noise, confidence)


def kcliques(
    graph: Any,
    *,
    k: Any,
    epsilon: Any,
    delta: Any = 0.0,
    calibration: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    progress: Progress | None = None,
) -> Release:
    """The number of cliques of k vertices; options as for ``triangles``.

    >>> from dither.data.graph import Graph
    >>> kcliques(Graph([(0, 1), (1, 2), (0, 2)], n=9), k=4, epsilon=1.0).query
    '4-cliques'
    """
    with reporting(progress):
        return answer(KCliques(k), graph, epsilon, delta, calibration, noise, confidence)
