"""How many questions of one privacy loss fit into a budget."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from dither.accounting.composition import CountedLosses, advanced_epsilon, delta_left, optimal
from dither.accounting.concentrated import greatest_rho
from dither.accounting.filters import open_filter, times
from dither.accounting.rounding import BITS
from dither.aliases import accepts_older
from dither.errors import InvalidArgument
from dither.numbers import Number, exact, precision
from dither.privacy import FILTERS, Budget, Loss

if TYPE_CHECKING:
    from dither.typing import CountingName

MOST_OPTIMAL = 1_000_000
"""Beyond this many questions ``filter="fixed"`` counts by the closed form of ``advanced``: sound, a little fewer."""


@accepts_older("kind", "filter")
def queries_within(loss: Loss, budget: Budget, *, filter: CountingName = "basic", slack: Number | None = None) -> int:
    """How many questions of this privacy loss fit into a budget that nothing was spent of yet.

    ``filter``: ``"basic"``, ``"advanced"`` and ``"zcdp"`` count what the adaptive filter of that name accepts, to the
    unit (with ``slack`` = d', unless stated half of the budget's delta under advanced, all but 1/32 of it under zcdp);
    ``"fixed"`` counts a batch whose number of questions and losses are fixed in advance, by optimal composition.
    Under zcdp and fixed it matters which law the loss has: ``release.loss`` and ``quote.loss`` know.

    >>> queries_within(Loss(0.1), Budget(1.0))
    10
    >>> queries_within(Loss(0.01), Budget(1.0, 1e-6), filter="advanced")
    333
    >>> queries_within(Loss(0.01), Budget(1.0, 1e-6), filter="fixed")
    562
    >>> queries_within(Loss(0.01), Budget(1.0, 1e-6), filter="zcdp")
    485
    >>> queries_within(Loss.bounded_range(0.01), Budget(1.0, 1e-6), filter="zcdp")
    1942
    """
    if not isinstance(loss, Loss):
        raise InvalidArgument("loss", loss, "must be a Loss")
    if not isinstance(budget, Budget):
        raise InvalidArgument("budget", budget, "must be a Budget")
    if loss.epsilon == 0 and loss.is_pure:
        raise InvalidArgument("loss", str(loss), "must have an epsilon or a delta above 0")
    if filter in FILTERS:
        return times(open_filter(budget, filter=filter, slack=slack), loss)
    if filter != "fixed":
        raise InvalidArgument("filter", filter, f"must be one of {', '.join(FILTERS)}, fixed")
    if slack is not None:
        raise InvalidArgument("slack", slack, "is for the filters advanced and zcdp: leave it out")
    return max(_fixed(loss, budget), _fixed_by_rho(loss, budget))


def budget_for(loss: Loss, budget: Budget, *, kind: CountingName = "basic", slack: Number | None = None) -> int:
    """The older name of ``queries_within``."""
    older = "budget_for is now called queries_within; the older name goes with version 0.3"
    warnings.warn(older, DeprecationWarning, stacklevel=2)
    return queries_within(loss, budget, filter=kind, slack=slack)


def _fixed(loss: Loss, budget: Budget) -> int:
    if loss.epsilon == 0:
        return _greatest(lambda count: _delta_covers(loss, budget, count), None)

    def best(count: int) -> bool:
        return _delta_covers(loss, budget, count) and (
            optimal(loss.epsilon, loss.delta, count, budget.delta).exact_epsilon <= exact(budget.epsilon)
        )

    count = _greatest(best, MOST_OPTIMAL)
    if count < MOST_OPTIMAL:
        return count

    def closed_form(count: int) -> bool:
        return _delta_covers(loss, budget, count) and (
            advanced_epsilon(_repeated(loss, count), exact(budget.delta)) <= exact(budget.epsilon)
        )

    return max(count, _greatest(closed_form, None))


def _fixed_by_rho(loss: Loss, budget: Budget) -> int:
    """How many of a stated rho fit; 0 where nothing is stated, because then optimal composition is never behind."""
    own, delta = loss.stated, exact(budget.delta)
    if own is None or own.rho == 0 or own.delta > 0 or delta == 0:
        return 0
    return math.floor(greatest_rho(exact(budget.epsilon), delta) / own.rho)


def _delta_covers(loss: Loss, budget: Budget, count: int) -> bool:
    total = exact(budget.delta)
    if loss.exact_delta * count <= total:
        return True
    with precision(BITS):
        return bool(delta_left(_repeated(loss, count), total) > 0)


def _repeated(loss: Loss, count: int) -> CountedLosses:
    return Counter({(loss.exact_epsilon, loss.exact_delta): count})


def _greatest(fits: Callable[[int], bool], limit: int | None) -> int:
    """The greatest count up to ``limit`` that fits, by doubling and bisection; fitting must not resume."""
    low, high = 0, 1
    while fits(high):
        if high == limit:
            return high
        low, high = high, 2 * high if limit is None else min(2 * high, limit)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
