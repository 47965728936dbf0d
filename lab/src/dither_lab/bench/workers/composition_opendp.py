"""What several releases cost together, by OpenDP: zero-concentrated privacy, for pure prices and Gaussian noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compose(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """Laplace noise of each price, converted to zCDP, composed, converted back."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)

    def work() -> float:
        parts = [
            dp.c.make_pureDP_to_zCDP(dp.m.make_laplace(*space, scale=1 / epsilon))
            for epsilon, _, count in options["prices"]
            for _ in range(count)
        ]
        total = dp.c.make_zCDP_to_approxDP(dp.c.make_composition(parts))
        return float(total.map(1).epsilon(options["delta"]))

    return work


def gaussian(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """The same for Gaussian noise."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)

    def work() -> float:
        single = dp.m.make_gaussian(*space, scale=options["sigma"])
        total = dp.c.make_zCDP_to_approxDP(dp.c.make_composition([single] * options["count"]))
        return float(total.map(1).epsilon(options["delta"]))

    return work
