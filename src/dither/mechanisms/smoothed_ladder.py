"""The smoothed ladder: a pure draw along the rungs of a ladder that was smoothed first."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from operator import mul

import numpy as np
from flint import ctx

from dither.accounting.concentrated import bounded_range, real_laplace
from dither.errors import InvalidArgument
from dither.kernels.elementary import Floats
from dither.mechanisms.error import ErrorLaw, WorstCaseError, cut_half_width, most_cut_mean, rooms, span
from dither.mechanisms.ladder import rung_widths
from dither.mechanisms.limits import MOST_STEPS
from dither.mechanisms.mechanism import SLOW, Mechanism, MechanismSpec, Outcome, Prepared, only_noises
from dither.mechanisms.registry import mechanism
from dither.mechanisms.smooth import LOG_GRID, half_width_factor
from dither.mechanisms.worst_case import around, headroom, placed
from dither.noise.discrete_exponential import doubled, geometric, located, powers
from dither.noise.entropy import LazyBits, Source, system
from dither.noise.exact import GUARD_BITS, INITIAL_BITS, rounded_draw
from dither.noise.laplace import Laplace
from dither.numbers import Ball, Number, ball, exact, integer_in, precision
from dither.privacy import Concentrated, Loss, any_pure_rho
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.ladder import DEEPEST, HasLadder, Ladder
from dither.statistics.statistic import Statistic

LEAST_BETA_SHARE = Fraction(1, 30)
"""The smoothness beta over the answer's epsilon where rungs rise slowly (benchmarks/smoothed_ladder.py)."""
MOST_BETA_SHARE, MOST_BETA_SHARE_WITH_INTERVAL = Fraction(1, 5), Fraction(1, 14)
FALLS, FALLS_WITH_INTERVAL = 12, 8
"""Rungs that can be the global sensitivity after c changes count e^-12 of it (e^-8) at the data's own place."""
LEAST_BETA_SHARE_WITH_INTERVAL, FALLS_FOR_LEAST = Fraction(1, 60), 16
"""With an interval, whose noise is proportional to beta, half as much where that still makes such rungs e^-16."""
INTERVAL_SHARE = Fraction(1, 10)
"""The part of epsilon that buys the interval."""
MOST_BETA_WITH_INTERVAL = Fraction(2, 5)
"""With an interval beta is at most this part of the answer's epsilon: tails of the dominating law then fall."""
_FLOOR_BITS = 64
"""No rung counts as less than 2^-64 of the global sensitivity, nor as more than one step for this reason."""
_DECAY_BITS = 64
_DIGITS = 192
_CERTAINTY = 40
_NEVER = 14.0
_SPARE = 1.0 / 16.0
"""By how much, as a logarithm, rungs that are not read must lie below those that are."""


@mechanism("smoothed_ladder", needs=HasLadder)
@dataclass(frozen=True)
class SmoothedLadder(Mechanism):
    """Draws z with density proportional to ``e^{-(eps - beta) k(|z - f(x)|)}`` along smoothed rungs.

    Releases   A real number, rounded to the answers' grid and clamped to its range.  With
               ``V_k = max_j e^{-beta j} U_{k+j}`` and ``W_t = V_0 + .. + V_{t-1}``, k(d) is the piecewise linear
               inverse of W: it counts the rungs up to distance d.
    Guarantee  eps-DP, delta = 0, for the query's neighbours; tails fall exponentially once rungs reach the global
               sensitivity.
    Theorem    docs/proofs/smoothed_ladder.md: the axioms of a ladder make k move by at most 1, and the smoothing makes
               the normalising constant move by at most e^beta.
    Constants  beta = eps/30 (triangles eps/20), more where few changes make rungs large.  An interval takes a tenth of
               epsilon.
    Cost       About ``75/eps`` rungs for the draw and ``ln(C/V_0)/beta`` beyond them, C the global sensitivity.

    ``beta``: a public smoothness, below epsilon; small for ladders that grow slowly.

    >>> import dither as dt
    >>> release = dt.trimmed_mean(range(1000), bounds=(0, 1000), step=1, epsilon=1.0, mechanism="smoothed_ladder")
    >>> release.interval[0] <= release.value <= release.interval[1]
    True
    """

    beta: Number | None = None
    adds_noise = False

    def __post_init__(self) -> None:
        if self.beta is not None and exact(self.beta, "beta") <= 0:
            raise InvalidArgument("beta", self.beta, "must be a positive number")

    def prepare(self, ask: MechanismSpec[Data]) -> Prepared[Data]:
        only_noises(self.name, ask.noise)
        statistic = ask.single_number(self.name)
        epsilon = ask.usable.exact_epsilon
        interval = None if ask.confidence is None else epsilon * INTERVAL_SHARE
        left = epsilon if interval is None else epsilon - interval
        beta = default_beta(statistic, left, interval is not None) if self.beta is None else exact(self.beta, "beta")
        most = left if interval is None else left * MOST_BETA_WITH_INTERVAL
        if not beta < most:
            accepted = f"must be a number below {float(most):.4g} at this epsilon"
            raise InvalidArgument("beta", self.beta, accepted if interval is None else f"{accepted} with an interval")
        # Log-ratios lie in an interval of twice the rate, which is not bounded range by epsilon: no discount.
        stated = Concentrated(min(any_pure_rho(left), bounded_range(2 * (left - beta)).rho))
        if interval is not None:
            stated += real_laplace(interval)
        spent = Loss(ask.loss.epsilon, stated=stated)
        prepared = SmoothedLadderDraw(statistic, spent, left - beta, beta, decay(beta), interval, ask.confidence)
        if self.beta is not None:
            prepared.check_beta()
        return prepared


def default_beta(statistic: Statistic[Data], epsilon: Fraction, interval: bool) -> Fraction:
    """The public rule for beta: a thirtieth of the answer's epsilon, or more where no data can resist many changes.

    With an interval down to a sixtieth, where all data resist very many.  Triangles have a share of their own.
    """
    if statistic.ladder_beta_per_epsilon is not None:
        return epsilon * statistic.ladder_beta_per_epsilon
    changes = statistic.max_distance_to_instability
    falls, most = (FALLS_WITH_INTERVAL, MOST_BETA_SHARE_WITH_INTERVAL) if interval else (FALLS, MOST_BETA_SHARE)
    wall, least = Fraction(falls, changes) if changes else Fraction(0), epsilon * LEAST_BETA_SHARE
    if interval and changes:
        least = max(epsilon * LEAST_BETA_SHARE_WITH_INTERVAL, min(least, Fraction(FALLS_FOR_LEAST, changes)))
    return min(max(least, wall), epsilon * most)


@functools.lru_cache(maxsize=256)
def decay(beta: Fraction) -> Fraction:
    """A binary fraction that is at least ``e^{-beta}``: smoothing with it is at least as smooth as beta says."""
    with precision(2 * _DECAY_BITS):
        scaled = integer_in(((-ball(beta)).exp() * ball(1 << _DECAY_BITS)).upper().ceil())
    return Fraction(min(scaled, 1 << _DECAY_BITS), 1 << _DECAY_BITS)


@dataclass(frozen=True)
class SmoothedLadderDraw(Prepared[Data]):
    """One draw along the smoothed rungs, and an interval from a noisy ln V_0."""

    mechanism = "smoothed_ladder"
    statistic: Statistic[Data]
    loss: Loss
    rate: Fraction
    """By which the logarithm of the density falls from one rung to the next."""
    beta: Fraction
    decay: Fraction
    """At least e^-beta: what a rung counts for one rung earlier."""
    interval_epsilon: Fraction | None
    confidence: Fraction | None
    noise_name = "smoothed_ladder"

    @property
    def window(self) -> int:
        """How many rungs decide a draw with certainty 1 - 2**-40: public."""
        mass = self.depth + math.log1p(1.0 / float(self.rate)) + _CERTAINTY * math.log(2.0)
        return math.ceil(mass / float(self.rate)) + 1

    @property
    def draw_length(self) -> int:
        # With the least beta that an epsilon has by default, so that the number falls as epsilon grows.
        beta = min(self.beta, (self.rate + self.beta) * LEAST_BETA_SHARE)
        return self.window + math.ceil((self.depth + 1.0) / float(beta))

    @property
    def depth(self) -> float:
        """``ln(C/h)``: how far the least rung can lie below the global sensitivity."""
        return math.log(max(self.statistic.global_sensitivity, 1 << _FLOOR_BITS))

    @property
    def step_weight(self) -> int:
        return SLOW if self.statistic.linear_time_ladder else 1

    @property
    def reach(self) -> int:
        # Beyond the window usual data need ln(C / V) / beta rungs.
        return min(math.ceil(24 / self.beta), 1 << 20)

    def check_beta(self) -> None:
        """Refuse, from public facts, a smoothness that would look at too many rungs."""
        limit = MOST_STEPS // self.step_weight
        there_are, least = self.statistic.changes_to_worst_case, (self.depth + 1.0) / limit
        if float(self.beta) < least and (there_are is None or there_are >= limit):
            raise InvalidArgument("beta", float(self.beta), f"must be a number of at least {least:.2g}")

    def run(self, data: Data) -> Outcome:
        value = self.statistic.value(data)
        if not self.statistic.global_sensitivity:
            return around(self.statistic, value, None if self.confidence is None else 0)
        widths = self.widths(data)
        noisy = draw(value, widths, self.rate, self.window)
        return around(self.statistic, noisy, None if self.confidence is None else self._half_width(widths))

    def widths(self, data: Data) -> SmoothedRungs:
        """The smoothed ladder: private."""
        return SmoothedRungs(self.statistic.ladder(data), self.decay)

    def _half_width(self, widths: SmoothedRungs) -> int:
        """Released: ``ln V_0 + Lap(beta / eps')``.  V_0 is beta-smooth, so its logarithm has sensitivity beta.

        The distance over V_0 is stochastically at most ``Dominating``, which is public; docs/proofs/smoothed_ladder.md.
        """
        assert self.interval_epsilon is not None and self.confidence is not None  # noqa: PT018, S101

        def location() -> Ball:
            return widths.first().log() * LOG_GRID

        spread = self.beta / self.interval_epsilon
        logarithm = rounded_draw(Laplace(), location, spread * LOG_GRID, headroom=64) / LOG_GRID
        width = math.exp(min(logarithm, 700.0)) * self._factor
        # What is beyond that is missed e^-14 as often as may be, whatever the data are.
        widest = self.statistic.global_sensitivity * (_NEVER - math.log(self._miss)) / float(self.rate)
        return math.ceil(min(width * (1 + 1e-6), widest)) + 1

    @property
    def _miss(self) -> float:
        assert self.confidence is not None  # noqa: S101
        return float(1 - self.confidence)

    @property
    def _factor(self) -> float:
        assert self.interval_epsilon is not None  # noqa: S101
        law = Dominating(float(self.rate), float(self.beta))
        return half_width_factor(law, float(self.beta / self.interval_epsilon), self._miss * (1.0 - 1e-5))

    def error_laws(self, records: Data) -> list[ErrorLaw]:
        around_value = rooms(*placed(self.statistic, records))
        if not self.statistic.global_sensitivity:
            return [AlongRungs(np.ones(1), 1.0, 1.0, (0.0, 0.0))]
        ladder = self.statistic.ladder(records)
        ladder = ladder.truncated(ladder.deepest)
        return [
            AlongRungs(self._estimated(ladder), float(ladder.global_sensitivity), float(self.rate), around_value),
        ]

    def _estimated(self, ladder: Ladder) -> Floats:
        """Smoothed rungs in floats, for quotes; very many are interpolated."""
        assert ladder.top is not None  # noqa: S101
        count = max(min(self.window, ladder.top), 1)
        least = float(floor_of(ladder.global_sensitivity))
        behind = math.log(ladder.global_sensitivity / max(float(ladder[count - 1]), least)) / float(self.beta)
        read = max(min(count + math.ceil(behind), ladder.top), count)
        logs = np.log(np.maximum(rung_widths(ladder, read), least)) - float(self.beta) * np.arange(read)
        behind_all = math.log(ladder.global_sensitivity) - float(self.beta) * read if read == ladder.top else -math.inf
        logs[-1] = max(logs[-1], behind_all)
        highest = np.maximum.accumulate(logs[::-1])[::-1]
        return np.asarray(np.exp(highest + float(self.beta) * np.arange(read))[:count])

    def worst_case_error(self, confidence: float, records: int | None = None) -> WorstCaseError:
        """Rungs are at most the global sensitivity C, so the error is stochastically at most Laplace noise of scale
        C/rate; with so many records it is also at most V_0 of their common ladder times a public variable."""
        scale, between = self.statistic.global_sensitivity / float(self.rate), span(self.statistic.answers)
        half_width = scale * -math.log(1.0 - confidence) + 1.0
        expected = most_cut_mean(Laplace(), scale, between)
        counted = None if records is None else self.statistic.ladder_of_count(records)
        if counted is not None and 2 * self.beta < self.rate:
            law = Dominating(float(self.rate), float(self.beta))
            first = upper_first(SmoothedRungs(counted, self.decay))
            expected = min(expected, first * law.mean)
            half_width = min(half_width, first * law.quantile(1.0 - confidence) + 1.0)
        return WorstCaseError((expected,), (min(half_width, between),))

    def typical_half_widths(self, records: Data) -> tuple[float, ...] | None:
        if self.confidence is None:
            return None
        if not self.statistic.global_sensitivity:
            return (0.0,)
        # The noise on the logarithm has median 0.
        ladder = self.statistic.ladder(records)
        first = float(self._estimated(ladder.truncated(ladder.deepest))[0])
        return (cut_half_width(first * self._factor, *placed(self.statistic, records)),)


def floor_of(global_sensitivity: int) -> Fraction:
    """What a rung counts for at least: public and positive, so that no smoothed rung is empty."""
    return min(Fraction(global_sensitivity, 1 << _FLOOR_BITS), Fraction(1))


class SmoothedRungs:
    """``V_k = max_j decay^j max(U_{k+j}, h)`` of one dataset, enclosed by whole numbers as closely as asked for."""

    def __init__(self, ladder: Ladder, decay: Fraction) -> None:
        self._untruncated = ladder
        self._ladder = ladder.truncated(ladder.deepest)
        self._decay = decay
        self._read: list[int] = []
        self._kept: dict[int, tuple[list[int], list[int]]] = {}
        self.global_sensitivity = ladder.global_sensitivity
        top = self._ladder.top
        assert top is not None  # noqa: S101
        self.settled = max(top, 1)
        """From here on every rung is the global sensitivity."""

    def __repr__(self) -> str:
        return "SmoothedRungs(<private>)"

    def enclosed(self, count: int, digits: int) -> tuple[list[int], list[int]]:
        """Whole numbers below and above ``2**digits V_k`` for k = 0 .. count - 1; ``count`` is at most ``settled``.

        Rungs that were not read lie below a bound that the ladder knows.  More are read until those cannot be the
        maximum, so that nothing but rounding is left between the two.
        """
        low, high = self._kept.get(digits, ([], []))
        if count <= len(low):
            return low[:count], high[:count]
        far = self._first_guess(count)
        while True:
            low, high = self._smoothed(far, count, digits)
            # Rounding leaves at most 2 for each rung that was read.
            if far == self.settled or high[-1] - low[-1] <= 2 * far:
                self._kept[digits] = low, high
                return low, high
            far = min(2 * far, self.settled)

    def _first_guess(self, count: int) -> int:
        """Where rungs will no longer matter for the last of ``count``: only how far to read first."""
        self._extend(count)
        least = max(Fraction(self._read[count - 1]), floor_of(self.global_sensitivity))
        fall = -math.log1p(-float(1 - self._decay)) if 2 * self._decay > 1 else math.log(2.0)
        behind = math.log(self._most_unread(count) / least) + _SPARE
        return self.settled if behind >= fall * (self.settled - count) else count + math.ceil(behind / fall)

    def _most_unread(self, far: int) -> int:
        """At least ``decay^(k - far) U_k`` for every k from ``far`` on: those from ``settled`` on are the cap."""
        # The decay is at most e^{-(1 - decay)}; the last factor pays for floats.
        rate = float(1 - self._decay) * (1.0 - 1e-12)
        capped = Fraction(math.exp(-min(rate * (self.settled - far), DEEPEST)) * (1.0 + 1e-9))
        here = self._untruncated.most_decayed(far, self.settled, rate)
        return min(max(here, math.ceil(capped * self.global_sensitivity)), self.global_sensitivity)

    def _extend(self, count: int) -> None:
        if count > len(self._read):
            self._read += [
                int(sensitivity) for sensitivity in self._ladder.sensitivity_at_distance(len(self._read), count)
            ]

    def _smoothed(self, far: int, count: int, digits: int) -> tuple[list[int], list[int]]:
        self._extend(far)
        factor, whole = self._decay.numerator, self._decay.denominator
        least = math.floor(floor_of(self.global_sensitivity) * (1 << digits))
        over = max(self._most_unread(far) << digits, least)
        under = over if far == self.settled else max(self._read[far - 1] << digits, least)
        low, high = [], []
        for k in range(far - 1, -1, -1):
            sensitivity = max(self._read[k] << digits, least)
            under = max(sensitivity, under * factor // whole)
            over = max(sensitivity, over * factor // whole + 1)
            if k < count:
                low.append(under)
                high.append(over)
        return low[::-1], high[::-1]

    def first(self) -> Ball:
        """V_0 at the precision in force."""
        digits = ctx.prec + 2 * _FLOOR_BITS
        low, high = self.enclosed(1, digits)
        return between(low[0], high[0], digits)


def upper_first(widths: SmoothedRungs) -> float:
    """V_0 in floats, rounded up."""
    low, high = widths.enclosed(1, _DIGITS)
    del low
    return float(Fraction(high[0], 1 << _DIGITS)) * (1.0 + 1e-9)


def between(low: int, high: int, digits: int) -> Ball:
    """A ball that holds every number from ``low`` to ``high``, both in units of 2**-digits."""
    return ball(Fraction(low, 1 << digits)).union(ball(Fraction(high, 1 << digits)))


def draw(value: int, widths: SmoothedRungs, rate: Fraction, window: int, source: Source = system) -> int:
    """``value ± (W_t + theta V_t)``, rounded to whole steps: rung t has mass ``V_t e^{-rate t}``.

    theta in [0, 1) has density proportional to ``e^{-rate theta}``.  Exact: widths, rung and place in the rung are
    enclosed, and read more closely until they decide the whole number.
    """
    sensitivity = _draw_rung(widths, rate, window, source)
    digits, largest = _DIGITS, widths.global_sensitivity
    listed = min(sensitivity + 1, widths.settled)
    bits = LazyBits(INITIAL_BITS + headroom(Fraction(largest)), source)
    while True:
        low, high = widths.enclosed(listed, digits)
        further = (sensitivity - listed) * largest << digits if sensitivity >= listed else 0
        passed = min(sensitivity, listed)
        with precision(bits.bits + digits + GUARD_BITS):
            before = between(sum(low[:passed]) + further, sum(high[:passed]) + further, digits)
            width = between(low[sensitivity], high[sensitivity], digits) if sensitivity < listed else ball(largest)
            sign, uniform = bits.signed(0)
            part = -(uniform * (-ball(rate)).expm1()).log1p() / ball(rate)
            place = ball(value) + sign * (before + part * width) + ball(Fraction(1, 2))
            decided = place.floor().unique_fmpz()
        if decided is not None:
            return int(decided)
        digits = doubled(digits)
        bits.extend(digits)


def _draw_rung(widths: SmoothedRungs, rate: Fraction, window: int, source: Source) -> int:
    """A rung t with probability proportional to ``V_t e^{-rate t}``."""
    reach, digits, bits = min(window, widths.settled), _DIGITS, LazyBits(128, source)
    while True:
        low, high = widths.enclosed(reach, digits)
        under, over = powers(rate, reach + 1, digits)
        lows, highs = list(accumulate(map(mul, low, under))), list(accumulate(map(mul, high, over)))
        unit, largest = 1 << digits, widths.global_sensitivity << digits
        # Rungs from ``reach`` on weigh at most C e^{-rate reach} / (1 - e^{-rate}), and exactly that once they are C.
        beyond = largest * over[reach] * unit // (unit - over[1]) + 1
        if reach == widths.settled:
            lows.append(lows[-1] + largest * under[reach] * unit // (unit - under[1]))
            highs.append(highs[-1] + beyond)
            beyond = 0
        result = located(lows, highs, beyond, bits)
        if result is not None:
            return result if result < reach else reach + geometric(rate, source)
        reach, digits = min(2 * reach, widths.settled), doubled(digits)
        bits.extend()


@dataclass(frozen=True)
class Dominating:
    """``G(t + theta) = (e^{beta t} - 1)/(e^beta - 1) + theta e^{beta t}`` for a geometric t and theta as in the draw.

    The distance of an answer over V_0 is stochastically at most this, for all data: rungs grow by e^beta at most.
    """

    rate: float
    beta: float

    def tail(self, distance: Floats) -> Floats:
        """P(G > distance), entry by entry."""
        sensitivity = np.floor(np.log1p(distance * math.expm1(self.beta)) / self.beta)
        start = np.expm1(self.beta * sensitivity) / math.expm1(self.beta)
        part = np.clip((distance - start) * np.exp(-self.beta * sensitivity), 0.0, 1.0)
        fall = self.rate - self.beta
        here = np.exp(-fall * sensitivity) * -math.expm1(-fall) * later_part(part, self.rate)
        return np.asarray(np.exp(-fall * (sensitivity + 1.0)) + here)

    def quantile(self, tail: float) -> float:
        """A distance that is exceeded with at most this probability, to a thousandth."""
        low, high = 0.0, 1.0 / self.rate
        while float(self.tail(np.array([high]))[0]) > tail:
            low, high = high, 2.0 * high
        while high - low > 1e-3 * high:
            middle = (low + high) / 2.0
            low, high = (middle, high) if float(self.tail(np.array([middle]))[0]) > tail else (low, middle)
        return high

    @property
    def mean(self) -> float:
        """Finite where 2 beta is below the rate."""
        steps, moved = -math.expm1(self.beta - self.rate), -math.expm1(2.0 * self.beta - self.rate)
        growth = steps / moved
        inside = 1.0 / self.rate - 1.0 / math.expm1(self.rate)
        return (growth - 1.0) / math.expm1(self.beta) + inside * growth


def later_part(part: Floats, rate: float) -> Floats:
    """P(theta > part) for theta in [0, 1) with density proportional to ``e^{-rate theta}``."""
    return np.asarray(np.exp(-rate * part) * np.expm1(-rate * (1.0 - part)) / math.expm1(-rate))


class AlongRungs(ErrorLaw):
    """The distance of a draw along rungs of these widths and then ``widest`` ones, rounded and cut to the range."""

    def __init__(self, widths: Floats, widest: float, rate: float, around_value: tuple[float, float]) -> None:
        self._widths, self._widest, self._rate, self._rooms = widths, widest, rate, around_value
        self._ends = np.concatenate([[0.0], np.cumsum(widths)])
        count = len(widths)
        mass = -math.expm1(-rate) * widths * np.exp(-rate * np.arange(count))
        self._beyond = np.cumsum(np.append(mass, widest * math.exp(-rate * count))[::-1])[::-1]
        """The mass from each rung on, and what lies behind the listed ones."""
        self._mass = mass

    @property
    def mean(self) -> float:
        return sum(self._cut_mean(room) for room in self._rooms) / 2.0

    def beyond(self, distance: float) -> float:
        return self._tail(math.floor(distance) + 0.5) * sum(distance < room for room in self._rooms) / 2.0

    def _tail(self, distance: float) -> float:
        sensitivity = int(np.searchsorted(self._ends, distance, side="right")) - 1
        if sensitivity >= len(self._widths):
            behind = math.exp(-self._rate * (distance - float(self._ends[-1])) / self._widest)
            return float(self._beyond[-1] / self._beyond[0]) * behind
        part = np.array([(distance - self._ends[sensitivity]) / self._widths[sensitivity]])
        mass = self._beyond[sensitivity + 1] + self._mass[sensitivity] * later_part(part, self._rate)[0]
        return float(mass / self._beyond[0])

    def _cut_mean(self, room: float) -> float:
        """The integral of the tail up to ``room``: it is convex, hence not below the mean of rounded distances."""
        part = np.clip((room - self._ends[:-1]) / self._widths, 0.0, 1.0)
        inside = (-np.expm1(-self._rate * part) / self._rate - part * math.exp(-self._rate)) / -math.expm1(-self._rate)
        listed = float(np.dot(self._widths, self._beyond[1:] * part + self._mass * inside))
        far = max(room - float(self._ends[-1]), 0.0)
        behind = self._widest / self._rate * -math.expm1(-self._rate * far / self._widest)
        return float((listed + self._beyond[-1] * behind) / self._beyond[0])
