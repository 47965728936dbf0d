"""Means of a private number of records: a noisy count first, which decides how the mean is drawn."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import cast

import numpy as np

from dither.accounting.concentrated import integer_laplace as integer_laplace_law
from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms.error import ErrorLaw, Mixture, WorstCaseError, cut_half_width, span, whole_range
from dither.mechanisms.mechanism import Mechanism, MechanismSpec, Outcome, Prepared, only_noises
from dither.mechanisms.noisy_local import raised_by
from dither.mechanisms.registry import mechanism
from dither.mechanisms.smoothed_ladder import Dominating, SmoothedLadderDraw, decay
from dither.mechanisms.sum_and_count import SumAndCount
from dither.mechanisms.worst_case import around, headroom, placed
from dither.noise.laplace import integer_laplace
from dither.numbers import Number, exact
from dither.privacy import Concentrated, Loss, any_pure_rho
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.sum_and_count import HasSumAndCount
from dither.statistics.statistic import Statistic

COUNT_SHARE, COUNT_SHARE_WITH_INTERVAL = Fraction(1, 50), Fraction(1, 25)
"""The part of epsilon for the count (docs/decisions.md has the measurements)."""
SHARES, SHARES_WITH_INTERVAL = (25, 50, 100, 200), (100, 200)
"""The smoothness of the ladder may be one of these parts of the answer's epsilon; fewer records: a sum and a count."""
CERTAIN = 3
"""So many scales below the noisy count the number of records is taken to be, when a smoothness is chosen."""
SPARE = 3
"""What the weight of the farthest rung must be below that of the first, as a logarithm."""
COUNT_MISS = Fraction(1, 20)
"""The part of an interval's misses that is due to the count."""
_GROWTH = Fraction(11, 10)
_FAR = 50


@mechanism("noisy_count", needs=HasSumAndCount)
@dataclass(frozen=True)
class NoisyCount(Mechanism):
    """Counts the records with noise, and chooses by that count how their mean is drawn.

    Releases   The number of records with integer Laplace noise, for a small part of epsilon; with the rest, where they
               are many, a draw along the smoothed ladder with the smallest beta of a public list that so many records
               allow; where they are few, a noisy sum over a noisy count.
    Guarantee  eps-DP, delta = 0, for the query's neighbours.
    Theorem    docs/proofs/filtered.md, section 6: what follows the count is eps-DP at the rest whatever it is.
    Constants  A fiftieth of epsilon for the count, a twenty-fifth with an interval; beta = eps/25 to eps/200.
    Cost       That of one draw along the ladder; intervals are free.

    ``share``: the part of epsilon for the count.

    >>> import dither as dt
    >>> values = [20.0, None, 35.0, 50.0] * 500
    >>> release = dt.mean(values, bounds=(0, 100), nulls="drop", epsilon=1.0, mechanism="noisy_count")
    >>> release.interval[0] <= release.value <= release.interval[1]
    True
    """

    share: Number | None = None
    adds_noise = False

    def __post_init__(self) -> None:
        if self.share is not None and not 0 < exact(self.share, "share") < 1:
            raise InvalidArgument("share", self.share, "must be a number between 0 and 1")

    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
        only_noises(self.name, ask.noise)
        statistic = ask.statistic
        if not isinstance(statistic, Statistic) or not isinstance(statistic, HasSumAndCount):
            raise NotApplicable("mechanism", self.name, "only means of a private number of records use it", "auto")
        epsilon = ask.usable.exact_epsilon
        usual = COUNT_SHARE if ask.confidence is None else COUNT_SHARE_WITH_INTERVAL
        first = epsilon * (usual if self.share is None else exact(self.share, "share"))
        rest = epsilon - first
        stated = integer_laplace_law(first, first / statistic.rows_per_person) + Concentrated(any_pure_rho(rest))
        return NoisyCountMean(statistic, Loss(ask.loss.epsilon, stated=stated), first, rest, ask.confidence)


@dataclass(frozen=True)
class NoisyCountMean(Prepared[Data]):
    """A noisy count, then a draw along the ladder or a sum over a count, whichever the noisy count says."""

    mechanism = "noisy_count"
    statistic: Statistic[Data]
    loss: Loss
    count_epsilon: Fraction
    answer_epsilon: Fraction
    confidence: Fraction | None
    noise_name = "noisy_count"

    @property
    def _mean(self) -> HasSumAndCount[Data]:
        """The same statistic, as a sum and a count: ``prepare`` serves no other."""
        return cast("HasSumAndCount[Data]", self.statistic)

    @property
    def count_scale(self) -> Fraction:
        """Of the noise on the first count."""
        return self.statistic.rows_per_person / self.count_epsilon

    @property
    def shares(self) -> tuple[int, ...]:
        """The answer's epsilon over each smoothness that may be chosen: rising."""
        return SHARES if self.confidence is None else SHARES_WITH_INTERVAL

    @functools.cached_property
    def thresholds(self) -> tuple[int, ...]:
        """From which noisy count on each of ``shares`` is chosen: public."""
        return tuple(self._threshold(share) for share in self.shares)

    def _threshold(self, share: int) -> int:
        """The least count after which rungs that are the global sensitivity weigh less than the first, with a spare."""
        lowered = math.ceil(CERTAIN * self.count_scale)
        steps = float(self.answer_epsilon) / self.statistic.rows_per_person / share

        def enough(records: int) -> bool:
            return steps * (records - 1) >= math.log(records) + SPARE

        low, high = 1, 2
        while not enough(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high + lowered

    def along(self, share: int) -> SmoothedLadderDraw[Data]:
        """The draw along the ladder of this smoothness."""
        beta = self.answer_epsilon / share
        return SmoothedLadderDraw(self.statistic, self.loss, self.answer_epsilon - beta, beta, decay(beta), None, None)

    @functools.cached_property
    def few(self) -> SumAndCount:
        """What answers for few records."""
        scale = 2 * self.statistic.rows_per_person / self.answer_epsilon
        return SumAndCount(scale, self._mean.deviation_range, self.statistic.answers)

    @property
    def draw_length(self) -> int:
        finest = self.along(self.shares[-1])
        return finest.window + math.ceil((finest.depth + 1.0) / float(finest.beta))

    @property
    def step_weight(self) -> int:
        return self.along(self.shares[-1]).step_weight

    def run(self, data: Data) -> Outcome:
        scale = self.count_scale
        count = integer_laplace(self._mean.count(data), scale, headroom=headroom(scale))
        allowed = [share for share, least in zip(self.shares, self.thresholds, strict=True) if count >= least]
        if not allowed:
            return self._of_few(data)
        drawn = self.along(allowed[-1])
        half_width = None if self.confidence is None else self._half_width(drawn, count)
        return around(self.statistic, drawn.run(data).number, half_width)

    def _of_few(self, data: Data) -> Outcome:
        total, count = self.few.draw(self._mean.doubled_deviations(data), self._mean.count(data))
        answer = self.statistic.answers.clamp(self.few.answer(total, count))
        if self.confidence is None:
            return Outcome(answer)
        return Outcome(answer, self.few.interval(total, count, answer, self._miss))

    @property
    def _miss(self) -> float:
        assert self.confidence is not None  # noqa: S101
        return float(1 - self.confidence)

    def _half_width(self, drawn: SmoothedLadderDraw[Data], count: int) -> int:
        """The error is at most V_0 times a public variable, and V_0 falls with the number of records, of which there
        are ``count`` less the noise at least, but for a part of the misses (docs/proofs/filtered.md, section 6)."""
        assert self.confidence is not None  # noqa: S101
        least = count - raised_by(self.count_scale, (1 - self.confidence) * COUNT_MISS)
        reach = _dominating(drawn).quantile(self._miss * float(1 - COUNT_MISS))
        return math.ceil(self._first(drawn, max(least, 0)) * reach * (1.0 + 1e-6)) + 1

    def _first(self, drawn: SmoothedLadderDraw[Data], records: int) -> float:
        """V_0 of so many records, rounded up."""
        ladder = self.statistic.ladder_of_count(records)
        assert ladder is not None  # noqa: S101
        return float(ladder.smooth(drawn.beta)) * (1.0 + 1e-9)

    def _branches(self, count: int, more: int | None = None) -> list[tuple[int | None, float]]:
        """Each smoothness (None: few records) and how likely it is for so many records, or at most for ``more``."""
        edges = [None, *self.thresholds, None]
        far = count if more is None else more
        results = []
        for share, start, stop in zip((None, *self.shares), edges, edges[1:], strict=False):
            reached = 1.0 if start is None else self._reaches(start - far)
            passed = 0.0 if stop is None else self._reaches(stop - count)
            results.append((share, reached - passed if more is None else min(reached, 1.0 - passed)))
        return [(share, chance) for share, chance in results if chance > 0.0]

    def _reaches(self, noise: int) -> float:
        """P(K >= noise) for the noise of the first count."""
        scale = float(self.count_scale)
        tail = math.exp(-(abs(noise) + (noise <= 0)) / scale) / (1.0 + math.exp(-1.0 / scale))
        return tail if noise > 0 else 1.0 - tail

    def error_laws(self, records: Data) -> list[ErrorLaw]:
        count, value = self._mean.count(records), self.statistic.value(records)
        laws: list[ErrorLaw] = []
        branches = self._branches(count)
        for share, _ in branches:
            if share is None:
                laws.append(self.few.error_law(self._mean.doubled_deviations(records), count, value))
            else:
                laws += self.along(share).error_laws(records)
        return [Mixture(laws, [chance for _, chance in branches])]

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:
        """The range; for at least so many records, the greatest of bounds for runs of numbers of records."""
        if records is None:
            return whole_range(self.statistic.answer_grids)
        most, expected, quantile = span(self.statistic.answers), 0.0, 0.0
        last = self.thresholds[-1] + math.ceil(_FAR * self.count_scale)
        start: int | None = max(records, 1)
        while start is not None:
            stop = math.ceil(start * _GROWTH) if start < last else None
            branches = self._branches(start, last + start if stop is None else stop)
            laws: list[ErrorLaw] = [self._most_error(share, start) for share, _ in branches]
            bound = _Sum(laws, [chance for _, chance in branches])
            expected = max(expected, bound.mean)
            quantile = max(quantile, _exceeded(bound, 1.0 - confidence, most))
            start = stop
        return WorstCaseError((min(expected, most),), (min(quantile, most),))

    def _most_error(self, share: int | None, records: int) -> ErrorLaw:
        if share is None:
            return self.few.most_error(records)
        drawn = self.along(share)
        return Dominated(_dominating(drawn), self._first(drawn, records), span(self.statistic.answers))

    def typical_half_widths(self, records: Data) -> tuple[float, ...] | None:
        if self.confidence is None:
            return None
        count, width = self._mean.count(records), 0.0
        grid, value = placed(self.statistic, records)
        for share, chance in self._branches(count):
            if share is None:
                width += chance * self.few.half_width(self._mean.doubled_deviations(records), count, self._miss)
            else:
                width += chance * cut_half_width(float(self._half_width(self.along(share), count)), grid, value)
        return (width,)


def _dominating(drawn: SmoothedLadderDraw[Data]) -> Dominating:
    return Dominating(float(drawn.rate), float(drawn.beta))


@dataclass(frozen=True)
class Dominated(ErrorLaw):
    """A bound on the error of a draw along the ladder: V_0 times a public variable, and one step for rounding."""

    law: Dominating
    first: float
    most: float

    @property
    def mean(self) -> float:
        return min(self.first * self.law.mean + 1.0, self.most)

    def beyond(self, distance: float) -> float:
        if distance >= self.most:
            return 0.0
        return float(self.law.tail(np.array([max(distance - 1.0, 0.0) / self.first]))[0])


class _Sum(Mixture):
    """Bounds on the chances of several laws, which may add up to more than 1."""

    def _average(self, numbers: Sequence[float]) -> float:
        return math.fsum(map(mul, self._weights, numbers))


def _exceeded(bound: ErrorLaw, miss: float, most: float) -> float:
    """A distance that is exceeded with at most this probability, at most ``most``."""
    low, high = 0.0, most
    while high - low > 1e-3 * high:
        middle = math.sqrt(max(low, 1.0) * high)
        low, high = (middle, high) if bound.beyond(middle) > miss else (low, middle)
        if high <= 1.0:
            break
    return high
