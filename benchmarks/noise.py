"""Exact draws per second of every law, one at a time and in vectors, beside OpenDP's exact Laplace noise.

python benchmarks/noise.py --quick
python benchmarks/noise.py --json
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from peers import PEERS, WorkerFailed, ensure, machine, run_worker
from rich.console import Console
from rich.table import Table

import dither
from dither.noise.exact import rounded_draw
from dither.noise.gaussian import Gaussian
from dither.noise.heavy_tails import Cauchy, PowerLaw, Student
from dither.noise.laplace import Laplace, integer_laplace
from dither.noise.vectors import integer_laplace_draws, rounded_draws

SCALE = Fraction(123456789, 1000)
"""In grid steps; the noise is rounded to whole steps."""
LAWS = {
    "laplace": Laplace(),
    "power law p=4": PowerLaw(4),
    "power law p=3.3": PowerLaw(Fraction(33, 10)),
    "cauchy gamma=4": Cauchy(4),
    "cauchy gamma=2.5": Cauchy(Fraction(5, 2)),
    "student dof=3": Student(3),
    "gaussian": Gaussian(),
}
ROUNDS = 5


def rate(draw: Callable[[], Any], count: int, seconds: float) -> list[float]:
    """Draws per second in each of several rounds."""
    draw()
    rounds = []
    for _ in range(ROUNDS):
        calls, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds / ROUNDS:
            draw()
            calls += 1
        rounds.append(calls * count / (time.perf_counter() - began))
    return rounds


def ours(seconds: float, length: int) -> dict[str, dict[str, list[float]]]:
    """Our laws."""
    rows = {}
    for name, law in LAWS.items():
        fast = isinstance(law, (Laplace, PowerLaw))
        count = length if fast else 1_000
        rows[name] = {
            "scalar": rate(lambda law=law: rounded_draw(law, 0, SCALE), 1, seconds),
            "vector": rate(lambda law=law, count=count: rounded_draws(law, count, SCALE), count, seconds),
        }
    rows["integer laplace"] = {
        "scalar": rate(lambda: integer_laplace(0, SCALE), 1, seconds),
        "vector": rate(lambda: integer_laplace_draws(length, SCALE), length, seconds),
    }
    return rows


def shown(rounds: list[float]) -> str:
    """The median round, and the range."""
    return f"{statistics.median(rounds):,.0f} ({min(rounds):,.0f} to {max(rounds):,.0f})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Exact draws per second.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--length", type=int, default=1_000_000, help="length of vectors")
    options = parser.parse_args()
    seconds = 0.5 if options.quick else 3.0
    rows = {"dither": ours(seconds, options.length)}
    standing = ensure(PEERS["opendp"])
    reason = standing.reason
    if standing.ready:
        job = {"scale": float(SCALE), "length": 10_000, "seconds": seconds}
        try:
            rows["OpenDP"] = run_worker(standing.peer.python, "noise_opendp.py", job)
        except WorkerFailed as failure:
            reason = str(failure)
    if options.json:
        print(
            json.dumps(
                {
                    "machine": machine(),
                    "versions": {"dither": dither.__version__, "opendp": standing.version},
                    "not_measured": {"opendp": reason} if reason else {},
                    "draws_per_second": rows,
                },
                indent=1,
            )
        )
        return
    console = Console(width=None if sys.stdout.isatty() else 140)
    table = Table(title="Exact draws per second: median round (slowest to fastest)")
    for heading in ("library", "law", "scalar", "vector"):
        table.add_column(heading, justify="left" if heading in ("library", "law") else "right")
    for library, laws in rows.items():
        for law, rates in laws.items():
            table.add_row(library, law, shown(rates["scalar"]), shown(rates["vector"]))
    console.print(table)
    console.print(
        f"dither {dither.__version__}; OpenDP {standing.version}; vectors of {options.length:,} "
        "(1,000 for laws without a fast path, 10,000 for OpenDP)"
    )
    if reason:
        console.print(f"[red]OpenDP: NOT MEASURED, {reason}[/red]")


if __name__ == "__main__":
    main()
