"""A certified average: where most blocks agree, their mean with noise of the order of radius / blocks.

Two blocks are *friends* if their answers lie within a radius.  A block's weight grows linearly with its number of
friends, from none at half of the blocks, so that no single block can make others jump in or out of the mean; a noisy
test certifies beforehand that most blocks have most blocks as friends.  Answers are vectors or sets of points: a
vector is a set of one point.  The idea is FriendlyCore's (Tsfadia, Cohen, Kaplan, Mansour, Stemmer 2022); the weights,
the test and the constants are our own.  Proof: docs/proofs/certified_average.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.kernels.clusters import aligned, matched_costs, separations
from dither.mechanisms.margin_test import MarginTest
from dither.mechanisms.mechanism import point_of
from dither.noise.discrete_exponential import draw_index
from dither.noise.entropy import Source, system
from dither.noise.exact import rounded_draw
from dither.noise.gaussian import Gaussian
from dither.privacy import Loss
from dither.procedures.unbounded import FINENESS, power_of_two_above

Whole = NDArray[np.int64]
Points = tuple[tuple[Fraction, ...], ...]

BITS = 24
"""Answers are whole numbers of 2**-24 of the widest bounds."""
APART = 18
"""Points of one set must be more than sqrt(18) radii apart: then sets of the core can be matched in one way only."""
AGREEING = Fraction(9, 10)
"""The share of blocks that must have as many friends for the test to pass 999 times in 1000."""
AIM = Fraction(1, 2)
"""The share that fixes the radius, before it grows: radii that are too small and too large are equally unlikely."""
RADIUS_SHARE, TEST_SHARE = Fraction(1, 6), Fraction(1, 3)
"""Parts of epsilon; the rest is the noise's.  Test and noise have half of delta each."""
MOST_BLOCKS = 5000
MOST_COORDINATES = 4096
"""So that sums of squares of answers stay below 2**62."""


@dataclass(frozen=True)
class Certified:
    """A released average: points in order of their coordinates, and the standard deviation of each number."""

    points: Points
    deviation: Fraction


@dataclass(frozen=True)
class CertifiedAverage:
    """Release the mean of the blocks that agree, or refuse.

    Guarantee  (radius_epsilon + test.epsilon + e, test.delta + d)-DP for changes of up to ``overlap`` answers, where
               (e, d) is the loss of Gaussian noise that is shifted by ``mu`` standard deviations.
    Theorem    docs/proofs/certified_average.md, sections 2 to 4.
    Constants  The mean moves by at most ``2 r spread``, ``spread = s (1 + (m - h) / ramp) / h``; 2 r / m would be the
               least possible.
    Cost       O(m^2 k^2 l) whole-number operations.
    """

    blocks: int
    test: MarginTest
    radius_epsilon: Fraction
    mu: Fraction
    """How many standard deviations of its noise the mean may move."""
    overlap: int = 1
    """How many blocks one person may be in."""

    def __post_init__(self) -> None:
        if self.ramp < 1:
            raise InvalidArgument("blocks", self.blocks, f"must be at least {least_blocks(self.test, self.overlap)}")
        if self.blocks > MOST_BLOCKS:
            raise InvalidArgument("blocks", self.blocks, f"must be at most {MOST_BLOCKS} blocks")

    @property
    def majority(self) -> int:
        """Friends that a block needs to have any weight: two such blocks, even of neighbouring data, share a friend."""
        return (self.blocks + self.overlap) // 2 + 1

    @property
    def certified(self) -> int:
        """h: what the test makes sure of is that so many blocks have so many friends."""
        return math.ceil(AGREEING * self.blocks) - self.overlap * (self.test.margin_for() + 1)

    @property
    def ramp(self) -> int:
        """Friends from no weight to full weight."""
        return self.certified - self.majority + 1

    @property
    def spread(self) -> Fraction:
        """How much of the mean's mass a person can move."""
        s, m, h = self.overlap, self.blocks, self.certified
        return min((s + (m - h) * min(Fraction(s, self.ramp), Fraction(1))) / h, Fraction(1))

    def scale(self, exponent: int) -> Fraction:
        """The standard deviation of the noise at radius ``2**(exponent/2)``."""
        radius = Fraction(math.isqrt(1 << (exponent + 60)) + 1, 1 << 30)
        return 2 * radius * self.spread / self.mu

    def run(self, answers: Whole, *, source: Source = system) -> Certified | None:
        """The noisy mean of private sets of points; None for a refusal.

        ``answers``: whole numbers below 2**25 in size, one set of k points in l dimensions for each block.
        """
        costs, apart = matched_costs(answers), separations(answers)
        drawn = draw_index(
            self.radius_costs(costs, apart, answers[0].size), self.radius_epsilon / (2 * self.overlap), source
        )
        exponent = drawn + growth(answers[0].size)
        friends = friend_counts(costs, apart, exponent, exponent)
        margin = max(h_index(friends) - self.certified, 0) // self.overlap
        if not self.test.passes(margin, source=source):
            return None
        total, mass = weighted_sum(answers, friends, self.majority, self.ramp)
        scale = self.scale(exponent)
        fine = power_of_two_above(FINENESS / scale)

        def noisy(entry: int) -> Fraction:
            return rounded_draw(Gaussian(), Fraction(int(entry), mass) * fine, scale * fine, source=source) / fine

        # Sorted, because which point of a set is called the first depends on the data.
        return Certified(tuple(sorted(tuple(noisy(entry) for entry in point) for point in total)), scale)

    def radius_costs(self, costs: Whole, apart: Whole, size: int) -> list[int]:
        """How many blocks must change for each radius ``2**(j/2)`` to be the least at which half agree: private."""
        aim, grown, before = math.ceil(AIM * self.blocks), growth(size), 0
        results = []
        for exponent in range(2 * BITS + 2 + size.bit_length()):
            index = h_index(friend_counts(costs, apart, exponent, exponent + grown))
            results.append(max(aim - index, before - aim + 1, 0))
            before = max(before, index)
        return results


def growth(size: int) -> int:
    """Half octaves from a radius at which half agree to one at which nearly all do; fewer in many dimensions."""
    return 4 if size == 1 else 3 if size < 4 else 2 if size < 16 else 1


def friend_counts(costs: Whole, apart: Whole, exponent: int, separated: int) -> Whole:
    """How many friends each block has at squared radius ``2**exponent``, itself included.

    A block whose points are not sqrt(18) radii ``2**(separated/2)`` apart has no friends and is a friend of none.
    """
    clear = apart > APART << separated if separated < 56 else apart == np.iinfo(np.int64).max
    near = costs <= (1 << min(exponent, 62))
    counts: Whole = (near & clear[:, None] & clear[None, :]).sum(axis=1)
    return counts


def h_index(counts: Whole) -> int:
    """The greatest h such that h entries are at least h: moves by at most 1 with one block."""
    falling = np.sort(counts)[::-1]
    return int((falling >= np.arange(1, len(falling) + 1)).sum())


def weighted_sum(answers: Whole, friends: Whole, majority: int, ramp: int) -> tuple[NDArray[np.object_], int]:
    """The sum of the answers, whole weights from 0 to ``ramp`` times points in a common order, and all weights."""
    weights = np.clip(friends - majority + 1, 0, ramp).astype(object)
    ordered = aligned(answers, answers[int(np.argmax(friends))]).astype(object)
    # Where nothing is certified no weight may be left; that such data pass the test has probability delta.
    mass = int(weights.sum())
    return (ordered[0], 1) if mass == 0 else ((ordered * weights[:, None, None]).sum(axis=0), mass)


def least_blocks(test: MarginTest, overlap: int = 1, ramp: int = 1) -> int:
    """The least number of blocks for which weights can rise over ``ramp`` friends."""
    spare = overlap * (test.margin_for() + 1) + ramp
    # From just below where (9/10) m - (m + s)/2 is enough: a step or two remain, however small epsilon is.
    blocks = max(math.floor((spare - 2 + Fraction(overlap, 2)) / (AGREEING - Fraction(1, 2))), 1)
    while math.ceil(AGREEING * blocks) - (blocks + overlap) // 2 < spare:
        blocks += 1
    return blocks


def plan_average(blocks: int, loss: Loss, *, overlap: int = 1) -> CertifiedAverage:
    """A certified average that costs ``loss``, from public facts."""
    if loss.is_pure:
        raise InvalidArgument("delta", loss.delta, "must be above 0 for the test of a certified average, such as 1e-6")
    epsilon, delta = loss.exact_epsilon, loss.exact_delta
    noise = loss.share(1 - RADIUS_SHARE - TEST_SHARE)
    point = point_of(Gaussian(), Loss(noise.epsilon, loss.share(Fraction(1, 2)).delta), Fraction(0))
    test = MarginTest(epsilon * TEST_SHARE, delta / 2)
    return CertifiedAverage(blocks, test, epsilon * RADIUS_SHARE, point.alpha, overlap)
