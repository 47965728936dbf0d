"""Theil-Sen regression of one feature with OpenDP, bounds given, at the scale for which its own map gives epsilon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def regression(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], Any]:
    """The slope; distance 2 stands for changing one record."""
    import numpy as np
    import opendp.prelude as dp
    from opendp.extras.sklearn.linear_model._make_private_theil_sen import make_private_theil_sen

    dp.enable_features("contrib", "honest-but-curious", "idealized-numerics", "floating-point")

    def build(scale: float) -> Any:
        candidates = options["candidates"]
        return make_private_theil_sen(dp.max_divergence(), (-1.0, 1.0), (-5.0, 5.0), scale, candidates_count=candidates)

    low, high = 1e-3, 1e4
    for _ in range(40):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if build(middle).map(2) <= options["epsilon"] else (middle, high)
    measurement, table = build(high), np.column_stack([data["X"][:, 0], data["y"]])
    return lambda: [float(measurement(table)[0])]
