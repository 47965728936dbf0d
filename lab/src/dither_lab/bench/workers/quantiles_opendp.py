"""Quantiles with OpenDP: candidates are needed, permute-and-flip selects one.

The number of records is known (a tighter sensitivity) and its own map at distance 2 says epsilon: changing one record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def quantile(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """Building the measurement is not timed."""
    import numpy as np
    import opendp.prelude as dp

    dp.enable_features("contrib")
    x, whole, epsilon = data["x"], options["whole"], options["epsilon"]
    low, high = options["bounds"]
    atoms = dp.atom_domain(T="i32") if whole else dp.atom_domain(T=float, nan=False)
    grid = list(range(low, high + 1)) if whole else np.linspace(low, high, options["candidates"]).tolist()

    def build(scale: float) -> Any:
        return dp.m.make_private_quantile(
            dp.vector_domain(atoms, size=len(x)),
            dp.symmetric_distance(),
            dp.max_divergence(),
            candidates=grid,
            alpha=options["q"],
            scale=scale,
        )

    # The map is linear in 1/scale; the last factor keeps rounding on the right side.
    mechanism = build(build(1.0).map(2) / epsilon * (1 + 1e-12))
    if not mechanism.map(2) <= epsilon * (1 + 1e-9):
        raise ArithmeticError("the privacy map exceeds epsilon")
    array = x.astype(np.int32) if whole else x
    return lambda: float(mechanism(array))
