"""Quantiles with diffprivlib: the exponential mechanism, epsilon-DP for changing one record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def quantile(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """The same call for every quantile."""
    from diffprivlib.tools import quantile as answer

    bounds = tuple(float(end) for end in options["bounds"])
    return lambda: float(answer(data["x"], options["q"], epsilon=options["epsilon"], bounds=bounds))
