"""What a mechanism makes: a mechanism, built and proved from public facts, then run once on private data.

Between the two lies the charge.  ``prepare`` may refuse, for public reasons; ``run`` may not.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dither.errors import InvalidArgument, NotApplicable
from dither.noise.law import Constants, Law, Point
from dither.privacy import Loss, fraction_of_unit
from dither.statistics.statistic import Statistic, VectorStatistic

MOST_EPSILON = 100.0
MOST_CONFIDENCE = 1 - Fraction(1, 10**12)
"""Bars are worked out in floats, which tell 1 - 1e-12 from 1."""
SLOW = 16
"""The weight of rungs whose time grows with their number."""


@dataclass(frozen=True)
class Outcome:
    """What leaves a mechanism: private no longer.  Numbers are whole grid steps."""

    answer: int | tuple[int, ...] | None
    interval: tuple[int, int] | tuple[tuple[int, int], ...] | None = None

    @property
    def refused(self) -> bool:
        """True if the mechanism declined to answer; that is a result, and it is paid for."""
        return self.answer is None


@dataclass(frozen=True)
class MechanismSpec:
    """The public part of a question: the statistic, its price, the noise wanted and the error bar."""

    statistic: Statistic | VectorStatistic
    loss: Loss
    noise: Law | None = None
    """None: the mechanism's own choice."""
    confidence: Fraction | None = None
    """None: no error bar."""

    def __post_init__(self) -> None:
        if self.confidence is not None and fraction_of_unit("confidence", self.confidence) > MOST_CONFIDENCE:
            most = f"at most {float(MOST_CONFIDENCE)} is accepted, or None for no error bar"
            raise InvalidArgument("confidence", self.confidence, most)

    @property
    def usable(self) -> Loss:
        """The loss to calibrate for: above an epsilon of 100 nothing is promised and numbers overflow."""
        return Loss(min(self.loss.epsilon, MOST_EPSILON), self.loss.delta)


class Prepared(ABC):
    """A private algorithm ready to run."""

    statistic: Statistic | VectorStatistic
    loss: Loss
    noise_name: str

    @property
    def rungs(self) -> int:
        """How many rungs or ranks a draw looks at if there are so many: public; its time and memory grow with it."""
        return 0

    @property
    def rung_weight(self) -> int:
        """How many times as much as usual one of them takes (``SLOW`` where that grows with its number)."""
        return 1

    @property
    def reach(self) -> int:
        """How many ranks on either side of a quantile it will probably look at: public; it only decides how to read."""
        return 2048

    @abstractmethod
    def run(self, data: Any) -> Outcome:
        """Read the private data and answer.  Raises nothing that depends on them."""


class Mechanism(ABC):
    """A manner of fitting noise."""

    name: ClassVar[str]

    @abstractmethod
    def prepare(self, ask: MechanismSpec) -> Prepared:
        """The mechanism for a question, from public facts alone."""


def only_noises(mechanism: str, noise: Law | None, *names: str) -> None:
    """Refuse a noise that this mechanism cannot use."""
    if noise is not None and noise.name not in names:
        raise NotApplicable(
            "noise",
            noise.name,
            f"mechanism {mechanism!r} does not use it",
            ", ".join(names) or "noise='auto'",
        )


@functools.lru_cache(maxsize=1024)
def point_of(law: Law, loss: Loss, beta: Fraction | None, constants: Constants = "exact") -> Point:
    """The proved point, remembered: proofs by interval arithmetic take up to a second.  All of it is public."""
    return law.point(loss, beta=beta, constants=constants)
