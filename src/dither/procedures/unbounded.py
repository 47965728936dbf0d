"""Scale and location of records without bounds, by propose-test-release (DL09 section 3).

Every step proposes how far a change of one record can move its number, tests on the data at hand that this holds with
many changes to spare, and then releases the number with noise of the proposed size, which is public.  A step that does
not pass refuses; that is a result and is paid for.  Proofs: docs/proofs/robust_scale.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from dither.accounting.cascades import FREE, CascadeComposition, Step, even_cascade
from dither.errors import InvalidArgument
from dither.mechanisms.margin_test import MarginTest
from dither.noise.exact import rounded_draw
from dither.noise.laplace import Laplace
from dither.numbers import Ball, ball, precision, upper_float
from dither.procedures.ordered import (
    Octaves,
    Ordered,
    RankRange,
    bin_margin,
    cell_margin,
    log2,
    reach_margin,
    window_margin,
)

MarginRule: TypeAlias = Literal["reach", "bins"]
"""How margins are taken: by what few changes reach (ours), or by leaving one of two discretisations (DL09)."""

SHIFTS = (Fraction(0), Fraction(1, 2))
"""Where the two discretisations begin, in widths."""
FINENESS = 1 << 20
"""Answers are released in steps of about this part of the noise's scale."""
LOG_PARTS = 64
"""Widths on the logarithmic scale are whole multiples of 1/64 octave where they are not smaller."""
SCALE_ROOM = 16
"""Proposed octaves for each share of the records that the test needs as margin (docs/proofs/robust_scale.md, 6)."""
COARSE_ROOM = 32
"""The same for stable bins, which must hold that margin on either side."""
MOST_OCTAVES = 4
"""No proposal is wider than a factor of 16."""
NEVER = 1 << 60
"""More records than there are."""
NARROW_RANGE = 3
"""The same for distances of ranks, in interquartile ranges: what is proposed first."""
RANGE_ROOM = 6
"""What is proposed if the first does not pass."""
LOCATION_ROOM = 3
"""The same for ranks, divided by the share of the records beyond the rank."""


@dataclass(frozen=True)
class FoundNumber:
    """What a step released: a number, or nothing."""

    value: Fraction | None
    low: Fraction | None = None
    high: Fraction | None = None
    """The noise stays within [low, high] with the confidence asked for."""

    @property
    def refused(self) -> bool:
        """Whether no test passed."""
        return self.value is None


REFUSED = FoundNumber(None)


@dataclass(frozen=True)
class TestedProposal(ABC):
    """One proposal with its tests and its release; all fields are public."""

    test: MarginTest
    release: Fraction
    """The epsilon of the release."""
    margin_rule: MarginRule

    @property
    def composition(self) -> CascadeComposition:
        """What it costs: one test, or a cascade of one for each discretisation."""
        tested = Step(self.test.epsilon, self.test.delta)
        return even_cascade(1 if self.margin_rule == "reach" else len(SHIFTS), tested, Step(self.release))

    @abstractmethod
    def margins(self, data: Ordered) -> list[int]:
        """The margin of each test: private."""

    @abstractmethod
    def released(self, data: Ordered, miss: Fraction | None) -> FoundNumber:
        """The number with its noise."""

    def run(self, data: Ordered, miss: Fraction | None = None) -> FoundNumber:
        """Test and release; ``miss``: how often the interval may fail to cover, None for no interval."""
        # Later margins are looked at only if earlier tests fail: a cascade.
        if any(self.test.passes(margin) for margin in self.margins(data)):
            return self.released(data, miss)
        return REFUSED


@dataclass(frozen=True)
class ScaleStep(TestedProposal):
    """The distance of two ranks, with noise on the logarithmic scale (DL09's algorithm S for the quartiles)."""

    lower: int
    upper: int
    width: Fraction
    """The proposal, in octaves."""

    def distances(self, data: Ordered) -> RankRange:
        """The distance and how far it moves: private."""
        return RankRange(data, self.lower, self.upper)

    def margins(self, data: Ordered) -> list[int]:
        octaves, distances = Octaves(self.width), self.distances(data)
        if self.margin_rule == "reach":
            return [reach_margin(distances, octaves.close)]
        return [bin_margin(distances, octaves, shift) for shift in SHIFTS]

    def released(self, data: Ordered, miss: Fraction | None) -> FoundNumber:
        distance = self.distances(data).value
        if distance == 0:
            # Neighbours of data that pass are as surely at zero (docs/proofs/robust_scale.md, section 3).
            return FoundNumber(Fraction(0), Fraction(0), Fraction(0))
        scale = self.width / self.release
        fine = power_of_two_above(FINENESS / scale)

        def location() -> Ball:
            return log2(distance) * ball(fine)

        exponent = rounded_draw(Laplace(), location, scale * fine, headroom=24) / fine
        if miss is None:
            return FoundNumber(octave(exponent))
        reach = scale * laplace_quantile(miss) + 1 / fine
        return FoundNumber(octave(exponent), octave(exponent - reach), octave(exponent + reach))


@dataclass(frozen=True)
class CoarseScale:
    """A power of two, or so, that is not below the distance of two ranks: the upper edge of a bin that is stable.

    All data that pass have neighbours in the same bin, so its edge is released as it is: two tests and no noise.
    """

    test: MarginTest
    lower: int
    upper: int
    width: Fraction
    """Of the bins, in octaves."""

    @property
    def composition(self) -> CascadeComposition:
        """Two tests."""
        return even_cascade(len(SHIFTS), Step(self.test.epsilon, self.test.delta), FREE)

    def run(self, data: Ordered) -> Fraction | None:
        """The edge, zero for a distance of zero, or None if neither bin is stable enough."""
        octaves, distances = Octaves(self.width), RankRange(data, self.lower, self.upper)
        for shift in SHIFTS:
            if self.test.passes(bin_margin(distances, octaves, shift)):
                index = octaves.bin_of(distances.value, shift)
                return Fraction(0) if index is None else octave((index + 1 - shift) * self.width, up=True)
        return None


@dataclass(frozen=True)
class LocationStep(TestedProposal):
    """The record of one rank, with noise of a proposed width (DL09's algorithm M after its scale is known)."""

    rank: int
    width: float
    """The proposal; zero proposes that the answer does not depend on any one record, and releases it as it is."""

    def margins(self, data: Ordered) -> list[int]:
        if self.margin_rule == "reach" or self.width == 0.0:
            return [window_margin(data, self.rank, self.width)]
        return [cell_margin(data, self.rank, Fraction(self.width), shift) for shift in SHIFTS]

    def released(self, data: Ordered, miss: Fraction | None) -> FoundNumber:
        return noisy(data.at(self.rank), Fraction(self.width) / self.release, miss)


def noisy(value: Fraction, scale: Fraction, miss: Fraction | None) -> FoundNumber:
    """A private number plus Laplace noise of a public scale, rounded to a public grid."""
    if scale == 0:
        return FoundNumber(value, value, value)
    step = 1 / power_of_two_above(FINENESS / scale)
    drawn = rounded_draw(Laplace(), value / step, scale / step, headroom=24) * step
    if miss is None:
        return FoundNumber(drawn)
    reach = scale * laplace_quantile(miss) + step
    return FoundNumber(drawn, drawn - reach, drawn + reach)


def laplace_quantile(miss: Fraction) -> Fraction:
    """What a standard Laplace variable exceeds in absolute value with at most this probability, rounded up."""
    with precision(96):
        return Fraction(upper_float(-ball(miss).log()))


def power_of_two_above(number: Fraction) -> Fraction:
    """The least power of two that is not below a positive number."""
    exponent = number.numerator.bit_length() - number.denominator.bit_length() - 1
    while Fraction(2) ** exponent < number:
        exponent += 1
    return Fraction(2) ** exponent


def octave(exponent: Fraction, *, up: bool = False) -> Fraction:
    """``2**exponent`` as a float, cut to the range of ordinary floats, rounded up on request; for public numbers."""
    cut = min(max(exponent, Fraction(-1070)), Fraction(1020))
    with precision(96):
        power = (ball(cut) * ball(2).log()).exp()
        return Fraction(upper_float(power) if up else float(power))


def proposal(test: MarginTest, records: int, room: Fraction | int) -> Fraction:
    """How much to propose, from public facts: ``max(room (g + 1) / n, n^{-1/2})``.

    g is the margin that the test refuses once in a thousand times.  Data of ordinary density have that margin at the
    first term; the second, of the order of the sampling error, makes refusals vanish for all other smooth densities.
    """
    return max(room * Fraction(test.margin_for() + 1, records), Fraction(1, max(math.isqrt(records), 1)))


def short_octaves(width: Fraction, most: int = MOST_OCTAVES) -> Fraction:
    """A short rational not far above a width, so that exact comparisons stay cheap."""
    parts = LOG_PARTS
    while width * parts < 8:
        parts *= 2
    return min(Fraction(math.ceil(width * parts), parts), Fraction(most))


def least_records(possible: Callable[[int], bool], most: int = NEVER) -> int:
    """The least number of records for which a monotone public condition holds, or ``most``."""
    high = 1
    while not possible(high):
        high *= 2
        if high > most:
            return most
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if possible(middle) else (middle, high)
    return high


def enough_records(records: int, possible: Callable[[int], bool], epsilon: Fraction, delta: Fraction) -> None:
    """Raise, naming the least number of records, if no data of this size could pass the tests more often than not."""
    if possible(records):
        return
    least = least_records(possible)
    if least == NEVER:
        never = "must have bounds: single records decide this answer, however many there are, so that no test can pass"
        raise InvalidArgument("data", None, never)
    needed = f"epsilon={float(epsilon):g} and delta={float(delta):g} need at least {least} records"
    here = "1 record" if records == 1 else f"{records} records"
    raise InvalidArgument("data", records, f"must have more than {here}: {needed}")
