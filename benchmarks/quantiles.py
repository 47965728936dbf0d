"""Medians and other order statistics beside the peers: one run, the same datasets, the same guarantee.

    python benchmarks/quantiles.py --quick
    python benchmarks/quantiles.py --json > quantiles.json
    python benchmarks/quantiles.py --inputs b --statistics median --seconds 10

The guarantee is epsilon for changing one record.  Peers whose neighbours add or remove a record get what makes
them equal to that (OpenDP: a known number of records and its own privacy map at distance 2; PyDP: epsilon/2), and
are shown at their own epsilon in a second table: there they protect half as much.

An error is the mean over datasets of the mean absolute error of the answer, with a standard error from the
spread between datasets.  Where libraries define the quantile differently (lower or interpolated), each is scored
by the definition that is kinder to it.

The best peer is the one with the least *measured* error: with few answers that is partly luck, and the ratio leans
against us.  Its standard error says by how much; ``--seconds`` buys more answers.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from typing import Any

import numpy as np
from peers import PEERS, WorkerFailed, ensure_all, machine, run_worker
from rich.console import Console
from rich.table import Table

import dither

EPSILONS = (0.1, 0.5, 1.0)
QUANTILES = {"median": 0.5, "q95": 0.95, "min": 0.0, "max": 1.0}
INPUTS = {
    "a": "100,000 lognormal salaries",
    "b": "1,001 lognormal salaries",
    "c": "10,000 whole ages, heavily tied",
    "d": "10,000 bimodal",
}
BOUNDS = {"a": (0, 1_000_000), "b": (0, 1_000_000), "c": (0, 120), "d": (0, 1000)}
CANDIDATES = 10_001
"""For OpenDP on real columns; on whole ones every whole number is a candidate."""
FAVOURED = ("a", "median")
"""The headline cell gets more time."""

EQUAL = {
    "dither auto": ("dither", "auto"),
    "dither smooth": ("dither", "smooth"),
    "diffprivlib": ("diffprivlib", "change-one"),
    "OpenDP": ("opendp", "change-one"),
    "PyDP": ("pydp", "change-one"),
}
OWN = {"OpenDP, add/remove": ("opendp", "own"), "PyDP, add/remove": ("pydp", "own")}
PEER_COLUMNS = ("diffprivlib", "OpenDP", "PyDP")


def dataset(name: str, index: int) -> np.ndarray:
    """Dataset ``index`` of an input; index 0 has the plain seed."""
    seed = "abcd".index(name) + 1
    rng = np.random.default_rng(seed if index == 0 else [seed, index])
    if name in "ab":
        return np.clip(rng.lognormal(11, 0.6, 100_000 if name == "a" else 1_001), 0, 1e6)
    if name == "c":
        young = rng.random(10_000) < 0.3
        ages = np.where(young, np.round(18 + rng.normal(0, 1, 10_000)), np.round(rng.normal(45, 18, 10_000)))
        return np.clip(ages, 0, 120).astype(np.int64)
    modes = np.concatenate([rng.normal(100, 10, 5_050), rng.normal(900, 10, 4_950)])
    return np.clip(rng.permutation(modes), 0, 1000)


def collect(options: argparse.Namespace) -> dict[str, Any]:
    """Run every worker; cells by (column, input, statistic, epsilon)."""
    arrays = {f"{name}{k}": dataset(name, k) for name in options.inputs for k in range(options.datasets)}
    cells = [
        {
            "input": name,
            "statistic": statistic,
            "q": QUANTILES[statistic],
            "epsilon": epsilon,
            "bounds": BOUNDS[name],
            "whole": name == "c",
            "candidates": CANDIDATES,
            "seconds": options.seconds * (20 if (name, statistic) == FAVOURED else 1),
        }
        for name in options.inputs
        for statistic in options.statistics
        for epsilon in EPSILONS
    ]
    standings = ensure_all()
    found: dict[tuple[str, str, str, float], dict[str, Any]] = {}
    missing = {name: s.reason for name, s in standings.items() if not s.ready}
    wanted = EQUAL if options.equal_only else EQUAL | OWN
    for entrant in ("dither", *PEERS):
        if entrant in missing:
            continue
        columns = {variant: column for column, (who, variant) in wanted.items() if who == entrant}
        job = {
            "variants": list(columns),
            "cells": cells,
            "datasets": options.datasets,
            "repetitions": options.repetitions,
        }
        python = sys.executable if entrant == "dither" else PEERS[entrant].python
        try:
            result = run_worker(python, f"quantiles_{entrant}.py", job, arrays)
        except WorkerFailed as failure:
            missing[entrant] = str(failure)
            continue
        for cell in result["cells"]:
            key = (columns[cell["variant"]], cell["input"], cell["statistic"], cell["epsilon"])
            found[key] = scored(cell, arrays)
    versions = {name: s.version for name, s in standings.items()} | {"dither": dither.__version__}
    return {"cells": found, "missing": missing, "versions": versions}


def scored(cell: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Mean absolute error and standard error by the kinder definition of the quantile, and what was behind them."""
    q, best = QUANTILES[cell["statistic"]], None
    for definition in ("inverted_cdf", "linear"):
        per_dataset = [
            float(np.mean(np.abs(np.array(answers) - np.quantile(arrays[f"{cell['input']}{k}"], q, method=definition))))
            for k, answers in enumerate(cell["answers"])
            if answers
        ]
        if not per_dataset:
            continue
        mean = float(np.mean(per_dataset))
        spread = float(np.std(per_dataset, ddof=1)) / math.sqrt(len(per_dataset)) if len(per_dataset) > 1 else math.nan
        if best is None or mean < best[0]:
            best = mean, spread, definition
    return {
        "error": best[0] if best else None,
        "standard_error": best[1] if best else None,
        "definition": best[2] if best else None,
        "answers": sum(len(answers) for answers in cell["answers"]),
        "seconds_per_call": cell["seconds_per_call"],
        "failures": cell["failures"],
    }


def ratio(found: dict[Any, dict[str, Any]], where: tuple[str, str, float]) -> dict[str, Any] | None:
    """dither's error over the best peer's, with a standard error; None without a peer."""
    peers = [(found[name, *where], name) for name in PEER_COLUMNS if (name, *where) in found]
    peers = [(cell, name) for cell, name in peers if cell["error"] is not None]
    ours = found["dither auto", *where]
    if not peers or ours["error"] is None:
        return None
    cell, name = min(peers, key=lambda pair: pair[0]["error"])
    if cell["error"] == 0:
        return {"peer": name, "ratio": 1.0 if ours["error"] == 0 else None, "standard_error": 0.0}
    value = ours["error"] / cell["error"]
    relative = math.hypot(
        cell["standard_error"] / cell["error"], ours["standard_error"] / ours["error"] if ours["error"] else 0.0
    )
    return {"peer": name, "ratio": value, "standard_error": value * relative}


def report(results: dict[str, Any], options: argparse.Namespace, console: Console) -> None:
    """The tables."""
    found = results["cells"]
    places = [(i, s, e) for i in options.inputs for s in options.statistics for e in EPSILONS]
    for name, reason in results["missing"].items():
        console.print(f"[red]{name}: NOT MEASURED, {reason}[/red]")
    console.print("Versions: " + ", ".join(f"{k} {v}" for k, v in results["versions"].items() if v))
    for name in options.inputs:
        console.print(f"({name}) {INPUTS[name]}, bounds {BOUNDS[name]}")
    for peer in PEERS.values():
        console.print(f"{peer.name}: neighbours {peer.neighbours}")
    console.print("dither: neighbours change one record; answers by the lower quantile, confidence=None\n")

    table = Table(title="Mean absolute error ± standard error; epsilon for changing one record")
    for heading in ("input", "statistic", "eps", *EQUAL, "dither auto / best peer"):
        table.add_column(heading, justify="left" if heading in ("input", "statistic") else "right")
    for where in places:
        compared = ratio(found, where)
        shown = "–"
        if compared is not None:
            number = "inf" if compared["ratio"] is None else f"{compared['ratio']:.2f}"
            shown = f"{number} ± {compared['standard_error']:.2f} ({compared['peer']})"
        table.add_row(*map(str, where), *(text(found.get((c, *where))) for c in EQUAL), shown)
    console.print(table)

    if not options.equal_only:
        table = Table(title="At the peers' own relation: epsilon for adding or removing one record (half as much)")
        for heading in ("input", "statistic", "eps", *OWN):
            table.add_column(heading, justify="left" if heading in ("input", "statistic") else "right")
        for where in places:
            table.add_row(*map(str, where), *(text(found.get((c, *where))) for c in OWN))
        console.print(table)

    table = Table(title="Milliseconds per call (median), median at epsilon 1; preparation of peers not counted")
    for heading in ("input", *EQUAL):
        table.add_column(heading, justify="right")
    statistic = "median" if "median" in options.statistics else options.statistics[0]
    for name in options.inputs:
        times = [(found.get((c, name, statistic, 1.0)) or {}).get("seconds_per_call") for c in EQUAL]
        table.add_row(name, *("–" if t is None else f"{1e3 * t:.2f}" for t in times))
    console.print(table)
    for (column, *where), cell in found.items():
        for reason, count in cell["failures"].items():
            console.print(f"[red]{column} {where}: {count} answers failed: {reason}[/red]")


def text(cell: dict[str, Any] | None) -> str:
    """An entry of a table."""
    if cell is None:
        return "not measured"
    if cell["error"] is None:
        return "failed"
    mark = "*" if cell["failures"] else ""
    return f"{short(cell['error'])} ± {short(cell['standard_error'])}{mark}"


def short(number: float) -> str:
    """Three digits."""
    return f"{number:.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description="Order statistics beside the peers.")
    parser.add_argument("--quick", action="store_true", help="little time for each cell: a first look")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--datasets", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=20, help="most answers for each dataset")
    parser.add_argument("--seconds", type=float, default=0.25, help="time for repetitions in each cell")
    parser.add_argument("--inputs", nargs="+", choices=list(INPUTS), default=list(INPUTS))
    parser.add_argument("--statistics", nargs="+", choices=list(QUANTILES), default=list(QUANTILES))
    parser.add_argument("--equal-only", action="store_true", help="leave out the peers' own relation")
    options = parser.parse_args()
    if options.quick:
        options.seconds, options.repetitions = 0.05, 5
        options.statistics = [s for s in options.statistics if s in ("median", "q95")] or options.statistics
    began = time.perf_counter()
    results = collect(options)
    if options.json:
        places = [(i, s, e) for i in options.inputs for s in options.statistics for e in EPSILONS]
        printed = {
            "machine": machine(),
            "versions": results["versions"],
            "not_measured": results["missing"],
            "neighbours": {name: peer.neighbours for name, peer in PEERS.items()},
            "datasets": options.datasets,
            "cells": [
                {"entrant": c, "input": i, "statistic": s, "epsilon": e, **cell}
                for (c, i, s, e), cell in results["cells"].items()
            ],
            "ratios": [
                {"input": i, "statistic": s, "epsilon": e, **(ratio(results["cells"], (i, s, e)) or {})}
                for i, s, e in places
            ],
        }
        print(json.dumps(printed, indent=1))
    else:
        console = Console(width=None if sys.stdout.isatty() else 180)
        report(results, options, console)
        console.print(f"{options.datasets} datasets, {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
