"""Spanning trees and minimum cuts of graphs in one line."""

from __future__ import annotations

from typing import Any

from dither.functions import answer
from dither.kernels.progress import Progress, reporting
from dither.queries.trees import MinCut, MSTCost
from dither.release import Release


def mst_cost(
    graph: Any,
    *,
    cap: Any = None,
    step: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    calibration: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    progress: Progress | None = None,
) -> Release:
    """The cost of a lightest spanning tree; neighbours change the weight of one edge, and the edges are public.

    graph: a ``Graph`` with weights.  If it is in pieces, the cost of a lightest spanning forest.
    cap: the public upper bound of the weights if the graph does not declare it; the lower one is 0.  Weights outside
        are clamped; missing ones count as the cap.
    step: the public grid of the weights; by default the graph's.
    epsilon: the whole price, error bar included; smaller is more private and noisier (0.1 to 1 is usual).
    delta: only for noise="laplace" or "gaussian"; otherwise it is left unspent.
    calibration: "auto" fits noise to the weights ("smooth") if the edges leave something to gain: if at least 8 of
        them must go before a piece falls apart; else "worst_case".  "ladder" is offered too.
    noise: "auto", "power_law", "cauchy", "student", "laplace", "gaussian", or an object such as ``Cauchy(gamma=4)``.
    confidence: of the error bar; None gives no bar and spends all of epsilon on the answer.
    progress: called with the share done of the rungs asked for, which starts again if more turn out to matter; for
        the owner, since that depends on the weights.

    >>> from itertools import combinations
    >>> from dither.data.graph import Graph
    >>> edges = list(combinations(range(12), 2))
    >>> graph = Graph(edges, n=12, weights=[(i * j) % 7 for i, j in edges], cap=100)
    >>> 0 <= mst_cost(graph, epsilon=1.0).value <= 1_100
    True
    """
    with reporting(progress):
        return answer(MSTCost(cap, step=step), graph, epsilon, delta, calibration, noise, confidence)


def min_cut(
    graph: Any,
    *,
    epsilon: Any,
    delta: Any = 0.0,
    calibration: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
) -> Release:
    """The number of edges of a smallest cut, 0 if the graph is in pieces; neighbours differ in one edge.

    graph: a ``Graph`` without weights, of at least two vertices.  Options as for ``mst_cost``; noise for the worst
        case is all that is needed, since one edge moves the answer by at most 1.

    >>> from itertools import combinations
    >>> from dither.data.graph import Graph
    >>> 0 <= min_cut(Graph(list(combinations(range(20), 2)), n=20), epsilon=1.0).value <= 19
    True
    """
    return answer(MinCut(), graph, epsilon, delta, calibration, noise, confidence)
