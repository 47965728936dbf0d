"""What several releases cost together, by dither."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dither as dt
from dither.accounting.concentrated import compose_gaussians
from dither.ledger import MemoryLedger


def compose(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """Epsilon at the total delta for prices ``[epsilon, delta, how many]``."""
    losses = [dt.Loss(e, d) for e, d, count in options["prices"] for _ in range(count)]
    return lambda: float(dt.compose(losses, delta=options["delta"]).epsilon)


def gaussian(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """Epsilon at the total delta for Gaussian noise of ``sigma`` sensitivities, many times."""
    rho = 1 / (2 * options["sigma"] ** 2)
    return lambda: float(compose_gaussians([rho] * options["count"], delta=options["delta"]).epsilon)


def within(options: dict[str, Any], data: dict[str, Any]) -> Callable[[], float]:
    """The part of a budget that one answer takes: answers of one epsilon are charged until the ledger refuses.

    The first is asked through a session; the others are charged at the loss that its release states, in batches.
    """
    query = {"drawn": dt.Median("age"), "noisy": dt.Mean("age")}[options["answers"]]
    budget = dt.Budget(options["epsilon"], options["delta"])

    def fits() -> float:
        ledger = MemoryLedger()
        session = dt.open(
            {"age": list(range(100))},
            name="ages",
            columns={"age": dt.Integer(0, 100)},
            rows=100,
            budget=budget,
            filter=options["filter"],
            ledger=ledger,
        )
        with session:
            loss, count = session.ask(query, epsilon=options["each"], confidence=None).loss, 1
            for batch in (100, 10, 1):
                try:
                    while True:
                        ledger.charge("ages", [loss] * batch, question={"answers": count})
                        count += batch
                except dt.BudgetExceeded:
                    continue
        return 1.0 / count

    return fits
