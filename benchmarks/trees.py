"""Time of the exact ladder of the spanning tree's cost, to the last rung that matters, and of minimum cuts.

    python benchmarks/trees.py --quick
    python benchmarks/trees.py --json
    python benchmarks/trees.py --peers        (igraph's minimum cut of the smaller graphs)

Random graphs have uniform weights.  The last rung that matters is the least k with ``cap e^{-beta k}`` at or below the
smooth bound.  Kernels are compiled before the clock starts.  Regular graphs are the hard case: there searches contract
little.  ``DITHER_DATA`` names the folder with the road network.  Times are seconds of processor time, on all cores
together: an idle machine needs no longer by the clock.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from peers import machine
from rich.console import Console
from rich.table import Table

from dither.data.graph import Graph
from dither.queries.trees import BridgeWarning, MSTCost

BETA = 0.1
CAP = 1.0
MOST_WORK = 500_000
"""All rungs are computed only where the vertices times the connectivity are fewer."""


def random_edges(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """A uniform random simple graph."""
    chosen = np.sort(rng.choice(n * (n - 1) // 2, m, replace=False))
    first, second = np.triu_indices(n, 1)
    return np.stack([first[chosen], second[chosen]], axis=1)


def torus_edges(side: int, reach: int) -> np.ndarray:
    """A grid that closes on itself; every vertex is joined to all within ``reach`` in both coordinates."""
    x, y = np.divmod(np.arange(side * side), side)
    moves = [(dx, dy) for dx in range(reach + 1) for dy in range(-reach, reach + 1) if dx > 0 or dy > 0]
    rows = [np.stack([x * side + y, (x + dx) % side * side + (y + dy) % side], axis=1) for dx, dy in moves]
    return np.concatenate(rows)


def graphs(quick: bool) -> Iterator[tuple[str, Graph]]:
    """Names and graphs."""
    rng = np.random.default_rng(20)
    sizes = [(500, 20_000)] if quick else [(500, 20_000), (2_000, 200_000), (5_000, 1_000_000)]
    for n, m in sizes:
        yield f"random, {n:,} vertices", Graph(random_edges(n, m, rng), n=n, weights=rng.random(m), cap=CAP)
    for side, reach in [(20, 2)] if quick else [(70, 2), (200, 1)]:
        edges = torus_edges(side, reach)
        yield f"torus {side} x {side}", Graph(edges, n=side * side, weights=rng.random(len(edges)), cap=CAP)
    road = Path(os.environ.get("DITHER_DATA", "")) / "graphs" / "USA-road-NY.npz"
    if road.exists():
        with np.load(road) as data:
            edges, n, weights = data["edges"], int(data["n"]), data["weight_dist"]
        yield "roads of New York", Graph(edges, n=n, weights=weights, cap=100_000)


def measure(name: str, graph: Graph, peers: bool) -> dict[str, Any]:
    """One row."""
    query = MSTCost()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", BridgeWarning)
        began = time.process_time()
        shape = query.shape(graph)
        row: dict[str, Any] = {"graph": name, "edges": graph.size, "cut": shape.connectivity}
        row["cut_seconds"] = time.process_time() - began
    statistic = query.resolve(shape)
    began = time.process_time()
    ladder = statistic.ladder(graph)
    bound = ladder.smooth(Fraction(str(BETA)))
    row["smooth_seconds"] = time.process_time() - began
    row["share"] = float(bound) / statistic.cap
    row["needed"] = min(math.ceil(math.log(1 / row["share"]) / BETA), shape.connectivity)
    if graph.vertices * shape.connectivity < MOST_WORK:
        began = time.process_time()
        ladder.rungs(0, shape.connectivity)
        row["whole_seconds"] = row["smooth_seconds"] + time.process_time() - began
    row["warning"] = bool(caught)
    if peers:
        import igraph  # noqa: PLC0415

        plain = igraph.Graph(graph.vertices, graph.edges.tolist())
        began = time.process_time()
        assert plain.mincut().value == row["cut"]
        row["igraph_cut_seconds"] = time.process_time() - began
    return row


def main(arguments: list[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small graphs only")
    parser.add_argument("--peers", action="store_true", help="also igraph's minimum cut (up to 500 vertices)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    warm = Graph(torus_edges(5, 1), n=25, weights=np.arange(100) / 100, cap=CAP)
    measure("warm", warm, peers=False)
    rows = [
        measure(name, graph, options.peers and graph.vertices <= 500) for name, graph in graphs(quick=options.quick)
    ]
    if options.json:
        sys.stdout.write(json.dumps({"machine": machine(), "beta": BETA, "rows": rows}, indent=2) + "\n")
        return
    table = Table(title=f"Exact ladder of the spanning tree's cost, beta = {BETA}; processor time")
    for heading in ("graph", "edges", "minimum cut", "smooth / cap", "rungs that matter", "smooth bound", "all rungs"):
        table.add_column(heading, justify="left" if heading == "graph" else "right")
    for row in rows:
        cut = f"{row['cut']} in {row['cut_seconds']:.3f} s"
        cut += f" (igraph {row['igraph_cut_seconds']:.2f} s)" if "igraph_cut_seconds" in row else ""
        whole = f"{row['whole_seconds']:.3f} s" if "whole_seconds" in row else "not tried"
        table.add_row(
            row["graph"] + (" (warned)" if row["warning"] else ""), f"{row['edges']:,}", cut, f"{row['share']:.4f}",
            str(row["needed"]), f"{row['smooth_seconds']:.3f} s", whole,
        )  # fmt: skip
    Console().print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
