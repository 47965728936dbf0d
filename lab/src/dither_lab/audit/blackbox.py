"""Lower confidence bounds on the true epsilon of a mechanism, from samples of its answers and nothing else.

A claim ``(epsilon, delta)`` says ``P(A) <= e^epsilon Q(A) + delta`` for every set A of answers, P and Q being the laws
of the answers on two neighbouring datasets.  An auditor who has fixed an event A counts how often it happens on fresh
samples of both; intervals for the two probabilities turn into a lower bound on epsilon that is wrong with at most a
stated probability, whatever the mechanism does (docs/proofs/audit.md).

Events come from attacks (attacks.py), datasets from the library of pairs (pairs.py).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainccinv, betaincinv

from dither.errors import InvalidArgument
from dither.privacy import Loss

FAILURE = 1e-9
"""How often a finding may be wrong, unless another number is given."""

_ROUNDING = 1e-9
"""Far above the relative error of the inverse beta functions, far below what an audit can resolve."""

Outputs: TypeAlias = Sequence[Any]
Sampler: TypeAlias = Callable[[int], Outputs]
"""Gives so many fresh, independent answers of a mechanism on one dataset."""


@dataclass(frozen=True)
class Event:
    """A set of answers, fixed before it is tested.

    ``reverse``: the event is thought to be likelier on the second dataset than on the first.
    """

    name: str
    holds: Callable[[Outputs], NDArray[np.bool_]]
    reverse: bool = False


@dataclass(frozen=True)
class Aim:
    """What an event will be tested for: the claim, the size of the test and the failure probability of the test."""

    claimed: Loss
    samples: int
    failure_probability: float

    def bound(self, likely: int, rare: int, samples: int | None = None) -> float:
        """The lower bound on epsilon that counts in ``samples`` runs of either side would give."""
        size = self.samples if samples is None else samples
        return epsilon_bound(likely, size, rare, size, self.claimed.delta, self.failure_probability)


class Attack(ABC):
    """A way of choosing events."""

    learns: bool
    """True if it looks at samples; these are never used again."""

    @abstractmethod
    def events(self, here: Outputs, there: Outputs, aim: Aim) -> list[Event]:
        """Events worth testing, from samples of both sides that are set aside for the choice."""


@dataclass(frozen=True)
class BlackBoxFinding:
    """What an audit of one pair of neighbours found.

    With probability at least ``1 - failure_probability`` the mechanism is not ``(e, delta)``-private for any e below
    ``lower_bound``, delta being the claimed one.  ``detected``: the claim itself is refuted.  ``samples``: runs on each
    of the two datasets, those that chose the event included.
    """

    claimed: Loss
    lower_bound: float
    failure_probability: float
    samples: int
    event: str
    detected: bool

    def __str__(self) -> str:
        verdict = "refuted" if self.detected else "not refuted"
        return (
            f"{self.claimed} {verdict}: epsilon is at least {self.lower_bound:#.4g} "
            f"(event {self.event}; {self.samples:,} runs a side; wrong with probability {self.failure_probability:g})"
        )


def audit(
    here: Sampler,
    there: Sampler,
    *,
    claimed: Loss,
    attacks: Sequence[Attack],
    samples: int,
    failure_probability: float = FAILURE,
) -> BlackBoxFinding:
    """Attack a mechanism on one pair of neighbours.

    Guarantee  ``lower_bound`` exceeds the true epsilon at the claimed delta with at most ``failure_probability``.
    Theorem    docs/proofs/audit.md: Clopper-Pearson bounds, a union over events and sides, independent test samples.
    Cost       ``samples`` runs on either side; half of them choose events if an attack learns.

    The test samples are drawn after the events are fixed, so no event can have seen them.

    >>> rng = np.random.default_rng(1)
    >>> coin = lambda p: lambda count: (rng.random(count) < p).tolist()
    >>> from dither_lab.audit.attacks import HistogramAttack
    >>> found = audit(coin(0.75), coin(0.25), claimed=Loss(0.7), attacks=[HistogramAttack()], samples=4000)
    >>> found.detected, 0.7 < found.lower_bound < math.log(3)
    (True, True)
    """
    if not 0.0 < failure_probability < 1.0:
        raise InvalidArgument("failure_probability", failure_probability, "must be a number in (0, 1)")
    if samples < 2:
        raise InvalidArgument("samples", samples, "must be at least 2 runs of either side")
    if not attacks:
        raise InvalidArgument("attacks", list(attacks), "must have at least one attack")
    studied = samples // 2 if any(attack.learns for attack in attacks) else 0
    tested = samples - studied
    # Each attack usually proposes one event in either direction; that many tests share the failure probability.
    aim = Aim(claimed, tested, failure_probability / (2 * len(attacks)))
    study = (here(studied), there(studied)) if studied else ([], [])
    events = [event for attack in attacks for event in attack.events(*study, aim)]
    return _tested(events, here(tested), there(tested), claimed, samples, failure_probability)


def _tested(
    events: list[Event], here: Outputs, there: Outputs, claimed: Loss, samples: int, failure_probability: float
) -> BlackBoxFinding:
    best, name = 0.0, "none"
    for event in events:
        likely, rare = (there, here) if event.reverse else (here, there)
        bound = epsilon_bound(
            int(np.count_nonzero(event.holds(likely))),
            len(likely),
            int(np.count_nonzero(event.holds(rare))),
            len(rare),
            claimed.delta,
            failure_probability / len(events),
        )
        if bound > best:
            best, name = bound, event.name
    return BlackBoxFinding(claimed, best, failure_probability, samples, name, best > claimed.epsilon)


def epsilon_bound(
    likely: int, likely_runs: int, rare: int, rare_runs: int, delta: float, failure_probability: float
) -> float:
    """``ln((p - delta) / q)`` for a lower bound p and an upper bound q on the probabilities of one event; at least 0.

    Guarantee  Above the least epsilon with ``P(A) <= e^epsilon Q(A) + delta`` with at most ``failure_probability``.
    """
    p = lower_probability(likely, likely_runs, failure_probability / 2.0)
    q = upper_probability(rare, rare_runs, failure_probability / 2.0)
    return max(math.log((p - delta) / q), 0.0) if p > delta else 0.0


def lower_probability(hits: int, runs: int, failure_probability: float) -> float:
    """Clopper-Pearson: exceeds the true probability with at most ``failure_probability``."""
    return 0.0 if hits == 0 else float(betaincinv(hits, runs - hits + 1, failure_probability)) * (1.0 - _ROUNDING)


def upper_probability(hits: int, runs: int, failure_probability: float) -> float:
    """Clopper-Pearson: falls short of the true probability with at most ``failure_probability``."""
    if hits == runs:
        return 1.0
    return min(float(betainccinv(hits + 1, runs - hits, failure_probability)) * (1.0 + _ROUNDING), 1.0)
