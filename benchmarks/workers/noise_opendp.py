"""Draws per second of OpenDP's exact Laplace noise, scalar and vector, float and integer."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib")


def main() -> None:
    """Time every measurement for about the given number of seconds."""
    job_file, _, result_file = (Path(name) for name in sys.argv[1:4])
    job = json.loads(job_file.read_text())
    rows = {}
    for kind, name in ((float, "laplace"), ("i64", "integer laplace")):
        atoms = dp.atom_domain(T=float, nan=False) if kind is float else dp.atom_domain(T=kind)
        scalar = dp.m.make_laplace(atoms, dp.absolute_distance(T=kind), scale=job["scale"])
        vector = dp.m.make_laplace(dp.vector_domain(atoms), dp.l1_distance(T=kind), scale=job["scale"])
        zeros = np.zeros(job["length"], dtype=np.float64 if kind is float else np.int64)
        zero = 0.0 if kind is float else 0
        rows[name] = {
            "scalar": rate(lambda m=scalar, z=zero: m(z), 1, job["seconds"]),
            "vector": rate(lambda m=vector, z=zeros: m(z), job["length"], job["seconds"]),
        }
    result_file.write_text(json.dumps(rows))


def rate(draw, count: int, seconds: float) -> list[float]:
    """Draws per second in each of several rounds."""
    draw()
    rounds = []
    for _ in range(5):
        calls, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds / 5:
            draw()
            calls += 1
        rounds.append(calls * count / (time.perf_counter() - began))
    return rounds


if __name__ == "__main__":
    main()
