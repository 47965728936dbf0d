"""k-means and mixtures of spherical Gaussians: blocks find the centres, private passes over all points improve them.

Random blocks of people are clustered one by one; where most of them agree, a certified average of their centres is
released.  Where they do not, or where there are too few people for a certificate (a public fact), a noisy histogram
takes its place.  Either way some private passes follow.  All Gaussian noise of a release is one Gaussian mechanism,
shared out by squares.  All of it happens in the unit cube, onto which public bounds map the points.  Proofs:
docs/proofs/certified_average.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dither.accounting.cascades import Composition, Sequential, Step
from dither.errors import InvalidArgument
from dither.kernels.clusters import clustered_blocks, kmeans
from dither.kernels.elementary import Floats
from dither.mechanisms.limits import check_cost
from dither.mechanisms.margin_test import MarginTest
from dither.mechanisms.mechanism import MOST_EPSILON, point_of
from dither.mechanisms.stable_bins import ROOT_TWO
from dither.noise.exact import rounded_draw
from dither.noise.gaussian import Gaussian
from dither.numbers import round_down
from dither.privacy import Loss
from dither.procedures.block_fits import random_order
from dither.procedures.certified_average import BITS, MOST_BLOCKS, MOST_COORDINATES, CertifiedAverage, least_blocks
from dither.procedures.floating import FloatingGrid, draw_quantile, quantile_draw
from dither.procedures.private_pass import Components, PrivatePass, distances
from dither.procedures.space import Space, diagonal

RADIUS_SHARE, TEST_SHARE, REACH_SHARE = Fraction(1, 10), Fraction(3, 10), Fraction(1, 20)
"""Parts of epsilon for the radius and the test of the certificate, and for the reach of the passes."""
TEST_DELTA = Fraction(1, 2)
START_SHARE = Fraction(3, 10)
"""The part of the Gaussian noise's precision (by squares) that the first centres have."""
CERTIFIED_PASSES = (Fraction(2, 7), Fraction(5, 7))
"""How two passes after a certificate share the rest; the last one is what is released."""
HISTOGRAM_PASSES = (Fraction(1, 5), Fraction(1, 5), Fraction(3, 5))
PLAIN_PASSES = (Fraction(1, 8),) * 6 + (Fraction(1, 4),)
"""The same after a histogram, and from public centres, which have to travel."""
CERTIFIED, HISTOGRAM, SPREAD = "certified average", "noisy histogram", "public centres"
PASSES = {CERTIFIED: CERTIFIED_PASSES, HISTOGRAM: HISTOGRAM_PASSES, SPREAD: PLAIN_PASSES}
LEAST_POINTS_PER_CENTRE, MOST_POINTS_PER_CENTRE = 5, 300
"""Points in a block for each centre, at least and at most; the other points only take part in the passes."""
ROOM = 2
"""Blocks, in the least number that can be certified: few large blocks agree better than many small ones."""
HISTOGRAM_STARTS, HISTOGRAM_ROUNDS = 64, 30
"""Clusterings of a noisy histogram that are tried: it is public, and small."""
REACH_QUANTILE, REACH_TIMES = Fraction(9, 10), 1.5
"""Offsets are cut at one and a half times the distance that nine in ten points have from their centre."""
CELL_COUNT = 5
"""People in a cell of the histogram, if they were spread evenly, in standard deviations of the noise."""
MOST_CELLS = 20_000
LEAST_DEVIATION = 2.0**-12
"""The least standard deviation of a component, in widths."""
MOST_CENTRES, MOST_DIMENSIONS = 100, 200


@dataclass(frozen=True)
class Clustering:
    """What was released, and from where the passes began."""

    components: Components
    """Those that were found: their people exceed the noise of the last count by far.  In the columns' own units."""
    start: str


@dataclass(frozen=True)
class ClusterPlan:
    """A clustering ready to run; all fields are public.

    Guarantee  (epsilon, delta)-DP, neighbours change one record; centres that nobody is near are left out.
    Theorem    docs/proofs/certified_average.md, sections 5 to 7.
    Constants  mu^2 of all Gaussian noise adds up to that of one (epsilon, delta)-DP Gaussian mechanism.
    Cost       O(n k l) and, with a certificate, O(m^2 k^2 l) for m blocks.
    """

    records: int
    space: Space
    centres: int
    loss: Loss
    soft: bool
    average: CertifiedAverage | None
    """None if there are too few records for a certificate."""
    reach_epsilon: Fraction
    noise_loss: Loss
    mu: Fraction
    """What all Gaussian noise together may be shifted, in standard deviations."""
    miss: float | None = None
    """How often an interval may fail to cover; None for no intervals, which cost nothing."""

    @property
    def composition(self) -> Composition:
        """What it is made of, and costs."""
        noise = Step(self.noise_loss.exact_epsilon, self.noise_loss.exact_delta)
        parts = [Step(self.reach_epsilon), noise]
        if self.average is not None:
            test = self.average.test
            parts += [Step(self.average.radius_epsilon), Step(test.epsilon, test.delta)]
        return Sequential(tuple(parts))

    def run(self, data: Floats) -> Clustering:
        """Read the private points and answer."""
        points = self.space.to_cube(data)
        start = None if self.average is None else self._certified(points)
        name = CERTIFIED
        if start is None:
            start, name = self._plain(points)
        return Clustering(self._released(self._polished(points, start, PASSES[name])), name)

    def _released(self, now: Components) -> Components:
        """The components that were found, back in the bounds: a function of what is released."""
        result = np.ones(len(now.centres), dtype=bool) if now.found is None else now.found
        centres = self.space.from_cube(now.centres[result])
        intervals = None if now.intervals is None else _moved_in(*(end[result] for end in now.intervals))
        shares = None if now.shares is None else now.shares[result] / max(now.shares[result].sum(), 1e-300)
        deviations = None if now.deviations is None else now.deviations[result] * self.space.width
        if intervals is not None:
            intervals = self.space.from_cube(intervals[0]), self.space.from_cube(intervals[1])
        return Components(centres, shares, deviations, intervals)

    def _certified(self, points: Floats) -> Components | None:
        """The certified average of the blocks' centres."""
        if self.average is None:
            return None
        unit, width = 2.0**-BITS, self.space.dimensions
        least = LEAST_DEVIATION if self.soft else 0.0
        blocks = self.average.blocks
        used = blocks * min(self.records // blocks, MOST_POINTS_PER_CENTRE * self.centres)
        answers = clustered_blocks(points, random_order(self.records)[:used], blocks, self.centres, least)
        # Centres of points within the cube are within it; only rounding could say otherwise.
        steps = np.clip(np.rint(answers / unit), 0, 1 << BITS).astype(np.int64)
        result = self.average.run(steps)
        if result is None:
            return None
        numbers = np.array([[float(entry) for entry in point] for point in result.points]) * unit
        centres = np.clip(numbers[:, :width], 0.0, 1.0)
        if not self.soft:
            return Components(centres)
        # Seen from a noisy centre a component is wider, and a narrow one would lose its points to the others.
        wider = np.hypot(np.clip(numbers[:, width], 0.0, diagonal(width)), float(result.deviation) * unit + least)
        return Components(centres, None, wider)

    def _plain(self, points: Floats) -> tuple[Components, str]:
        """Centres of a noisy histogram, where the counts of its cells exceed the noise, else spread evenly."""
        mu = root_share(self.mu, START_SHARE)
        spread = float(ROOT_TWO / mu)
        wanted = min(self.records / (CELL_COUNT * spread), MOST_CELLS)
        shape = (int(max(wanted, 1.0) ** (1.0 / self.space.dimensions)),) * self.space.dimensions
        if math.prod(shape) >= 2 * self.centres:
            cell = np.clip((points * shape[0]).astype(np.int64), 0, shape[0] - 1)
            counts = np.bincount(np.ravel_multi_index(tuple(cell.T), shape), minlength=math.prod(shape))
            noisy = np.array([rounded_draw(Gaussian(), int(count), ROOT_TWO / mu) for count in counts], dtype=float)
            kept = np.flatnonzero(noisy > 2 * spread)
            if len(kept) >= self.centres:
                cells = (np.stack(np.unravel_index(kept, shape), axis=1) + 0.5) / shape[0]
                result = kmeans(cells, noisy[kept], self.centres, HISTOGRAM_STARTS, HISTOGRAM_ROUNDS)
                return Components(result), HISTOGRAM
        return Components(even_places(self.centres, self.space.dimensions)), SPREAD

    def _polished(self, points: Floats, start: Components, passes: tuple[Fraction, ...]) -> Components:
        """Private passes over all points, within a reach that is drawn once."""
        grid = reach_grid(self.space.dimensions)
        apart = distances(points, start.centres)
        code = draw_quantile(grid.codes(apart), grid, self.reach_epsilon, REACH_QUANTILE)
        reach = min(REACH_TIMES * grid.value(code + 1), diagonal(self.space.dimensions))
        now = start
        for share in passes:
            step = PrivatePass(root_share(self.mu, (1 - START_SHARE) * share), reach, self.soft, self.miss)
            moved = step.run(points, now)
            now = replace(moved, centres=np.clip(moved.centres, 0.0, 1.0))
        return now


def reach_grid(dimensions: int) -> FloatingGrid:
    """Where the drawn reach lives: public."""
    return FloatingGrid(diagonal(dimensions) * 2.0**-24, bits=6, highest=24, signed=False)


def plan_clusters(
    records: int,
    space: Space,
    centres: int,
    loss: Loss,
    *,
    soft: bool,
    blocks: int | None = None,
    miss: float | None = None,
) -> ClusterPlan:
    """The algorithm and its privacy loss from public facts; ``blocks``: how many are wanted, 0 for no certificate."""
    if loss.is_pure:
        raise InvalidArgument("delta", loss.delta, "must be above 0 for Gaussian noise, such as 1e-6")
    if not 1 <= centres <= min(MOST_CENTRES, records):
        raise InvalidArgument(
            "k", centres, f"must be a whole number from 1 to {MOST_CENTRES}, and no more than records"
        )
    if centres * (space.dimensions + 1) > MOST_COORDINATES:
        raise InvalidArgument("k", centres, f"must be at most {MOST_COORDINATES} coordinates of all centres")
    epsilon = min(loss.exact_epsilon, Fraction(int(MOST_EPSILON)))
    test = MarginTest(epsilon * TEST_SHARE, loss.exact_delta * TEST_DELTA)
    chosen = _blocks(records, centres, test, blocks)
    kept = REACH_SHARE + (0 if chosen is None else RADIUS_SHARE + TEST_SHARE)
    usable = Loss(float(min(loss.epsilon, MOST_EPSILON)), loss.delta)
    noise = Loss(usable.share(1 - kept).epsilon, loss.delta if chosen is None else usable.share(1 - TEST_DELTA).delta)
    mu = point_of(Gaussian(), noise, Fraction(0)).alpha
    average = None
    if chosen is not None:
        average = CertifiedAverage(chosen, test, epsilon * RADIUS_SHARE, root_share(mu, START_SHARE))
    check_cost(
        quantile_draw(records, reach_grid(space.dimensions), epsilon * REACH_SHARE, REACH_QUANTILE), loss.epsilon
    )
    return ClusterPlan(records, space, centres, loss, soft, average, epsilon * REACH_SHARE, noise, mu, miss)


def _blocks(records: int, centres: int, test: MarginTest, wanted: int | None) -> int | None:
    """How many blocks: twice what the test needs, or as many as leave five points for each centre; None if too few."""
    least = least_blocks(test, ramp=8)
    if wanted is None:
        chosen = min(ROOM * least, records // (LEAST_POINTS_PER_CENTRE * centres), MOST_BLOCKS)
        return chosen if chosen >= least else None
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 0:
        raise InvalidArgument("blocks", wanted, "must be a whole number, 0 for no blocks, or None")
    if wanted == 0:
        return None
    if wanted * centres > records:
        raise InvalidArgument("blocks", wanted, f"must be at most {records // centres}, with k records in each")
    if wanted < least:
        raise InvalidArgument("blocks", wanted, f"must be at least {least} to certify that the blocks agree")
    return wanted


def _moved_in(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Intervals around middles within the cube, where centres without noise lie: none is then cut to a point."""
    with np.errstate(invalid="ignore"):
        middle = (low + high) / 2.0
    shift = np.where(np.isfinite(middle), np.clip(middle, 0.0, 1.0) - middle, 0.0)
    return low + shift, high + shift


def root_share(mu: Fraction, share: Fraction) -> Fraction:
    """``mu sqrt(share)``, rounded down: squares of parts never add up to more than the whole."""
    root = round_down(math.sqrt(share))
    while root * root > share:
        root -= Fraction(1, 1 << 50)
    return mu * root


def even_places(count: int, dimensions: int) -> Floats:
    """Public places in the unit cube that lie far apart (the additive recurrence of the generalised golden ratio)."""
    golden = 1.5
    for _ in range(64):
        golden = (1.0 + golden) ** (1.0 / (dimensions + 1))
    steps = golden ** -np.arange(1.0, dimensions + 1)
    places: Floats = (0.5 + np.arange(count)[:, None] * steps) % 1.0
    return places
