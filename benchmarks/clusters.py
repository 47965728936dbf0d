"""k-means and mixtures on three blobs: ours, NRS11's own aggregator, and a peer, against the number of points.

    python benchmarks/clusters.py --quick
    python benchmarks/clusters.py --most 6 --json > clusters.json

Centres (-5, -5), (0, 5) and (5, -2), standard deviation 0.7, cut to ±10; the first dataset has seed 5.  The score is
the mean distance of matched centres.  Guarantee: (epsilon, delta) for changing one point; the peer does not state its
neighbours.  "NRS11" is sample and aggregate with the centre of attention and the matching distance; "certified average
alone" has the same blocks and our average, without passes over the points.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from peers import PEERS, WorkerFailed, ensure_all, machine, run_worker
from rich.console import Console
from rich.table import Table

import dither
from dither.kernels.clusters import kmeans, mixture
from dither.noise.gaussian import Gaussian
from dither.procedures.centre import Centre
from dither.procedures.metrics import Matching

TRUTH = np.array([(-5.0, -5.0), (0.0, 5.0), (5.0, -2.0)])
BOUNDS = (-10, 10)
DELTA = 1e-6


def blobs(n: int, seed: int) -> np.ndarray:
    """One dataset of the comparison."""
    rng = np.random.default_rng(seed)
    return np.clip(TRUTH[rng.integers(0, 3, n)] + rng.normal(0, 0.7, (n, 2)), -10, 10)


def score(value: Any) -> float:
    """The mean distance of matched centres."""
    found = np.array(value, dtype=float).reshape(3, -1)[:, :2]
    orders = itertools.permutations(range(3))
    return float(min(np.linalg.norm(found[list(order)] - TRUTH, axis=1).mean() for order in orders))


def clustered(block: np.ndarray) -> np.ndarray:
    """The program of a block."""
    return kmeans(np.ascontiguousarray(block), np.ones(len(block)), 3).ravel()


def fitted(block: np.ndarray) -> np.ndarray:
    """The same for a mixture: its centres."""
    return mixture(np.ascontiguousarray(block), 3, 0.005)[:, :2].ravel()


def aggregated(program: Callable[[Any], Any], aggregator: Any) -> Callable[[np.ndarray, float], Any]:
    """Sample and aggregate with the matching distance."""
    return lambda points, epsilon: dither.sample_and_aggregate(
        points, program, output=6, bounds=BOUNDS, metric=Matching(3), aggregator=aggregator, epsilon=epsilon,
        delta=DELTA, executor="trusted", confidence=None,
    )  # fmt: skip


def ask(name: str, **more: Any) -> Callable[[np.ndarray, float], Any]:
    """One of dither's functions."""
    function = getattr(dither, name)
    return lambda points, epsilon: function(points, k=3, bounds=BOUNDS, epsilon=epsilon, delta=DELTA, **more)


WAYS: dict[str, Callable[[np.ndarray, float], Any]] = {
    "dither.kmeans": ask("kmeans"),
    "dither.kmeans, blocks=0": ask("kmeans", blocks=0),
    "dither.gaussian_mixture": ask("gaussian_mixture"),
    "certified average alone": aggregated(clustered, "average"),
    "NRS11, k-means": aggregated(clustered, Centre(noise=Gaussian())),
    "NRS11, mixture": aggregated(fitted, Centre(noise=Gaussian())),
}


def measured(name: str, data: list[np.ndarray], epsilon: float) -> dict[str, Any]:
    """Scores of one way on all datasets."""
    errors, refused, began = [], 0, time.perf_counter()
    try:
        for points in data:
            release = WAYS[name](points, epsilon)
            if release.refused:
                refused += 1
            else:
                errors.append(score(release.value))
    except dither.InvalidArgument as error:
        return row(name, data, [], reason=str(error))
    return row(name, data, errors, refused=refused, seconds=(time.perf_counter() - began) / len(data))


def row(name: str, data: list[np.ndarray], errors: list[float], **more: Any) -> dict[str, Any]:
    """One row of the table."""
    told = {"median": None, "mean": None, "worst": None, "above_1": None}
    if errors:
        told = {
            "median": float(np.median(errors)),
            "mean": float(np.mean(errors)),
            "worst": max(errors),
            "above_1": sum(one > 1.0 for one in errors),
        }
    return {"who": name, "points": len(data[0]), "runs": len(data), **told, **more}


def peer(data: list[np.ndarray], epsilon: float) -> dict[str, Any]:
    """The peer's row, or the reason why there is none."""
    standing = ensure_all()["diffprivlib"]
    if not standing.ready:
        return row("diffprivlib", data, [], reason=standing.reason)
    arrays = {f"points{index}": points for index, points in enumerate(data)}
    job = {"datasets": len(data), "epsilon": epsilon, "k": 3}
    try:
        found = run_worker(PEERS["diffprivlib"].python, "clusters_diffprivlib.py", job, arrays)
    except WorkerFailed as failure:
        return row("diffprivlib", data, [], reason=str(failure))
    return row("diffprivlib", data, [score(one) for one in found["centres"]])


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="k-means and mixtures on three blobs.")
    parser.add_argument("--quick", action="store_true", help="few datasets, up to 100,000 points")
    parser.add_argument("--most", type=int, default=6, help="largest number of points, as a power of ten")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for power in range(3, (min(options.most, 5) if options.quick else options.most) + 1):
        n = 10**power
        runs = 5 if options.quick else {3: 20, 4: 20, 5: 10}.get(power, 3)
        data = [blobs(n, 5 + seed) for seed in range(runs)]
        rows += [measured(name, data, options.epsilon) for name in WAYS]
        exact = [score(clustered(points[:100_000])) for points in data]
        rows.append(row("Lloyd, not private", data, exact))
        if not options.no_peers and power <= 5:
            rows.append(peer(data, options.epsilon))
    result = {"machine": machine(), "epsilon": options.epsilon, "delta": DELTA, "rows": rows}
    if options.json:
        print(json.dumps(result, indent=2))
        return 0
    table = Table("points", "who", "median", "worst", "above 1.0", "refused", "seconds", title="Distance of centres")
    for one in rows:
        told = [f"{one['median']:.4f}", f"{one['worst']:.4f}"] if one["median"] is not None else [one.get("reason"), ""]
        above = "" if one["above_1"] is None else f"{one['above_1']} of {one['runs']}"
        seconds = f"{one['seconds']:.2f}" if "seconds" in one else ""
        table.add_row(f"{one['points']:,}", one["who"], *told, above, str(one.get("refused", "")), seconds)
    Console(width=130).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
