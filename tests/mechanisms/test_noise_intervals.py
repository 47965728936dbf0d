"""Half-widths of intervals around sums of integer Laplace noise, against plain convolution."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.mechanisms import noise_intervals
from dither.mechanisms.noise_intervals import (
    laplace_sum_half_width,
    laplace_sum_half_widths,
    laplace_sum_law,
    laplace_sum_masses,
    laplace_sum_mean,
)


def sum_law(scale, terms):
    """The law of a sum of integer Laplace variables, by plain convolution."""
    ratio, reach = math.exp(-1 / scale), math.ceil(45 * scale)
    one = np.array([ratio ** abs(k) for k in range(-reach, reach + 1)]) * (1 - ratio) / (1 + ratio)
    law = np.ones(1)
    for _ in range(terms):
        law = np.convolve(law, one)
    return law


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(20)])
@pytest.mark.parametrize("terms", [1, 2, 5, 33])
@pytest.mark.parametrize("missed", [Fraction(1, 20), Fraction(1, 1000)])
def test_intervals_of_sums_are_the_exact_quantiles(scale, terms, missed):
    """The least half-width that plain convolution allows; Chernoff's bound is never below it, nor twice as wide."""
    law = sum_law(float(scale), terms)
    centre = len(law) // 2

    def outside(w):
        return 1 - law[centre - w : centre + w + 1].sum()

    half = laplace_sum_half_width(scale, terms, missed)
    assert outside(half) <= missed
    assert half == 0 or outside(half - 1) > float(missed) - 1e-8
    chernoff = noise_intervals._chernoff(scale, terms, float(missed))
    assert half <= chernoff <= 2 * half + 3


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(20)])
@pytest.mark.parametrize("terms", [1, 2, 5, 33])
def test_masses_are_those_of_plain_convolution(scale, terms):
    """By squaring or one after the other: the same law."""
    law, masses = sum_law(float(scale), terms), laplace_sum_masses(scale, terms)
    common = min(len(law) // 2, len(masses) - 1, 40)
    assert masses[: common + 1] == pytest.approx(law[len(law) // 2 :][: common + 1], rel=1e-9)
    assert masses[0] + 2 * masses[1:].sum() == pytest.approx(1.0, abs=1e-12)


def test_intervals_of_many_queries_never_fall_below_their_own():
    """Rounding the number of terms up widens an interval by at most 3%."""
    terms = np.arange(0, 400, dtype=np.int64)
    shared = laplace_sum_half_widths(Fraction(20), terms, Fraction(1, 20))
    own = np.array([laplace_sum_half_width(Fraction(20), int(c), Fraction(1, 20)) for c in terms])
    assert (shared >= own).all()
    assert (shared <= 1.03 * own + 1).all()


def test_a_missed_share_below_float_accuracy_uses_chernoff():
    """A billionth cannot be read off an FFT; the bound still covers."""
    half = laplace_sum_half_width(Fraction(2), 3, Fraction(1, 10**12))
    law = sum_law(2.0, 3)
    assert law[: len(law) // 2 - half].sum() * 2 <= 1e-12


@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(1, 3), Fraction(2), Fraction(20)])
@pytest.mark.parametrize("terms", [0, 1, 2, 5, 33])
def test_means_of_sums_are_those_of_plain_convolution(scale, terms):
    """The closed form against the law; the standard deviation, which stands for many terms, is above it."""
    masses = laplace_sum_masses(scale, terms)
    mean = 2 * float(np.dot(np.arange(len(masses)), masses))
    assert laplace_sum_mean(scale, terms) == pytest.approx(mean, rel=1e-10, abs=1e-300)
    assert mean <= noise_intervals.laplace_deviation(scale) * math.sqrt(terms) * (1 + 1e-9)


@pytest.mark.parametrize("terms", [1, 2, 5, 33, 200])
def test_coarse_laws_are_never_below_the_law_itself(monkeypatch, terms):
    """Wide sums in steps of several: every distance is exceeded at least as often."""
    scale = Fraction(50)
    masses = laplace_sum_masses(scale, terms)
    exact = 2 * np.cumsum(masses[::-1])[::-1]
    monkeypatch.setattr(noise_intervals, "_MOST_PLACES", 1 << 10)
    step, excess, coarse = laplace_sum_law(scale, terms)
    assert step > 4
    assert len(coarse) <= 1 << 10
    for distance in range(1, len(exact), 7):
        # exceeded by more than ``distance`` where step J + excess > distance
        first = max(0, (distance - excess) // step + 1)
        beyond = 2 * coarse[first:].sum() if first else 1.0
        assert beyond >= exact[distance + 1 :][:1].sum() * (1 - 1e-9) - 1e-12
    mean = 2 * float(np.dot(np.arange(1, len(coarse)) * step, coarse[1:])) + excess
    assert mean >= laplace_sum_mean(scale, terms)


@pytest.mark.parametrize("epsilon", ["0.1", "1e-5", "1e-9"])
@pytest.mark.parametrize("terms", [1, 10, 3000])
def test_the_law_of_a_sum_has_a_bounded_size(epsilon, terms):
    """Whatever the epsilon: no more cells than a public number, and the mean needs none."""
    scale = 2 / Fraction(epsilon)
    law = laplace_sum_law(scale, terms)
    assert len(law.masses) <= noise_intervals._MOST_PLACES + 1
    mean = 2 * float(np.dot(np.arange(1, len(law.masses)) * float(law.step), law.masses[1:])) + law.excess
    assert 1 - 1e-9 <= mean / laplace_sum_mean(scale, terms) <= 1.05
