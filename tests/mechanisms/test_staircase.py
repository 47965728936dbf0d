"""Staircase noise: its law, its optimal width, exact draws, intervals, and what it gains."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from contract.contracts import MechanismContract
from dither.errors import NotApplicable
from dither.mechanisms.choice import prepare
from dither.mechanisms.staircase import StaircaseMechanism
from dither.noise.staircase import Staircase
from dither.privacy import Loss

ALARM = 1e-9


class TestStaircase(MechanismContract):
    """All neighbours of a small universe, and a smaller loss that is seen to be exceeded."""

    cases = ((StaircaseMechanism(), None, Loss(1.0)), (StaircaseMechanism(), None, Loss(3.0)))


def chances(law):
    """The law point by point, far enough out."""
    return [law.chance(k) for k in range(law.sensitivity * (math.ceil(60 / float(law.epsilon)) + 2))]


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2), Fraction(5)])
@pytest.mark.parametrize("sensitivity", [1, 2, 3, 10, 57])
def test_figures_are_those_of_the_listed_law(epsilon, sensitivity):
    """Mass, mean, cut means and tails against sums; the width is the best of all."""
    law = Staircase.of(epsilon, sensitivity)
    p = chances(law)
    assert 2 * sum(p) - p[0] == pytest.approx(1, rel=1e-12)
    mean = 2 * sum(k * chance for k, chance in enumerate(p))
    assert law.mean == pytest.approx(mean, rel=1e-9)
    for distance in (0, 1, sensitivity - 1, sensitivity, 2 * sensitivity + 1):
        assert law.tail(distance) == pytest.approx(2 * sum(p[distance + 1 :]), rel=1e-9)
        cut = sum(2 * sum(p[k:]) for k in range(1, distance + 1))
        assert law.cut_mean(distance) == pytest.approx(cut, rel=1e-9, abs=1e-12)
    for miss in (0.3, 0.05, 1e-6):
        width = law.half_width(miss)
        assert law.tail(width) <= miss
        assert width == 0 or law.tail(width - 1) > miss * (1 - 1e-6)
    others = [Staircase(epsilon, sensitivity, inner).mean for inner in range(1, sensitivity + 1)]
    assert law.mean <= min(others) * (1 + 1e-12)


def test_ratios_within_the_sensitivity_attain_epsilon_and_never_exceed_it():
    """Whatever the width is; one number farther apart exceeds it."""
    for inner in range(1, 7):
        law = Staircase(Fraction(3, 2), 6, inner)
        ratios = {
            shift: max(abs(math.log(law.chance(k) / law.chance(k + shift))) for k in range(-30, 31))
            for shift in (*range(1, 7), 7)
        }
        assert max(ratios[shift] for shift in range(1, 7)) == pytest.approx(1.5, rel=1e-12)
        assert ratios[7] > 1.5 * 1.3


def enough(epsilon, drawn_epsilon, count=4_000):
    """Whether draws at one epsilon look like the law of another, by a Hoeffding bound on each of a few events."""
    law, drawn = (
        Staircase.of(Fraction(epsilon), 5),
        Staircase(Fraction(drawn_epsilon), 5, Staircase.of(Fraction(epsilon), 5).inner),
    )
    found = Counter(drawn.draw(7) - 7 for _ in range(count))
    # Seven events, two sides each.
    room = math.sqrt(math.log(2 * 7 / ALARM) / (2 * count))
    return all(abs(found[k] / count - law.chance(k)) <= room for k in range(-3, 4))


def test_draws_follow_the_law():
    """False alarms: at most 1e-9.  Noise of an epsilon 1.5 times as large does not pass."""
    assert enough(2, 2)
    assert not enough(2, 3)


def test_it_errs_less_than_laplace_noise_from_epsilon_two_on():
    """Expected errors of a sum of reals by both mechanisms' own laws: 0.85 at epsilon 2, 0.70 at 3."""
    x = np.linspace(0, 10, 1_000)
    query = dt.Sum(bounds=(0, 10))
    shape = query.shape(x)
    statistic, column = query.resolve(shape), query.read(x, shape)
    for epsilon, most in ((2, 0.852), (3, 0.705), (5, 0.42)):
        stairs, laplace = (
            prepare(statistic, epsilon=epsilon, mechanism=name)[1].error_laws(column)[0].mean
            for name in ("staircase", "worst_case")
        )
        assert stairs < most * laplace
    assert Staircase.of(Fraction(2), 1).chance(1) == pytest.approx(math.exp(-2) * Staircase.of(Fraction(2), 1).peak)


def test_a_sum_has_an_interval_that_covers():
    """50 releases at a confidence of 1 - 1e-11: none misses (false alarms at most 50e-11)."""
    x = [2.5] * 400
    for _ in range(50):
        release = dt.sum(x, bounds=(0, 10), epsilon=2.0, mechanism="staircase", confidence=1 - 1e-11)
        low, high = release.interval
        assert low <= 1000 <= high
    assert release.mechanism == "staircase"
    assert release.noise == "staircase"


def test_sensitivities_beyond_64_bits_are_answered():
    """Variances of fine columns move by more than 2^63 of their steps."""
    law = Staircase.of(Fraction(2), 1 << 104)
    assert law.mean == pytest.approx(0.4255 * 2**104, rel=1e-3)
    assert law.tail(law.half_width(0.05)) == pytest.approx(0.05, rel=1e-6)
    assert abs(law.draw(0)) < law.half_width(1e-12)
    release = dt.variance([1.0, 2.0, 3.0], bounds=(0, 10), epsilon=2, mechanism="staircase", nulls="lower")
    assert release.mechanism == "staircase"


def test_noises_and_vectors_are_refused():
    """It has a law of its own, and serves one number."""
    with pytest.raises(NotApplicable, match="noise"):
        dt.sum([1.0], bounds=(0, 2), epsilon=1, mechanism="staircase", noise="laplace")
    with pytest.raises(NotApplicable, match="mechanism"):
        dt.histogram([1.0, 3.0], edges=[0, 2, 4], epsilon=1, mechanism="staircase")
