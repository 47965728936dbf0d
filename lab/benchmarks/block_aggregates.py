"""Medians of each number against a certified average of whole answers, and where "auto" changes from one to the other.

    python lab/benchmarks/block_aggregates.py [--blocks 500] [--runs 20]

Made-up answers of blocks: normal with a standard deviation of one hundredth of the bounds; epsilon = 1, delta = 1e-6,
no error bars.  The score is the root mean square error of a number, in standard deviations of a block (median over the
runs, worst in brackets); an average of all blocks without noise has 1/sqrt(blocks) = 0.045.
"""

from __future__ import annotations

import argparse

import numpy as np

from dither.privacy import Loss
from dither.procedures.executor import Output
from dither.procedures.sample_aggregate import plan

SPREAD = 0.01
EPSILON, DELTA = 1.0, 1e-6


def scores(aggregator: str, numbers: int, blocks: int, runs: int) -> tuple[str, str]:
    """What it is called, and its errors."""
    loss = Loss(EPSILON, DELTA if aggregator != "median" else 0.0)
    made = plan(100 * blocks, Output(numbers, bounds=(0, 1)), loss, blocks=blocks, aggregator=aggregator)
    rng = np.random.default_rng(numbers)
    errors = []
    for _ in range(runs):
        middle = rng.uniform(0.3, 0.7, numbers)
        result = made.run(middle + SPREAD * rng.normal(size=(blocks, numbers))).values
        if result is not None:
            errors.append(float(np.sqrt(np.mean((np.array(result) - middle) ** 2))) / SPREAD)
    summary = f"{np.median(errors):.3g} ({max(errors):.3g})" if errors else "refused"
    refused = runs - len(errors)
    return made.aggregator, summary + (f", {refused} of {runs} refused" if refused and errors else "")


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=500)
    parser.add_argument("--runs", type=int, default=20)
    chosen = parser.parse_args()
    print("| numbers | epsilon * blocks / numbers | median | average | auto takes |\n|---|---|---|---|---|")
    for numbers in (1, 4, 6, 8, 9, 10, 12, 16, 32):
        rows = [scores(name, numbers, chosen.blocks, chosen.runs)[1] for name in ("median", "average")]
        auto = scores("auto", numbers, chosen.blocks, 1)[0]
        print(f"| {numbers} | {EPSILON * chosen.blocks / numbers:.0f} | {rows[0]} | {rows[1]} | {auto} |")


if __name__ == "__main__":
    main()
