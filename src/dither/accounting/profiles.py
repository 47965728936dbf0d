"""How fast delta falls with epsilon when randomised responses are composed.

Randomised response is the worst mechanism for composition (docs/proofs/composition.md, section 1), so
everything here is about one pair of distributions: the privacy loss of a step is +eps with probability
``e^eps / (1 + e^eps)`` and -eps otherwise.  Equal steps are summed exactly; unequal ones live on a grid, each
step split between two grid points so that the original is a merging, hence a post-processing, of the split.

Cost: equal steps O(min(k, sqrt(k ln(1/delta)))) ball operations; unequal ones O(k log k) leaves and a few direct
convolutions of at most some ten thousand points.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from flint import arb

from dither.accounting.rounding import BITS, bottom, top
from dither.errors import NotProved
from dither.numbers import Ball, ball, precision, round_down, upper_float

POINTS_PER_DEVIATION = 1000
"""Grid points in one standard deviation of the summed loss; raised with the number of steps."""
MOST_POINTS = 20_000
"""Grid points in the sum of all epsilons, unless the deviation asks for more."""
MOST_SHIFTS = 64
"""Up to this many masses are convolved by shifting instead: a single step has two to four in a long array."""
BLOCK = 4096
UNIT = 2.0**-53
_CHOPPED = 2.0**-24  # the part of the target delta that cutting tails may use up
_TINY = 1e-200  # a smaller target would need more than floats; basic composition serves it
_UNDERFLOW = 1e-290  # 1e10 products, each rounded to a multiple of 2^-1074 or flushed below 2^-1022
_GENEROUS = 1 + 1e-9  # covers every rounding of a sum of floats that is not counted in `blur`

Floats = npt.NDArray[np.float64]


def equal_steps(epsilon: Fraction, steps: int, delta: Ball) -> Fraction:
    """The least epsilon, rounded up, that ``steps`` randomised responses of ``epsilon`` have at ``delta``."""
    if epsilon == 0 or steps == 0:
        return Fraction(0)
    with precision(BITS):
        first, skipped = _negligible(epsilon, steps, delta)
        highest = (steps - 2 * first) * epsilon
        bound = _walk(_binomial(epsilon, steps, first), highest, 2 * epsilon, delta - skipped)
        return min(steps * epsilon, bound)


def unequal_steps(epsilons: Mapping[Fraction, int], delta: Ball) -> Fraction:
    """An upper bound on the least epsilon of the composed randomised responses at ``delta``.

    Exact up to rounding when the epsilons share a grid that is not too fine; else not above the optimum for
    epsilons rounded up to the grid, and in practice within 1% of the true optimum.
    """
    steps = {epsilon: count for epsilon, count in epsilons.items() if epsilon > 0 and count > 0}
    total = sum((epsilon * count for epsilon, count in steps.items()), Fraction(0))
    target = float(delta.mid())
    if not steps or target < _TINY:
        return total
    with precision(BITS):
        step = _grid_step(steps)
        chop = target * _CHOPPED / (4 * sum(steps.values()))
        whole = _product([_power(_leaf(epsilon, step), count, chop) for epsilon, count in steps.items()], chop)
        rest = delta - arb(whole.lost)
        if not rest > 0:
            return total
        inflate = arb(whole.blur).exp()
        masses = (inflate * arb(float(mass)) for mass in whole.masses[::-1])
        return min(total, _walk(masses, whole.highest, step, rest))


def _walk(masses: Iterable[Ball], highest: Fraction, step: Fraction, delta: Ball) -> Fraction:
    """Walk down equally spaced losses until delta is reached, then solve inside the last gap.

    With a_i the mass at loss l_i, A the sum of the masses passed and S = sum a_i e^{l_j - l_i}, the divergence
    is A - S at l_j and A - e^{eps - l_j} S on the gap below l_j, so eps there is l_j + ln((A - delta) / S).
    """
    shrink = ball(-step).exp()
    passed = weighted = arb(0)
    loss = highest
    for mass in masses:
        if loss <= 0:
            break
        # Here delta is proved at `loss`; is it still at the next lower one, where this mass counts?
        above, heavy = passed + mass, weighted + mass
        if not above - heavy * shrink <= delta:
            excess = above - delta
            if not excess > 0:
                return loss
            inside = top(ball(loss) + (excess / heavy).log())
            return max(Fraction(0), loss - step, min(loss, inside))
        passed, weighted, loss = above, heavy * shrink, loss - step
    return max(Fraction(0), loss)


def _negligible(epsilon: Fraction, steps: int, delta: Ball) -> tuple[int, Ball]:
    """A number of lies below which almost nothing happens, and Hoeffding's bound on that probability."""
    if not delta > 0:
        return 0, arb(0)
    lies = steps / (1 + ball(epsilon).exp())
    # e^{-2 t^2 / k} = 2^-64 delta: more than the last digit of any float.
    first = math.floor(bottom(lies - (steps * (64 * arb.const_log2() - delta.log()) / 2).sqrt()))
    if first < 2:
        return 0, arb(0)
    return first, (-2 * (lies - first) ** 2 / steps).exp()


def _binomial(epsilon: Fraction, steps: int, first: int) -> Iterator[Ball]:
    """Probabilities of the losses (k - 2l) eps for l = first, first + 1, ...: l of the k answers are lies."""
    ratio = ball(-epsilon).exp()
    mass = arb.bin_uiui(steps, first) * ratio**first / (1 + ratio) ** steps
    for lies in range(first, steps + 1):
        yield mass
        mass = mass * ratio * (steps - lies) / (lies + 1)


@dataclass(frozen=True)
class _Losses:
    """Upper bounds on the masses of losses ``lowest, lowest + step, ...``.

    True mass <= ``masses * e^blur``; ``lost`` bounds what was cut off at the top and counts as infinite loss.
    """

    masses: Floats
    lowest: Fraction
    step: Fraction
    lost: float = 0.0
    blur: float = 0.0

    @property
    def highest(self) -> Fraction:
        return self.lowest + (len(self.masses) - 1) * self.step


def _grid_step(steps: Mapping[Fraction, int]) -> Fraction:
    """A common grid of all losses if there is one that is coarse enough, else a fine one."""
    variance = sum((epsilon**2 * count for epsilon, count in steps.items()), Fraction(0))
    points = max(POINTS_PER_DEVIATION, 4 * math.isqrt(sum(steps.values())))
    denominator = math.lcm(*(epsilon.denominator for epsilon in steps))
    shared = Fraction(2 * math.gcd(*(int(epsilon * denominator) for epsilon in steps)), denominator)
    if variance <= (2 * points * shared) ** 2:
        return shared
    total = sum((epsilon * count for epsilon, count in steps.items()), Fraction(0))
    # The second limit serves a few large losses among many small ones, which would fall between coarse points.
    return round_down(min(math.sqrt(variance) / points, float(total) / MOST_POINTS))


def _leaf(epsilon: Fraction, step: Fraction) -> _Losses:
    """One randomised response on the grid: exact where 2 eps is a multiple of ``step``, else split in two."""
    e = ball(epsilon)
    truth = 1 / (1 + (-e).exp())
    if (2 * epsilon / step).denominator == 1:
        masses = np.zeros(int(2 * epsilon / step) + 1)
        masses[-1], masses[0] = upper_float(truth), upper_float(1 - truth)
        return _Losses(masses, -epsilon, step)
    n = math.floor(epsilon / step)
    near, far = ball(-n * step).exp(), ball(-(n + 1) * step).exp()
    outer = truth * (near - (-e).exp()) / (near - far)
    inner = truth - outer
    masses = np.zeros(2 * n + 3)
    masses[-1], masses[0] = upper_float(outer), upper_float(outer * far)
    if n == 0:
        masses[1] = upper_float(2 * inner)
    else:
        masses[-2], masses[1] = upper_float(inner), upper_float(inner * near)
    return _Losses(masses, -(n + 1) * step, step)


def _both(losses: _Losses, two: _Losses, chop: float) -> _Losses:
    """The sum of two independent losses, by direct convolution: positive terms, so a relative error bound."""
    masses = _convolved(losses.masses, two.masses)
    terms = min(len(losses.masses), len(two.masses))
    # Any order of summing n positive products errs by at most a factor 1 + n u (1 + n u); underflow is absolute.
    blur = (losses.blur + two.blur + (terms + 2) * UNIT * (1 + 1e-6)) * _GENEROUS
    if blur > 1e-6:
        raise NotProved("too many steps for float convolution: its error bound exceeds one part in a million")
    lost = (losses.lost + two.lost) * _GENEROUS + _UNDERFLOW
    return _chopped(_Losses(masses, losses.lowest + two.lowest, losses.step, lost, blur), chop)


def _convolved(numbers: Floats, two: Floats) -> Floats:
    few, many = sorted((numbers, two), key=np.count_nonzero)
    masses = np.zeros(len(few) + len(many) - 1)
    places = np.flatnonzero(few)
    if len(places) <= MOST_SHIFTS and len(few) >= 8 * len(places):
        for place in places:
            masses[place : place + len(many)] += few[place] * many
        return masses
    # Short blocks: some BLAS start threads for one long inner product, which costs more than the product.
    for start in range(0, len(few), BLOCK):
        part = few[start : start + BLOCK]
        masses[start : start + len(part) + len(many) - 1] += np.convolve(part, many)
    return masses


def _chopped(losses: _Losses, chop: float) -> _Losses:
    """Cut both tails: the upper one becomes infinite loss, the lower one is raised to the lowest loss kept."""
    masses = losses.masses
    # Partial sums of at most 1e6 positive floats are right to 1e-9, which _GENEROUS makes up for.
    high = len(masses) - int(np.searchsorted(np.cumsum(masses[::-1]), chop, side="right"))
    low = int(np.searchsorted(np.cumsum(masses[:high]), chop, side="right"))
    low = min(low, high - 1)
    lost = losses.lost + float(np.sum(masses[high:])) * 1.001
    kept = masses[low:high].copy()
    kept[0] += float(np.sum(masses[:low])) * _GENEROUS
    return _Losses(kept, losses.lowest + low * losses.step, losses.step, lost * _GENEROUS, losses.blur + 4 * UNIT)


def _power(losses: _Losses, count: int, chop: float) -> _Losses:
    """``count`` independent copies, by repeated squaring."""
    result = None
    while True:
        if count & 1:
            result = losses if result is None else _both(result, losses, chop)
        count >>= 1
        if result is not None and count == 0:
            return result
        losses = _both(losses, losses, chop)


def _product(parts: list[_Losses], chop: float) -> _Losses:
    """The sum of all losses; always the two shortest next, so that long arrays meet rarely."""
    order = itertools.count()
    heap = [(len(part.masses), next(order), part) for part in parts]
    heapq.heapify(heap)
    while len(heap) > 1:
        part = _both(heapq.heappop(heap)[2], heapq.heappop(heap)[2], chop)
        heapq.heappush(heap, (len(part.masses), next(order), part))
    return heap[0][2]
