"""One private pass over all points: how many belong to each centre, where their mean is, and how far they spread.

Every person is shared between centres in whole numbers that sum to at most ``WHOLE``, and adds
their offset from that centre, cut to a public reach.  The sums get Gaussian noise.  Proof:
docs/proofs/certified_average.md, section 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.kernels.elementary import Floats
from dither.kernels.sums import exact_sum
from dither.noise.entropy import Source, system
from dither.noise.exact import rounded_draw
from dither.noise.gaussian import Gaussian

Whole = NDArray[np.int64]

WHOLE = 1 << 20
"""One person in the units of the sums."""
CHUNK = 1 << 16
FEW = 4
"""Centres that hold fewer people than so many standard deviations of the noise stay where they are."""
LEAST_SPREAD = 1.0 / 16.0
"""The least standard deviation that noisy squares may give, in reaches."""


@dataclass(frozen=True)
class Components:
    """Public centres, with the shares and standard deviations of a mixture's components; None where not yet known."""

    centres: Floats
    shares: Floats | None = None
    deviations: Floats | None = None
    intervals: tuple[Floats, Floats] | None = None
    """Lower and upper ends for the coordinates of each centre."""
    found: NDArray[np.bool_] | None = None
    """Which of them hold more people than noise alone would say; the others stayed where they were."""


@dataclass(frozen=True)
class PrivatePass:
    """A step of Lloyd's algorithm, or of expectation-maximisation, with exact noise.

    Guarantee  One answer of Gaussian noise whose location moves by at most ``mu`` standard deviations between
               neighbours (change-one).
    Theorem    docs/proofs/certified_average.md, section 6.
    Constants  In units of the reach R, a person's entries have diameter 2 (or sqrt(4.5) with spreads): the same as
               that of the offsets alone (or a sixteenth more), so counts (and spreads) ride almost free.
    Cost       O(n k l).
    """

    mu: Fraction
    reach: float
    """Offsets are cut to this length: public."""
    soft: bool
    """Whether points are shared between components by their likelihood, and spreads are released."""
    miss: float | None = None
    """How often an interval may fail to cover; None for no intervals."""

    @property
    def stretches(self) -> tuple[Fraction, Fraction, Fraction]:
        """The diameter of a person's entries over the stretch of counts, of offsets and of spreads."""
        if not self.soft:
            return Fraction(2), Fraction(2), Fraction(0)
        # Stretches sqrt(3/4), 1 and sqrt(1/2): the diameter is sqrt(9/2).  Ratios squared 6, 9/2 and 9, rounded up.
        return Fraction(24495, 10_000), Fraction(21_214, 10_000), Fraction(3)

    def run(self, points: Floats, now: Components, *, source: Source = system) -> Components:
        """The next centres (and shares and deviations): functions of noisy sums and public numbers."""
        counts, offsets, squares = self.sums(points, now)
        per_count, per_offset, per_square = (stretch / self.mu for stretch in self.stretches)

        def noisy(total: int, stretch: Fraction) -> float:
            return rounded_draw(Gaussian(), total, stretch * WHOLE, source=source) / WHOLE

        held = np.array([noisy(count, per_count) for count in counts])
        moved = np.array([[noisy(entry, per_offset) for entry in row] for row in offsets])
        squared = np.array([noisy(square, per_square) for square in squares]) if self.soft else None
        return self.read(now, held, moved, squared)

    def read(self, now: Components, held: Floats, moved: Floats, squared: Floats | None) -> Components:
        """The components that noisy sums give: public from here on."""
        enough = held > FEW * float(self.stretches[0] / self.mu)
        mass = np.where(enough, held, 1.0)
        means = np.where(enough[:, None], moved / mass[:, None], 0.0)
        # A mean of cut offsets is no longer than the reach; noise may make it longer.
        means *= np.minimum(1.0, 1.0 / np.maximum(np.sqrt((means**2).sum(axis=1)), 1e-300))[:, None]
        centres = now.centres + self.reach * means
        if squared is None:
            return Components(centres, intervals=self._centre_intervals(now, held, moved), found=enough)
        variances = squared / mass - (means**2).sum(axis=1)
        deviations = self.reach * np.sqrt(np.clip(variances / now.centres.shape[1], LEAST_SPREAD**2, 1.0))
        before = np.full(len(held), self.reach / 2.0) if now.deviations is None else now.deviations
        present = np.maximum(held, 1.0)
        return Components(
            centres,
            present / present.sum(),
            np.where(enough, deviations, before),
            self._centre_intervals(now, held, moved),
            enough,
        )

    def _centre_intervals(self, now: Components, held: Floats, moved: Floats) -> tuple[Floats, Floats] | None:
        """Ends that hold each coordinate of the centres without noise, each with probability 1 - miss; infinite if few.

        With c and s the true count and offset, the noisy mean is off by ``(N_s - (s/c) N_c) / held``, and either noise
        stays within z deviations except with probability miss/2; then also ``|s|/c <= (|moved| + z_s) / (held - z_c)``.
        """
        if self.miss is None:
            return None
        beyond = Gaussian().quantile(self.miss / 2.0)
        reach_count, reach_offset = (beyond * float(stretch / self.mu) for stretch in self.stretches[:2])
        # Entries are rounded to whole numbers: far below any noise.
        slack = 2.0**-16
        some = np.maximum(held, 1.0)[:, None]
        least = np.maximum(held - reach_count, 1e-9)[:, None]
        longest = np.minimum((np.abs(moved) + reach_offset) / least, 1.0)
        width = self.reach * ((reach_offset + longest * reach_count) / some + slack)
        width = np.where(held[:, None] > reach_count + 1.0, width, math.inf)
        middle = now.centres + self.reach * moved / some
        return middle - width, middle + width

    def sums(self, points: Floats, now: Components) -> tuple[list[int], list[list[int]], list[int]]:
        """The private sums over all people: counts, offsets and squares for each centre."""
        k, width = now.centres.shape
        counts, offsets, squares = [0] * k, [[0] * width for _ in range(k)], [0] * k
        for start in range(0, len(points), CHUNK):
            held, moved, squared = self.entries(points[start : start + CHUNK], now)
            for c in range(k):
                counts[c] += exact_sum(held[:, c])
                squares[c] += exact_sum(squared[:, c])
                for j in range(width):
                    offsets[c][j] += exact_sum(moved[:, c, j])
        return counts, offsets, squares

    def entries(self, points: Floats, now: Components) -> tuple[Whole, Whole, Whole]:
        """What each person adds, in units of 1/WHOLE: private.

        Whatever floats do, afterwards counts are not negative and sum to at most WHOLE, offsets are no longer than
        their count, and squares lie between zero and their count; entries that would break this count as zero.
        """
        apart = points[:, None, :] - now.centres[None, :, :]
        squared = (apart**2).sum(axis=2)
        parts = _likely(squared, now, points.shape[1]) if self.soft else _nearest(squared)
        # A little less than one, so that rounding errors set no person's entries to zero.
        held = np.floor(parts * (WHOLE - 64)).astype(np.int64)
        reach_squared = self.reach * self.reach
        shrink = 1.0 / np.maximum(1.0, np.sqrt(squared / reach_squared)) / self.reach
        moved = np.trunc(held[:, :, None] * (1.0 - 2.0**-20) * shrink[:, :, None] * apart).astype(np.int64)
        near = np.minimum(squared / reach_squared, 1.0)
        spread = np.floor(held * near).astype(np.int64) if self.soft else np.zeros_like(held)
        # Sizes first: squares of whole numbers beyond 2**31 would wrap round, and what no number becomes is -2**63.
        lawful = (
            ((held >= 0) & (held <= WHOLE)).all(axis=1)
            & (held.sum(axis=1) <= WHOLE)
            & ((moved >= -WHOLE) & (moved <= WHOLE)).all(axis=(1, 2))
            & ((moved**2).sum(axis=2) <= held**2).all(axis=1)
            & ((spread >= 0) & (spread <= held)).all(axis=1)
        )
        return held * lawful[:, None], moved * lawful[:, None, None], spread * lawful[:, None]


def _nearest(squared: Floats) -> Floats:
    """All of a point to the nearest centre, the first of equals."""
    parts = np.zeros_like(squared)
    parts[np.arange(len(squared)), squared.argmin(axis=1)] = 1.0
    return parts


def _likely(squared: Floats, now: Components, width: int) -> Floats:
    """Each point shared by likelihood."""
    if now.deviations is None:
        return _nearest(squared)
    shares = np.full(len(now.centres), 1.0 / len(now.centres)) if now.shares is None else now.shares
    logs = np.log(shares) - width * np.log(now.deviations) - 0.5 * squared / now.deviations**2
    parts = np.exp(logs - logs.max(axis=1, keepdims=True))
    likely: Floats = parts / parts.sum(axis=1, keepdims=True)
    return likely


def distances(points: Floats, centres: Floats) -> Floats:
    """The distance of each point from the nearest centre: private."""
    least = np.full(len(points), math.inf)
    for centre in centres:
        np.minimum(least, ((points - centre) ** 2).sum(axis=1), out=least)
    apart: Floats = np.sqrt(least)
    return apart
