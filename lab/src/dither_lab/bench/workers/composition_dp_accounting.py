"""What several releases cost together, by dp-accounting's privacy loss distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compose(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """Epsilon at the total delta for prices ``[epsilon, delta, how many]``."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    def work() -> float:
        total = None
        for epsilon, delta, count in options["prices"]:
            single = pld.from_privacy_parameters(
                common.DifferentialPrivacyParameters(epsilon, delta), value_discretization_interval=options["interval"]
            ).self_compose(count)
            total = single if total is None else total.compose(single)
        return 0.0 if total is None else float(total.get_epsilon_for_delta(options["delta"]))

    return work


def gaussian(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """The same for Gaussian noise."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    def work() -> float:
        single = pld.from_gaussian_mechanism(options["sigma"], value_discretization_interval=options["interval"])
        return float(single.self_compose(options["count"]).get_epsilon_for_delta(options["delta"]))

    return work
