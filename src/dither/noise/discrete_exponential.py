"""Exact draws from exponential weights: ``P(rung t) proportional to N_t e^{-rate t}``, or from a list of costs.

Weights are kept as pairs of whole numbers around their true value.  A draw is decided when the tape's
interval falls inside one rung for every weight within its pair; else more bits, digits and rungs are used.  Floats
with a proved error decide nearly all draws first (``_by_floats``), from the same bits: what they decide is what whole
numbers would.
Nothing is truncated: the rungs that were not looked at count with an upper bound on their whole mass, so a
window of rungs of public width almost always decides, and the law is exact in every case.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from operator import mul

import numpy as np
from numpy.typing import NDArray

from dither.kernels.elementary import Floats, exp
from dither.noise.entropy import LazyBits, Source, system, uniform_integer
from dither.numbers import ball, integer_in, precision

_DIGITS = 192
_MOST_DIGITS = 1 << 14
_MOST_EXPONENT = 512.0
"""Within it exponentials of floats have a proved error: see ``kernels.elementary``."""
_MOST_POINT_BITS = 200
_MOST_WEIGHT_BITS = 900
_LISTED = 1 << 14
"""Tables of powers up to this length are kept."""
_FEW = 8
"""Draws from fewer weights are as quick without floats."""
_FIRST_REACH, _WIDER = 1 << 10, 4
"""How many rungs are looked at first, and how many times as many next, up to the window that surely decides."""
_CERTAINTY = 40
"""The first window leaves at most 2**-40 of the mass outside; the rest is looked at when it is needed."""


def doubled(digits: int) -> int:
    """Twice as many digits for the next round, up to a number that is reached with probability below 2**-250.

    A round is left open by chances of at most 2**-40 and then 2**-64, 2**-128, ... whatever the data are
    (docs/proofs/sampling.md, "Every loop ends"): seven in a row mean that no weight was positive.
    """
    if digits > _MOST_DIGITS:
        raise RuntimeError("a draw that so many digits do not decide has no weights")
    return 2 * digits


def window(points: int, rate: Fraction) -> int:
    """How many rungs decide a draw with certainty 1 - 2**-40: public."""
    return max(math.ceil((math.log(points) + _CERTAINTY * math.log(2.0)) / float(rate)), 0) + 1


def draw_cost(
    counts: Callable[[int, int], Sequence[int] | NDArray[np.int64]],
    points: int,
    costs: int,
    rate: Fraction,
    source: Source = system,
) -> tuple[int, int]:
    """A rung t >= 1 with ``counts(t, t)[0]`` points, weight ``e^{-rate t}`` each, and a uniform index in it.

    ``points`` is the number of points of all rungs together, ``rungs`` the number of rungs: both public.  The first
    rung is not empty.  Few rungs are looked at where they hold all points but for a share that hardly ever matters: how
    many is a matter of time and memory alone, for the rest counts with its bound.
    """
    widest, digits, bits = min(window(points, rate), costs), _DIGITS, LazyBits(128, source)
    reach = min(_FIRST_REACH, widest)
    while True:
        sizes = counts(1, reach)
        if digits == _DIGITS:
            quick = _by_floats(sizes, points, rate, bits, complete=reach == costs)
            if quick is not None:
                return quick + 1, uniform_integer(int(sizes[quick]), source)
        sizes = _listed_sizes(sizes)
        under, over = powers(rate, reach + 1, digits)
        # Rungs beyond the window hold the remaining points, each lighter than the last weight seen.
        beyond = (points - sum(sizes)) * over[reach] if reach < costs else 0
        low = list(accumulate(map(mul, sizes, under)))
        if reach < widest and beyond << _CERTAINTY > low[-1]:
            reach = min(_WIDER * reach, widest)
            continue
        high = list(accumulate(map(mul, sizes, over)))
        result = located(low, high, beyond, bits)
        if result is not None:
            return result + 1, uniform_integer(sizes[result], source)
        reach, digits = min(2 * reach, costs), doubled(digits)
        bits.extend()


def _listed_sizes(sizes: Sequence[int] | NDArray[np.int64]) -> Sequence[int]:
    """Whole numbers of Python: products of an array's entries would have 64 bits."""
    return sizes.tolist() if isinstance(sizes, np.ndarray) else sizes


def _by_floats(
    sizes: Sequence[int] | NDArray[np.int64], points: int, rate: Fraction, bits: LazyBits, *, complete: bool
) -> int | None:
    """The rung that surely holds the tape's real, where floats can tell; ``complete``: no points are in other rungs."""
    reach = len(sizes)
    if float(rate) * (reach + 1) > _MOST_EXPONENT or points.bit_length() > _MOST_POINT_BITS:
        return None
    weights = _decay(rate, reach + 1)
    masses = np.array(sizes, dtype=np.float64)
    masses *= weights[:reach]
    unseen = 0.0
    if not complete:
        # Arrays hold fewer than 2**62 points together.
        seen = int(sizes.sum()) if isinstance(sizes, np.ndarray) else sum(sizes)
        unseen = float(points - seen) * float(weights[reach])
    return _surely(masses, unseen, bits)


def _index_by_floats(
    costs: NDArray[np.int64], rate: Fraction, weights: tuple[int, ...] | None, bits: LazyBits
) -> int | None:
    """The index that surely holds the tape's real, where floats can tell; the least cost is 0."""
    count = int(costs.max()) + 1
    if count > _LISTED or float(rate) * count > _MOST_EXPONENT:
        return None
    masses = _decay(rate, count)[costs]
    if weights is not None:
        each = _as_floats(weights)
        if each is None:
            return None
        masses = masses * each
    return _surely(masses, 0.0, bits)


@functools.lru_cache(maxsize=256)
def _as_floats(weights: tuple[int, ...]) -> Floats | None:
    """Public weights; None where they are too far apart for floats."""
    if max(weights).bit_length() > _MOST_WEIGHT_BITS:
        return None
    return np.array([float(weight) for weight in weights])


def _surely(masses: Floats, unseen: float, bits: LazyBits) -> int | None:
    """The place that surely holds the tape's real, where floats can tell.

    With ``d`` as below every sum is within a relative ``d`` of the exact one (docs/proofs/sampling.md, "Floats first").
    """
    ends, reach = np.cumsum(masses), len(masses)
    d = (reach + 8) * 2.0**-52 + 2.0**-41
    word = bits.word(0) >> (bits.bits - 50)
    whole = float(ends[-1])
    lowest = word * 2.0**-50 * whole * (1.0 - 2.0 * d)
    highest = (word + 1) * 2.0**-50 * (whole + unseen) * (1.0 + 2.0 * d)
    index = int(ends.searchsorted(highest * (1.0 + 2.0 * d)))
    if index == reach or (index > 0 and float(ends[index - 1]) * (1.0 + 2.0 * d) > lowest):
        return None
    return index


def _decay(rate: Fraction, count: int) -> Floats:
    """``e^{-rate t}`` for t = 0 .. count - 1, each within 2**-42 of itself: rate times count is at most 512."""
    if count > _LISTED:
        return _decayed(float(rate), count)
    return _decay_listed(float(rate), 1 << (count - 1).bit_length())[:count]


def _decayed(rate: float, count: int) -> Floats:
    return exp(np.maximum(-rate * np.arange(count), -_MOST_EXPONENT))


_decay_listed = functools.lru_cache(maxsize=16)(_decayed)


def draw_index(
    costs: Sequence[int] | NDArray[np.int64],
    rate: Fraction,
    source: Source = system,
    *,
    weights: Sequence[int] | None = None,
) -> int:
    """An index with probability proportional to ``e^{-rate cost}``, times its own public weight if there are any."""
    bits = LazyBits(128, source)
    least, most = (int(costs.min()), int(costs.max())) if isinstance(costs, np.ndarray) else (min(costs), max(costs))
    if most - least < _LISTED and len(costs) > _FEW:
        above = costs - least if isinstance(costs, np.ndarray) else np.array([cost - least for cost in costs])
        quick = _index_by_floats(above, rate, None if weights is None else tuple(weights), bits)
        if quick is not None:
            return quick
    return _ExactIndices(_listed_sizes(costs), rate, weights).draw(bits)


def draw_indices(
    costs: Sequence[int], rate: Fraction, count: int, source: Source = system, *, weights: Sequence[int] | None = None
) -> list[int]:
    """So many independent ones: their weights are worked out once."""
    exact = _ExactIndices(costs, rate, weights)
    return [exact.draw(LazyBits(128, source)) for _ in range(count)]


class _ExactIndices:
    """Whole numbers below and above the sums of weights, with as many digits as draws need."""

    def __init__(self, costs: Sequence[int], rate: Fraction, weights: Sequence[int] | None) -> None:
        self._rate, self._weights = rate, weights
        # Weights that are far apart need as many digits more, or the lightest would drown in the heaviest's errors.
        apart = 0 if weights is None else max(weights).bit_length() - min(weights).bit_length()
        least, self._digits = min(costs), _DIGITS + apart // 64 * 64
        self._above = [cost - least for cost in costs]
        self._sums: dict[int, tuple[list[int], list[int]]] = {}

    def draw(self, bits: LazyBits) -> int:
        """An index by these bits, and more where they do not decide."""
        digits = self._digits
        while (result := located(*self._summed(digits), 0, bits)) is None:
            digits = doubled(digits)
            bits.extend()
        return result

    def _summed(self, digits: int) -> tuple[list[int], list[int]]:
        if digits not in self._sums:
            # A table of powers is shared by draws at one rate; its length is rounded up so that they find it again.
            listed = 1 << max(self._above).bit_length()
            if listed <= _LISTED:
                small, great = powers(self._rate, listed, digits)
                under, over = ([table[cost] for cost in self._above] for table in (small, great))
            else:
                under, over = _weights(self._above, self._rate, digits)
            if self._weights is not None:
                under, over = list(map(mul, under, self._weights)), list(map(mul, over, self._weights))
            self._sums[digits] = list(accumulate(under)), list(accumulate(over))
        return self._sums[digits]


def _weights(costs: list[int], rate: Fraction, digits: int) -> tuple[list[int], list[int]]:
    """Whole numbers below and above ``2**digits e^{-rate cost}``, each by itself."""
    under, over = [], []
    with precision(digits + 64):
        scale = ball(1 << digits)
        for cost in costs:
            weight = (-ball(rate * cost)).exp() * scale
            under.append(max(integer_in(weight.lower().floor()) - 1, 0))
            over.append(integer_in(weight.upper().ceil()) + 1)
    return under, over


def first_reach(most: int, rate: Fraction) -> int:
    """How many costs ``draw_endless`` looks at first: public."""
    return window(most * (1 + math.ceil(1 / rate)) + 1, rate)


def draw_endless(
    counts: Callable[[int, int], Sequence[int]], most: int, settled: int | None, rate: Fraction, source: Source = system
) -> tuple[int, int]:
    """A cost c >= 0 with ``counts(c, c)[0]`` points, weight ``e^{-rate c}`` each, and a uniform index among them.

    No cost has more than ``most`` points (the first has one); from cost ``settled`` on, if that is known, each has
    exactly ``most``: their endless geometric tail then counts as one piece of known mass.
    """
    reach, digits, bits = first_reach(most, rate), _DIGITS, LazyBits(128, source)
    while True:
        if settled is not None:
            reach = min(reach, settled)
        sizes = counts(0, reach - 1)
        under, over = powers(rate, reach + 1, digits)
        low = list(accumulate(map(mul, sizes, under)))
        high = list(accumulate(map(mul, sizes, over)))
        unit = 1 << digits
        # Costs from ``reach`` on weigh at most most e^{-rate reach} / (1 - e^{-rate}).
        beyond = most * over[reach] * unit // (unit - over[1]) + 1
        if reach == settled:
            low.append(low[-1] + most * under[reach] * unit // (unit - under[1]))
            high.append(high[-1] + beyond)
            beyond = 0
        result = located(low, high, beyond, bits)
        if result is not None and result < reach:
            return result, uniform_integer(sizes[result], source)
        if result is not None:
            return reach + geometric(rate, source), uniform_integer(most, source)
        reach, digits = 2 * reach, doubled(digits)
        bits.extend()


def geometric(rate: Fraction, source: Source = system) -> int:
    """``floor(-ln V / rate)``: at least k with probability ``e^{-rate k}``, exactly."""
    return settle_geometric(rate, LazyBits(128 + math.ceil(1 / rate).bit_length(), source))


def settle_geometric(rate: Fraction, bits: LazyBits) -> int:
    """Read the tape until it decides ``floor(-ln V / rate)``."""
    while True:
        with precision(bits.bits + 32):
            steps = (-bits.uniform(0).log() / ball(rate)).floor().unique_fmpz()
        if steps is not None:
            return int(steps)
        bits.extend()


@dataclass(frozen=True)
class Spans:
    """Runs of equally likely points: sizes and costs, and what is known of the points not listed."""

    firsts: Sequence[int]
    """The first point of each run.  Runs are listed so that a wider reach only appends: what the tape's real falls
    into must not move when more becomes known."""
    sizes: Sequence[int]
    costs: Sequence[Fraction]
    outside: int
    """How many points are not listed."""
    least_outside: Fraction
    """No point outside costs less."""


def draw_span(spans: Callable[[int], Spans], reach: int, most: int, rate: Fraction, source: Source = system) -> int:
    """A point with probability proportional to ``e^{-rate cost}``.

    ``spans(reach)`` lists the runs within a reach; from ``most`` on nothing is outside.  All costs that share a
    fractional part cost one exponential together.
    """
    digits, bits = _DIGITS, LazyBits(128, source)
    while True:
        seen = spans(reach)
        weigh = _Weights(rate, digits)
        pairs = [weigh(cost) for cost in seen.costs]
        low = list(accumulate(map(mul, seen.sizes, (under for under, _ in pairs))))
        high = list(accumulate(map(mul, seen.sizes, (over for _, over in pairs))))
        result = located(low, high, seen.outside * weigh(seen.least_outside)[1], bits)
        if result is not None:
            return seen.firsts[result] + uniform_integer(seen.sizes[result], source)
        reach, digits = min(2 * reach, most), doubled(digits)
        bits.extend()


class _Weights:
    """Whole numbers below and above ``2**digits e^{-rate cost}``."""

    def __init__(self, rate: Fraction, digits: int) -> None:
        self._rate, self._digits = rate, digits
        self._bases: dict[Fraction, tuple[int, int]] = {}
        self._under, self._over = powers(rate, 64, digits)

    def __call__(self, cost: Fraction) -> tuple[int, int]:
        whole = math.floor(cost)
        part = cost - whole
        if part not in self._bases:
            with precision(self._digits + 64):
                weight = (-ball(self._rate * part)).exp() * ball(1 << self._digits)
                self._bases[part] = (
                    max(integer_in(weight.lower().floor()) - 1, 0),
                    integer_in(weight.upper().ceil()) + 1,
                )
        if whole >= len(self._under):
            # A power of two, so that the remembered lists are few.
            self._under, self._over = powers(self._rate, 1 << whole.bit_length(), self._digits)
        under, over = self._bases[part]
        return (under * self._under[whole]) >> self._digits, ((over * self._over[whole]) >> self._digits) + 1


def located(low: list[int], high: list[int], beyond: int, bits: LazyBits) -> int | None:
    """The index whose cumulative interval surely holds the tape's real; None if that is not decided yet."""
    word = bits.word(0)
    lowest = (word * low[-1]) >> bits.bits
    highest = -((-(word + 1) * (high[-1] + beyond)) >> bits.bits)
    index = bisect_left(low, highest)
    if index == len(low) or (index > 0 and high[index - 1] > lowest):
        return None
    return index


def powers(rate: Fraction, count: int, digits: int) -> tuple[list[int], list[int]]:
    """Whole numbers below and above ``2**digits e^{-rate t}`` for t = 0 .. count - 1; short lists are remembered."""
    return _listed(rate, count, digits) if count <= _LISTED else _computed(rate, count, digits)


def _computed(rate: Fraction, count: int, digits: int) -> tuple[list[int], list[int]]:
    with precision(digits + 64):
        base = (-ball(rate)).exp() * ball(1 << digits)
        below = integer_in(base.lower().floor()) - 1
        above = integer_in(base.upper().ceil()) + 1
    under, over = [1 << digits], [1 << digits]
    for _ in range(count - 1):
        under.append((under[-1] * below) >> digits)
        over.append(((over[-1] * above) >> digits) + 1)
    return under, over


_listed = functools.lru_cache(maxsize=16)(_computed)
