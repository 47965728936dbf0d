"""The worst analyst that a privacy filter meets: all strategies and all transcripts of small settings, exactly."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import TypeVar

from dither.accounting.filters import FilterState, covers, open_filter, spend
from dither.privacy import Budget, FilterName, Loss
from dither.queries.order import Median
from dither.queries.plan import Options
from dither.sources.column import Shape
from dither_lab.audit.checks import Check, Effort, Evidence, within_rounding

State = TypeVar("State", bound=Hashable)
Admits = Callable[..., bool]
Pays = Callable[..., Hashable]
_UNITS = 1000
"""Log-ratios are whole thousandths: equal ones are one state."""


@dataclass(frozen=True)
class FilterAnswer:
    """A loss, and the worst pair of laws that has it: two outcomes with these log-ratios."""

    loss: Loss
    high: float
    low: float

    @property
    def chance(self) -> float:
        """The probability of the outcome ``high`` under the first law: ratios have mean 1 under the second."""
        return (math.exp(-self.low) - 1) / (math.exp(-self.low) - math.exp(-self.high))


def pure(epsilon: float) -> FilterAnswer:
    """Randomised response, the worst of all pure mechanisms."""
    return FilterAnswer(Loss(epsilon), epsilon, -epsilon)


def drawn(epsilon: float, place: float) -> FilterAnswer:
    """A draw of bounded range whose log-ratios lie between place - epsilon and place."""
    return FilterAnswer(Loss.bounded_range(epsilon), place, place - epsilon)


def worst_delta(
    start: State, menu: Sequence[FilterAnswer], epsilon: float, admits: Admits = covers, pays: Pays = spend
) -> float:
    """The largest divergence at ``epsilon`` that any adaptive analyst reaches with answers of a menu.

    The next answer is picked by what was seen; that matters by the state of the filter and the log-ratio so far alone,
    so the maximum over all strategies is computed from the end.
    """

    @functools.cache
    def value(state: State, ratio: int) -> float:
        best = max(0.0, 1.0 - math.exp(epsilon - ratio / _UNITS))
        for answer in menu:
            if admits(state, answer.loss):
                after = pays(state, answer.loss)
                high, low = (value(after, ratio + round(_UNITS * end)) for end in (answer.high, answer.low))
                best = max(best, answer.chance * high + (1 - answer.chance) * low)
        return best

    return value(start, 0)


@dataclass(frozen=True)
class FilterSetting:
    """A filter and what may be asked of it."""

    name: FilterName
    budget: Budget
    menu: tuple[FilterAnswer, ...]


SETTINGS = (
    FilterSetting("zcdp", Budget(1.0, 0.01), (pure(0.25), pure(0.5), drawn(0.5, 0.25), drawn(1.0, 0.5))),
    FilterSetting("zcdp", Budget(1.0, 0.05), (pure(0.2), pure(0.6), drawn(0.4, 0.3), drawn(0.8, 0.2))),
    FilterSetting("zcdp", Budget(0.5, 0.05), (pure(0.15), pure(0.25), drawn(0.5, 0.4), drawn(0.3, 0.1))),
    FilterSetting("zcdp", Budget(2.0, 0.02), (pure(0.5), pure(1.0), drawn(1.0, 0.75), drawn(1.5, 0.5))),
    FilterSetting("advanced", Budget(1.0, 0.05), (pure(0.2), pure(0.5), pure(1.0))),
    FilterSetting("advanced", Budget(2.0, 0.1), (pure(0.25), pure(0.75), pure(1.5))),
)


def against(
    setting: FilterSetting, admits: Admits = covers, pays: Pays = spend, start: Hashable | None = None
) -> Evidence:
    """Whether no analyst gains more than the budget's delta, and whether adding epsilons would admit more."""
    budget = setting.budget
    state: Hashable = open_filter(budget, filter=setting.name) if start is None else start
    reached = worst_delta(state, setting.menu, budget.epsilon, admits, pays)
    claimed = Loss(budget.epsilon, budget.delta)
    note = f"delta {reached:.4g} of {budget.delta:g}"
    return Evidence(reached <= budget.delta * (1 + 1e-9), claimed, cases=len(setting.menu), note=note)


def as_many_as_sums(name: FilterName, admits: Admits = covers) -> Evidence:
    """Whether a filter admits every pure answer that the plain sum of epsilons admits."""
    budget = Budget(1.0, 1e-6)
    for each in (0.05, 0.2, 0.5, 1.0):
        state = open_filter(budget, filter=name)
        for count in range(round(1 / each)):
            if not admits(state, Loss(each)):
                return Evidence(False, Loss(1.0, 1e-6), note=f"{count} answers of {each:g} where sums admit more")
            state = spend(state, Loss(each))
    return Evidence(True, cases=4, note="as many as adding epsilons")


def no_more_than_pure(rho_of: Callable[[float, Fraction | None], float] | None = None) -> Evidence:
    """Whether drawn answers state no more rho than randomised response of the same epsilon has."""
    for epsilon, confidence in product((1.0, 8.0, 9.0, 20.0, 100.0), (None, Fraction(19, 20))):
        rho = (rho_of or _rho_of_median)(epsilon, confidence)
        if not within_rounding(rho, epsilon * math.tanh(epsilon / 2)):
            return Evidence(False, Loss(epsilon), note=f"rho {rho:.4g} at epsilon {epsilon:g}")
    return Evidence(True, cases=10, note="never above any pure mechanism")


def _rho_of_median(epsilon: float, confidence: Fraction | None) -> float:
    options = Options.asked(epsilon, confidence=confidence)
    return Median(bounds=(0, 100), step=1).plan(Shape(100, whole=True, nullable=False), options).loss.rho


def analyst_checks() -> Iterator[Check]:
    """The filters that add up something else than epsilons."""
    covered = frozenset({"filters", "queries_within"})
    detail = "stated rho of large epsilons"
    yield Check(
        "filter", "exact", lambda effort: no_more_than_pure(), detail=detail, covers=covered, proof="concentrated"
    )

    def run(setting: FilterSetting) -> Callable[[Effort], Evidence]:
        return lambda effort: against(setting)

    def sums(name: FilterName) -> Callable[[Effort], Evidence]:
        return lambda effort: as_many_as_sums(name)

    for place, setting in enumerate(SETTINGS):
        detail = f"{setting.name}, worst analyst {place + 1}"
        yield Check("filter", "exact", run(setting), detail=detail, covers=covered, proof="composition")
    for name in ("advanced", "zcdp"):
        detail = f"{name}, beside the plain sum"
        yield Check("filter", "exact", sums(name), detail=detail, covers=covered, proof="composition")


# --- rules that are wrong ----------------------------------------------------------------------------------------


def separate_tallies() -> Evidence:
    """Each answer is charged to one of two rules, which knows only what it was charged itself."""
    setting = SETTINGS[0]
    alone = replace(open_filter(setting.budget, filter=setting.name), within_sum=False)

    def first(states: tuple[FilterState, ...], loss: Loss) -> int | None:
        return next((place for place, state in enumerate(states) if covers(state, loss)), None)

    def pays(states: tuple[FilterState, ...], loss: Loss) -> tuple[FilterState, ...]:
        place = first(states, loss)
        return tuple(spend(state, loss) if i == place else state for i, state in enumerate(states))

    start = (open_filter(Budget(setting.budget.epsilon)), alone)
    return against(setting, lambda states, loss: first(states, loss) is not None, pays, start)


def forgotten_rhos() -> Evidence:
    """What the plain sum admitted is not added to the rhos."""

    def pays(state: FilterState, loss: Loss) -> FilterState:
        after = spend(state, loss)
        return replace(after, spent_squares=state.spent_squares) if after.within_sum else after

    return against(SETTINGS[0], pays=pays)


def without_sums() -> Evidence:
    """Rhos alone: one pure answer of 0.2 within (1, 1e-6), where adding epsilons admits five."""
    return as_many_as_sums("zcdp", lambda state, loss: covers(replace(state, within_sum=False), loss))


def squares_alone() -> Evidence:
    """A rho of epsilon^2 / 8 at any epsilon: 50 at epsilon 20, where any pure mechanism has 20."""
    return no_more_than_pure(lambda epsilon, confidence: epsilon**2 / 8)
