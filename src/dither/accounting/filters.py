"""Privacy filters: what may still be spent when questions *and losses* are chosen on the way.

A filter is fixed when a dataset is registered.  Its state is the filter's name, six integers (epsilon in units of
1e-9; epsilon squared, rho and delta in 1e-18) and whether the plain sum of epsilons alone would still do.  Charges are
rounded up, budgets down, and every comparison is one of integers, so a filter never admits what its theorem does not.
The functions are pure: ``spend`` returns the next state or raises.  Proofs: docs/proofs/composition.md, section 6
(advanced, and the plain sum beside another rule), and docs/proofs/concentrated.md, section 7 (zcdp).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from dither.accounting.concentrated import greatest_rho
from dither.accounting.rounding import BITS, probability, top
from dither.errors import BudgetExceeded, InvalidArgument
from dither.numbers import Number, ball, precision
from dither.privacy import FILTERS, Budget, FilterName, Loss, any_pure_rho

EPSILON_UNITS = 10**9
SQUARE_UNITS = EPSILON_UNITS**2
RHO_UNITS = 10**18
DELTA_UNITS = 10**18
KEPT_FOR_RELEASES = 32
"""A zcdp filter leaves this part of delta, unless stated, to releases that have a delta of their own."""
_LOG_BITS = 64


class Units(NamedTuple):
    """One loss in whole units, rounded up: (epsilon, delta), and as delta-approximate rho-zCDP."""

    epsilon: int
    delta: int
    rho: int
    rho_delta: int


@dataclass(frozen=True, slots=True)
class FilterState:
    """A budget, the rule that guards it, and what was spent; integers only.

    ``slack`` is d', the part of delta that the rule keeps for itself; the basic rule keeps none.
    """

    name: FilterName
    epsilon: int
    delta: int
    slack: int = 0
    spent_epsilon: int = 0
    spent_squares: int = 0
    """Of epsilons; rhos under the zcdp rule, which has no use for squares."""
    spent_delta: int = 0
    """Under the zcdp rule of the deltas that stand beside rho."""
    within_sum: bool = True
    """Whether all losses had a delta of 0 and epsilons that add up to at most ``epsilon``: then advanced and zcdp admit
    them whatever their own sums are.  Once False it stays False.  The basic rule does not look at it."""

    @property
    def most_squares(self) -> int:
        """The greatest ``spent_squares`` that the rule admits; 0 where it does not look at them."""
        if self.name == "basic":
            return 0
        return (most_squares if self.name == "advanced" else most_rho)(self.epsilon, self.slack)


def open_filter(budget: Budget, *, filter: str = "basic", slack: Number | None = None) -> FilterState:
    """A filter with nothing spent; the budget is rounded down to whole units.

    ``slack`` (advanced and zcdp) is d', the part of delta that pays for the rule itself; the rest is for the deltas of
    releases.  By default it is half of the budget's delta (advanced), or all but 1/32 of it (zcdp).

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
            raise InvalidArgument("slack", slack, "is for the filters advanced and zcdp: leave it out")
        return FilterState("basic", epsilon, delta)
    if delta < 1:
        raise InvalidArgument("budget.delta", budget.delta, f"must be at least 1e-18 for the {filter} filter")
    if slack is None:
        units = max(1, delta // 2) if filter == "advanced" else delta - delta // KEPT_FOR_RELEASES
    else:
        units = math.floor(probability("slack", slack, zero=False) * DELTA_UNITS)
        if not 1 <= units <= delta:
            raise InvalidArgument("slack", slack, f"must be at least 1e-18 and at most the delta of {budget.delta:g}")
    return FilterState("advanced" if filter == "advanced" else "zcdp", epsilon, delta, units)


def charge(loss: Loss) -> tuple[int, int]:
    """The privacy loss in whole units of epsilon and delta, rounded up.

    >>> charge(Loss(0.1, 1e-20))
    (100000000, 1)
    """
    if not isinstance(loss, Loss):
        raise InvalidArgument("loss", loss, "must be a Loss")
    return math.ceil(loss.exact_epsilon * EPSILON_UNITS), math.ceil(loss.exact_delta * DELTA_UNITS)


def concentrated_charge(loss: Loss) -> tuple[int, int]:
    """The same as approximate zCDP: whole units of rho and of the delta beside it, rounded up.

    >>> concentrated_charge(Loss.bounded_range(0.1))
    (1250000000000000, 0)
    """
    own = loss.concentrated
    return math.ceil(own.rho * RHO_UNITS), math.ceil(own.delta * DELTA_UNITS)


def units_of(loss: Loss) -> Units:
    """All that a ledger keeps of a loss."""
    return Units(*charge(loss), *concentrated_charge(loss))


def units_without_law(epsilon: int, delta: int) -> Units:
    """A loss of which only epsilon and delta are known: rho is at most ``epsilon^2 / 2``."""
    return Units(epsilon, delta, -(-(epsilon**2) // 2), delta)


def spend(state: FilterState, loss: Loss, *, dataset: str = "data") -> FilterState:
    """The state after paying for ``loss``.

    Guarantee  Whatever is released while no call raises is (epsilon, delta)-DP with the budget's numbers, even if
               questions and losses depend on all earlier answers.
    Theorem    basic: ``sum eps_i <= eps, sum delta_i <= delta``.  advanced: Whitehouse, Ramdas, Rogers and Wu (ICML
               2023), ``sqrt(2 V ln(1/d')) + V/2 <= eps`` with ``V = sum eps_i^2``, and ``sum delta_i <= delta - d'``.
               zcdp: ``sum rho_i <= rho`` with the greatest rho that gives (eps, d')-DP, and
               ``sum delta_i <= delta - d'``.  advanced and zcdp also admit what ``sum eps_i <= eps`` admits while all
               delta_i are 0; every sum is over the whole history.
    Constants  Theirs; V is rounded up to 1e-18 and the logarithm up to 2^-64.  zcdp: rho_i is what the mechanism
               states, rounded up to 1e-18.

    >>> state = spend(open_filter(Budget(1.0)), Loss(0.4))
    >>> left(state)
    Loss(epsilon=0.6, delta=0.0)
    """
    after = spent(state, units_of(loss))
    if not is_admitted(after):
        raise BudgetExceeded(dataset=dataset, asked=loss, left=left(state, pure=loss.is_pure))
    return after


def covers(state: FilterState, loss: Loss) -> bool:
    """True if ``spend`` would accept this loss.

    >>> covers(open_filter(Budget(1.0)), Loss(1.0, 1e-9))
    False
    """
    return is_admitted(spent(state, units_of(loss)))


def left(state: FilterState, *, pure: bool = True) -> Loss:
    """The loss of the greatest epsilon that would still be accepted, and its delta, rounded down.

    Under advanced and zcdp a loss without a delta may have a greater epsilon than one with a delta: then that is the
    one returned, unless ``pure`` is False.  Under zcdp it is the loss of a mechanism of which nothing more is known; a
    mechanism that states its law may have a greater epsilon.

    >>> left(open_filter(Budget(1.0, 1e-6), filter="zcdp"))
    Loss(epsilon=1.0, delta=0.0)
    >>> round(left(open_filter(Budget(1.0, 1e-6), filter="zcdp"), pure=False).epsilon, 3)
    0.221
    """
    rest = max(0, state.most_squares - state.spent_squares)
    delta = max(0, state.delta - state.slack - state.spent_delta)
    by_sum = max(0, state.epsilon - state.spent_epsilon)
    if state.name == "basic":
        epsilon = by_sum
    else:
        epsilon = math.isqrt(rest) if state.name == "advanced" else _pure_epsilon(rest)
        if pure and state.within_sum and by_sum > epsilon:
            epsilon, delta = by_sum, 0
    return Loss(_down(epsilon, EPSILON_UNITS), _down(delta, DELTA_UNITS))


def times(state: FilterState, loss: Loss) -> int:
    """How many more releases of this privacy loss the filter accepts; closed form, no loop over releases.

    >>> times(open_filter(Budget(1.0)), Loss(0.3))
    3
    """
    units = units_of(loss)
    if units.epsilon == units.delta == 0:
        raise InvalidArgument("loss", str(loss), "must have an epsilon or a delta above 0")
    each = spent(unspent(state), units)
    by_delta = _fits(state.delta - state.slack - state.spent_delta, each.spent_delta)
    by_sum = _fits(state.epsilon - state.spent_epsilon, each.spent_epsilon)
    if state.name == "basic":
        return int(min(by_delta, by_sum))
    by_rule = _fits(state.most_squares - state.spent_squares, each.spent_squares)
    may_add = state.within_sum and units.delta == 0
    return int(min(by_delta, max(by_rule, by_sum if may_add else 0)))


def _fits(rest: int, each: int) -> float:
    return max(0, rest // each) if each else math.inf


def unspent(state: FilterState) -> FilterState:
    """The same rule with nothing spent."""
    return FilterState(state.name, state.epsilon, state.delta, state.slack)


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
def most_rho(epsilon: int, slack: int) -> int:
    """The greatest rho, in 1e-18, that is proved to give (epsilon, d')-DP; 0 if there is none."""
    if not 0 < slack < DELTA_UNITS:
        return 0
    rho = greatest_rho(Fraction(epsilon, EPSILON_UNITS), Fraction(slack, DELTA_UNITS))
    return math.floor(rho * RHO_UNITS)


def _pure_epsilon(rho: int) -> int:
    """The greatest epsilon, in whole units, whose ``epsilon tanh(epsilon / 2)`` is at most ``rho``."""
    low, high = 0, 1
    while math.ceil(any_pure_rho(Fraction(high, EPSILON_UNITS)) * RHO_UNITS) <= rho:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        fits = math.ceil(any_pure_rho(Fraction(middle, EPSILON_UNITS)) * RHO_UNITS) <= rho
        low, high = (middle, high) if fits else (low, middle)
    return low


@functools.lru_cache(maxsize=256)
def _log_inverse(slack: int) -> int:
    """``ln(1/d')`` in units of 2^-64, rounded up."""
    with precision(BITS):
        return math.ceil(top(-ball(Fraction(slack, DELTA_UNITS)).log()) * (1 << _LOG_BITS))


def spent(state: FilterState, units: Units) -> FilterState:
    """The state with one more loss, whether or not the rule admits it."""
    squares, delta = (units.rho, units.rho_delta) if state.name == "zcdp" else (units.epsilon**2, units.delta)
    epsilon = state.spent_epsilon + units.epsilon
    is_within_sum = state.within_sum and units.delta == 0 and epsilon <= state.epsilon
    return replace(
        state,
        spent_epsilon=epsilon,
        spent_squares=state.spent_squares + squares,
        spent_delta=state.spent_delta + delta,
        within_sum=state.name == "basic" or is_within_sum,
    )


def is_admitted(state: FilterState) -> bool:
    """True if the rule admits what was spent."""
    if state.spent_delta > state.delta - state.slack:
        return False
    if state.name == "basic":
        return state.spent_epsilon <= state.epsilon
    if state.within_sum:
        return True
    if state.name == "advanced":
        return squares_fit(state.spent_squares, state.epsilon, state.slack)
    return state.spent_squares <= most_rho(state.epsilon, state.slack)


def _down(units: int, per_one: int) -> float:
    """A float that a charge rounds up to at most ``units``."""
    nearest = units / per_one
    return nearest if Fraction(repr(nearest)) * per_one <= units else math.nextafter(nearest, 0.0)
