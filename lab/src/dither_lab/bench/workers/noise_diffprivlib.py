"""diffprivlib's noise on zeros: sums of several draws in floating point, safe against one known attack, not exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def scalar(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """One draw at a time."""
    from diffprivlib.mechanisms import Geometric, Laplace

    above, _, below = options["scale"].partition("/")
    scale = int(above) / int(below or 1)
    whole = options["law"] == "integer laplace"
    prepared = Geometric(epsilon=1 / scale, sensitivity=1) if whole else Laplace(epsilon=1.0, sensitivity=scale)
    zero = 0 if whole else 0.0

    def work() -> None:
        for _ in range(options["count"]):
            prepared.randomise(zero)

    return work
