"""Triangles and spanning trees with dither: the work of exact ladders, and medians of errors from the laws of noise."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

import dither as dt
from dither.kernels.cuts import edge_connectivity
from dither.kernels.limited_triangles import limited_triangles, triangle_shares
from dither.mechanism_names import MechanismName
from dither.mechanisms.choice import MECHANISMS, prepare
from dither.mechanisms.drawn_limit import DrawnLimitNoise
from dither.mechanisms.error import ErrorLaw, Mixture
from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.race import Raced
from dither.noise.laplace import Laplace
from dither.privacy import Loss
from dither.queries.trees import MSTCost
from dither.sensitivity.ladder import Ladder
from dither.sensitivity.limited_shares import HasLimitedShares
from dither_lab.bench.anchors.polyplace import PolyPlace

BETA = Fraction(1, 20)
RING = np.array([(k, (k + step) % 12) for k in range(12) for step in (1, 2)])
"""A small graph to compile on."""


def _graph(data: Mapping[str, np.ndarray]) -> dt.Graph:
    return dt.Graph(data["edges"], n=int(data["n"]), strict=True)


def _smooth_bound(graph: dt.Graph) -> Fraction:
    """All the work of a ladder, from compressed rows to the smooth bound, nothing remembered from before."""
    fresh = dt.Graph.__new__(dt.Graph)
    fresh.__dict__.update({name: value for name, value in graph.__dict__.items() if name.startswith("_")})
    bound: Fraction = dt.Triangles().resolve(graph.shape).ladder(fresh).smooth(BETA)
    return bound


def ladder(options: Mapping[str, str], data: Mapping[str, np.ndarray]) -> Callable[[], float]:
    """The exact triangle ladder to the last rung that matters at beta = 1/20, renaming by degree included."""
    _smooth_bound(dt.Graph(RING, n=12))
    graph = _graph(data)
    return lambda: float(_smooth_bound(graph))


_K = {"kstars": 2, "ktriangles": 2, "kcliques": 4}


def answered(options: Mapping[str, str], data: Mapping[str, np.ndarray]) -> Callable[[], None]:
    """A release with its interval; weights of a spanning tree are those of the edges' places."""
    name = options["query"]

    def asked(edges: np.ndarray, n: int) -> None:
        weights = np.arange(len(edges)) * 7919 % 1009 / 1009 if name == "mst_cost" else None
        graph = dt.Graph(edges, n=n, weights=weights, cap=None if weights is None else 1.0)
        extra = {"k": _K[name]} if name in _K else {}
        getattr(dt, name)(graph, epsilon=1.0, **extra)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked(RING, 12)
    return lambda: asked(data["edges"], int(data["n"]))


def error(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """The median of |error| of a mechanism, from the law of its noise."""
    graph, epsilon = _graph(data), options["epsilon"]
    statistic = dt.Triangles().resolve(graph.shape)
    rungs = statistic.ladder(graph)
    if options["mechanism"] == "ladder":
        return lambda: _ladder_median(rungs, epsilon)
    if options["mechanism"] == "oracle":
        return lambda: math.log(2.0) * float(rungs[0]) / epsilon
    paper = options["mechanism"] == "paper"
    mechanism = dt.Smooth(constants="paper") if paper else dt.Smooth()
    loss = Loss(epsilon, options["delta"]) if paper else Loss(epsilon)
    prepared: Any = mechanism.prepare(MechanismSpec(statistic, loss, Laplace() if paper else None))
    point = prepared.point
    if options["mechanism"] == "polyplace":
        gamma = float(point.beta)
        return lambda: PolyPlace.for_bound(float(rungs.smooth(point.beta)), gamma=gamma, epsilon=epsilon).quantile(0.5)
    return lambda: float(rungs.smooth(point.beta) / point.alpha) * float(point.law.quantile(0.5))


class TriangleIntervalOptions(TypedDict):
    """Of a count of triangles with an interval; "oracle" is Laplace noise of the local sensitivity."""

    mechanism: MechanismName | Literal["oracle"]
    epsilon: float


def triangle_half_width(options: TriangleIntervalOptions, data: StoredGraph) -> Callable[[], float]:
    """Half of the width of the 95% interval that a count of triangles comes with."""
    graph = dt.Graph(data["edges"], n=int(data["n"]), strict=True)
    mechanism, epsilon = options["mechanism"], options["epsilon"]
    if mechanism == "oracle":
        rungs = dt.Triangles().resolve(graph.shape).ladder(graph)
        return lambda: math.log(20.0) * float(rungs[0]) / epsilon

    def width() -> float:
        low, high = dt.triangles(graph, epsilon=epsilon, mechanism=mechanism, confidence=0.95).interval or (0.0, 0.0)
        return float(high - low) / 2.0

    return width


class TriangleOptions(TypedDict):
    """Of a count of triangles; ``figure``: the mean of the error, or what it stays within 95% of the time."""

    mechanism: str
    noise: str
    epsilon: float
    figure: str


def triangle_error(options: TriangleOptions, data: StoredGraph) -> Callable[[], float]:
    """A figure of |error|, from the mechanism's own law."""
    graph = dt.Graph(data["edges"], n=int(data["n"]), strict=True)
    statistic = dt.Triangles().resolve(graph.shape)
    _, prepared = prepare(statistic, epsilon=options["epsilon"], mechanism=options["mechanism"], noise=options["noise"])
    return lambda: _figure(prepared.error_laws(graph)[0], options["figure"])


def _figure(law: ErrorLaw, figure: str) -> float:
    return law.mean if figure == "mean" else Mixture([law]).quantile(0.05)


class StoredGraph(TypedDict):
    """A graph as it is stored."""

    edges: NDArray[np.int32]
    n: NDArray[np.int64]


class SubgraphOptions(TypedDict):
    """Of a count of 2-triangles or 4-cliques; ``divisor``: epsilon over beta, 0 for the default."""

    query: str
    epsilon: float
    divisor: int


def subgraph_error(options: SubgraphOptions, data: StoredGraph) -> Callable[[], float]:
    """The mean of |error| of smooth noise, from its law."""
    graph = dt.Graph(data["edges"], n=int(data["n"]), strict=True)
    statistic = (dt.KTriangles(2) if options["query"] == "2-triangles" else dt.KCliques(4)).resolve(graph.shape)
    beta = Fraction(options["epsilon"]) / options["divisor"] if options["divisor"] else None
    prepared = dt.Smooth(beta=beta).prepare(MechanismSpec(statistic, Loss(options["epsilon"])))
    return lambda: prepared.error_laws(graph)[0].mean


def _ladder_median(rungs: Ladder, epsilon: float) -> float:
    """From the weights of the rungs of the ladder mechanism (Zhang et al. 2015)."""
    rate = epsilon / 2
    count = min(rungs.top or 0, math.ceil(90 / rate))
    widths = rungs.sensitivity_at_distance(0, count).astype(float)
    weights = np.exp(-rate * np.arange(1, count + 1))
    cumulated = 1.0 + np.cumsum(2 * widths * weights)
    half = (
        cumulated[-1] + 2 * float(rungs.global_sensitivity) * math.exp(-rate * (count + 1)) / -math.expm1(-rate)
    ) / 2
    at = int(np.searchsorted(cumulated, half))
    before = cumulated[at - 1] if at else 1.0
    return float(widths[:at].sum() + max(half - before, 0.0) / (2 * weights[at]))


def people(options: Mapping[str, str], data: Mapping[str, np.ndarray]) -> Callable[[], float]:
    """The edges of a graph whose vertices are people; "printed": the race with its paper's limits 2, 4, 8, ..."""
    graph = dt.Graph(data["edges"], n=int(data["n"]), strict=True, neighbours="node")
    epsilon, printed = Fraction(options["epsilon"]), options["mechanism"] == "printed"
    spec = MechanismSpec(dt.Edges().resolve(graph.shape), Loss(float(epsilon)))
    prepared = MECHANISMS["race" if printed else options["mechanism"]]().prepare(spec)
    if printed and isinstance(prepared, Raced):
        limits = tuple(2**j for j in range(1, (graph.vertices - 2).bit_length() + 1))
        prepared = replace(prepared, limits=limits, scales=tuple(len(limits) * limit / epsilon for limit in limits))
    prepared.run(dt.Graph(RING, n=graph.vertices))
    return lambda: float(prepared.run(graph).number)


class _Remembered(HasLimitedShares[dt.Graph]):
    """Values under limits, computed once: twenty answers about a graph differ in their noise alone."""

    def __init__(self, values: Mapping[int, int]) -> None:
        self.known = values

    def limited_values(self, data: dt.Graph, limits: Sequence[int]) -> list[int]:  # noqa: ARG002
        return [self.known[limit] for limit in limits]


def people_triangles(options: Mapping[str, str], data: Mapping[str, np.ndarray]) -> Callable[[], float]:
    """The error of the triangles of a graph of people, over the largest share or (unit "count") over their number.

    "printed": the race with limits 2, 4, 8, ...; its linear program under a limit is at most our value under 8/7 of it.
    """
    graph = dt.Graph(data["edges"], n=int(data["n"]), strict=True, neighbours="node")
    statistic = dt.Triangles().resolve(graph.shape)
    epsilon, ranked = Fraction(options["epsilon"]), graph.ranked
    printed = options["mechanism"] == "printed"
    spec = MechanismSpec(statistic, Loss(float(epsilon)))
    prepared = MECHANISMS["race" if printed else options["mechanism"]]().prepare(spec)
    largest = int(triangle_shares(ranked.starts, ranked.ends, ranked.split).max())
    if isinstance(prepared, Raced):
        limits, cut = prepared.limits, prepared.limits
        if printed:
            limits = tuple(2**j for j in range(1, (statistic.global_sensitivity - 1).bit_length() + 1))
            cut = tuple(-(-8 * limit // 7) for limit in limits)
            prepared = replace(prepared, limits=limits, scales=tuple(len(limits) * limit / epsilon for limit in limits))
        prepared = replace(prepared, shares=_Remembered(_known(graph, limits, cut)))
    elif isinstance(prepared, DrawnLimitNoise):
        prepared = replace(prepared, shares=_Remembered(_known(graph, prepared.limits, prepared.limits)))
    count = statistic.value(graph)
    unit = count if options.get("unit") == "count" else largest
    return lambda: abs(float(prepared.run(graph).number) - count) / unit


_KNOWN: dict[tuple[bytes, tuple[int, ...]], list[int]] = {}
"""Of one graph, which several datasets are: errors of them have intervals."""


def _known(graph: dt.Graph, limits: Sequence[int], cut: Sequence[int]) -> dict[int, int]:
    """The triangles under limits; ``cut``: what is computed for them."""
    key = hashlib.sha256(graph.edges.tobytes()).digest(), tuple(cut)
    if key not in _KNOWN:
        _KNOWN.clear()
        _KNOWN[key] = limited_triangles(graph.ranked, cut)
    return dict(zip(limits, _KNOWN[key], strict=True))


def _weighted(data: Mapping[str, np.ndarray]) -> dt.Graph:
    return dt.Graph(data["edges"], n=int(data["n"]), weights=data["weights"], cap=float(data["cap"]))


def _tree(graph: dt.Graph) -> float:
    query = MSTCost()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shape = query.shape(graph)
    return float(query.resolve(shape).ladder(graph).smooth(Fraction(1, 10)))


def tree(options: Mapping[str, str], data: Mapping[str, np.ndarray]) -> Callable[[], float]:
    """The ladder of the spanning tree's cost to the last rung that matters at beta = 1/10, minimum cut included."""
    _tree(dt.Graph(RING, n=12, weights=np.arange(len(RING)) / len(RING), cap=1.0))
    graph = _weighted(data)
    return lambda: _tree(graph)


def cut(options: Mapping[str, str], data: Mapping[str, np.ndarray]) -> Callable[[], float]:
    """The least number of edges whose removal disconnects the graph."""
    first, second = (np.ascontiguousarray(ends, dtype=np.int64) for ends in data["edges"].T)
    return lambda: float(edge_connectivity(int(data["n"]), first, second))
