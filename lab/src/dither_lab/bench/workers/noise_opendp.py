"""OpenDP's exact noise on zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _measurement(options: dict[str, Any], vector: bool) -> tuple[Any, Any]:
    import numpy as np
    import opendp.prelude as dp

    dp.enable_features("contrib")
    whole = options["law"] == "integer laplace"
    atom: Any = "i64" if whole else float
    atoms = dp.atom_domain(T=atom) if whole else dp.atom_domain(T=float, nan=False)
    make = dp.m.make_gaussian if options["law"] == "gaussian" else dp.m.make_laplace
    scale = fraction(options["scale"])
    if not vector:
        return make(atoms, dp.absolute_distance(T=atom), scale=scale), 0 if whole else 0.0
    distance = dp.l2_distance(T=atom) if options["law"] == "gaussian" else dp.l1_distance(T=atom)
    zeros = np.zeros(options["count"], dtype=np.int64 if whole else np.float64)
    return make(dp.vector_domain(atoms), distance, scale=scale), zeros


def fraction(text: str) -> float:
    """A number written as a fraction."""
    above, _, below = text.partition("/")
    return int(above) / int(below or 1)


def scalar(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """One draw at a time."""
    measurement, zero = _measurement(options, vector=False)

    def work() -> None:
        for _ in range(options["count"]):
            measurement(zero)

    return work


def vector(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """All at once."""
    measurement, zeros = _measurement(options, vector=True)

    def work() -> None:
        measurement(zeros)

    return work
