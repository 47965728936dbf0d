"""Private intervals for answers that were drawn by inverse sensitivity: one further draw, of how wide they are."""

from __future__ import annotations

import functools
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dither.accounting.concentrated import bounded_range
from dither.errors import NotApplicable
from dither.noise.discrete_exponential import draw_index, window
from dither.privacy import Concentrated
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.reachable import HasPopulationChains, HasReachableValues, ReachableValues, Whole
from dither.statistics.statistic import Statistic

GROWTH = Fraction(4, 3)
"""Candidates reach distances from the answer that grow by this factor."""
LEANS = (6, 12, 24, 48)
"""With m of this list each candidate weighs 1 + 1/m of the next narrower one, so that all narrower ones together
weigh at most m times as much as any (docs/proofs/intervals.md, section 3).  The first with room for it is used."""
SPARE = 3.0
"""Nats by which the widest candidates must weigh less than the best one where few changes tell them apart."""

SAMPLING_PARTS = tuple(1 - Fraction(1, 2**k) for k in range(1, 8))
"""The part of what an interval for the population may miss that is the sample's, of which the best is taken."""

Interval = tuple[int, int]
_SMALL = 1 << 60


def chain_of(statistic: Statistic[Data]) -> HasReachableValues[Data]:
    """The same statistic, as one with reachable values: mechanisms that draw along them serve no other."""
    return cast("HasReachableValues[Data]", statistic)


def population_chains_of(statistic: Statistic[Data]) -> HasPopulationChains[Data]:
    """The same statistic, as one of which a population's counterpart is known to lie between two others."""
    if not isinstance(statistic, HasPopulationChains):
        raise NotApplicable("interval", "population", "none is known for this query", "interval='sample'")
    return statistic


@dataclass(frozen=True)
class HalfWidthDraw:
    """A private interval around an answer that was released: one draw from nested candidates.

    Guarantee  epsilon-DP given the answer: the margin of a candidate moves by at most 1 between neighbours.
    Theorem    docs/proofs/intervals.md, section 3; enumerated in tests/mechanisms/test_half_width_draw.py.
    Constants  rate = epsilon/2; candidates grow by a third and lean to the wider ones by a public choice of LEANS.
    Cost       A window of the chain on either side.

    The margin p of a candidate is how many changes the true value stays inside for, less than 0 where it is outside.
    The narrowest candidate with a margin of at least t costs nothing; one that misses costs more than t.  Narrower
    candidates together weigh less than m times that one, so an interval misses with probability below
    ``m e^{-rate (t + 1)}``, for all data; t is the least that makes this what the confidence allows.
    """

    epsilon: Fraction
    miss: Fraction
    sampling: Fraction | None = None
    """How often the sample may miss the population, where the interval is to cover that; None: it covers the sample."""

    @classmethod
    def for_population(cls, epsilon: Fraction, miss: Fraction, statistic: Statistic[Data]) -> HalfWidthDraw:
        """The draw whose interval covers the population's value: a public choice of what noise and sample may miss.

        The shortest by the ranks between its ends: those that sampling asks for, and the margin on both sides.
        """
        count, sampled = len(distances(statistic.answers.points)), population_chains_of(statistic)

        def ranks(part: Fraction) -> int:
            margin = cls(epsilon, miss * (1 - part)).target(count, LEANS[0])
            return sampled.population_ranks(miss * part) + 2 * margin

        best = min(SAMPLING_PARTS, key=ranks)
        return cls(epsilon, miss * (1 - best), miss * best)

    @functools.cached_property
    def _floats(self) -> tuple[float, float]:
        return float(self.miss), float(self.rate)

    @functools.cached_property
    def rate(self) -> Fraction:
        """How fast weights fall with the cost: a change can move costs of candidates in opposite directions."""
        return self.epsilon / 2

    @property
    def concentrated(self) -> Concentrated:
        """A draw by costs that move by at most 1 either way, and by public weights: of bounded range."""
        return bounded_range(self.epsilon)

    def draw(
        self, statistic: Statistic[Data], data: Data, answer: int, reachable: ReachableValues | None = None
    ) -> Interval:
        """Both ends, in grid steps; ``reachable``: the statistic's own chain, where it was looked at before."""
        return self.candidates(statistic, data, answer, reachable).draw(self.rate)

    def reach(self, points: int) -> int:
        """How far along the chain the draw looks at most: public."""
        count = len(distances(points))
        return max(self.target(count, lean) + self._looked(count, lean) for lean in LEANS)

    def target(self, count: int, lean: int) -> int:
        """The margin t to aim at with at most so many candidates."""
        narrower = lean * -math.expm1((count - 1) * math.log(lean / (lean + 1)))
        miss, rate = self._floats
        needed = (math.log(max(narrower, miss)) - math.log(miss)) / rate
        # A little more than the quotient of two floats: rounding must not lose the last rank.
        return max(math.ceil(needed * (1.0 + 1e-12)) - 1, 0)

    def lean(self, count: int, above: int, below: int) -> int:
        """The public choice of m for so many candidates, where so many changes take the value to either bound.

        At a side on which fewer changes than the margin reach the bound, the interval ends there and nothing is at
        stake.  On the others the widest candidate may weigh no more than the best one though it costs no more than the
        changes that are left.
        """
        for lean in LEANS:
            target = self.target(count, lean)
            room = min((changes for changes in (above, below) if changes > target), default=math.inf)
            heavier = (count - 1) * math.log1p(1 / lean) + math.log(lean + 1)
            if heavier + SPARE <= float(self.rate) * (room - target):
                return lean
        return LEANS[-1]

    def ranks(self, statistic: Statistic[Data]) -> int:
        """How far from the statistic the draw looks at most: public."""
        apart = 0 if self.sampling is None else population_chains_of(statistic).population_ranks(self.sampling)
        return self.reach(statistic.answers.points) + apart

    def candidates(
        self, statistic: Statistic[Data], data: Data, answer: int, reachable: ReachableValues | None = None
    ) -> Candidates:
        """The candidates around an answer."""
        lower, upper = _around(answer, statistic.answers.ends)
        if self.sampling is not None:
            below, above = population_chains_of(statistic).population_chains(data, self.sampling)
        else:
            below = above = chain_of(statistic).reachable_values(data) if reachable is None else reachable
        return self._weighed(lower, upper, below, above)

    def weighed(self, nested: Sequence[Interval], below: ReachableValues, above: ReachableValues) -> Candidates:
        """Nested candidates, the last of them the whole range; their ends keep within chains of their own.

        Where so few changes take the value to a bound that no margin would do, the interval ends at that bound; the
        number of changes is public.
        """
        return self._weighed(*_ends_of(nested), below, above)

    def _weighed(self, lower: Whole, upper: Whole, below: ReachableValues, above: ReachableValues) -> Candidates:
        """The same for candidates by their ends."""
        lean, target = self._leans(len(lower), above.top, -below.bottom)
        if target >= above.top:
            upper = np.full_like(upper, upper[-1])
        if target >= -below.bottom:
            lower = np.full_like(lower, lower[-1])
        differ = (lower[1:] != lower[:-1]) | (upper[1:] != upper[:-1])
        if not differ.all():
            kept = np.append(differ, True)
            lower, upper = lower[kept], upper[kept]
        if len(lower) == 1:
            # The whole range: nothing is at stake, and a margin beyond all links would ask for more than there are.
            return Candidates(lower, upper, (1,), np.zeros(1, dtype=np.int64))
        costs = self._costs([(lower, upper)], [(below, above)], target, lean)
        return Candidates(lower, upper, leaning(len(lower), lean), costs)

    def _leans(self, count: int, above: int, below: int) -> tuple[int, int]:
        """The public m of so many candidates and the margin to aim at, computed once."""
        key = count, above, below
        if key not in self._known:
            lean = self.lean(count, above, below)
            self._known[key] = lean, self.target(count, lean)
        return self._known[key]

    @functools.cached_property
    def _known(self) -> dict[tuple[int, int, int], tuple[int, int]]:
        return {}

    @functools.cached_property
    def _known_looks(self) -> dict[tuple[int, int], int]:
        return {}

    def costs(
        self,
        nested: Sequence[Sequence[Interval]],
        chains: Sequence[tuple[ReachableValues, ReachableValues]],
        target: int,
        lean: int,
    ) -> list[int]:
        """What nested boxes cost, whose intervals keep within chains of their own: private.

        The margin of a box is the least of its intervals', which moves by at most 1 as each of them does.  Costs beyond
        a public reach are cut there: still 1-Lipschitz, and only a window of the chains is needed.
        """
        boxes = [_ends_of([box[place] for box in nested]) for place in range(len(chains))]
        result: list[int] = self._costs(boxes, chains, target, lean).tolist()
        return result

    def _costs(
        self,
        boxes: Sequence[tuple[Whole, Whole]],
        chains: Sequence[tuple[ReachableValues, ReachableValues]],
        target: int,
        lean: int,
    ) -> NDArray[np.int64]:
        """The same by the ends of intervals, chain by chain."""
        count = len(boxes[0][0])
        farthest = max(max(reachable.top, -reachable.bottom) for pair in chains for reachable in pair)
        reach = min(self._looked(count, lean), target + farthest)
        first, last = target - reach, target + reach
        margins = np.full(count, last, dtype=np.int64)
        for (lower, upper), (below, above) in zip(boxes, chains, strict=True):
            above.foresee(np.concatenate([lower, upper + 1]), last - first)
            np.minimum(margins, above.most_up_to(upper, first, last), out=margins)
            np.minimum(margins, below.most_down_to(lower, first, last), out=margins)
        costs = target - margins
        np.maximum(costs[1:], margins[:-1] + (1 - target), out=costs[1:])
        return np.clip(costs, 0, reach, out=costs)

    def _looked(self, count: int, lean: int) -> int:
        """Where costs are cut: beyond the target, where all that weighs less does not matter."""
        if (count, lean) not in self._known_looks:
            weights = leaning(count, lean)
            beyond = window(sum(weights) // weights[0] + 1, self.rate)
            self._known_looks[count, lean] = self.target(count, lean) + beyond
        return self._known_looks[count, lean]

    def typical_half_width(self, statistic: Statistic[Data], data: Data) -> float:
        """Half of the expected length of an interval around the true value; in floats, for quotes."""
        value = chain_of(statistic).reachable_values(data).values(0, 0)[0]
        result = self.candidates(statistic, data, value)
        lengths = (upper - lower for lower, upper in result.nested)
        return math.fsum(chance * length for chance, length in zip(result.chances(self.rate), lengths, strict=True)) / 2


@dataclass(frozen=True)
class Candidates:
    """Intervals that may be drawn."""

    lower: Whole
    upper: Whole
    """Their ends, the narrowest first: public once the answer is."""
    weights: tuple[int, ...]
    """Public."""
    costs: NDArray[np.int64]
    """Private."""

    @property
    def nested(self) -> list[Interval]:
        """Both ends of each."""
        return list(zip(self.lower.tolist(), self.upper.tolist(), strict=True))

    def draw(self, rate: Fraction) -> Interval:
        """One of them, exactly."""
        index = draw_index(self.costs, rate, weights=self.weights)
        return int(self.lower[index]), int(self.upper[index])

    def chances(self, rate: Fraction) -> list[float]:
        """How likely each of them is, in floats: private."""
        each = zip(self.weights, self.costs.tolist(), strict=True)
        logs = [math.log(weight) - float(rate) * cost for weight, cost in each]
        relative = [math.exp(log - max(logs)) for log in logs]
        return [path / math.fsum(relative) for path in relative]


def around_answer(answer: int, ends: Interval) -> list[Interval]:
    """Intervals at growing distances on both sides of an answer, cut at the ends of the range: public once it is."""
    lower, upper = _around(answer, ends)
    return list(zip(lower.tolist(), upper.tolist(), strict=True))


def _around(answer: int, ends: Interval) -> tuple[Whole, Whole]:
    """The same by their lower and upper ends."""
    low, high = ends
    away = _whole(distances(max(answer - low, high - answer)), [answer, low, high])
    return np.maximum(answer - away, low), np.minimum(answer + away, high)


def _ends_of(nested: Sequence[Interval]) -> tuple[Whole, Whole]:
    """The lower and the upper ends of intervals."""
    lower, upper = zip(*nested, strict=True)
    return _whole(lower), _whole(upper)


def _whole(numbers: Sequence[int], others: Sequence[int] = ()) -> Whole:
    """Whole numbers as an array: of 64 bits, where sums and differences with the others fit too."""
    small = all(abs(number) < _SMALL for number in (numbers[0], numbers[-1], *others))
    return np.array(numbers, dtype=np.int64 if small else object)


@functools.lru_cache(maxsize=1024)
def leaning(count: int, lean: int) -> tuple[int, ...]:
    """Public weights of so many nested candidates, the narrowest first."""
    return tuple((lean + 1) ** j * lean ** (count - 1 - j) for j in range(count))


def distances(farthest: int) -> list[int]:
    """0, 1, 2, ... growing by a third each time, up to ``farthest``: public once the answer is."""
    growing = _growing(max(farthest, 1).bit_length())
    return [*growing[: bisect_left(growing, farthest)], farthest] if farthest > 0 else [0]


@functools.lru_cache(maxsize=64)
def _growing(bits: int) -> list[int]:
    """The distances up to 2**bits."""
    reached = [0, 1]
    while reached[-1] < 1 << bits:
        reached.append(max(reached[-1] + 1, reached[-1] * GROWTH.numerator // GROWTH.denominator))
    return reached
