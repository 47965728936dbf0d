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

from dither.kernels.elementary import Floats, exp
from dither.noise.entropy import LazyBits, Source, system, uniform_integer
from dither.numbers import ball, integer_in, precision

_DIGITS = 192
_MOST_DIGITS = 1 << 14
_MOST_EXPONENT = 512.0
"""Within it exponentials of floats have a proved error: see ``kernels.elementary``."""
_MOST_POINT_BITS = 200
_LISTED = 1 << 14
"""Tables of powers up to this length are kept."""
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
    counts: Callable[[int, int], Sequence[int]], points: int, costs: int, rate: Fraction, source: Source = system
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
                return quick + 1, uniform_integer(sizes[quick], source)
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


def _by_floats(sizes: Sequence[int], points: int, rate: Fraction, bits: LazyBits, *, complete: bool) -> int | None:
    """The rung that surely holds the tape's real, where floats can tell; ``complete``: no points are in other rungs.

    With ``d`` as below every sum is within a relative ``d`` of the exact one (docs/proofs/sampling.md, "Floats first").
    """
    reach = len(sizes)
    if float(rate) * (reach + 1) > _MOST_EXPONENT or points.bit_length() > _MOST_POINT_BITS:
        return None
    masses = np.array(sizes, dtype=np.float64)
    weights = _decay(rate, reach + 1)
    masses *= weights[:reach]
    ends = np.cumsum(masses)
    unseen = 0.0 if complete else float(points - sum(sizes)) * float(weights[reach])
    d = (reach + 8) * 2.0**-52 + 2.0**-41
    word = bits.word(0) >> (bits.bits - 50)
    lowest = word * 2.0**-50 * float(ends[-1]) * (1.0 - 2.0 * d)
    highest = (word + 1) * 2.0**-50 * (float(ends[-1]) + unseen) * (1.0 + 2.0 * d)
    index = int(np.searchsorted(ends, highest * (1.0 + 2.0 * d)))
    if index == reach or (index > 0 and float(ends[index - 1]) * (1.0 + 2.0 * d) > lowest):
        return None
    return index


def _decay(rate: Fraction, count: int) -> Floats:
    """``e^{-rate t}`` for t = 0 .. count - 1, each within 2**-42 of itself: rate times count is at most 512."""
    return _decay_listed(rate, 1 << (count - 1).bit_length())[:count] if count <= _LISTED else _decayed(rate, count)


def _decayed(rate: Fraction, count: int) -> Floats:
    return exp(np.maximum(-float(rate) * np.arange(count), -_MOST_EXPONENT))


_decay_listed = functools.lru_cache(maxsize=16)(_decayed)


def draw_index(
    costs: Sequence[int], rate: Fraction, source: Source = system, *, weights: Sequence[int] | None = None
) -> int:
    """An index with probability proportional to ``e^{-rate cost}``, times its own public weight if there are any."""
    return draw_indices(costs, rate, 1, source, weights=weights)[0]


def draw_indices(
    costs: Sequence[int], rate: Fraction, count: int, source: Source = system, *, weights: Sequence[int] | None = None
) -> list[int]:
    """So many independent ones: their weights are worked out once."""
    # Weights that are far apart need as many digits more, or the lightest would drown in the errors of the heaviest.
    apart = 0 if weights is None else max(weights).bit_length() - min(weights).bit_length()
    least, first = min(costs), _DIGITS + apart // 64 * 64
    # A table of powers is shared by draws at the same rate; its length is rounded up so that they find it again.
    listed = 1 << (max(costs) - least).bit_length()

    @functools.cache
    def sums(digits: int) -> tuple[list[int], list[int]]:
        if listed <= _LISTED:
            small, great = powers(rate, listed, digits)
            under, over = ([table[cost - least] for cost in costs] for table in (small, great))
        else:
            under, over = _weights([cost - least for cost in costs], rate, digits)
        if weights is not None:
            under, over = list(map(mul, under, weights)), list(map(mul, over, weights))
        return list(accumulate(under)), list(accumulate(over))

    def drawn() -> int:
        digits, bits = first, LazyBits(128, source)
        while (result := located(*sums(digits), 0, bits)) is None:
            digits = doubled(digits)
            bits.extend()
        return result

    return [drawn() for _ in range(count)]


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
