"""Regression beside the peers, and how the robust regression's test grows with the records.

    python benchmarks/regression.py --quick
    python benchmarks/regression.py --json > regression.json
    python benchmarks/regression.py --only speed

X uniform in [-1, 1]^p, y = 2 x1 (- x2) + 0.5 + N(0, 0.3), cut to -5..5; outliers: 5% of the records moved to the
corner (-1, ..., -1) with y = 5.  The error is the mean absolute error of the slopes.  Peers get the true bounds, dither
none.  Guarantee: epsilon (and delta for the tested methods) for changing one record; OpenDP by its own map at
distance 2, and at its own neighbours (one record more or less) in a row of its own.
"""

from __future__ import annotations

import argparse
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
from dither.kernels.arrangement import boundary_changes, cell_around, lines_of, minimiser_box

SLOPES = (2.0, -1.0)
DELTA = 1e-6
INPUTS = {
    "two features, clean": (2, 0.0),
    "two features, 5% outliers": (2, 0.05),
    "one feature, clean": (1, 0.0),
    "one feature, 5% outliers": (1, 0.05),
}
CANDIDATES = (100, 1001)
"""OpenDP's default, and a finer choice."""


def dataset(features: int, outliers: float, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """One dataset of the comparison."""
    rng = np.random.default_rng([seed, features, n])
    X = rng.uniform(-1, 1, (n, features))
    y = X @ np.array(SLOPES[:features]) + 0.5 + rng.normal(0, 0.3, n)
    moved = rng.choice(n, int(outliers * n), replace=False)
    X[moved], y[moved] = -1.0, 5.0
    return X, np.clip(y, -5, 5)


def errors(slopes: Any, features: int) -> list[float]:
    """The mean absolute error of the slopes of each answer."""
    return [float(np.mean(np.abs(np.array(one) - SLOPES[:features]))) for one in slopes]


def ours(
    method: str, data: list[tuple[np.ndarray, np.ndarray]], repetitions: int, epsilon: float
) -> tuple[list[list[float]], int, float]:
    """Slopes, refusals and seconds a call."""
    slopes, refused, began = [], 0, time.perf_counter()
    for X, y in data:
        for _ in range(repetitions):
            release = dither.regression(X, y, method=method, epsilon=epsilon, delta=DELTA, confidence=None)
            if release.refused:
                refused += 1
            else:
                slopes.append(list(release.value[1:]))
    return slopes, refused, (time.perf_counter() - began) / (len(data) * repetitions)


def row(name: str, input_name: str, found: list[float], **more: Any) -> dict[str, Any]:
    """One row of the table."""
    mean = float(np.mean(found)) if found else None
    deviation = float(np.std(found) / np.sqrt(len(found))) if found else None
    return {"who": name, "input": input_name, "error": mean, "standard_error": deviation, "answers": len(found), **more}


def accuracy(datasets: int, repetitions: int, epsilon: float, n: int) -> list[dict[str, Any]]:
    """All rows of the comparison."""
    standings, rows = ensure_all(), []
    for name, (features, outliers) in INPUTS.items():
        data = [dataset(features, outliers, n, seed) for seed in range(datasets)]
        arrays = {f"{part}{k}": pair[j] for k, pair in enumerate(data) for j, part in enumerate("Xy")}
        for method in ("auto", "shortcut", "robust"):
            if method == "robust" and features > 1:
                continue
            slopes, refused, seconds = ours(method, data, repetitions, epsilon)
            rows.append(row(f"dither {method}", name, errors(slopes, features), refused=refused, seconds=seconds))
        exact = [np.linalg.lstsq(np.column_stack([np.ones(n), X]), y)[0][1:] for X, y in data]
        rows.append(row("least squares, not private", name, errors(exact, features)))
        job = {"datasets": datasets, "repetitions": repetitions, "epsilon": epsilon}
        rows += measured("diffprivlib", standings, "regression_diffprivlib.py", name, features, job, arrays)
        for candidates in CANDIDATES if features == 1 else ():
            for distance, relation in ((2, ""), (1, ", add/remove")):
                more = {**job, "candidates": candidates, "distance": distance}
                label = f"OpenDP Theil-Sen, {candidates} candidates{relation}"
                rows += measured("opendp", standings, "regression_opendp.py", name, features, more, arrays, label)
    return rows


def measured(
    peer: str,
    standings: dict[str, Any],
    script: str,
    name: str,
    features: int,
    job: dict[str, Any],
    arrays: dict[str, np.ndarray],
    label: str | None = None,
) -> list[dict[str, Any]]:
    """A peer's row, or the reason why there is none."""
    label, standing = label or peer, standings[peer]
    if not standing.ready:
        return [row(label, name, [], reason=standing.reason)]
    try:
        result = run_worker(PEERS[peer].python, script, job, arrays)
    except WorkerFailed as failure:
        return [row(label, name, [], reason=str(failure))]
    return [row(label, name, errors(result["slopes"], features))]


def growth(sizes: list[int], datasets: int, epsilon: float) -> list[dict[str, Any]]:
    """Error and share of refusals against the number of records, one feature; too few records are an error before."""
    rows = []
    for n in sizes:
        data = [dataset(1, 0.0, n, seed) for seed in range(min(datasets, max(3, 10**6 // n)))]
        for method in ("auto", "shortcut", "robust"):
            try:
                slopes, refused, _ = ours(method, data, 1, epsilon)
            except dither.InvalidArgument as error:
                rows.append(row(f"dither {method}", f"{n:,} records", [], reason=error.accepted))
                continue
            rows.append(
                row(f"dither {method}", f"{n:,} records", errors(slopes, 1), refused=f"{refused} of {len(data)}")
            )
    return rows


def timed(action: Callable[[], Any], repetitions: int = 3) -> float:
    """The least time of a few."""
    times = []
    for _ in range(repetitions):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return min(times)


def speed(sizes: list[int]) -> list[dict[str, Any]]:
    """Seconds of the robust regression's test on all four grids, and per n log n."""

    def test(X: np.ndarray, y: np.ndarray) -> None:
        lines = lines_of(np.column_stack([np.ones(len(y)), X]), y, np.array([0.05, 0.05]))
        box = minimiser_box(lines)
        for shift in ((0, 0), (0, 1), (1, 0), (1, 1)):
            corner = cell_around(box, shift)
            if corner is not None:
                boundary_changes(lines, corner)

    test(*dataset(1, 0.0, 100, 0))  # compiles
    rows = []
    for n in sizes:
        X, y = dataset(1, 0.0, n, 1)
        seconds = timed(lambda X=X, y=y: test(X, y))
        rows.append({"records": n, "seconds": seconds, "per_n_log_n": seconds / (n * np.log2(n)) * 1e9})
    return rows


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Regression beside the peers.")
    parser.add_argument("--quick", action="store_true", help="few datasets and answers")
    parser.add_argument("--only", choices=["accuracy", "growth", "speed"])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result: dict[str, Any] = {"machine": machine(), "epsilon": options.epsilon, "records": options.records}
    datasets, repetitions = (5, 2) if options.quick else (20, 5)
    most = 5 if options.quick else 6
    wanted = (options.only,) if options.only else ("accuracy", "growth", "speed")
    if "accuracy" in wanted:
        result["accuracy"] = accuracy(datasets, repetitions, options.epsilon, options.records)
    if "growth" in wanted:
        result["growth"] = growth([10**k for k in range(3, most + 1)], datasets, options.epsilon)
    if "speed" in wanted:
        result["speed"] = speed([10**k for k in range(3, most + 1)])
    if options.json:
        print(json.dumps(result, indent=2))
        return 0
    console = Console(width=130)
    for part in {"accuracy", "growth"} & set(result):
        table = Table("input", "who", "error of the slopes", "±", "refused", "seconds", title=f"Regression: {part}")
        for one in result[part]:
            error = f"{one['error']:.4f}" if one["error"] is not None else one.get("reason", "all refused")
            spread = "" if one["standard_error"] is None else f"{one['standard_error']:.4f}"
            seconds = "" if "seconds" not in one else f"{one['seconds']:.2f}"
            table.add_row(one["input"], one["who"], error, spread, str(one.get("refused", "")), seconds)
        console.print(table)
    if "speed" in result:
        table = Table("records", "seconds", "ns per n log2 n", title="The test of the robust regression, four grids")
        for one in result["speed"]:
            table.add_row(f"{one['records']:,}", f"{one['seconds']:.3f}", f"{one['per_n_log_n']:.1f}")
        console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
