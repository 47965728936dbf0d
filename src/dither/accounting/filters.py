"""Privacy filters: what may still be spent when questions *and losses* are chosen on the way.

A filter is fixed when a dataset is registered.  Its state is the filter's name and six integers:
epsilon in units of 1e-9, epsilon squared in 1e-18, delta in 1e-18.  Charges are rounded up, budgets down, and
every comparison is one of integers, so a filter never admits what its theorem does not.  The functions are pure:
``spend`` returns the next state or raises.  Proofs: docs/proofs/composition.md, section 6.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from fractions import Fraction

from dither.accounting.rounding import BITS, probability, top
from dither.errors import BudgetExceeded, InvalidArgument
from dither.numbers import Number, ball, precision
from dither.privacy import FILTERS, Budget, FilterName, Loss

EPSILON_UNITS = 10**9
SQUARE_UNITS = EPSILON_UNITS**2
DELTA_UNITS = 10**18
_LOG_BITS = 64


@dataclass(frozen=True, slots=True)
class FilterState:
    """A budget, the rule that guards it, and what was spent; integers only.

    ``slack`` is d', the part of delta that the advanced rule keeps for itself; the basic rule keeps none.
    """

    name: FilterName
    epsilon: int
    delta: int
    slack: int = 0
    spent_epsilon: int = 0
    spent_squares: int = 0
    spent_delta: int = 0


def open_filter(budget: Budget, *, filter: str = "basic", slack: Number | None = None) -> FilterState:
    """A filter with nothing spent; the budget is rounded down to whole units.

    ``slack`` (advanced only) is d', by default half of the budget's delta.

    >>> open_filter(Budget(1.0)).epsilon
    1000000000
    """
    if not isinstance(budget, Budget):
        raise InvalidArgument("budget", budget, "must be a Budget")
    if filter not in FILTERS:
        raise InvalidArgument("filter", filter, f"must be one of {', '.join(FILTERS)}")
    whole = Loss(budget.epsilon, budget.delta)
    epsilon = math.floor(whole.exact_epsilon * EPSILON_UNITS)
    delta = math.floor(whole.exact_delta * DELTA_UNITS)
    if epsilon < 1:
        raise InvalidArgument("budget.epsilon", budget.epsilon, "must be at least 1e-9")
    if filter == "basic":
        if slack is not None:
            raise InvalidArgument("slack", slack, "is for the advanced filter: leave it out")
        return FilterState("basic", epsilon, delta)
    if delta < 1:
        raise InvalidArgument("budget.delta", budget.delta, "must be at least 1e-18 for the advanced filter")
    if slack is None:
        units = max(1, delta // 2)
    else:
        units = math.floor(probability("slack", slack, zero=False) * DELTA_UNITS)
        if not 1 <= units <= delta:
            raise InvalidArgument("slack", slack, f"must be at least 1e-18 and at most the delta of {budget.delta:g}")
    return FilterState("advanced", epsilon, delta, units)


def charge(loss: Loss) -> tuple[int, int]:
    """The privacy loss in whole units of epsilon and delta, rounded up.

    >>> charge(Loss(0.1, 1e-20))
    (100000000, 1)
    """
    if not isinstance(loss, Loss):
        raise InvalidArgument("loss", loss, "must be a Loss")
    return math.ceil(loss.exact_epsilon * EPSILON_UNITS), math.ceil(loss.exact_delta * DELTA_UNITS)


def spend(state: FilterState, loss: Loss, *, dataset: str = "data") -> FilterState:
    """The state after paying for ``loss``.

    Guarantee  Whatever is released while no call raises is (epsilon, delta)-DP with the budget's numbers, even if
               questions and losses depend on all earlier answers.
    Theorem    basic: ``sum eps_i <= eps, sum delta_i <= delta``.  advanced: Whitehouse, Ramdas, Rogers and Wu (ICML
               2023), ``sqrt(2 V ln(1/d')) + V/2 <= eps`` with ``V = sum eps_i^2``, and ``sum delta_i <= delta - d'``.
    Constants  Theirs; V is rounded up to 1e-18 and the logarithm up to 2^-64.

    >>> state = spend(open_filter(Budget(1.0)), Loss(0.4))
    >>> left(state)
    Loss(epsilon=0.6, delta=0.0)
    """
    after = _after(state, loss)
    if not _admitted(after):
        raise BudgetExceeded(dataset=dataset, asked=loss, left=left(state))
    return after


def covers(state: FilterState, loss: Loss) -> bool:
    """True if ``spend`` would accept this loss.

    >>> covers(open_filter(Budget(1.0)), Loss(1.0, 1e-9))
    False
    """
    return _admitted(_after(state, loss))


def left(state: FilterState) -> Loss:
    """The greatest single loss that would still be accepted: its epsilon and its delta, rounded down."""
    if state.name == "basic":
        epsilon = state.epsilon - state.spent_epsilon
    else:
        epsilon = math.isqrt(max(0, most_squares(state.epsilon, state.slack) - state.spent_squares))
    delta = state.delta - state.slack - state.spent_delta
    return Loss(_down(max(0, epsilon), EPSILON_UNITS), _down(max(0, delta), DELTA_UNITS))


def times(state: FilterState, loss: Loss) -> int:
    """How many more releases of this privacy loss the filter accepts; closed form, no loop over releases.

    >>> times(open_filter(Budget(1.0)), Loss(0.3))
    3
    """
    epsilon, delta = charge(loss)
    if epsilon == delta == 0:
        raise InvalidArgument("loss", str(loss), "must have an epsilon or a delta above 0")
    counts = []
    if delta:
        counts.append((state.delta - state.slack - state.spent_delta) // delta)
    if epsilon and state.name == "basic":
        counts.append((state.epsilon - state.spent_epsilon) // epsilon)
    elif epsilon:
        counts.append((most_squares(state.epsilon, state.slack) - state.spent_squares) // epsilon**2)
    return max(0, min(counts))


@functools.lru_cache(maxsize=256)
def most_squares(epsilon: int, slack: int) -> int:
    """The greatest V, in 1e-18, with ``V/2 <= eps`` and ``(eps - V/2)^2 >= 2 V ln(1/d')``."""
    low, high = 0, 2 * epsilon * EPSILON_UNITS
    while low < high:
        middle = (low + high + 1) // 2
        if squares_fit(middle, epsilon, slack):
            low = middle
        else:
            high = middle - 1
    return low


def squares_fit(squares: int, epsilon: int, slack: int) -> bool:
    """The theorem's comparison, in integers: every side multiplied out, nothing rounded but the logarithm."""
    rest = 2 * epsilon * EPSILON_UNITS - squares  # 2 (eps - V/2), in 1e-18
    return rest >= 0 and rest**2 << _LOG_BITS >= 8 * squares * SQUARE_UNITS * _log_inverse(slack)


@functools.lru_cache(maxsize=256)
def _log_inverse(slack: int) -> int:
    """``ln(1/d')`` in units of 2^-64, rounded up."""
    with precision(BITS):
        return math.ceil(top(-ball(Fraction(slack, DELTA_UNITS)).log()) * (1 << _LOG_BITS))


def _after(state: FilterState, loss: Loss) -> FilterState:
    epsilon, delta = charge(loss)
    return replace(
        state,
        spent_epsilon=state.spent_epsilon + epsilon,
        spent_squares=state.spent_squares + epsilon**2,
        spent_delta=state.spent_delta + delta,
    )


def _admitted(state: FilterState) -> bool:
    if state.spent_delta > state.delta - state.slack:
        return False
    if state.name == "basic":
        return state.spent_epsilon <= state.epsilon
    return squares_fit(state.spent_squares, state.epsilon, state.slack)


def _down(units: int, per_one: int) -> float:
    """A float that a charge rounds up to at most ``units``."""
    nearest = units / per_one
    return nearest if Fraction(repr(nearest)) * per_one <= units else math.nextafter(nearest, 0.0)
