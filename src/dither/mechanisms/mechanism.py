"""What a mechanism is: ``prepare`` proves it private from public facts, ``run`` answers once from private data.

Between the two lies the charge.  ``prepare`` may refuse, for public reasons; ``run`` may not.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Generic

from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms.error import FEWEST_SAMPLES, ErrorLaw, WorstCaseError, whole_range
from dither.noise.law import AdmissiblePoint, Constants, Law
from dither.privacy import Loss, fraction_of_unit
from dither.release import SAMPLE, IntervalName
from dither.sensitivity.global_sensitivity import Data
from dither.statistics.statistic import Statistic, VectorStatistic

MOST_EPSILON = 100.0
MOST_CONFIDENCE = 1 - Fraction(1, 10**12)
"""Intervals are computed in floats, in which 1 - 1e-12 is not 1."""
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

    @property
    def number(self) -> int:
        """The answer of a mechanism for one number that always answers."""
        if self.answer is None or isinstance(self.answer, tuple):
            raise TypeError("the outcome is not one number")
        return self.answer

    @property
    def ends(self) -> tuple[int, int] | None:
        """The interval around one number."""
        if self.interval is None:
            return None
        low, high = self.interval
        if isinstance(low, tuple) or isinstance(high, tuple):
            raise TypeError("the outcome is not one number")
        return low, high


@dataclass(frozen=True)
class MechanismSpec(Generic[Data]):
    """The public part of a question: the statistic, its privacy loss, the noise wanted and the interval."""

    statistic: Statistic[Data] | VectorStatistic[Data]
    loss: Loss
    noise: Law | None = None
    """None: the mechanism's own choice."""
    confidence: Fraction | None = None
    """None: no interval."""
    interval: IntervalName = SAMPLE
    """What the interval covers."""

    def __post_init__(self) -> None:
        if self.loss.stated is not None:
            # What another mechanism states about its loss says nothing about this one.
            object.__setattr__(self, "loss", Loss(self.loss.epsilon, self.loss.delta))
        if self.confidence is not None and fraction_of_unit("confidence", self.confidence) > MOST_CONFIDENCE:
            most = f"must be at most {float(MOST_CONFIDENCE)}, or None for no interval"
            raise InvalidArgument("confidence", self.confidence, most)

    def single_number(self, mechanism: str) -> Statistic[Data]:
        """The statistic of a mechanism that answers with one number."""
        single = self.statistic.single
        if single is None:
            raise NotApplicable("mechanism", mechanism, "this query has several numbers", "worst_case")
        return single

    @property
    def usable(self) -> Loss:
        """The loss to calibrate for: above an epsilon of 100 nothing is promised and numbers overflow."""
        return Loss(min(self.loss.epsilon, MOST_EPSILON), self.loss.delta)


class Prepared(ABC, Generic[Data]):
    """A private algorithm ready to run."""

    if TYPE_CHECKING:

        @property
        def statistic(self) -> Statistic[Data] | VectorStatistic[Data]: ...
        @property
        def loss(self) -> Loss: ...
        @property
        def noise_name(self) -> str: ...

    mechanism: ClassVar[str] = ""
    """The public name of the mechanism; after a slash, which of its draws this is."""
    refusal: ClassVar[str | None] = None
    """What a refusal says, of a mechanism that may decline to answer; None: it always answers."""

    @property
    def draw_length(self) -> int:
        """How many rungs or ranks a draw looks at if there are so many: public; its time and memory grow with it."""
        return 0

    @property
    def step_weight(self) -> int:
        """How many times as much as usual one of them takes (``SLOW`` where that grows with its number)."""
        return 1

    @property
    def reach(self) -> int:
        """How many ranks on either side of a quantile it will probably look at: public; it only decides how to read."""
        return 2048

    def noise_scale(self, records: Data) -> Fraction | None:  # noqa: ARG002
        """The scale of the noise that it adds on these records, in grid steps: private.

        None if what it adds is not noise of one scale.
        """
        return None

    @property
    def laplace_scales(self) -> tuple[Fraction, ...] | None:
        """The scales of the independent integer Laplace noise that it adds to each number, in grid steps: public.

        None if what it adds is anything else.
        """
        return None

    @abstractmethod
    def run(self, data: Data) -> Outcome:
        """Read the private data and answer.  Raises nothing that depends on them."""

    def check_data_can_pass(self) -> None:
        """Refuse, from public facts, a test that no data could pass half of the time."""

    def error_laws(self, records: Data) -> list[ErrorLaw]:  # noqa: ARG002
        """The law of the error of each released number for these records, given that there is an answer.

        As private as the records: quotes pass records that are drawn from a public prior.
        """
        raise NotApplicable("prior", type(self).__name__, "no error is worked out for it", "quotes without a prior")

    @property
    def prior_samples(self) -> int:
        """How many samples of a prior an estimate of the error averages over."""
        return FEWEST_SAMPLES

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:  # noqa: ARG002
        """What holds for all data, given that there is an answer.

        ``records``: how many there are at least, where that is assumed.
        """
        return whole_range(self.statistic.answer_grids)

    def public_half_widths(self) -> tuple[float, ...] | None:
        """Half-widths of the intervals where they are the same for all data; None: they are not, or there are none."""
        return None

    def typical_half_widths(self, records: Data) -> tuple[float, ...] | None:  # noqa: ARG002
        """Expected half-widths of the intervals around the true values for these records; None: no interval."""
        return self.public_half_widths()


class Mechanism(ABC):
    """A way to answer a statistic privately, with its public parameters."""

    name: ClassVar[str]
    needs: ClassVar[tuple[type, ...]] = (object,)
    """The sensitivity structures of which a statistic must offer one."""
    adds_noise: ClassVar[bool] = True
    """True if the answer is the statistic plus noise, whose law may be asked for by name."""
    covers_populations: ClassVar[bool] = False
    """True if its interval can cover the statistic of the population that the records are a sample of."""
    may_refuse: ClassVar[bool] = False
    """True if it tests the data and may decline to answer: then it is used only where it was asked for by name."""

    @property
    def claim(self) -> str | None:
        """What its guarantee rests on beside the proofs of the library, such as levels that somebody made by hand."""
        return None

    def serves(self, statistic: Statistic[Data] | VectorStatistic[Data]) -> bool:
        """Whether it can answer this statistic at some privacy loss: a public rule."""
        return isinstance(statistic, self.needs)

    @property
    def ignores_bounds(self) -> bool:
        """Whether it answers as if no bounds were declared, where a procedure does, and clamps the answer to them."""
        return False

    @abstractmethod
    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
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
def point_of(law: Law, loss: Loss, beta: Fraction | None, constants: Constants = "exact") -> AdmissiblePoint:
    """The proved point, remembered: proofs by interval arithmetic take up to a second.  All of it is public."""
    return law.point(loss, beta=beta, constants=constants)
