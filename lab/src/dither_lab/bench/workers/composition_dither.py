"""What several releases cost together, by dither."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dither as dt
from dither.accounting.concentrated import compose_gaussians


def compose(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """Epsilon at the total delta for prices ``[epsilon, delta, how many]``."""
    losses = [dt.Loss(e, d) for e, d, count in options["prices"] for _ in range(count)]
    return lambda: float(dt.compose(losses, delta=options["delta"]).epsilon)


def gaussian(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """Epsilon at the total delta for Gaussian noise of ``sigma`` sensitivities, many times."""
    rho = 1 / (2 * options["sigma"] ** 2)
    return lambda: float(compose_gaussians([rho] * options["count"], delta=options["delta"]).epsilon)
