"""Programs in sandboxes: how many blocks a second, scikit-learn preloaded, on every core of this machine.

    python lab/benchmarks/sandbox.py [--slot 0.03] [--kmeans-slot 0.1]

Two figures.  Trivial blocks (a mean of 100 rows): at least 60 a second on two cores.  1,000 blocks of k-means (k = 3,
100 rows): less than a minute.  Both count the whole release from asking to answering, margin included, and
say how many blocks were too late for their slot; on a busy machine some are, and they count as the default.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from dither.procedures.executor import Output
from dither.sandbox import Function, Sandbox

TRIVIAL = "def program(rows):\n    return rows.mean()"
KMEANS = """
from sklearn.cluster import KMeans

def program(rows):
    centres = KMeans(3, random_state=0).fit(rows).cluster_centers_
    return centres[centres[:, 0].argsort()]
"""


def measure(source: str, *, slot: float, blocks: list[np.ndarray], outputs: int) -> tuple[float, float, int]:
    """Seconds to start, seconds of the release, blocks that got the default."""
    begin = time.perf_counter()
    output = Output(outputs, bounds=(-100, 100))
    with Sandbox(
        Function(source, "program"), output=output, slot=slot, preload=("sklearn.cluster",), example=blocks[0]
    ) as box:
        started = time.perf_counter()
        box.run(blocks)
        return started - begin, time.perf_counter() - started, box.failures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slot", type=float, default=0.03)
    parser.add_argument("--kmeans-slot", type=float, default=0.1)
    chosen = parser.parse_args()
    generator = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    many = [centres[generator.integers(0, 3, 100)] + generator.normal(size=(100, 2)) for _ in range(1000)]
    start, seconds, late = measure(TRIVIAL, slot=chosen.slot, blocks=many, outputs=1)
    print(f"trivial: {len(many) / seconds:.1f} blocks/s (1000 in {seconds:.1f} s, {late} late; start {start:.1f} s)")
    start, seconds, late = measure(KMEANS, slot=chosen.kmeans_slot, blocks=many, outputs=6)
    print(f"k-means: 1000 blocks in {seconds:.1f} s ({late} late; start {start:.1f} s)")


if __name__ == "__main__":
    main()
