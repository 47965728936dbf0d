"""Statistics without bounds: how often they refuse, and how far they are off, as the records grow more.

    python lab/benchmarks/robust.py --quick
    python lab/benchmarks/robust.py --plot robust.png
    python lab/benchmarks/robust.py --json > robust.json

Every cell is an average over datasets of one law and answers on each of them.  Errors are medians of |answer - truth|
in interquartile ranges of the law, the truth being the statistic of the same records.  Refusals of the user's own
constants are computed from the exact output law where it is known, else counted.  "-" stands for too few records: an
error before anything is charged.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from dither.errors import InvalidArgument
from dither.privacy import Loss
from dither.procedures.ordered import Ordered
from dither.procedures.plans import ProcedurePlan, plan_location, plan_range, plan_scale, plan_trimmed
from dither.procedures.unbounded_quantiles import plan_drawn_quantile, plan_drawn_range
from dither_lab.audit.propose_test_release import REFUSED, plan_law

QUARTILES = (Fraction(1, 4), Fraction(3, 4))
SIZES = (100, 1000, 10_000, 100_000, 1_000_000)
LAWS: dict[str, tuple[Callable[[np.random.Generator, int], np.ndarray], float]] = {
    "normal": (lambda rng, n: rng.normal(50, 10, n), 13.49),
    "lognormal": (lambda rng, n: rng.lognormal(11, 0.6, n), 49_400.0),
    "t3": (lambda rng, n: rng.standard_t(3, n), 1.53),
    "bimodal": (lambda rng, n: np.where(rng.random(n) < 0.5, rng.normal(-3, 1, n), rng.normal(3, 1, n)), 6.0),
    "tied": (lambda rng, n: np.round(rng.normal(45, 18, n)), 24.3),
}


@dataclass(frozen=True)
class Algorithm:
    """A plan for so many records, and the truth that it estimates."""

    plan: Callable[[int, Loss], ProcedurePlan]
    truth: Callable[[np.ndarray], float]


def _rank(share: float) -> Callable[[np.ndarray], float]:
    return lambda x: float(x[int(np.ceil(share * len(x))) - 1])


def _spread(x: np.ndarray) -> float:
    return _rank(0.75)(x) - _rank(0.25)(x)


def _trimmed(x: np.ndarray) -> float:
    m = len(x) // 10
    return float(x[m : len(x) - m].mean())


HALF = Fraction(1, 2)
ALGORITHMS = {
    "scale, test": Algorithm(lambda n, loss: plan_scale(n, loss, QUARTILES, "exact"), _spread),
    "scale, paper": Algorithm(lambda n, loss: plan_scale(n, loss, QUARTILES, "paper"), _spread),
    "range, test": Algorithm(lambda n, loss: plan_range(n, loss, QUARTILES, "exact"), _spread),
    "range, drawn": Algorithm(lambda n, loss: plan_drawn_range(n, loss, QUARTILES, interval=False), _spread),
    "median, test": Algorithm(lambda n, loss: plan_location(n, loss, HALF, "exact"), _rank(0.5)),
    "median, paper": Algorithm(lambda n, loss: plan_location(n, loss, HALF, "paper"), _rank(0.5)),
    "median, drawn": Algorithm(lambda n, loss: plan_drawn_quantile(n, loss, HALF, interval=False), _rank(0.5)),
    "trimmed mean, test": Algorithm(lambda n, loss: plan_trimmed(n, loss, n // 10, "exact"), _trimmed),
    "trimmed mean, paper": Algorithm(lambda n, loss: plan_trimmed(n, loss, n // 10, "paper"), _trimmed),
}


def cell(algorithm: Algorithm, law: str, records: int, options: argparse.Namespace) -> dict[str, Any]:
    """Refusal probability and error of one algorithm on one law."""
    draw, unit = LAWS[law]
    try:
        plan = algorithm.plan(records, Loss(options.epsilon, options.delta))
    except InvalidArgument:
        return {"refusal": None, "error": None}
    refusals, errors = [], []
    for index in range(options.datasets if records < 10**6 else 2):
        x = np.sort(draw(np.random.default_rng([index, records, len(law)]), records))
        data, truth = Ordered(x), algorithm.truth(x)
        answers = [plan.run(data).found.value for _ in range(options.answers)]
        errors += [abs(float(value) - truth) / unit for value in answers if value is not None]
        refusals.append(_refusal(plan, data, answers))
    error = float(np.median(errors)) if errors else None
    return {"refusal": float(np.mean(refusals)), "error": error}


def _refusal(plan: ProcedurePlan, data: Ordered, answers: list[Any]) -> float:
    try:
        law = plan_law(plan, data)
    except TypeError:
        return sum(value is None for value in answers) / len(answers)
    return sum(p for key, p in law.atoms.items() if key == REFUSED or (isinstance(key, tuple) and key[1] == REFUSED))


def collect(options: argparse.Namespace) -> dict[str, Any]:
    """All cells."""
    return {
        name: {
            law: {records: cell(algorithm, law, records, options) for records in options.sizes} for law in options.laws
        }
        for name, algorithm in ALGORITHMS.items()
    }


def show(results: dict[str, Any], options: argparse.Namespace) -> None:
    """One table: refusal probability / error in interquartile ranges."""
    price = f"epsilon {options.epsilon:g}, delta {options.delta:g}"
    table = Table(title=f"refusal / median error in interquartile ranges, {price}")
    table.add_column("algorithm")
    table.add_column("law")
    for records in options.sizes:
        table.add_column(f"{records:,}", justify="right")
    for name, laws in results.items():
        for law, row in laws.items():
            table.add_row(name, law, *(_formatted(row[records]) for records in options.sizes))
    Console(width=150).print(table)


def _formatted(results: dict[str, Any]) -> str:
    if results["refusal"] is None:
        return "-"
    refusal = "0" if results["refusal"] < 5e-4 else f"{results['refusal']:.3f}"
    return refusal if results["error"] is None else f"{refusal} / {results['error']:.2g}"


def plot(results: dict[str, Any], options: argparse.Namespace) -> None:
    """Refusals above, errors below, a column for each law."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(3.1 * len(options.laws), 6.2), dpi=130)
    axes = figure.subplots(2, len(options.laws), sharex=True, sharey="row", squeeze=False)
    colours = {name: f"C{index}" for index, name in enumerate(dict.fromkeys(n.split(",")[0] for n in results))}
    dashes = {"test": "-", "paper": ":", "drawn": "--"}
    for column, law in enumerate(options.laws):
        for name, laws in results.items():
            subject, manner = name.split(", ")
            style = {"color": colours[subject], "ls": dashes[manner], "marker": "o", "ms": 3, "label": name}
            row = laws[law]
            measured = [n for n in options.sizes if row[n]["refusal"] is not None]
            axes[0, column].plot(measured, [row[n]["refusal"] for n in measured], **style)
            right = [n for n in measured if row[n]["error"] is not None]
            axes[1, column].plot(right, [max(row[n]["error"], 1e-8) for n in right], **style)
        axes[0, column].set_title(law, fontsize=11)
        axes[1, column].set_xlabel("records")
        for ax in axes[:, column]:
            ax.set_xscale("log")
            ax.grid(alpha=0.25)
            for side in ("top", "right"):
                ax.spines[side].set_visible(False)
    axes[1, 0].set_yscale("log")
    axes[0, 0].set_ylabel("probability of refusal")
    axes[1, 0].set_ylabel("median error / interquartile range")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncols=5, fontsize=9, frameon=False)
    figure.suptitle(f"Without bounds: epsilon {options.epsilon:g}, delta {options.delta:g}", fontsize=12)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(options.plot)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--laws", nargs="+", choices=list(LAWS), default=list(LAWS))
    parser.add_argument("--datasets", type=int, default=5)
    parser.add_argument("--answers", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="up to 10,000 records, two datasets")
    parser.add_argument("--plot", type=Path, help="save a picture here")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.sizes, options.datasets = [n for n in options.sizes if n <= 10_000], 2
    result = collect(options)
    if options.plot is not None:
        plot(result, options)
    if options.json:
        json.dump(result, sys.stdout, indent=1)
    else:
        show(result, options)


if __name__ == "__main__":
    main()
