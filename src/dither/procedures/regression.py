"""Linear regression without bounds: what its methods share, and DL09's short-cut.

A plan is made from public facts, charged, and then run once on private data.  Proofs: docs/proofs/regression.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from dither.accounting.cascades import Composition, Concurrent
from dither.errors import InvalidArgument
from dither.noise.comparisons import exceeds
from dither.noise.laplace import Laplace
from dither.noise.law import Constants
from dither.privacy import Loss
from dither.procedures.block_fits import BlockFits, RegressionRecords, block_fits, random_order
from dither.procedures.floating import FloatingGrid, draw_quantile
from dither.procedures.ordered import LARGEST, Ordered
from dither.procedures.plans import LocationPlan, plan_location
from dither.procedures.unbounded import enough_records, least_records
from dither.release import SAMPLE

BLOCK = 6
"""Records per coefficient in a block, where there are enough of them."""
SCALES = FloatingGrid(1.0, bits=2, lowest=-64, highest=64, signed=False)
"""Where scales are looked for: quarters of octaves."""
LEAST_SPREAD = 2.0**-40
SPREAD_SHARE = Fraction(2, 5)
"""The quantile of distances that is a scale: below the middle, because units that are too small do less harm."""
COUNT_NATS = Fraction(8)
"""e^-8 / 2: how rarely a design that every block can solve is refused."""
SHORT_BLOCK = 2
"""Records per coefficient in the short-cut's blocks: many small blocks have less noise than few large ones."""
SINGULAR = "most blocks of records do not determine the coefficients: columns are constant or collinear in them"


@dataclass(frozen=True)
class Fit:
    """What a plan released: coefficients and intervals, or where it refused."""

    values: tuple[float, ...] | None
    intervals: tuple[tuple[float, float], ...] | None = None
    refused_at: str | None = None


@dataclass(frozen=True)
class RegressionFacts:
    """The public facts of a regression."""

    records: int
    features: int
    intercept: bool = True

    @property
    def coefficients(self) -> int:
        """The number of coefficients, the intercept included."""
        return self.features + self.intercept


@dataclass(frozen=True)
class RegressionPlan(ABC):
    """A regression ready to run; all fields are public."""

    model: RegressionFacts
    loss: Loss
    miss: Fraction | None
    """How often an interval may fail to cover; None for no intervals."""

    name = ""
    noise = ""
    interval_of = SAMPLE
    """What the intervals cover."""

    @property
    @abstractmethod
    def composition(self) -> Composition:
        """What it is made of, and costs: never more than ``loss``."""

    @abstractmethod
    def run(self, sample: RegressionRecords) -> Fit:
        """Read the private records and answer."""


def draw_spread(fits: BlockFits, index: int, epsilon: Fraction) -> float:
    """A private scale of one coefficient: what two fifths of its distances in pairs of blocks stay below; epsilon-DP.

    Pairs with a block that has no answer count as far apart and as equal by turns.  Fits that all agree have no
    spread; the answer is then the least one on the grid.
    """
    apart = fits.pair_distances(index)
    return max(SCALES.value(draw_quantile(SCALES.codes(apart), SCALES, epsilon, SPREAD_SHARE)), LEAST_SPREAD)


def too_many_failed(fits: BlockFits, epsilon: Fraction) -> bool:
    """Whether most blocks have no answer, by a noisy count."""
    failed = int((~fits.solved).sum())
    return exceeds(Laplace(), failed, 1 / epsilon, Fraction(len(fits.solved), 2))


@dataclass(frozen=True)
class ShortCut(RegressionPlan):
    """DL09's short-cut regression R_S: blocks, solved one by one, and algorithm M for each coefficient.

    Guarantee  (epsilon, delta)-DP: a level-2 parallel composition (DL09 Corollary 20, Example 21).
    Theorem    DL09 section 4.1; docs/proofs/regression.md, section 5.
    Constants  "paper": blocks of as many records as coefficients, cascades, ln^2 n; "exact": larger robust blocks and
               the margins of docs/proofs/robust_scale.md.
    Cost       O(n) fits and p sorts.
    """

    size: int
    medians: tuple[LocationPlan, ...]

    name = "shortcut"
    noise = "laplace"

    @property
    def composition(self) -> Composition:
        return Concurrent(tuple(plan.composition for plan in self.medians))

    def run(self, sample: RegressionRecords) -> Fit:
        fits = block_fits(sample, random_order(sample.records), self.size, intercept=self.model.intercept)
        values, intervals = [], []
        for index, plan in enumerate(self.medians):
            column = fits.column(index, LARGEST).clip(-LARGEST, LARGEST) + 0.0
            answer = plan.run(Ordered(column), self.miss)
            result = answer.found
            # An answer out there is the default of blocks that could not be solved: a fact about a released number.
            if result.value is None or abs(result.value) > Fraction(LARGEST) / (1 << 100):
                return Fit(None, refused_at=answer.refused_at or SINGULAR)
            values.append(float(result.value))
            if result.low is not None and result.high is not None:
                intervals.append((float(result.low), float(result.high)))
        return Fit(tuple(values), tuple(intervals) or None)


# --- plans from public facts -------------------------------------------------------------------------


def plan_shortcut(
    model: RegressionFacts, loss: Loss, miss: Fraction | None, size: int | None = None, constants: Constants = "exact"
) -> ShortCut:
    """R_S in the user's (epsilon, delta) or with the paper's constants."""
    q = model.coefficients
    if size is not None:
        check_block(size, model)
    each = loss.share(Fraction(1, q))
    if size is None:
        size = q
        if constants == "exact":
            least = least_records(lambda blocks: median_plan(blocks, each, constants) is not None)
            # At the least number of blocks a test passes only for the best of data: half as many again should be there.
            size = SHORT_BLOCK * q if 2 * (model.records // (SHORT_BLOCK * q)) >= 3 * least else q
    per = size
    enough_records(
        model.records,
        lambda n: median_plan(n // per, each, constants) is not None,
        loss.exact_epsilon,
        loss.exact_delta,
    )
    plan = plan_location(model.records // size, each, Fraction(1, 2), constants)
    # The paper's constants spend their own delta, which does not exceed the asked one.
    spent = loss if constants == "exact" else Loss(loss.epsilon, plan.loss.exact_delta * q)  # type: ignore[arg-type]
    return ShortCut(model, spent, miss, size, (plan,) * q)


def median_plan(blocks: int, loss: Loss, constants: Constants) -> LocationPlan | None:
    """Algorithm M for so many blocks; None if there are too few of them."""
    if blocks < 3:
        return None
    try:
        return plan_location(blocks, loss, Fraction(1, 2), constants)
    except InvalidArgument as error:
        if error.argument != "data":
            raise
        return None


def check_block(size: int, model: RegressionFacts) -> None:
    """A block must be able to determine the coefficients."""
    if not isinstance(size, int) or isinstance(size, bool) or size < model.coefficients:
        raise InvalidArgument(
            "block_size",
            size,
            f"must be a whole number of at least {model.coefficients}, the number of coefficients",
        )
