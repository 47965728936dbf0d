"""Data of the papers, from the folder DITHER_DATA, or generated stand-ins of the same kind."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dither.sources.graph import Graph

FOLDER = "DITHER_DATA"
LEVELS = {100: 19, 500: 155, 1000: 222}
"""COQ17 Figures 6 to 8: vertices of a subgraph, and its level, the largest number of common neighbours."""


@dataclass(frozen=True)
class PaperData:
    """Where data come from, in the words of the report."""

    real: bool
    words: str


def _file(folder_name: str, name: str) -> Path | None:
    folder = os.environ.get(FOLDER)
    path = Path(folder) / folder_name / name if folder else None
    return path if path is not None and path.exists() else None


@functools.cache
def salaries() -> tuple[np.ndarray, PaperData]:
    """COQ17's Salaries: the total pay of 148,654 employees of San Francisco, sorted; or as many lognormal ones."""
    path = _file("tables", "sf_salaries.parquet")
    if path is not None:
        import duckdb  # noqa: PLC0415  (slow to load)

        result = duckdb.from_parquet(str(path)).project("TotalPay").fetchnumpy()["TotalPay"]
        return np.sort(result.astype(np.float64)), PaperData(True, "sf_salaries (148,654 salaries, TotalPay)")
    drawn = np.sort(np.round(np.minimum(np.random.default_rng(3).lognormal(11.1, 0.7, 148_654), 567_595.43), 2))
    return drawn, PaperData(False, "generated stand-in for sf_salaries: 148,654 lognormal salaries")


@functools.cache
def friendships() -> tuple[Graph, PaperData]:
    """COQ17's Gowalla: the friendships of 196,591 users; or a generated graph with hubs."""
    from dither.sources.graph import Graph  # noqa: PLC0415

    path = _file("graphs", "loc-Gowalla.npz")
    if path is not None:
        with np.load(path) as data:
            return Graph(data["edges"], n=int(data["n"])), PaperData(True, "loc-Gowalla (196,591 users)")
    n, m = 20_000, 400_000
    # Ends drawn with probabilities that fall like the square root of the rank: two hubs share hundreds of neighbours.
    ends = np.minimum((n * np.random.default_rng(7).random((m, 2)) ** 2).astype(np.int32), n - 1)
    return Graph(ends, n=n), PaperData(False, "generated stand-in for loc-Gowalla: 20,000 users with hubs")


SOURCES = {"salaries": salaries, "friendships": friendships}


@dataclass(frozen=True)
class Subgraph:
    """An induced, connected subgraph with a given largest number of common neighbours."""

    graph: Graph
    vertices: np.ndarray
    """In the whole graph."""
    level: int
    seed: int


@functools.cache
def connected_subgraph(size: int, level: int) -> Subgraph:
    """The subgraph of the first seed 0, 1, 2, ... for which this procedure ends.

    Two vertices with at least ``level`` common neighbours are drawn, and ``level`` of these; then neighbours of what is
    there join, drawn at random, unless some pair would share more than ``level``.  So the largest common neighbourhood
    is exactly ``level``.
    """
    whole, _ = friendships()
    for seed in range(1000):
        chosen = _grown(whole, size, level, np.random.default_rng([seed, size, level]))
        if chosen is not None:
            return Subgraph(_induced(whole, chosen), chosen, level, seed)
    raise ArithmeticError(f"no subgraph of {size} vertices at level {level}")


def _near(graph: Graph, vertex: int) -> np.ndarray:
    return np.asarray(graph.ends[graph.starts[vertex] : graph.starts[vertex + 1]])


def _grown(whole: Graph, size: int, level: int, rng: np.random.Generator) -> np.ndarray | None:
    degrees = np.diff(whole.starts)
    item = int(rng.choice(np.flatnonzero(degrees > level)))
    counts = np.zeros(whole.vertices, dtype=np.int32)
    for near in _near(whole, item):
        counts[_near(whole, near)] += 1
    counts[item] = 0
    partners = np.flatnonzero(counts >= level)
    if not len(partners):
        return None
    other = int(rng.choice(partners))
    common = np.intersect1d(_near(whole, item), _near(whole, other))
    chosen = [item, other, *rng.choice(common, level, replace=False).tolist()]
    place = {vertex: index for index, vertex in enumerate(chosen)}
    joined = np.zeros((size, size), dtype=np.int32)
    for vertex in chosen:
        for near in _near(whole, vertex).tolist():
            if near in place:
                joined[place[vertex], place[near]] = 1
    shared = joined @ joined
    np.fill_diagonal(shared, 0)
    if shared.max() > level:
        return None
    for _ in range(60 * size):
        if len(chosen) == size:
            return np.array(chosen)
        around = _near(whole, int(rng.choice(chosen)))
        new = int(rng.choice(around))
        if new in place:
            continue
        known = np.array([place[v] for v in _near(whole, new).tolist() if v in place])
        with_new = joined[:, known].sum(axis=1)
        pairs = np.ix_(known, known)
        apart = ~np.eye(len(known), dtype=bool)
        if with_new.max() > level or (shared[pairs][apart] >= level).any():
            continue
        shared[pairs] += apart
        at = len(chosen)
        shared[at], shared[:, at] = with_new, with_new
        joined[at, known] = joined[known, at] = 1
        place[new] = at
        chosen.append(new)
    return None


def _induced(whole: Graph, chosen: np.ndarray) -> Graph:
    from dither.sources.graph import Graph  # noqa: PLC0415

    place = np.full(whole.vertices, -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    ends = place[whole.edges]
    return Graph(ends[(ends >= 0).all(axis=1)].astype(np.int32), n=len(chosen), strict=True)
