"""Tumult Core's exact noise on zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def scalar(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], None]:
    """One draw at a time."""
    import numpy as np
    from tmlt.core.domains.numpy_domains import NumpyFloatDomain
    from tmlt.core.measurements.noise_mechanisms import AddGaussianNoise, AddGeometricNoise, AddLaplaceNoise

    zero: Any = np.float64(0.0)
    if options["law"] == "integer laplace":
        prepared, zero = AddGeometricNoise(options["scale"]), np.int64(0)
    elif options["law"] == "gaussian":
        prepared = AddGaussianNoise(NumpyFloatDomain(), f"({options['scale']})**2")
    else:
        prepared = AddLaplaceNoise(NumpyFloatDomain(), options["scale"])

    def work() -> None:
        for _ in range(options["count"]):
            prepared(zero)

    return work
