"""Quantiles with PyDP: a noisy tree, epsilon-DP for adding or removing one record; half of epsilon for changing one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def quantile(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """A new object for every answer: each may be asked once.  Converting to a list is not timed."""
    from pydp.algorithms.laplacian import Max, Median, Min, Percentile

    # Its whole-number percentile always answers the lower bound for 0.95, so that one is asked of reals.
    number_type: Any = int if options["whole"] and options["q"] != 0.95 else float
    low, high = (number_type(end) for end in options["bounds"])
    given = {
        "epsilon": options["epsilon"] / 2,
        "lower_bound": low,
        "upper_bound": high,
        "dtype": number_type.__name__,
    }
    records = data["x"].astype(number_type).tolist()
    algorithm = {0.5: Median, 0.0: Min, 1.0: Max}.get(options["q"])
    if algorithm is None:
        return lambda: float(Percentile(percentile=options["q"], **given).quick_result(records))
    return lambda: float(algorithm(**given).quick_result(records))
