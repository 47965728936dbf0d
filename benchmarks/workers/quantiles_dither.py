"""Quantiles with dither: neighbours change one record."""

from __future__ import annotations

from typing import Any

import numpy as np
from loop import Answer, measure

import dither as dt

MANNERS: dict[str, dict[str, Any]] = {
    "auto": {"calibration": "auto"},
    "smooth": {"calibration": "smooth", "noise": "power_law"},
}


def prepare(variant: str, cell: dict[str, Any], data: np.ndarray) -> Answer:
    """The public functions, from the array to the number."""
    options = {"bounds": tuple(cell["bounds"]), "epsilon": cell["epsilon"], "confidence": None, **MANNERS[variant]}
    if cell["statistic"] == "q95":
        return lambda: dt.quantile(data, q=0.95, **options).value
    function = {"median": dt.median, "min": dt.minimum, "max": dt.maximum}[cell["statistic"]]
    return lambda: function(data, **options).value


if __name__ == "__main__":
    measure(prepare)
