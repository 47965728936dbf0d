"""Time of the smooth sensitivity of a median of sorted records: it follows the window of ranks, not their number.

    python benchmarks/smooth.py --quick
    python benchmarks/smooth.py --json

Each length is read once from sorted float64 (clamped and rounded to the grid; linear in n, timed apart).  The
window is the number of ranks on either side of the median that the exact algorithm looked at: it depends on beta
and on how the gaps compare to the bounds, and reaches n/2 only when beta is so small that every record matters.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from fractions import Fraction

import numpy as np
from peers import machine
from rich.console import Console
from rich.table import Table

import dither
from dither.data.column import Column, shape_of
from dither.queries.order import Median, RankedValue

BOUNDS = (0, 1_000_000)
BETAS = (1.0, 0.1, 0.01, 0.001, 0.0001)


class Watched(Column):
    """A column that remembers how far from a rank it was read."""

    __slots__ = ("reach",)

    def ranks(self, first: int, last: int) -> np.ndarray:
        """The same, and remembered."""
        self.reach = max(getattr(self, "reach", 0), last - first)
        return super().ranks(first, last)


def measure(records: int, rounds: int) -> tuple[float, list[dict[str, float]]]:
    """Seconds to read the column, and a row for each beta and algorithm."""
    data = np.sort(np.clip(np.random.default_rng(records).lognormal(11, 0.6, records), *BOUNDS))
    query, shape = Median(bounds=BOUNDS), shape_of(data)
    statistic: RankedValue = query.resolve(shape)
    began = time.perf_counter()
    steps = query.read(data, shape).values
    reading = time.perf_counter() - began
    del data
    column = Column(steps, statistic.answers, ordered=True)
    rows = []
    for beta in BETAS:
        watched = Watched(steps, statistic.answers, ordered=True)
        bound = statistic.ladder(watched).smooth(Fraction(str(beta)))
        times = []
        for _ in range(rounds):
            began = time.perf_counter()
            statistic.ladder(column).smooth(Fraction(str(beta)))
            times.append(time.perf_counter() - began)
        rows.append(
            {
                "records": records,
                "beta": beta,
                "window": watched.reach,
                "smooth_sensitivity": float(bound * statistic.answers.step),
                "milliseconds": 1e3 * statistics.median(times),
                "fastest": 1e3 * min(times),
                "slowest": 1e3 * max(times),
            }
        )
    return reading, rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time of the smooth sensitivity of a median.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    lengths = (100_000, 1_000_000) if options.quick else (100_000, 1_000_000, 10_000_000)
    reading, rows = {}, []
    for records in lengths:
        reading[records], more = measure(records, 3 if options.quick else 15)
        rows += more
    if options.json:
        print(
            json.dumps({"machine": machine(), "dither": dither.__version__, "reading": reading, "rows": rows}, indent=1)
        )
        return
    table = Table(title="Smooth sensitivity of the median of sorted float64, lognormal salaries, bounds 0..1e6")
    for heading in (
        "records",
        "beta",
        "window (ranks a side)",
        "ms, median",
        "fastest",
        "slowest",
        "µs per rank",
        "value",
    ):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            f"{row['records']:,}",
            f"{row['beta']:g}",
            f"{row['window']:,}",
            f"{row['milliseconds']:.2f}",
            f"{row['fastest']:.2f}",
            f"{row['slowest']:.2f}",
            f"{1e3 * row['milliseconds'] / row['window']:.2f}",
            f"{row['smooth_sensitivity']:.4g}",
        )
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(table)
    for records, seconds in reading.items():
        console.print(f"reading {records:,} float64 onto the grid: {1e3 * seconds:.1f} ms")


if __name__ == "__main__":
    main()
