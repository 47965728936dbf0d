"""Quantiles with diffprivlib: the exponential mechanism, epsilon-DP for changing one record."""

from __future__ import annotations

from typing import Any

import numpy as np
from diffprivlib.tools import quantile
from loop import Answer, measure


def prepare(variant: str, cell: dict[str, Any], data: np.ndarray) -> Answer:  # noqa: ARG001
    """The same call for every quantile."""
    bounds = tuple(float(end) for end in cell["bounds"])
    return lambda: quantile(data, cell["q"], epsilon=cell["epsilon"], bounds=bounds)


if __name__ == "__main__":
    measure(prepare)
