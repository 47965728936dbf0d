"""Triangles: time of the exact ladder beside a plain count, and noise of three mechanisms at equal guarantee.

    python benchmarks/graphs.py                   the table of noise, and times on Gowalla
    python benchmarks/graphs.py --generated       times on generated graphs of 10 million edges as well
    python benchmarks/graphs.py --draws 400       the medians also from so many releases each
    python benchmarks/graphs.py --json

Real graphs are read from the folder DITHER_DATA (graphs/NAME.npz).  Both libraries have their graph built and their
code compiled before the clock starts.  The ladder's time includes renaming the vertices by degree, which the count
of triangles shares.  The plain count is igraph's transitivity, which counts triangles and connected triples without
listing them.  Medians of |error| are computed from the laws of the noise, not sampled, unless --draws is given.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import igraph
import numpy as np
from peers import machine
from rich.console import Console
from rich.table import Table

import dither as dt
from dither.calibration.mechanism import Ask
from dither.calibration.smooth import Smooth
from dither.kernels.graph import Ranked, common_frontier, triangle_count
from dither.ladder import Ladder
from dither.noise.laplace import Laplace
from dither.privacy import Loss

COMPARED = ("ca-GrQc", "ca-HepTh", "ca-CondMat", "email-Enron")
EPSILONS = (0.1, 0.5, 1.0)
DELTA = 1e-6
BETA = Fraction(1, 20)


def stored(name: str) -> dt.Graph:
    """A real graph."""
    folder = os.environ.get("DITHER_DATA")
    if not folder:
        sys.exit("DITHER_DATA must name the folder of the real graphs")
    data = np.load(Path(folder) / "graphs" / f"{name}.npz")
    return dt.Graph(data["edges"], n=int(data["n"]), strict=True)


def generated(kind: str, edges: int) -> dt.Graph:
    """A graph with about so many edges and a tenth as many vertices."""
    rng, n = np.random.default_rng(7), edges // 10
    if kind == "preferential attachment":
        return dt.Graph(np.array(igraph.Graph.Barabasi(n, 10).get_edgelist(), dtype=np.int32), n=n)
    # Ends drawn evenly, or with probabilities that fall like the square root of the rank (degree exponent 3).
    power = 1 if kind == "even" else 2
    return dt.Graph(np.minimum((n * rng.random((edges, 2)) ** power).astype(np.int32), n - 1), n=n)


def timed(work: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """The least seconds of wall clock and of processor time (all cores together)."""
    walls, cores = [], []
    for _ in range(rounds):
        wall, core = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cores.append(time.process_time() - core)
    return min(walls), min(cores)


def ladder_of(graph: dt.Graph) -> Fraction:
    """All the work of a ladder, from compressed rows to the smooth bound at beta = 0.05."""
    fresh = dt.Graph.__new__(dt.Graph)
    fresh.__dict__.update({name: value for name, value in graph.__dict__.items() if name.startswith("_")})
    return dt.Triangles().resolve(graph.shape).ladder(fresh).smooth(BETA)


def times(name: str, graph: dt.Graph, rounds: int) -> dict[str, Any]:
    """Ladder, our count and igraph's, one after the other, in several rounds."""
    other = igraph.Graph(n=graph.vertices, edges=graph.edges)
    ladder_of(graph)
    triangle_count(Ranked.of(graph.starts, graph.ends))
    tracemalloc.start()
    ladder_of(graph)
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    ladder = timed(lambda: ladder_of(graph), rounds)
    ranked = Ranked.of(graph.starts, graph.ends)
    search = timed(lambda: common_frontier(ranked), rounds)
    count = timed(lambda: triangle_count(Ranked.of(graph.starts, graph.ends)), rounds)
    plain = timed(other.transitivity_undirected, rounds)
    return {
        "graph": name,
        "edges": graph.size,
        "largest_common_neighbourhood": graph.frontier.most_common,
        "ladder_seconds": ladder[0],
        "search_seconds": search[0],
        "our_count_seconds": count[0],
        "igraph_count_seconds": plain[0],
        "ratio_wall": ladder[0] / plain[0],
        "ratio_processor": ladder[1] / plain[1],
        "memory_of_edge_list": memory / graph.edges.nbytes,
    }


def ladder_median(ladder: Ladder, epsilon: float) -> float:
    """The median of |error| of the ladder mechanism, from the weights of its rungs."""
    rate = epsilon / 2
    rungs = min(ladder.top or 0, math.ceil(90 / rate))
    widths = ladder.rungs(0, rungs).astype(float)
    weights = np.exp(-rate * np.arange(1, rungs + 1))
    cumulated = 1.0 + np.cumsum(2 * widths * weights)
    half = (cumulated[-1] + 2 * ladder.cap * math.exp(-rate * (rungs + 1)) / -math.expm1(-rate)) / 2
    at = int(np.searchsorted(cumulated, half))
    before = cumulated[at - 1] if at else 1.0
    return float(widths[:at].sum() + max(half - before, 0.0) / (2 * weights[at]))


def noise(name: str, epsilon: float, graph: dt.Graph, draws: int) -> dict[str, Any]:
    """Medians of |error| at the same price."""
    statistic = dt.Triangles().resolve(graph.shape)
    ladder, truth = statistic.ladder(graph), statistic.value(graph)

    def smooth(calibration: Smooth, loss: Loss, law: Any = None) -> float:
        point = calibration.prepare(Ask(statistic, loss, law)).point
        return float(ladder.smooth(point.beta) / point.alpha) * point.law.quantile(0.5)

    found = {
        "smooth": smooth(Smooth(), Loss(epsilon)),
        "ladder": ladder_median(ladder, epsilon),
        "nrs_laplace": smooth(Smooth(constants="paper"), Loss(epsilon, DELTA), Laplace()),
    }
    row: dict[str, Any] = {"graph": name, "epsilon": epsilon, **found}
    row["to_ladder"] = found["smooth"] / found["ladder"]
    row["to_nrs_laplace"] = found["smooth"] / found["nrs_laplace"]
    asked: dict[str, dict[str, Any]] = {
        "smooth": {"calibration": "smooth"},
        "ladder": {"calibration": "ladder"},
        "nrs_laplace": {"calibration": dt.Smooth(constants="paper"), "noise": "laplace", "delta": DELTA},
    }
    for which, options in asked.items() if draws else ():
        answers = [dt.triangles(graph, epsilon=epsilon, confidence=None, **options).value for _ in range(draws)]
        row[f"{which}_sampled"] = statistics.median(abs(answer - truth) for answer in answers)
    return row


def shown(title: str, rows: list[dict[str, Any]]) -> Table:
    """Rows as a table."""
    table = Table(title=title)
    for key in rows[0]:
        table.add_column(key.replace("_", " "), justify="left" if key == "graph" else "right")
    for row in rows:
        table.add_row(
            *(f"{v:,}" if isinstance(v, int) else f"{v:.3g}" if v != row["graph"] else v for v in row.values())
        )
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time and noise of triangle counts.")
    parser.add_argument("--generated", action="store_true", help="graphs of 10 million edges too")
    parser.add_argument("--edges", type=int, default=10_000_000, help="edges of the generated graphs")
    parser.add_argument("--draws", type=int, default=0, help="releases for sampled medians")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    errors = [noise(name, epsilon, stored(name), options.draws) for name in COMPARED for epsilon in EPSILONS]
    speeds = [times("loc-Gowalla", stored("loc-Gowalla"), options.rounds)]
    kinds = ("square-root weights", "preferential attachment", "even") if options.generated else ()
    speeds += [times(kind, generated(kind, options.edges), max(1, options.rounds // 3)) for kind in kinds]
    if options.json:
        print(json.dumps({"machine": machine(), "dither": dt.__version__, "noise": errors, "times": speeds}, indent=1))
        return
    console = Console(width=None if sys.stdout.isatty() else 180)
    console.print(shown("Median |error| of the number of triangles at equal epsilon (NRS11: delta = 1e-6)", errors))
    console.print(shown("Exact triangle ladder at beta = 0.05 beside a plain count", speeds))


if __name__ == "__main__":
    main()
