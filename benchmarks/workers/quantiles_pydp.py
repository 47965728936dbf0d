"""Quantiles with PyDP: a noisy tree, epsilon-DP for adding or removing one record.

own         epsilon for adding or removing one record
change-one  half of epsilon, so that changing one record costs epsilon
"""

from __future__ import annotations

from typing import Any

import numpy as np
from loop import Answer, measure
from pydp.algorithms.laplacian import Max, Median, Min, Percentile


def prepare(variant: str, cell: dict[str, Any], data: np.ndarray) -> Answer:
    """A new object for every answer: each may be asked once.  Converting to a list is not timed."""
    # Its whole-number percentile always answers the lower bound for 0.95, so that one is asked of reals.
    kind = int if cell["whole"] and cell["statistic"] != "q95" else float
    low, high = (kind(end) for end in cell["bounds"])
    options = {
        "epsilon": cell["epsilon"] / 2 if variant == "change-one" else cell["epsilon"],
        "lower_bound": low,
        "upper_bound": high,
        "dtype": kind.__name__,
    }
    records = data.astype(kind).tolist()
    if cell["statistic"] == "q95":
        return lambda: Percentile(percentile=0.95, **options).quick_result(records)
    algorithm = {"median": Median, "min": Min, "max": Max}[cell["statistic"]]
    return lambda: algorithm(**options).quick_result(records)


if __name__ == "__main__":
    measure(prepare)
