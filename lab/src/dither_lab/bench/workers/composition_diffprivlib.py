"""What several releases cost together, by diffprivlib's accountant (advanced composition)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compose(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """Epsilon at the total delta; what the prices leave of it is the slack."""
    from diffprivlib import BudgetAccountant

    spent = [(epsilon, delta) for epsilon, delta, count in options["prices"] for _ in range(count)]
    kept = 1.0
    for _, delta in spent:
        kept *= 1 - delta
    slack = 1 - (1 - options["delta"]) / kept

    def work() -> float:
        accountant = BudgetAccountant(epsilon=float("inf"), delta=1.0, slack=slack, spent_budget=spent)
        return float(accountant.total()[0])

    return work
