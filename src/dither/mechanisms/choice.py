"""What "auto" means, and how names become mechanisms and noises; decided by public facts only.

Which mechanism a statistic prefers is its own declaration (``mechanism_preference``; ``preferred_at`` an epsilon where
that matters).  The preferences rest on measurements (docs/decisions.md, "What auto means"): on every distribution tried
the inverse-sensitivity mechanism answers order statistics better than noise of any scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from dither.errors import EpsilonTooSmall, InvalidArgument, NotApplicable
from dither.mechanisms.limits import check_cost
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Prepared
from dither.mechanisms.registry import mechanisms
from dither.mechanisms.worst_case import WorstCase
from dither.noise.blunt_power_law import BluntPowerLaw
from dither.noise.gaussian import Gaussian
from dither.noise.heavy_tails import Cauchy, PowerLaw, Student
from dither.noise.laplace import Laplace
from dither.noise.law import Law
from dither.numbers import Number, exact
from dither.privacy import FilterName, Loss
from dither.release import SAMPLE, IntervalName
from dither.sensitivity.global_sensitivity import Data
from dither.statistics.statistic import Statistic, VectorStatistic

MechanismChoice: TypeAlias = str | Mechanism
NoiseChoice: TypeAlias = str | Law | None
MECHANISMS = mechanisms()
LEVEL = 0.95
"""Errors are compared in the mean; a level has to be named."""
NOISES: dict[str, type[Law]] = {law.name: law for law in (BluntPowerLaw, PowerLaw, Cauchy, Laplace, Gaussian, Student)}


def applicable(statistic: Statistic[Data] | VectorStatistic[Data]) -> list[str]:
    """The mechanisms that serve this statistic: those it prefers first, the default at the head."""
    served = [name for name, mechanism_class in MECHANISMS.items() if mechanism_class().serves(statistic)]
    order = statistic.mechanism_preference
    return sorted(served, key=lambda name: order.index(name) if name in order else len(order))


def chosen_among(mechanism: MechanismChoice, noise: NoiseChoice, served: Sequence[str], why: str) -> Mechanism:
    """The mechanism of a procedure that only some serve; "auto" is the first of them.

    A noise that was asked for by name is added noise, not a draw.
    """
    law = named_noise(noise)
    if mechanism == "auto":
        mechanism = next((name for name in served if law is None or MECHANISMS[name].adds_noise), served[0])
    known = mechanism_of(mechanism)
    if known is None or known.name not in served:
        raise NotApplicable("mechanism", mechanism if known is None else known.name, why, ", ".join(served))
    if law is not None and not known.adds_noise:
        raise NotApplicable("noise", law.name, f"mechanism {known.name!r} does not use it", "noise='auto'")
    return known


def mechanism_of(mechanism: MechanismChoice) -> Mechanism | None:
    """The mechanism that was named or given; None for "auto" and what is none."""
    if isinstance(mechanism, str):
        return MECHANISMS[mechanism]() if mechanism in MECHANISMS else None
    return mechanism if isinstance(mechanism, Mechanism) else None


def name_of(mechanism: MechanismChoice) -> str:
    """The name of a mechanism that was asked for by name or as an object."""
    return mechanism.name if isinstance(mechanism, Mechanism) else mechanism


def named_noise(noise: NoiseChoice, argument: str = "noise") -> Law | None:
    """A law by name, as given, or None for "auto"."""
    if noise is None or noise == "auto":
        return None
    if isinstance(noise, Law):
        return noise
    if isinstance(noise, str) and noise in NOISES:
        return NOISES[noise]()
    names = ", ".join(repr(name) for name in ("auto", *NOISES))
    raise InvalidArgument(argument, noise, f"must be {names} or a noise object such as dither.Cauchy(gamma=4)")


def prepare(
    statistic: Statistic[Data] | VectorStatistic[Data],
    *,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Number | None = None,
    interval: IntervalName = SAMPLE,
    ledger: FilterName | None = None,
) -> tuple[str, Prepared[Data]]:
    """The mechanism for a question and the name of its mechanism, from public facts alone.

    ``ledger``: how the losses of the dataset add up, where that is known.  Under "zcdp" they are added up as rho, so
    "auto" compares errors at equal rho instead of equal epsilon.
    """
    loss = Loss.asked(epsilon, delta)
    law = named_noise(noise)
    level = None if confidence is None else exact(confidence, "confidence")
    ask = MechanismSpec(statistic, loss, law, level, interval)
    is_free = mechanism == "auto" and law is None and interval == SAMPLE and not statistic.is_constant
    if is_free and statistic.prefers_least_error:
        return _least_error(ask, equal_rho=ledger == "zcdp")
    if is_free and statistic.single is not None:
        preferred = _preferred(ask, statistic.single, ledger)
        if preferred is not None:
            return preferred
    chosen = _mechanism(mechanism, statistic, law)
    if interval != SAMPLE and not chosen.covers_populations:
        able = [name for name in applicable(statistic) if MECHANISMS[name].covers_populations]
        why = f"mechanism {chosen.name!r} has an interval for the records alone"
        raise NotApplicable("interval", interval, why, f"mechanism={able[0]!r}" if able else f"interval={SAMPLE!r}")
    if statistic.is_constant:
        # The same answer on all data: the global sensitivity is 0, so no noise is needed.
        return WorstCase.name, WorstCase().prepare(MechanismSpec(statistic, loss, None, level))
    prepared = chosen.prepare(ask)
    prepared.check_data_can_pass()
    check_cost(prepared, loss.epsilon)
    return chosen.name, prepared


def _preferred(
    ask: MechanismSpec[Data], statistic: Statistic[Data], ledger: FilterName | None
) -> tuple[str, Prepared[Data]] | None:
    """What the statistic prefers at this epsilon, unless it would look at too much: public."""
    interval = ask.confidence is not None
    name = statistic.preferred_at(ask.usable.exact_epsilon, interval=interval, ledger=ledger)
    if name is None:
        return None
    prepared = MECHANISMS[name]().prepare(ask)
    try:
        check_cost(prepared, ask.loss.epsilon)
    except EpsilonTooSmall:
        return None
    return name, prepared


def _least_error(ask: MechanismSpec[Data], *, equal_rho: bool) -> tuple[str, Prepared[Data]]:
    """The mechanism whose expected error, averaged over the numbers, is least whatever the data are: public."""
    tried = {
        name: MECHANISMS[name]().prepare(ask) for name in applicable(ask.statistic) if not MECHANISMS[name].may_refuse
    }
    compared = tried
    if equal_rho:
        least = min(prepared.loss.concentrated.rho for prepared in tried.values())
        compared = {name: _of_rho(MECHANISMS[name](), ask, least) for name in tried}
    errors = {name: math.fsum(item.worst_case_error(LEVEL).expected) for name, item in compared.items()}
    # Scales that were proved are a billionth larger than they need be: such differences are ties.
    name = next(name for name, error in errors.items() if error <= min(errors.values()) * (1.0 + 1e-6))
    return name, tried[name]


def _of_rho(mechanism: Mechanism, ask: MechanismSpec[Data], rho: Fraction) -> Prepared[Data]:
    """The mechanism at an epsilon at which it adds no more than so much."""

    def at(epsilon: float) -> Prepared[Data]:
        return mechanism.prepare(replace(ask, loss=Loss(epsilon, ask.loss.delta)))

    return at(epsilon_of_rho(lambda epsilon: at(epsilon).loss.concentrated.rho, ask.loss.epsilon, rho))


HALVINGS = 8


def epsilon_of_rho(rho_at: Callable[[float], Fraction], epsilon: float, rho: Fraction) -> float:
    """The largest epsilon up to this one at which no more than ``rho`` is added to a zCDP filter, to a part in 256.

    For comparisons only: rho grows at least as fast as epsilon in every mechanism, so the search starts there.
    """
    reached = rho_at(epsilon)
    if reached <= rho:
        return epsilon
    low, high = epsilon * float(rho / reached), epsilon
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if rho_at(middle) <= rho else (low, middle)
    return low


def _mechanism(
    mechanism: MechanismChoice, statistic: Statistic[Data] | VectorStatistic[Data], law: Law | None
) -> Mechanism:
    served = applicable(statistic)
    if mechanism == "auto":
        # A noise that was asked for by name is added noise, not a draw from shells.
        return MECHANISMS[next(name for name in served if law is None or MECHANISMS[name].adds_noise)]()
    chosen = MECHANISMS[mechanism]() if isinstance(mechanism, str) and mechanism in MECHANISMS else mechanism
    if not isinstance(chosen, Mechanism):
        names = ", ".join(repr(name) for name in ("auto", *MECHANISMS))
        raise InvalidArgument("mechanism", mechanism, f"must be {names} or an object such as dither.Smooth(beta=0.1)")
    if not chosen.serves(statistic):
        raise NotApplicable("mechanism", chosen.name, "this query does not offer it", ", ".join(served))
    return chosen
