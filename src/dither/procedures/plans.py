"""Whole algorithms without bounds: scale, quantiles, interquantile range and trimmed mean, with their losses.

A plan is made from public facts, charged, and then run once on private data.  Two sets of constants: ``"exact"``
splits the user's own (epsilon, delta) by fixed public shares; ``"paper"`` is DL09 as printed, with bins, cascades,
thresholds ln^2 n and the delta that follows from them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, TypeVar

from dither.accounting.cascades import CascadeComposition, Composition, Sequential, Step, Tested
from dither.errors import InvalidArgument
from dither.mechanisms.margin_test import MarginTest
from dither.mechanisms.mechanism import MOST_EPSILON
from dither.noise.law import Constants
from dither.numbers import ball, precision, upper_float
from dither.privacy import Loss
from dither.procedures.ordered import Ordered, RankRange, range_margin
from dither.procedures.unbounded import (
    COARSE_ROOM,
    FINENESS,
    LOCATION_ROOM,
    LOG_PARTS,
    NARROW_RANGE,
    RANGE_ROOM,
    SCALE_ROOM,
    CoarseScale,
    FoundNumber,
    LocationStep,
    MarginRule,
    ScaleStep,
    enough_records,
    noisy,
    proposal,
    short_octaves,
)
from dither.statistics.order import rank_of

COARSE = Fraction(1, 6)
"""The part of epsilon that each of the two tests for a coarse scale gets."""
FINE = Fraction(1, 3)
"""The part of the test that follows, and of the release."""
RANGE_BINS = Fraction(5, 8)
"""The least octaves of the bins that a range's coarse scale has."""
RANGE_BIN_RECORDS = 1000
"""A coarse test of epsilon e on n records passes with bins of that width on ordinary data if n e is about this."""
LEAST_COARSE = Fraction(1, 100)
"""Where there are many records, coarse tests of a range get as little as this part of epsilon."""
RANGE_SHARES = ((Fraction(2, 5), Fraction(3, 5)), (Fraction(1, 4), Fraction(7, 20)))
"""What is left of epsilon: the tests and releases of a range's two proposals.  Either way all of it is spent."""


@dataclass(frozen=True)
class Answer:
    """What a plan released, and where it refused if it did."""

    found: FoundNumber
    refused_at: str | None = None


@dataclass(frozen=True)
class ProcedurePlan(ABC):
    """An algorithm ready to run; all fields are public."""

    mechanism_name: ClassVar[str] = "propose_test"
    noise: ClassVar[str] = "laplace"
    loss: Loss

    @property
    @abstractmethod
    def composition(self) -> Composition:
        """What it is made of, and costs: never more than ``loss``."""

    @abstractmethod
    def run(self, data: Ordered, miss: Fraction | None = None) -> Answer:
        """Read the private records and answer; ``miss``: how often the interval may fail to cover."""


@dataclass(frozen=True)
class ScalePlan(ProcedurePlan):
    """The distance of two ranks with noise on the logarithmic scale: DL09's algorithm S."""

    step: ScaleStep

    @property
    def composition(self) -> Composition:
        return self.step.composition

    def run(self, data: Ordered, miss: Fraction | None = None) -> Answer:
        result = self.step.run(data, miss)
        return Answer(result, SCALE_REFUSED if result.refused else None)


@dataclass(frozen=True)
class LocationPlan(ProcedurePlan):
    """The record of one rank: a scale, then noise of a part of it.  DL09's algorithm M."""

    scale: CoarseScale | ScaleStep
    rank: int
    share: Fraction
    """The part of the scale that is proposed."""
    test: MarginTest
    release: Fraction
    margins: MarginRule

    def step(self, width: float) -> LocationStep:
        """The second level, once the scale is known."""
        return LocationStep(self.test, self.release, self.margins, self.rank, width)

    @property
    def composition(self) -> Composition:
        return Sequential((self.scale.composition, self.step(0.0).composition))

    def run(self, data: Ordered, miss: Fraction | None = None) -> Answer:
        scale = coarse(self.scale, data)
        if scale is None:
            return Answer(FoundNumber(None), SCALE_REFUSED)
        result = self.step(float(scale * self.share)).run(data, miss)
        return Answer(result, LOCATION_REFUSED if result.refused else None)


@dataclass(frozen=True)
class RangeProposal:
    """How far one change may move the distance of two ranks, as a part of the coarse scale, with its test."""

    share: Fraction
    test: MarginTest
    release: Fraction
    """The epsilon of the release, if this one passes."""

    @property
    def composition(self) -> Tested:
        """What it costs."""
        return Tested(Step(self.test.epsilon, self.test.delta), Step(self.release))


@dataclass(frozen=True)
class RangePlan(ProcedurePlan):
    """The distance of two ranks with additive noise: a coarse scale, then a cascade of proposals, narrow ones first."""

    scale: CoarseScale
    proposals: tuple[RangeProposal, ...]

    @property
    def composition(self) -> Composition:
        return Sequential(
            (self.scale.composition, CascadeComposition(tuple(item.composition for item in self.proposals)))
        )

    def run(self, data: Ordered, miss: Fraction | None = None) -> Answer:
        scale = self.scale.run(data)
        if scale is None:
            return Answer(FoundNumber(None), SCALE_REFUSED)
        lower, upper = self.scale.lower, self.scale.upper
        for item in self.proposals:
            width = float(scale * item.share)
            if item.test.passes(range_margin(data, lower, upper, width)):
                distance = RankRange(data, lower, upper).value
                return Answer(positive(noisy(distance, Fraction(width) / item.release, miss)))
        return Answer(FoundNumber(None), LOCATION_REFUSED)


@dataclass(frozen=True)
class PairPlan(ProcedurePlan):
    """The distance of two ranks from two locations on one scale: DL09's refined interquartile range."""

    lower: LocationPlan
    upper: LocationPlan

    @property
    def composition(self) -> Composition:
        ends = (self.lower.step(0.0).composition, self.upper.step(0.0).composition)
        return Sequential((self.lower.scale.composition, *ends))

    def run(self, data: Ordered, miss: Fraction | None = None) -> Answer:
        scale = coarse(self.lower.scale, data)
        if scale is None:
            return Answer(FoundNumber(None), SCALE_REFUSED)
        # Each end misses at most half as often as the distance may.
        half = None if miss is None else miss / 2
        ends = [plan.step(float(scale * plan.share)).run(data, half) for plan in (self.lower, self.upper)]
        low, high = ends
        if low.value is None or high.value is None:
            return Answer(FoundNumber(None), LOCATION_REFUSED)
        value = high.value - low.value
        if low.low is None or low.high is None or high.low is None or high.high is None:
            return Answer(positive(FoundNumber(value)))
        return Answer(positive(FoundNumber(value, high.low - low.high, high.high - low.low)))


@dataclass(frozen=True)
class TrimmedPlan(ProcedurePlan):
    """The mean of the ranks m + 1 .. n - m, with noise of a scale that is not below ``x_(n-m+1) - x_(m)``."""

    scale: CoarseScale | ScaleStep
    trimmed: int
    kept: int
    factor: Fraction
    """What the scale is multiplied by: 1 for an upper edge, n^kappa in the paper."""
    release: Fraction
    extra_delta: Fraction

    @property
    def composition(self) -> Composition:
        return Sequential((self.scale.composition, Step(self.release, self.extra_delta)))

    def run(self, data: Ordered, miss: Fraction | None = None) -> Answer:
        scale = coarse(self.scale, data)
        if scale is None:
            return Answer(FoundNumber(None), SCALE_REFUSED)
        mean = data.total(self.trimmed + 1, data.records - self.trimmed) / self.kept
        return Answer(noisy(mean, scale * self.factor / (self.kept * self.release), miss))


AnyPlan = TypeVar("AnyPlan", bound=ProcedurePlan)
Roomed = tuple[MarginTest, Callable[[int], int]]
"""A test, and the largest margin that so many records can have: public."""
SCALE_REFUSED = "the scale of the records may depend on few of them: the test of the scale did not pass"
LOCATION_REFUSED = "the records around the answer are too sparse for the proposed noise: its test did not pass"


def positive(number: FoundNumber) -> FoundNumber:
    """A distance is not negative."""
    return FoundNumber(
        *(None if item is None else max(item, Fraction(0)) for item in (number.value, number.low, number.high))
    )


def coarse(scale: CoarseScale | ScaleStep, data: Ordered) -> Fraction | None:
    """The scale that later levels use: private, paid and released."""
    return scale.run(data) if isinstance(scale, CoarseScale) else scale.run(data).value


# --- plans from public facts -------------------------------------------------------------------------


def plan_scale(records: int, loss: Loss, shares: tuple[Fraction, Fraction], constants: Constants) -> ScalePlan:
    """DL09's algorithm S for two quantiles: half of epsilon for the test, half for the release."""
    epsilon = usable(loss)
    if constants == "paper":
        spent = paper_loss(records, loss, epsilon / 3, 2, lambda n: outer_ranks(n, shares) - 1)
        step = paper_scale_step(records, epsilon / 3, shares)
        return within(ScalePlan(spent, step), spent)
    test = MarginTest(epsilon / 2, loss.exact_delta)
    lower, upper = distinct_ranks(records, shares)
    roomy(records, loss, (test, lambda n: outer_ranks(n, shares) - 1))
    width = short_octaves(proposal(test, records, SCALE_ROOM))
    return within(ScalePlan(loss, ScaleStep(test, epsilon / 2, "reach", lower, upper, width)), loss)


def plan_location(records: int, loss: Loss, share: Fraction, constants: Constants = "exact") -> LocationPlan:
    """DL09's algorithm M for any quantile."""
    epsilon, rank = usable(loss), rank_of(share, records)
    quartiles = (Fraction(1, 4), Fraction(3, 4))
    if constants == "paper":
        spent = paper_loss(
            records, loss, epsilon / 6, 4, lambda n: min(outer_ranks(n, quartiles) - 1, rank_room(n, share))
        )
        test = paper_test(records, epsilon / 6)
        step = paper_scale_step(records, epsilon / 6, quartiles)
        return within(LocationPlan(spent, step, rank, paper_share(records), test, epsilon / 6, "bins"), spent)
    delta = loss.exact_delta / 3
    test = MarginTest(epsilon * FINE, delta)
    scale = coarse_scale(
        records, loss, MarginTest(epsilon * COARSE, delta), quartiles, (test, lambda n: rank_room(n, share))
    )
    tail = Fraction(min(rank, records - rank + 1), records)
    part = min(proposal(test, records, LOCATION_ROOM / tail), Fraction(1))
    return within(LocationPlan(loss, scale, rank, part, test, epsilon * FINE, "reach"), loss)


def plan_range(
    records: int, loss: Loss, shares: tuple[Fraction, Fraction], constants: Constants
) -> RangePlan | PairPlan:
    """The refined interquantile range."""
    epsilon = usable(loss)
    if constants == "paper":
        lower, upper = distinct_ranks(records, shares)
        each = epsilon / 9
        # Outer ranks have no more room than what lies beyond them.
        spent = paper_loss(records, loss, each, 6, lambda n: outer_ranks(n, shares) - 1)
        test, scale = paper_test(records, each), paper_scale_step(records, each, shares)
        ends = (LocationPlan(spent, scale, r, paper_share(records), test, each, "bins") for r in (lower, upper))
        return within(PairPlan(spent, *ends), spent)
    delta, each = loss.exact_delta / 8, coarse_share(records, epsilon)
    rest = epsilon - 2 * each
    (first, release), (second, later) = ((test * rest, after * rest) for test, after in RANGE_SHARES)
    narrow, wide = MarginTest(first, 4 * delta), MarginTest(second, 2 * delta)
    lower, upper = distinct_ranks(records, shares)
    coarse_test = MarginTest(each, delta)

    def room(count: int) -> int:
        return outer_ranks(count, shares) - 1

    roomy(records, loss, (coarse_test, room), (narrow, room))
    bins = max(short_octaves(coarse_octaves(coarse_test, records)), RANGE_BINS)
    scale_step = CoarseScale(coarse_test, lower, upper, bins)
    part = min(NARROW_RANGE * Fraction(narrow.margin_for() + 1, records), Fraction(1))
    proposals = (
        RangeProposal(part, narrow, release),
        RangeProposal(min(proposal(wide, records, RANGE_ROOM), Fraction(1)), wide, later),
    )
    return within(RangePlan(loss, scale_step, proposals), loss)


def plan_trimmed(
    records: int, loss: Loss, trimmed: int, constants: Constants, share: Fraction | None = None
) -> TrimmedPlan:
    """The trimmed mean, ``trimmed`` records cut on each side: that ``share`` of them, of however many there are."""
    epsilon, kept = usable(loss), records - 2 * trimmed
    part = Fraction(trimmed, records) if share is None else share

    def room(count: int) -> int:
        return math.floor(part * count) - 1

    if trimmed < 1:
        raise InvalidArgument("trim", trimmed, f"must be a share that cuts at least one of the {records} records")
    if constants == "paper":
        each, kappa = epsilon / 4, Fraction(1, 2)
        spent = paper_loss(records, loss, each, 2, room, lambda n: paper_shortfall(n, each, kappa))
        extra = paper_shortfall(records, each, kappa)
        step = ScaleStep(paper_test(records, each), each, "bins", trimmed, records - trimmed + 1, paper_width(records))
        with precision(96):
            growth = Fraction(upper_float((ball(records).log() * ball(kappa)).exp()))
        return within(TrimmedPlan(spent, step, trimmed, kept, growth, each, extra), spent)
    test = MarginTest(epsilon / 4, loss.exact_delta / 2)
    roomy(records, loss, (test, room))
    width = coarse_width(test, records)
    scale = CoarseScale(test, trimmed, records - trimmed + 1, width)
    return within(TrimmedPlan(loss, scale, trimmed, kept, Fraction(1), epsilon / 2, Fraction(0)), loss)


def coarse_scale(
    records: int, loss: Loss, test: MarginTest, shares: tuple[Fraction, Fraction], *others: Roomed
) -> CoarseScale:
    """A coarse scale from two quantiles; ``others``: the tests that come after it."""
    lower, upper = distinct_ranks(records, shares)
    roomy(records, loss, (test, lambda n: outer_ranks(n, shares) - 1), *others)
    return CoarseScale(test, lower, upper, coarse_width(test, records))


def coarse_octaves(test: MarginTest, records: int) -> Fraction:
    """How wide bins must be for a test to pass on ordinary data."""
    return COARSE_ROOM * Fraction(test.margin_for() + 1, records)


def coarse_width(test: MarginTest, records: int) -> Fraction:
    """Bins of an octave where there are enough records, and wider ones else."""
    return max(short_octaves(coarse_octaves(test, records)), Fraction(1))


def coarse_share(records: int, epsilon: Fraction) -> Fraction:
    """The epsilon of each coarse test of a range: what its bins need, between a hundredth and a sixth of it all."""
    return min(max(Fraction(RANGE_BIN_RECORDS, records), epsilon * LEAST_COARSE), epsilon * COARSE)


def usable(loss: Loss) -> Fraction:
    """The epsilon to calibrate for; a test needs delta."""
    if loss.is_pure:
        raise InvalidArgument(
            "delta",
            loss.delta,
            "must be above 0 without bounds=(lower, upper), such as 1e-6",
        )
    return min(loss.exact_epsilon, Fraction(int(MOST_EPSILON)))


def within(plan: AnyPlan, loss: Loss) -> AnyPlan:
    """The plan, if its parts cost no more than its loss."""
    if not plan.composition.fits(loss):
        raise RuntimeError("the parts of a plan cost more than the whole")
    return plan


def distinct_ranks(records: int, shares: tuple[Fraction, Fraction]) -> tuple[int, int]:
    """The ranks of two quantiles, which must differ."""
    lower, upper = (rank_of(share, records) for share in shares)
    if lower >= upper:
        raise InvalidArgument(
            "low", float(shares[0]), f"must be shares that fall on different ranks of the {records} records"
        )
    return lower, upper


def outer_ranks(records: int, shares: tuple[Fraction, Fraction]) -> int:
    """How many records lie beyond the nearer of two quantiles, itself included."""
    return min(rank_of(shares[0], records), records - rank_of(shares[1], records) + 1)


def rank_room(records: int, share: Fraction) -> int:
    """The largest margin that a rank can have."""
    rank = rank_of(share, records)
    return min(rank - 1, records - rank)


def roomy(records: int, loss: Loss, *tests: Roomed) -> None:
    """Refuse, naming the least number of records, if no data could pass all tests more often than not."""

    def possible(count: int) -> bool:
        return all(room(count) >= test.least_margin for test, room in tests)

    enough_records(records, possible, loss.exact_epsilon, loss.exact_delta)


# --- the paper's constants ---------------------------------------------------------------------------


def paper_delta(records: int, epsilon: Fraction) -> Fraction:
    """``n^{-epsilon ln n} / 2``, rounded up: what thresholds of ln^2 n above a margin of 0 amount to."""
    with precision(192):
        logarithm = ball(records).log()
        return Fraction(upper_float((-ball(epsilon) * logarithm * logarithm).exp() / 2))


def paper_test(records: int, epsilon: Fraction) -> MarginTest:
    """The paper's test."""
    return MarginTest(epsilon, paper_delta(records, epsilon))


def paper_width(records: int) -> Fraction:
    """``log2(1 + 1/ln n)`` octaves, to 1/64: a power of it is then compared in whole numbers."""
    return Fraction(max(round(LOG_PARTS * math.log2(1.0 + 1.0 / math.log(records))), 1), LOG_PARTS)


def paper_share(records: int) -> Fraction:
    """``n^{-1/3}``, the part of the scale that bins of the line are wide."""
    return Fraction(records ** (-1.0 / 3.0))


def paper_scale_step(records: int, epsilon: Fraction, shares: tuple[Fraction, Fraction]) -> ScaleStep:
    """Algorithm S as printed."""
    lower, upper = distinct_ranks(records, shares)
    return ScaleStep(paper_test(records, epsilon), epsilon, "bins", lower, upper, paper_width(records))


def paper_shortfall(records: int, epsilon: Fraction, kappa: Fraction) -> Fraction:
    """How often the released scale times n^kappa falls short of the true one: DL09 leaves this delta out.

    The released scale is rounded by at most 2 / FINENESS of its noise, on the logarithmic scale.
    """
    with precision(192):
        octaves = ball(kappa) * ball(records).log() / ball(2).log()
        reached = ball(epsilon) * octaves / ball(paper_width(records)) - ball(Fraction(2, FINENESS))
        return Fraction(upper_float((-reached).exp() / 2))


def paper_loss(
    records: int,
    loss: Loss,
    each: Fraction,
    tests: int,
    room: Callable[[int], int],
    extra: Callable[[int], Fraction] = lambda _: Fraction(0),
) -> Loss:
    """The loss of the paper's constants: its own delta, which must not exceed the asked one.

    ``room``: the largest margin that so many records can have; the tests must be able to pass.
    """

    def delta(n: int) -> Fraction:
        return tests * paper_delta(n, each) + extra(n)

    def possible(count: int) -> bool:
        if count < 3 or delta(count) > loss.exact_delta:
            return False
        return room(count) >= paper_test(count, each).least_margin

    enough_records(records, possible, loss.exact_epsilon, loss.exact_delta)
    return Loss(loss.epsilon, delta(records))  # type: ignore[arg-type]
