"""The inverse-sensitivity mechanism: answers are drawn by how many records must change to make them true."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from dither.accounting.concentrated import bounded_range
from dither.errors import NotApplicable
from dither.mechanisms.exponential import ExponentialDraw
from dither.mechanisms.half_width_draw import HalfWidthDraw, chain_of
from dither.mechanisms.joint_quantiles import SeveralDraws
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Prepared, only_noises
from dither.mechanisms.registry import mechanism
from dither.privacy import Loss
from dither.release import SAMPLE
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.quantiles import HasQuantiles
from dither.sensitivity.reachable import HasReachableValues
from dither.statistics.order import RankedValues
from dither.statistics.statistic import Statistic

VALUE_SHARE = Fraction(3, 5)
"""The part of epsilon for the answer when an interval is wanted; the rest is for its width (docs/decisions.md)."""


@mechanism("inverse", needs=(HasReachableValues, HasQuantiles))
@dataclass(frozen=True)
class Inverse(Mechanism):
    """Draws a grid point z with probability proportional to ``e^{-rate cost(z)}``.

    Guarantee  eps-DP: the cost of every point changes by at most 1 between neighbours.
    Theorem    McSherry-Talwar exponential mechanism; costs and ties in docs/proofs/inverse.md.
    Constants  rate = eps/2; for minimum and maximum rate = eps, because one change moves all costs the same way (on
               coarse grids eps/2 from epsilon 3 on, where the value itself then weighs more).
               Exact: no widening of tied records, no truncation, no float weights.
               Grids without a declared step: round numbers hold half of the weight, so ties on them are found.
    Cost       (ln(grid points) + 28) / rate ranks on either side of the target; of quantiles and extremes no more than
               2^18, and beyond that counts of the records below some 400 points, as many at every epsilon.
    """

    adds_noise = False
    covers_populations = True

    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
        only_noises(self.name, ask.noise)
        if isinstance(ask.statistic, HasQuantiles):
            quantiles = cast("RankedValues", ask.statistic)
            several = SeveralDraws.of(quantiles, ask.loss, ask.usable.exact_epsilon, ask.confidence, ask.interval)
            return cast("Prepared[Data]", several)  # its data are those of its statistic
        if not isinstance(ask.statistic, HasReachableValues) or not isinstance(ask.statistic, Statistic):
            raise NotApplicable("mechanism", self.name, "this query has no chain of reachable values", "smooth")
        epsilon, interval = answer_and_interval(ask, ask.statistic)
        stated = bounded_range(epsilon) if interval is None else bounded_range(epsilon) + interval.concentrated
        loss, rounded = Loss(ask.loss.epsilon, stated=stated), chain_of(ask.statistic).answers_are_records
        return ExponentialDraw.of(ask.statistic, loss, epsilon, interval, rounded=rounded)


def answer_and_interval(ask: MechanismSpec[Data], statistic: Statistic[Data]) -> tuple[Fraction, HalfWidthDraw | None]:
    """What a drawn answer spends, and the draw of its interval, which spends the rest; None where none is wanted."""
    epsilon = ask.usable.exact_epsilon
    if ask.confidence is None:
        return epsilon, None
    spent, miss = epsilon * (1 - VALUE_SHARE), 1 - ask.confidence
    if ask.interval == SAMPLE:
        return epsilon * VALUE_SHARE, HalfWidthDraw(spent, miss)
    return epsilon * VALUE_SHARE, HalfWidthDraw.for_population(spent, miss, statistic)
