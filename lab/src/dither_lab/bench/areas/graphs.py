"""Graphs: noise of triangle counts at the same guarantee, and the time of exact ladders beside plain counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither_lab.bench.anchors.polyplace import NO_POLYPLACE, POLYPLACE
from dither_lab.bench.design import (
    CHANGE_EDGE,
    ORACLE,
    OURS,
    Area,
    Asked,
    Comparison,
    Data,
    Dataset,
    MeasuringEffort,
    Way,
)
from dither_lab.bench.sources import real_file, stand_in

DELTA = 1e-6
SIZES = {
    "ca-GrQc": (5_242, 14_484),
    "ca-HepTh": (9_877, 25_973),
    "ca-CondMat": (23_133, 93_439),
    "email-Enron": (36_692, 183_831),
    "loc-Gowalla": (196_591, 950_327),
    "USA-road-NY": (264_346, 365_050),
    "ego-Facebook": (4_039, 88_234),
}
"""Vertices and edges of the real graphs."""
COMPARED = tuple(SIZES)[:4]
CHANGE_VERTEX = "change all edges of one vertex"
OTHERS = {
    "ladder mechanism (Zhang et al. 2015)": "ladder",
    "NRS11 Laplace, paper's constants": "paper",
    POLYPLACE: "polyplace",
    ORACLE: "oracle",
}
"""PolyPlace has the same smooth bound as our blunt power law."""
LADDER = "exact triangle ladder at beta 1/20 of"


def generated(model: str, vertices: int, edges: int) -> np.ndarray:
    """A simple graph with at most so many edges: ends drawn evenly, or with a heavy tail (degree exponent 3)."""
    if model == "preferential attachment":
        try:
            import igraph  # noqa: PLC0415  (an optional part)
        except ImportError:
            raise InvalidArgument(
                "model", model, "igraph draws such graphs: install dither with its extra, pip install 'dither[bench]'"
            ) from None

        attached: np.ndarray = np.array(igraph.Graph.Barabasi(vertices, edges // vertices).get_edgelist(), np.int32)
        return attached
    rng = np.random.default_rng(7)
    power = 1 if model == "even" else 2
    ends = np.minimum((vertices * rng.random((edges, 2)) ** power).astype(np.int64), vertices - 1)
    ends.sort(axis=1)
    codes = np.unique(ends[:, 0] * vertices + ends[:, 1])
    first, second = np.divmod(codes, vertices)
    simple: np.ndarray = np.stack([first, second], axis=1)[first != second].astype(np.int32)
    return simple


def _stored(name: str, index: int, folder: Path) -> Dataset:
    path = real_file("graphs", f"{name}.npz")
    if path is None:
        n, m = SIZES[name]
        return {"edges": generated("heavy tail", n, m), "n": np.array(n)}
    with np.load(path) as stored:
        return {"edges": stored["edges"], "n": np.array(int(stored["n"]))}


def _real(name: str) -> Data:
    there = real_file("graphs", f"{name}.npz") is not None
    return Data(name, partial(_stored, name), source=f"real: {name}" if there else stand_in(name))


def _generated(model: str, edges: int, index: int, folder: Path) -> Dataset:
    return {"edges": generated(model, edges // 10, edges), "n": np.array(edges // 10)}


def _errors(quick: bool) -> list[Comparison]:
    def way(label: str, prepared: str, epsilon: float) -> Way:
        note = {"paper": "delta 1e-6 on top", "polyplace": NO_POLYPLACE}.get(prepared, "")
        return Way(OURS, "error", label, {"mechanism": prepared, "epsilon": epsilon, "delta": DELTA}, note=note)

    return [
        Comparison(
            name=f"triangles/{name}/epsilon={epsilon:g}",
            what=f"median error of the triangles of {name}, from the laws of the noise",
            data=_real(name),
            ours=way("smooth, blunt power law", "smooth", epsilon),
            others=tuple(way(label, prepared, epsilon) for label, prepared in OTHERS.items()),
            measures=("error",),
            guarantee=f"epsilon {epsilon:g}",
            neighbours=CHANGE_EDGE,
            score=lambda answer, data: float(answer),
            unit="triangles",
            effort=MeasuringEffort(1),
            asked=(Asked("error", 0.6, peers=tuple(OTHERS)[:2]),),
        )
        for name in (COMPARED[:2] if quick else COMPARED)
        for epsilon in ((1.0,) if quick else (0.1, 0.5, 1.0))
    ]


def _half_widths(quick: bool) -> list[Comparison]:
    """The intervals that a count of triangles comes with."""

    def way(label: str, mechanism: str, epsilon: float) -> Way:
        return Way(OURS, "triangle_half_width", label, {"mechanism": mechanism, "epsilon": epsilon})

    return [
        Comparison(
            name=f"triangle interval/{name}/epsilon={epsilon:g}",
            what=f"triangles of {name} with an interval",
            data=replace(_real(name), count=10),
            ours=way("smooth, blunt power law", "smooth", epsilon),
            others=(way("smoothed ladder (ours)", "smoothed_ladder", epsilon), way(ORACLE, "oracle", epsilon)),
            measures=("error",),
            guarantee=f"epsilon {epsilon:g}",
            neighbours=CHANGE_EDGE,
            score=lambda answer, data: float(answer),
            quantity="half-width of the 95% interval",
            unit="triangles",
            centre="median",
            effort=MeasuringEffort(10, 1, 0.0),
        )
        for name in (COMPARED[:2] if quick else COMPARED)
        for epsilon in ((1.0,) if quick else (0.1, 1.0))
    ]


def _smoothed(quick: bool) -> list[Comparison]:
    """Triangles by the smoothed ladder, beside smooth noise of the power law: mean and 95% quantile of the error."""
    title = "smooth, power law"

    def way(label: str, mechanism: str, epsilon: float, figure: str, noise: str = "auto") -> Way:
        options = {"mechanism": mechanism, "epsilon": epsilon, "figure": figure, "noise": noise}
        return Way(OURS, "triangle_error", label, options)

    return [
        Comparison(
            name=f"smoothed ladder/{name}/epsilon={epsilon:g}/{figure}",
            what=f"{figure} of the error of the triangles of {name}, from the laws of the noise",
            data=_real(name),
            ours=way("smoothed ladder", "smoothed_ladder", epsilon, figure),
            others=(
                way(title, "smooth", epsilon, figure, "power_law"),
                way("smooth, blunt power law", "smooth", epsilon, figure),
            ),
            measures=("error",),
            guarantee=f"epsilon {epsilon:g}",
            neighbours=CHANGE_EDGE,
            score=lambda answer, data: float(answer),
            unit="triangles",
            effort=MeasuringEffort(1),
            asked=(Asked("error", 1.0, peers=(title,)),),
        )
        for name in (COMPARED[:2] if quick else COMPARED)
        for epsilon in (0.5, 1.0)
        for figure in ("mean", "95% quantile")
    ]


def _subgraphs(quick: bool) -> list[Comparison]:
    """The public rule for beta of counts that grow fast, beside a fourteenth of epsilon."""

    def way(label: str, query: str, divisor: int) -> Way:
        return Way(OURS, "subgraph_error", label, {"query": query, "epsilon": 0.1, "divisor": divisor})

    return [
        Comparison(
            name=f"{query}/{name}/epsilon=0.1",
            what=f"mean error of the {query} of {name}, from the law of the noise",
            data=_real(name),
            ours=way("beta by the growth of the ladder", query, 0),
            others=(way("beta = eps/14", query, 14),),
            measures=("error",),
            guarantee="epsilon 0.1",
            neighbours=CHANGE_EDGE,
            score=lambda answer, data: float(answer),
            unit=query,
            effort=MeasuringEffort(1),
        )
        for name in (COMPARED[:2] if quick else COMPARED)
        for query in ("2-triangles", "4-cliques")
    ]


def _shares(answer: float, data: Mapping[str, np.ndarray]) -> float:
    """The error over the largest degree: half of that is the floor on neighbours (V17 Proposition 3.1)."""
    edges = data["edges"]
    return abs(float(answer) - len(edges)) / float(np.bincount(edges.ravel()).max())


def _people(quick: bool) -> list[Comparison]:
    """Edges where vertices are people, beside the race to the top as its paper prints it."""

    def way(label: str, mechanism: str) -> Way:
        return Way(OURS, "people", label, {"mechanism": mechanism, "epsilon": "0.8"})

    names = ("ego-Facebook", "email-Enron", "loc-Gowalla")
    graphs = [_real(name) for name in (names[:1] if quick else names)]
    graphs.append(Data("light tail 200000", partial(_generated, "even", 200_000)))
    # The same graph ten times, two answers each: errors have intervals.
    graphs = [replace(data, count=10) for data in graphs]
    return [
        Comparison(
            name=f"people/{data.name}",
            what=f"error of the edges of {data.name}, over the largest degree, vertices are people",
            data=data,
            ours=way("drawn limit", "drawn_limit"),
            others=(way("race, base 8", "race"), way("race to the top as printed, base 2", "printed")),
            measures=("error",),
            guarantee="epsilon 0.8",
            neighbours=CHANGE_VERTEX,
            score=_shares,
            unit="largest degrees",
            centre="median",
            effort=MeasuringEffort(10, 2, 60.0),
            asked=(Asked("error", 1.0, peers=("race to the top as printed, base 2",)),),
        )
        for data in graphs
    ] + [
        Comparison(
            name=f"people time/{name}",
            what=f"edges of {name}, vertices are people",
            data=_real(name),
            ours=way("drawn limit", "drawn_limit"),
            guarantee="epsilon 0.8",
            neighbours=CHANGE_VERTEX,
            effort=MeasuringEffort(5, 1, 0.0),
            asked=(Asked("time", 60.0, of="ours"),),
        )
        for name in names[-1:]
    ]


def _people_triangles(quick: bool) -> list[Comparison]:
    """Triangles where vertices are people, beside the race to the top as its paper prints it."""

    def way(label: str, mechanism: str) -> Way:
        return Way(OURS, "people_triangles", label, {"mechanism": mechanism, "epsilon": "0.8"})

    names = ("ego-Facebook", "email-Enron", "loc-Gowalla")
    graphs = [Data("light tail, ring of 20000", _ring)] + [_real(name) for name in (names[:1] if quick else names)]
    # The same graph ten times, two answers each: errors have intervals.
    graphs = [replace(data, count=10) for data in graphs]
    return [
        Comparison(
            name=f"people triangles/{data.name}",
            what=f"error of the triangles of {data.name}, over the largest share of a vertex, vertices are people",
            data=data,
            ours=way("drawn limit", "drawn_limit"),
            others=(way("race, base 8", "race"), way("race to the top as printed, base 2", "printed")),
            measures=("error",),
            guarantee="epsilon 0.8",
            neighbours=CHANGE_VERTEX,
            score=lambda answer, data: float(answer),
            unit="largest shares",
            centre="median",
            effort=MeasuringEffort(10, 2, 60.0),
            asked=(Asked("error", 1.0, peers=("race to the top as printed, base 2",)),),
        )
        for data in graphs
    ]


def _ring(index: int, folder: Path) -> dict[str, NDArray[np.integer]]:
    """Vertices on a ring, each joined to the ten before and after it: everybody has the same share."""
    n = 20_000
    around = np.arange(n)
    edges = np.concatenate([np.stack([around, (around + step) % n], axis=1) for step in range(1, 11)])
    return {"edges": np.sort(edges, axis=1).astype(np.int32), "n": np.array(n)}


def _ladder(
    name: str,
    what: str,
    data: Data,
    effort: MeasuringEffort,
    limit: float | None,
    series: str | None = None,
    size: int = 0,
) -> Comparison:
    plain = "not private"
    return Comparison(
        name=name,
        what=what,
        data=data,
        ours=Way(OURS, "ladder", "exact ladder"),
        others=(
            Way("igraph", "triangles", "igraph, plain count", note=plain),
            Way("networkit", "triangles", "networkit, plain count", note=plain),
        ),
        measures=("time", "memory") if series is None else ("time",),
        guarantee="any (the peers have none)",
        neighbours=CHANGE_EDGE,
        effort=effort,
        asked=() if limit is None else (Asked("time", limit, peers=("igraph, plain count",)),),
        series=series,
        size=size or None,
    )


def _times(quick: bool) -> list[Comparison]:
    effort = MeasuringEffort(5 if quick else 11, 3, 0.0)
    results = [_ladder("ladder/loc-Gowalla", f"{LADDER} loc-Gowalla", _real("loc-Gowalla"), effort, 0.5)]
    sizes = (10_000, 100_000, 1_000_000) if quick else (100_000, 1_000_000, 10_000_000)
    models = [(model, size) for model in ("heavy tail", "even") for size in sizes]
    models += [] if quick else [("preferential attachment", sizes[-1])]
    return results + [
        _ladder(
            f"ladder/{model}/{size}",
            f"{LADDER} {size:,} generated edges, {model}",
            Data(f"{model} {size}", partial(_generated, model, size)),
            MeasuringEffort(3 if size >= 10_000_000 else 5, 1, 0.0),
            1.0 if size == 10_000_000 else None,
            f"ladder of generated graphs, {model}",
            size,
        )
        for model, size in models
    ]


def _weights(edges: np.ndarray, n: int) -> Dataset:
    weights = np.random.default_rng(20).random(len(edges))
    return {"edges": edges, "n": np.array(n), "weights": weights, "cap": np.array(1.0)}


def _random_tree(n: int, m: int, index: int, folder: Path) -> Dataset:
    chosen = np.sort(np.random.default_rng(20).choice(n * (n - 1) // 2, m, replace=False))
    first, second = np.triu_indices(n, 1)
    return _weights(np.stack([first[chosen], second[chosen]], axis=1), n)


def _torus(side: int, reach: int, index: int, folder: Path) -> Dataset:
    """A grid that closes on itself; every vertex is joined to all within ``reach`` in both coordinates."""
    x, y = np.divmod(np.arange(side * side), side)
    moves = [(dx, dy) for dx in range(reach + 1) for dy in range(-reach, reach + 1) if dx > 0 or dy > 0]
    rows = [np.stack([x * side + y, (x + dx) % side * side + (y + dy) % side], axis=1) for dx, dy in moves]
    return _weights(np.concatenate(rows), side * side)


def _roads(index: int, folder: Path) -> Dataset:
    path = real_file("graphs", "USA-road-NY.npz")
    if path is None:
        return _torus(200, 1, index, folder)
    with np.load(path) as stored:
        weights = {"weights": stored["weight_dist"], "cap": np.array(100_000.0)}
        return {"edges": stored["edges"], "n": np.array(int(stored["n"])), **weights}


def _trees(quick: bool) -> list[Comparison]:
    """Spanning trees: no peer has their ladder; a plain minimum cut is the least that one needs."""
    there = real_file("graphs", "USA-road-NY.npz") is not None
    source = "real: USA-road-NY" if there else stand_in("USA-road-NY")
    small = Data("random 500", partial(_random_tree, 500, 20_000))
    cases: list[tuple[str, Data, float | None]] = [("random, 500 vertices, 20,000 edges", small, 60.0)]
    if quick:
        cases.append(("torus 20 x 20, reach 2", Data("torus 20", partial(_torus, 20, 2)), None))
    else:
        cases += [
            ("random, 2,000 vertices, 200,000 edges", Data("random 2000", partial(_random_tree, 2_000, 200_000)), None),
            ("random, 5,000 vertices, 1,000,000 edges", Data("random 5000", partial(_random_tree, 5_000, 10**6)), None),
            ("torus 200 x 200, reach 1", Data("torus 200", partial(_torus, 200, 1)), None),
            ("torus 70 x 70, reach 2", Data("torus 70", partial(_torus, 70, 2)), None),
            ("roads of New York", Data("roads", _roads, source=source), 120.0),
        ]
    results = [
        Comparison(
            name=f"tree/{title}",
            what=f"exact ladder of the spanning tree's cost, beta 1/10: {title}",
            data=data,
            ours=Way(OURS, "tree", "exact ladder"),
            guarantee="any",
            neighbours="change one weight",
            effort=MeasuringEffort(3, 1, 0.0),
            asked=() if limit is None else (Asked("time", limit, of="ours"),),
        )
        for title, data, limit in cases
    ]
    results.append(
        Comparison(
            name="cut/random, 500 vertices",
            what="minimum cut of a random graph, 500 vertices, 20,000 edges",
            data=small,
            ours=Way(OURS, "cut", "minimum cut"),
            others=(Way("igraph", "cut", note="not private"),),
            effort=MeasuringEffort(3 if quick else 7, 1, 0.0),
        )
    )
    return results


ANSWERS = ("edges", "triangles", "kstars", "ktriangles", "kcliques", "min_cut", "mst_cost")
"""Whole answers about one large graph."""
LARGE = {False: 10_000_000, True: 300_000}
MINUTES = 600.0


def _answers(quick: bool) -> list[Comparison]:
    """Time and memory of every statistic of an even random graph, from its pairs to the release."""
    size = LARGE[quick]
    return [
        Comparison(
            name=f"answer/{name}/{size}",
            what=f"{name} of {size:,} generated edges, even, from the list of pairs to the release",
            data=Data(f"even {size}", partial(_generated, "even", size)),
            ours=Way(OURS, "answered", "private, with an interval", {"query": name}),
            measures=("time", "memory"),
            guarantee="epsilon 1",
            neighbours="change one weight" if name == "mst_cost" else CHANGE_EDGE,
            effort=MeasuringEffort(1 if size >= 10_000_000 else 3, 1, 0.0),
            asked=() if quick else (Asked("time", MINUTES, of="ours"),),
        )
        for name in ANSWERS
    ]


def comparisons(quick: bool) -> list[Comparison]:
    """Noise, node privacy, times of triangle ladders, spanning trees, whole answers about a large graph."""
    return [
        *_errors(quick),
        *_half_widths(quick),
        *_smoothed(quick),
        *_subgraphs(quick),
        *_people(quick),
        *_people_triangles(quick),
        *_times(quick),
        *_trees(quick),
        *_answers(quick),
    ]


AREA = Area("graphs", "Graphs", comparisons)
