"""Private medians of a large Parquet file beside DuckDB's own exact ones, in one run; ratios: machines are noisy.

    python benchmarks/tables.py [--rows 30000000] [--groups 1000] [--rounds 5] [--epsilon 1.0]

Memory is that of a Python process of its own (DuckDB runs inside it): its peak, less what it had before the question.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

import dither as dt

_MEMORY = """
import re, sys
import dither as dt
path, rows, groups, epsilon = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
def kilobytes(name):
    return int(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read())[1])
columns = {"pay": dt.Real(0, 600_000), "job": dt.Integer(0, groups - 1)}
session = dt.open(path, columns=columns, rows=rows, budget=dt.Budget(100.0))
session.plan(dt.Median("pay"), epsilon=epsilon)
before = kilobytes("VmRSS")
session.ask(dt.Median("pay"), epsilon=epsilon)
print((kilobytes("VmHWM") - before) / 1024)
"""


def generated(folder: Path, rows: int, groups: int) -> Path:
    """Lognormal pay, uniform jobs."""
    path = folder / "pay.parquet"
    normal = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
    duckdb.execute(
        f"COPY (SELECT exp(10.9 + 0.7 * {normal}) AS pay, (floor(random() * {groups}))::INT AS job "
        f"FROM range({rows})) TO '{path}'"
    )
    return path


def timed(action) -> float:
    """Seconds of wall clock."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=30_000_000)
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = generated(Path(folder), options.rows, options.groups)
        columns = {"pay": dt.Real(0, 600_000), "job": dt.Integer(0, options.groups - 1)}
        session = dt.open(path, columns=columns, rows=options.rows, budget=dt.Budget(10_000.0))
        plain = duckdb.connect()
        cases = {
            "median": (f"SELECT quantile_disc(pay, 0.5) FROM '{path}'", None),
            "grouped": (f"SELECT job, quantile_disc(pay, 0.5) FROM '{path}' GROUP BY job", "job"),
        }
        for name, (query, by) in cases.items():
            rounds = []
            for _ in range(options.rounds):
                exact = timed(lambda query=query: plain.execute(query).fetchnumpy())
                private = timed(lambda by=by: session.ask(dt.Median("pay"), epsilon=options.epsilon, by=by, again=True))
                rounds.append((exact, private))
            ratios = [private / exact for exact, private in rounds]
            exact, private = (statistics.median(one[place] for one in rounds) for place in (0, 1))
            print(
                f"{name:8} epsilon {options.epsilon:g}, {options.rows:,} rows: "
                f"exact {exact:.2f} s, private {private:.2f} s, "
                f"ratio median {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            )
        words = [sys.executable, "-c", _MEMORY, str(path), str(options.rows), str(options.groups), str(options.epsilon)]
        grown = float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        print(f"memory   the private median adds {grown:.0f} MiB to the peak of its process")


if __name__ == "__main__":
    main()
