"""Propose a bound on what one record can do, test it on the data, release with noise of that size; or refuse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.cascades import Step, Tested
from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms.error import ErrorLaw, WorstCaseError, cut_half_width
from dither.mechanisms.margin_test import MarginTest
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Outcome, Prepared, only_noises
from dither.mechanisms.registry import mechanism
from dither.mechanisms.worst_case import (
    added,
    around,
    noise_error,
    placed,
    public_half_width,
    public_noise_error,
)
from dither.noise.laplace import Laplace
from dither.noise.law import Constants
from dither.numbers import Number, exact
from dither.privacy import Loss
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.ladder import HasLadder
from dither.statistics.statistic import Statistic, VectorStatistic

TEST_SHARE = Fraction(1, 2)
"""The part of epsilon for the test: on a linearly growing ladder the error is least at one half."""
BEYOND_DOUBT = Fraction(1, 1 << 64)
"""Margins are looked at up to where refusals are rarer than this."""
REFUSAL = (
    "the test did not pass: on data like these a few records might move the answer by more than the proposed bound; "
    "a larger public bound, epsilon or delta may pass, and would be paid for again"
)


@mechanism("propose_test", needs=HasLadder)
@dataclass(frozen=True)
class ProposeTest(Mechanism):
    """Noise of a proposed size, if the data are many changes away from needing more; else a refusal.

    Guarantee  (eps, delta)-DP for the query's neighbours; delta > 0 is needed.
    Theorem    DL09's paradigm for any ladder: docs/proofs/propose_test.md.
    Constants  eps/2 for the test, eps/2 for the release, all of delta for the test.  Noise Lap(2 bound/eps).
    Cost       O(log) rungs of the ladder, one comparison, one draw; the interval is free, because the scale is public.

    ``bound``: how far a change of one record may move the answer, in the answer's own units; public, chosen without
    looking at the data.  By default medians, quantiles, their distances and trimmed means of a public number of records
    are tested as without bounds, and answers are clamped to the bounds: how wide these are adds no noise.  Of other
    statistics it is read off records spread evenly between their bounds, or is the square root of the worst case.
    ``constants``: ``"paper"`` for DL09's own, where a function is called without bounds.
    """

    bound: Number | None = None
    constants: Constants = "exact"
    may_refuse = True

    def __post_init__(self) -> None:
        if self.bound is not None and exact(self.bound, "bound") <= 0:
            raise InvalidArgument("bound", self.bound, "must be a positive number")
        if self.constants not in ("exact", "paper"):
            raise InvalidArgument("constants", self.constants, 'must be "exact" or "paper"')

    @property
    def ignores_bounds(self) -> bool:
        """A test without a proposed bound finds one itself: how wide the declared bounds are adds no noise."""
        return self == ProposeTest()

    def serves(self, statistic: Statistic[Data] | VectorStatistic[Data]) -> bool:
        # Where the local sensitivity is the global one on all data, no data could pass.
        return super().serves(statistic) and not statistic.sensitivity_is_constant

    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
        statistic = ask.single_number(self.name)
        only_noises(self.name, ask.noise, "laplace")
        if self.constants != "exact":
            raise NotApplicable("constants", self.constants, "they belong to calls without bounds", '"exact"')
        test = margin_test(ask, TEST_SHARE)
        bound = self._steps(statistic, test)
        release = ask.usable.exact_epsilon - test.epsilon
        return TestedNoise(statistic, ask.loss, test, bound, bound / release, ask.confidence)

    def _steps(self, statistic: Statistic[Data], test: MarginTest) -> int:
        """The proposal in steps of the answer's grid, from public facts."""
        goal, example = test.margin_for(), statistic.even_data()
        if self.bound is not None:
            bound = math.ceil(exact(self.bound) / statistic.answers.step)
        elif example is not None:
            bound = max(statistic.ladder(example)[goal], 1)
        else:
            bound = max(math.isqrt(statistic.global_sensitivity), 1)
        if bound < statistic.global_sensitivity:
            return bound
        most = float(statistic.global_sensitivity * statistic.answers.step)
        if self.bound is not None or example is None:
            raise InvalidArgument(
                "bound", self.bound, f"must be a bound below the worst case {most:g}, which needs no test"
            )
        raise InvalidArgument(
            "data",
            int(getattr(example, "records", 0)),
            f"must have more records for a test of this statistic at epsilon={float(test.epsilon):g} and "
            f"delta={float(test.delta):g}, or declare ProposeTest(bound=...)",
        )


def check_margin(test: MarginTest, statistic: Statistic[Data], bound: int = 0) -> None:
    """Refuse, before anything is charged, a test that no data of this size could pass half of the time."""
    most = statistic.max_margin(bound)
    if most is not None and test.chance(most) < 0.5:
        raise InvalidArgument(
            "data",
            f"a distance to instability of at most {most}",
            f"a test at epsilon={float(test.epsilon):g} and delta={float(test.delta):g} needs more records for this "
            "statistic: all data of this size would be refused",
        )


def margin_test(ask: MechanismSpec[Data], share: Fraction) -> MarginTest:
    """The test for a question that has a delta."""
    if ask.loss.is_pure:
        raise InvalidArgument("delta", ask.loss.delta, "must be above 0 for a test, such as 1e-6")
    return MarginTest(ask.usable.exact_epsilon * share, min(ask.loss.exact_delta, Fraction(49, 100)))


@dataclass(frozen=True)
class TestedNoise(Prepared[Data]):
    """value + Lap(scale) if the margin passes, else nothing."""

    mechanism = "propose_test"
    __test__ = False  # not a class of tests

    statistic: Statistic[Data]
    loss: Loss
    test: MarginTest
    bound: int
    """In grid steps: public."""
    scale: Fraction
    confidence: Fraction | None
    noise_name = "laplace"
    refusal = REFUSAL

    @property
    def composition(self) -> Tested:
        """What it is made of, and costs."""
        return Tested(Step(self.test.epsilon, self.test.delta), Step(self.bound / self.scale))

    def margin(self, data: Data) -> int:
        """How many changes the data are away from where the proposal fails, up to a public depth: private."""
        return self.statistic.ladder(data).margin(self.bound, self.test.margin_for(BEYOND_DOUBT))

    def run(self, data: Data) -> Outcome:
        if not self.test.passes(self.margin(data)):
            return Outcome(None)
        noisy = added(Laplace(), self.statistic.value(data), self.scale)
        half = None if self.confidence is None else public_half_width(Laplace(), self.scale, self.confidence)
        return around(self.statistic, noisy, half)

    def check_data_can_pass(self) -> None:
        check_margin(self.test, self.statistic, self.bound)

    def error_laws(self, records: Data) -> list[ErrorLaw]:
        # The noise is drawn after the test and independent of it.
        return [noise_error(Laplace(), self.scale, self.statistic, records)]

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:  # noqa: ARG002
        return public_noise_error(Laplace(), self.scale, self.statistic, confidence)

    def public_half_widths(self) -> tuple[float, ...] | None:
        if self.confidence is None:
            return None
        return (float(public_half_width(Laplace(), self.scale, self.confidence)),)

    def typical_half_widths(self, records: Data) -> tuple[float, ...] | None:
        public = self.public_half_widths()
        return None if public is None else (cut_half_width(public[0], *placed(self.statistic, records)),)
