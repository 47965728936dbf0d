"""The test of propose-test-release: are the data so many changes away from trouble?

A *margin* is a private whole number, 0 where a mechanism would be unsafe, that moves by at most 1 between neighbours.
The test passes if ``margin + Lap(1/epsilon)`` exceeds a public threshold so high that a margin of 0 passes with
probability at most delta.  Whatever is done after a pass is charged on top (docs/proofs/propose_test.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dither.errors import InvalidArgument
from dither.noise.comparisons import exceeds
from dither.noise.entropy import Source, system
from dither.noise.laplace import Laplace
from dither.numbers import Ball, ball, precision, upper_float

RARELY = Fraction(1, 1000)
"""How often data with the margin that proposals aim at are refused."""


@dataclass(frozen=True)
class MarginTest:
    """Pass if ``margin + Lap(1/epsilon) > threshold``.

    Guarantee  The decision is epsilon-DP; a margin of 0 passes with probability at most delta.
    Theorem    DL09 Theorem 4, with margins that start at 0 (docs/proofs/propose_test.md, section 2).
    Constants  threshold = ln(1/(2 delta)) / epsilon, exactly: a margin of 0 passes with probability delta.
    Cost       One exact comparison.
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise InvalidArgument("epsilon", float(self.epsilon), "must be a positive number")
        if not 0 < self.delta < Fraction(1, 2):
            raise InvalidArgument("delta", float(self.delta), "must be above 0 and below 1/2 for a test")

    def threshold(self) -> Ball:
        """A ball around the public threshold, at the precision in force."""
        return -ball(2 * self.delta).log() / ball(self.epsilon)

    def passes(self, margin: int, *, source: Source = system) -> bool:
        """One decision."""
        return exceeds(Laplace(), margin, 1 / self.epsilon, self.threshold, source=source)

    @property
    def least_margin(self) -> int:
        """The least margin that passes more often than not."""
        with precision(96):
            return math.floor(upper_float(self.threshold())) + 1

    def margin_for(self, refusal: Fraction = RARELY) -> int:
        """The least margin that is refused with at most this probability (below 1/2)."""
        with precision(96):
            return math.ceil(upper_float(self.threshold() - ball(2 * refusal).log() / ball(self.epsilon)))

    def chance(self, margin: int) -> float:
        """The probability that this margin passes, in floats; for tables, plots and audits."""
        with precision(96):
            over = float((ball(margin) - self.threshold()) * ball(self.epsilon))
        return 0.5 * math.exp(over) if over <= 0 else 1.0 - 0.5 * math.exp(-over)
