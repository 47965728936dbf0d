"""One noisy histogram of a finite domain, from which all counting queries are answered (V17 Theorem 2.9)."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dither.errors import NotApplicable
from dither.kernels.elementary import Integers
from dither.mechanisms.error import Cells, ErrorLaw, WorstCaseError, rooms, span
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Outcome, Prepared, only_noises
from dither.mechanisms.noise_intervals import (
    laplace_deviation,
    laplace_sum_half_widths,
    laplace_sum_law,
    laplace_sum_mean,
)
from dither.mechanisms.registry import mechanism
from dither.noise.vectors import integer_laplace_draws
from dither.numbers import exact
from dither.privacy import Loss
from dither.sensitivity.domain_histogram import HasDomainHistogram
from dither.sensitivity.global_sensitivity import Data
from dither.statistics.statistic import Statistic, VectorStatistic

MOST_POINTS = 1 << 22
"""A histogram has at most so many bins."""


@mechanism("noisy_histogram", needs=HasDomainHistogram)
@dataclass(frozen=True)
class NoisyHistogram(Mechanism):
    """Adds integer Laplace noise to every bin of the domain and sums the bins that each query counts.

    Guarantee  eps-DP: a change moves the histogram by 2 in l1 (1 where a record comes or goes); sums are
               post-processing.
    Theorem    V17 Proposition 2.8 and Theorem 2.9, DMNS06 Example 3; docs/proofs/counting_queries.md.
    Constants  Scale 2 / eps, exact.  Where the number of records is public, a query that counts more than half of the
               domain is that number minus the sum over the rest.
    Cost       O(n + D) and the sums; intervals are free, because the scale is public.

    >>> import dither as dt
    >>> dt.counting_queries([10, 30, 70] * 99, edges=[0, 20, 40, 60, 80], family="thresholds", epsilon=1.0,
    ...                     mechanism="noisy_histogram").mechanism
    'noisy_histogram'
    """

    adds_noise = False

    def serves(self, statistic: Statistic[Data] | VectorStatistic[Data]) -> bool:
        return isinstance(statistic, HasDomainHistogram) and statistic.domain_size <= MOST_POINTS

    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
        only_noises(self.name, ask.noise)
        statistic = ask.statistic
        if (
            not isinstance(statistic, VectorStatistic)
            or not isinstance(statistic, HasDomainHistogram)
            or not self.serves(statistic)
        ):
            accepted = f"counting queries over a domain of at most {MOST_POINTS} points"
            raise NotApplicable("mechanism", self.name, "there is no histogram to sum over", accepted)
        scale = statistic.histogram_sensitivity / ask.usable.exact_epsilon
        return HistogramSums(statistic, Loss(ask.loss.epsilon), scale, ask.confidence)


@dataclass(frozen=True)
class HistogramSums(Prepared[Data]):
    """Sums over a histogram with integer Laplace noise, clamped to the public range."""

    mechanism = "noisy_histogram/vector"
    statistic: VectorStatistic[Data]
    """Several counts that are sums over a histogram."""
    loss: Loss
    scale: Fraction
    confidence: Fraction | None
    noise_name = "laplace"

    @property
    def _domain(self) -> HasDomainHistogram[Data]:
        """The same statistic, as sums over a histogram: ``prepare`` serves no other."""
        return cast("HasDomainHistogram[Data]", self.statistic)

    @functools.cached_property
    def _swapped(self) -> NDArray[np.bool_]:
        """Which queries are answered as the public number of records minus the sum over the rest."""
        counted = self._domain.points_counted
        if self._domain.public_records is None:
            return np.zeros(len(counted), dtype=bool)
        return np.asarray(2 * counted > self._domain.domain_size)

    @functools.cached_property
    def terms(self) -> NDArray[np.int64]:
        """How many independent draws the noise of each answer is the sum of: public."""
        counted = self._domain.points_counted
        return np.asarray(np.where(self._swapped, self._domain.domain_size - counted, counted))

    def run(self, data: Data) -> Outcome:
        statistic = self._domain
        histogram = statistic.histogram(data) + summable_noise(statistic.domain_size, self.scale)
        noisy = np.asarray(statistic.from_histogram(histogram))
        if statistic.public_records is not None:
            noisy = noisy + self._swapped.astype(histogram.dtype) * (statistic.public_records - histogram.sum())
        grids = self.statistic.answers
        answer = tuple(grid.clamp(int(total)) for grid, total in zip(grids, noisy.tolist(), strict=True))
        if self.confidence is None:
            return Outcome(answer)
        half = laplace_sum_half_widths(self.scale, self.terms, 1 - self.confidence)
        ends = zip(grids, noisy.tolist(), half.tolist(), strict=True)
        return Outcome(answer, tuple(grid.interval_around(item, width) for grid, item, width in ends))

    def error_laws(self, records: Data) -> list[ErrorLaw]:
        values = self.statistic.values(records)
        laws = {terms: _sum_law(self.scale, terms) for terms in set(self.terms.tolist())}
        return [
            TwoSided(laws[terms], rooms(grid, value))
            for terms, grid, value in zip(self.terms.tolist(), self.statistic.answers, values, strict=True)
        ]

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:  # noqa: ARG002
        half = laplace_sum_half_widths(self.scale, self.terms, 1 - exact(confidence))
        between = [span(grid) for grid in self.statistic.answers]
        expected = [
            min(laplace_sum_mean(self.scale, terms), most)
            for terms, most in zip(self.terms.tolist(), between, strict=True)
        ]
        quantile = [min(float(width), most) for width, most in zip(half.tolist(), between, strict=True)]
        attained = all(_is_summed(self.scale, terms) for terms in set(self.terms.tolist()))
        return WorstCaseError(tuple(expected), tuple(quantile), attained=attained)

    def public_half_widths(self) -> tuple[float, ...] | None:
        if self.confidence is None:
            return None
        return tuple(map(float, laplace_sum_half_widths(self.scale, self.terms, 1 - self.confidence).tolist()))


@dataclass(frozen=True)
class TwoSided(ErrorLaw):
    """Symmetric noise in whole steps, cut to the public range: ``rooms`` is how far either bound is."""

    noise: Cells
    rooms: tuple[float, float]

    @property
    def mean(self) -> float:
        return sum(self.noise.cut(room).mean if room > 0 else 0.0 for room in self.rooms) / 2.0

    def beyond(self, distance: float) -> float:
        return self.noise.beyond(distance) * sum(distance < room for room in self.rooms) / 2.0


def _sum_law(scale: Fraction, terms: int) -> Cells:
    """The law of the absolute value of a sum of integer Laplace variables, or of something larger if it is wide."""
    step, excess, masses = laplace_sum_law(scale, terms)
    folded = np.concatenate([masses[:1], 2.0 * masses[1:]])
    places = np.arange(len(folded), dtype=np.float64) * step + excess
    return Cells(places, places, folded)


_MOST_SUMMED = 1 << 12
"""Up to so many cells half-widths are quantiles to the last step."""


def _is_summed(scale: Fraction, terms: int) -> bool:
    return terms <= 64 and laplace_deviation(scale) * math.sqrt(terms) * 100 < _MOST_SUMMED


def summable_noise(bins: int, scale: Fraction) -> Integers:
    """Integer Laplace noise for every bin, in a type that holds the sum of all bins."""
    draws = integer_laplace_draws(bins, scale)
    # Below 2**32 a draw beyond 2**38 would need a uniform real below 2**-64, and 2**22 of them fit into 63 bits.
    return draws if scale <= 1 << 32 and int(np.abs(draws).max()) < 1 << 40 else draws.astype(object)
