"""The K-norm mechanism with the cube: noise whose density falls with the largest coordinate."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.errors import NotApplicable
from dither.mechanisms.error import AddedNoise, ErrorLaw, WorstCaseError, most_cut_mean, rooms, span
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Outcome, Prepared, only_noises
from dither.mechanisms.norm_noise import norm_draw
from dither.mechanisms.registry import mechanism
from dither.numbers import exact
from dither.privacy import Loss
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.largest_change import HasLargestChange
from dither.statistics.statistic import Statistic, VectorStatistic

MOST_NUMBERS = 1 << 14
"""All coordinates are made of the same reals, which takes time that grows with their number."""
_WINDOW = 2048


@mechanism("k_norm", needs=HasLargestChange)
@dataclass(frozen=True)
class KNorm(Mechanism):
    """Adds noise of density proportional to ``exp(-eps max_j |z_j| / S)`` to all numbers at once.

    Guarantee  eps-DP, if no number moves by more than S between neighbours.
    Theorem    V17 Table 2.1 (attribute means); Hardt-Talwar's K-norm mechanism with the cube as K;
               docs/proofs/metric_spaces.md section 4 and docs/proofs/counting_queries.md section 3.
    Constants  The largest error of d numbers is Gamma(d), about d S / eps, where Laplace noise of scale d S / eps has
               d (ln d + 0.58) S / eps.
    Cost       O(d) balls, about 0.02 ms each; intervals are free, because the scale is public.

    >>> import dither as dt
    >>> rows = [[1, 0, 1]] * 400
    >>> dt.counting_queries(rows, family="attribute_means", epsilon=1.0).mechanism
    'k_norm'
    """

    adds_noise = False

    def serves(self, statistic: Statistic[Data] | VectorStatistic[Data]) -> bool:
        return isinstance(statistic, HasLargestChange) and len(statistic.answer_grids) <= MOST_NUMBERS

    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
        only_noises(self.name, ask.noise)
        statistic = ask.statistic
        if (
            not isinstance(statistic, VectorStatistic)
            or not isinstance(statistic, HasLargestChange)
            or not self.serves(statistic)
        ):
            accepted = f"at most {MOST_NUMBERS} numbers that move by at most so much each"
            raise NotApplicable("mechanism", self.name, "nothing is known about the largest change", accepted)
        scale = statistic.linf / ask.usable.exact_epsilon
        return CubeNoise(statistic, Loss(ask.loss.epsilon), scale, ask.confidence)


@dataclass(frozen=True)
class CubeMarginal:
    """One coordinate of noise of density proportional to ``exp(-max |z_j|)`` in d dimensions.

    Its absolute value is a Gamma(k) length for a k drawn evenly from 1 .. d.
    """

    dimension: int
    name = "cube"
    mean_is_finite = True

    @property
    def typical(self) -> float:
        """The expected absolute value."""
        return (self.dimension + 1) / 2.0

    def tail(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(|z_j| > t) = E(1 - N / d)+ for a Poisson variable N of mean t: a sum of positive terms."""
        import scipy.special  # noqa: PLC0415  (slow to load)

        d, t = self.dimension, np.atleast_1d(np.asarray(places, dtype=np.float64))
        far = t > d
        near = np.minimum(t, float(d))
        last = np.exp(scipy.special.xlogy(d, near) - near - math.lgamma(d + 1.0))
        result = scipy.special.gammaincc(d, near) * (1.0 - near / d) + last
        # Beyond d the last terms below d are all that matters, and the difference above would cancel.
        j = np.arange(max(0, d - _WINDOW), d, dtype=np.float64)
        beyond = t[far][:, None]
        result[far] = (np.exp(j * np.log(beyond) - beyond - scipy.special.gammaln(j + 1.0)) * (1.0 - j / d)).sum(axis=1)
        return np.asarray(result.reshape(np.shape(places)))

    @functools.lru_cache(maxsize=256)  # noqa: B019  (instances are small and public)
    def quantile(self, miss: float) -> float:
        """What the absolute value exceeds with this probability, from above."""
        low, high = 0.0, 1.0
        while float(self.tail(np.array([high]))[0]) > miss:
            low, high = high, 2.0 * high
        while high - low > 1e-9 * high:
            middle = (low + high) / 2.0
            low, high = (middle, high) if float(self.tail(np.array([middle]))[0]) > miss else (low, middle)
        return high


@dataclass(frozen=True)
class CubeNoise(Prepared[Data]):
    """Every number plus its coordinate of the noise, rounded to the grid and clamped to the public range."""

    mechanism = "k_norm/vector"
    statistic: VectorStatistic[Data]
    """Several numbers with their l-infinity sensitivity."""
    loss: Loss
    scale: Fraction
    confidence: Fraction | None
    noise_name = "cube"

    @property
    def marginal(self) -> CubeMarginal:
        """The law of one coordinate, in units of the scale."""
        return CubeMarginal(len(self.statistic.answers))

    def run(self, data: Data) -> Outcome:
        grids, values = self.statistic.answers, self.statistic.values(data)
        noisy = norm_draw([Fraction(int(value)) for value in values], self.scale, "linf")
        answer = tuple(grid.clamp(total) for grid, total in zip(grids, noisy, strict=True))
        if self.confidence is None:
            return Outcome(answer)
        half = self._half_width(self.confidence)
        ends = zip(grids, noisy, strict=True)
        return Outcome(answer, tuple(grid.interval_around(item, half) for grid, item in ends))

    def _half_width(self, confidence: Fraction) -> int:
        """A w with P(|round(scale z)| > w) at most what may be missed: that needs |scale z| of at least w + 1/2."""
        quantile = self.marginal.quantile(float(1 - confidence))
        return max(math.ceil(float(self.scale) * quantile * (1 + 1e-9) - 0.5), 0)

    def error_laws(self, records: Data) -> list[ErrorLaw]:
        values = self.statistic.values(records)
        return [
            AddedNoise(self.marginal, float(self.scale), rooms(grid, value))
            for grid, value in zip(self.statistic.answers, values, strict=True)
        ]

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:  # noqa: ARG002
        half = float(self._half_width(exact(confidence)))
        widest = {between: self._most_mean(between) for between in {span(grid) for grid in self.statistic.answers}}
        between = [span(grid) for grid in self.statistic.answers]
        expected, quantile = tuple(widest[item] for item in between), tuple(min(half, item) for item in between)
        return WorstCaseError(expected, quantile, attained=True)

    def _most_mean(self, between: float) -> float:
        # Beyond a range of so many scales nothing is left to cut.
        wide = between > 1e3 * float(self.scale) * self.marginal.dimension
        return most_cut_mean(self.marginal, float(self.scale), math.inf if wide else between)

    def public_half_widths(self) -> tuple[float, ...] | None:
        if self.confidence is None:
            return None
        return (float(self._half_width(self.confidence)),) * len(self.statistic.answers)
