"""The floating-point attack: certain against naive noise, powerless against exactly rounded noise.

A naive Laplace sampler computes ``f + scale * s * ln(k / 2^53)`` in doubles.  For each f and scale only some
doubles can come out, and which ones is known.  An attacker who sees one answer and knows the two candidate
datasets asks for each whether the answer *can* come from it; when only one can, that is certainty, and no
epsilon describes it (Mironov 2012).
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dither.noise.entropy import LazyBits
from dither.noise.exact import rounded_draw, settle
from dither.noise.heavy_tails import PowerLaw
from dither.noise.laplace import Laplace

EPSILON = 0.1
GRID = 1024
"""Grid steps per unit of the exact mechanism."""


def naive(location, scale, count, seed):
    """Laplace noise as one would write it, from doubles with 53 random bits."""
    rng = np.random.default_rng(seed)
    uniform = rng.integers(1, 2**53, count, dtype=np.int64) * 2.0**-53
    sign = rng.choice([-1.0, 1.0], count)
    return location + scale * (sign * np.log(uniform))


def can_come_from(answers, location, scale):
    """Whether some 53-bit uniform and sign give exactly this double; all candidates near the inverse are tried."""
    possible = np.zeros(len(answers), dtype=bool)
    away = answers - location
    guess = np.rint(np.exp(-np.abs(away) / scale) * 2.0**53).astype(np.int64)
    for step in range(-24, 25):
        uniform = np.clip(guess + step, 1, 2**53 - 1) * 2.0**-53
        possible |= location + scale * (-np.sign(away) * np.log(uniform)) == answers
    return possible


def certain_share(answers, truth, other):
    """The share of answers that can come from the truth and cannot come from the other candidate."""
    own = can_come_from(answers, *truth)
    assert own.all()  # the attacker never excludes the truth, so its certainty is never mistaken
    return float(np.mean(own & ~can_come_from(answers, *other)))


def test_naive_noise_gives_neighbours_away():
    """At eps = 0.1 and counts 0 and 1, 62% of all single answers prove which count is true (measured; asserted: half).

    The share depends on how the sampler is written and falls for larger counts, whose doubles are coarser.
    """
    scale = 1 / EPSILON
    shares = [
        certain_share(naive(truth, scale, 20_000, seed=1), (truth, scale), (other, scale))
        for truth, other in ((0.0, 1.0), (1.0, 0.0))
    ]
    assert min(shares) > 0.5


def test_naive_noise_gives_a_secret_scale_away():
    """With equal values and scales that differ by a factor e^{0.01}, 64% of answers prove which (asserted: half)."""
    narrow, wide = 10.0, 10.0 * math.exp(0.01)
    shares = [
        certain_share(naive(0.0, truth, 20_000, seed=2), (0.0, truth), (0.0, other))
        for truth, other in ((narrow, wide), (wide, narrow))
    ]
    assert min(shares) > 0.5


def tape_for(answer, location, scale, law):
    """Bits of one real that make ``law`` at this location and scale release this answer."""
    with localcontext() as context:
        context.prec = 60
        away = Decimal(answer - location) / Decimal(scale.numerator) * scale.denominator
        size = abs(away)
        if isinstance(law, PowerLaw):
            uniform = (-(1 + size).ln() * (law.power - 1).numerator / (law.power - 1).denominator).exp()
        else:
            uniform = (-size).exp()
        word = min(int(uniform * 2**127), 2**127 - 1) | ((1 << 127) if away > 0 else 0)
    return LazyBits.continuing([word], 128)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("law", [Laplace(), PowerLaw(4)], ids=str)
@pytest.mark.parametrize(
    ("truth", "other"),
    [
        ((0, Fraction(10 * GRID)), (GRID, Fraction(10 * GRID))),
        ((GRID, Fraction(10 * GRID)), (0, Fraction(10 * GRID))),
        ((0, Fraction(10 * GRID)), (0, Fraction(10 * GRID) * Fraction(1011, 1000))),
        ((0, Fraction(10 * GRID) * Fraction(1011, 1000)), (0, Fraction(10 * GRID))),
    ],
    ids=["shift up", "shift down", "scale up", "scale down"],
)
def test_exact_noise_never_gives_certainty(law, truth, other, trials):
    """For every answer there are bits with which the other candidate gives the same answer: nothing is excluded."""
    for _ in range(trials(2000, 100_000)):
        answer = rounded_draw(law, *truth)
        assert settle(law, *other, tape_for(answer, *other, law)) == answer


def test_exact_answers_lie_on_the_public_grid_with_bounded_ratios():
    """P(k | f) / P(k | f') of the rounded Laplace mechanism is at most e^eps at every grid point that came out."""
    scale = Fraction(10 * GRID)
    for answer in {rounded_draw(Laplace(), 0, scale) for _ in range(300)}:
        ratio = cell(answer, 0, scale) / cell(answer, GRID, scale)
        assert abs(ratio.ln()) <= Decimal(EPSILON) + Decimal("1e-20")


def cell(answer, location, scale):
    """The exact probability that the rounded Laplace mechanism releases this grid point, to 50 digits."""
    with localcontext() as context:
        context.prec = 50
        size = Decimal(scale.numerator) / scale.denominator
        low, high = ((Decimal(answer - location) + half) / size for half in (Decimal("-0.5"), Decimal("0.5")))
        if low >= 0:
            return ((-low).exp() - (-high).exp()) / 2
        if high <= 0:
            return (high.exp() - low.exp()) / 2
        return 1 - (low.exp() + (-high).exp()) / 2
