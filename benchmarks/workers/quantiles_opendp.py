"""Quantiles with OpenDP: candidates are needed; permute-and-flip selects one.

own         number of records unknown, epsilon for adding or removing one record
change-one  number of records known (a tighter sensitivity), epsilon for changing one record
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import opendp.prelude as dp
from loop import Answer, measure

dp.enable_features("contrib")


@functools.lru_cache(maxsize=64)
def measurement(size: int | None, distance: int, kind: type, bounds: Any, q: float, candidates: int, epsilon: float):
    """The measurement whose own privacy map says epsilon."""
    atoms = dp.atom_domain(T="i32") if kind is int else dp.atom_domain(T=float, nan=False)
    low, high = bounds
    grid = list(range(low, high + 1)) if kind is int else np.linspace(low, high, candidates).tolist()

    def build(scale: float):
        return dp.m.make_private_quantile(
            dp.vector_domain(atoms, size=size),
            dp.symmetric_distance(),
            dp.max_divergence(),
            candidates=grid,
            alpha=q,
            scale=scale,
        )

    # The map is linear in 1/scale; the last factor keeps rounding on the right side.
    made = build(build(1.0).map(distance) / epsilon * (1 + 1e-12))
    if not made.map(distance) <= epsilon * (1 + 1e-9):
        raise ArithmeticError("the privacy map exceeds epsilon")
    return made


def prepare(variant: str, cell: dict[str, Any], data: np.ndarray) -> Answer:
    """Building the measurement is not timed."""
    kind = int if cell["whole"] else float
    size, distance = (len(data), 2) if variant == "change-one" else (None, 1)
    made = measurement(size, distance, kind, tuple(cell["bounds"]), cell["q"], cell["candidates"], cell["epsilon"])
    array = data.astype(np.int32) if kind is int else data
    return lambda: made(array)


if __name__ == "__main__":
    measure(prepare)
