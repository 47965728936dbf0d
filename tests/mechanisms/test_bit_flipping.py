"""Bit flipping on the Hamming cube: the exact chance, and why the paper's rough one is not private."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dither.errors import InvalidArgument, InvalidData
from dither.mechanisms.bit_flipping import flip_bits, flip_chance, flipped, most_flips
from dither.mechanisms.metric_space import MetricSpace
from dither.noise.bernoulli import leading_word
from dither.numbers import ball, precision

CUBE = list(product((0, 1), repeat=4))


def apart(p, q):
    """The Hamming distance."""
    return sum(a != b for a, b in zip(p, q, strict=True))


def output_law(centre, flip):
    """The probabilities of all corners of the cube."""
    return {y: flip ** apart(y, centre) * (1 - flip) ** (4 - apart(y, centre)) for y in CUBE}


def worst_loss(flip, sensitivity):
    """The largest log-ratio over all outputs and all pairs of vectors that neighbours may have."""
    return max(
        abs(math.log(output_law(z, flip)[y] / output_law(w, flip)[y]))
        for z, w in product(CUBE, repeat=2)
        if apart(z, w) <= sensitivity
        for y in CUBE
    )


def exact_flip(rate):
    """The chance that the sampler uses."""
    with precision(128):
        return float(ball(flip_chance(rate)))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("sensitivity", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_flipping_costs_exactly_epsilon_and_a_sharper_one_is_caught(epsilon, sensitivity):
    """All outputs, all pairs of centres; with a rate 30% too sharp the same enumeration objects."""
    rate = epsilon / sensitivity
    assert worst_loss(exact_flip(rate), sensitivity) == pytest.approx(float(epsilon), rel=1e-9)
    assert worst_loss(exact_flip(rate * Fraction(13, 10)), sensitivity) > 1.2 * float(epsilon)


def test_the_rough_chance_of_the_paper_costs_twice_epsilon():
    """DMNS06: "probability roughly 1/2 - eps/(2S)"; for S = 1 and eps = 0.1 that loses 0.2007."""
    assert worst_loss(0.5 - 0.1 / 2, 1) == pytest.approx(math.log(1.1 / 0.9))
    assert worst_loss(0.5 - 0.1 / 2, 1) > 0.2


@pytest.mark.parametrize("sensitivity", [1, 2])
def test_it_is_the_mechanism_of_metric_spaces(sensitivity):
    """On the cube as a finite metric space the normaliser is constant, and the law is the same."""
    space = MetricSpace.of(CUBE, apart)
    rate = space.rate(Fraction(1), sensitivity)
    assert space.same_around_every_point
    assert rate == Fraction(1, sensitivity)
    weights = [math.exp(-float(rate) * step) for step in space.steps[5].tolist()]
    law = output_law(CUBE[5], exact_flip(rate))
    assert [w / sum(weights) for w in weights] == pytest.approx([law[y] for y in CUBE])


def test_the_sampler_flips_below_the_chance_only():
    """Bits whose word lies below the chance are flipped, the others are not."""
    rate = Fraction(3, 2)
    cut = leading_word(flip_chance(rate))
    words = np.array([cut - 1, cut + 1, cut - 1, cut + 1], dtype=np.uint64)
    bits = np.array([True, True, False, False])
    assert flipped(bits, rate, source=lambda n: words.tobytes()).tolist() == [False, True, True, False]


@pytest.mark.parametrize(("length", "flip", "missed"), [(1, 0.3, 0.05), (10, 0.3, 0.05), (60, 0.11, 0.01)])
def test_the_radius_is_the_quantile_of_the_number_of_flips(length, flip, missed):
    """The least number that is exceeded with probability at most the allowance, by binomial coefficients."""
    masses = [math.comb(length, j) * flip**j * (1 - flip) ** (length - j) for j in range(length + 1)]
    radius = most_flips(length, flip, missed)
    assert sum(masses[radius + 1 :]) <= missed
    assert radius == 0 or sum(masses[radius:]) > missed


def test_the_number_of_ones_is_estimated_without_bias():
    """Averaged over all outputs the estimate is the true number of ones."""
    flip = 1 / (1 + math.e)
    for centre in CUBE:
        mean = sum(p * (sum(y) - 4 * flip) / (1 - 2 * flip) for y, p in output_law(centre, flip).items())
        assert mean == pytest.approx(sum(centre))
    assert flip_bits([1] * 300 + [0] * 700, epsilon=60).ones == pytest.approx(300)


@pytest.mark.parametrize(
    ("value", "options", "named"),
    [
        ([0, 1], {"epsilon": 1, "sensitivity": 0}, "^sensitivity must "),
        ([0, 1], {"epsilon": 1, "sensitivity": 1.5}, "^sensitivity must "),
        ([0, 1], {"epsilon": math.inf}, "^epsilon must "),
        ([[0, 1]], {"epsilon": 1}, "^value must "),
        ([], {"epsilon": 1}, "^value must "),
        (["0", "1"], {"epsilon": 1}, "^value must "),
        ([0, 1], {"epsilon": 1, "confidence": 0}, "^confidence must "),
    ],
)
def test_bad_arguments_are_named(value, options, named):
    """The message names the argument."""
    with pytest.raises(InvalidArgument, match=named):
        flip_bits(value, **options)


def test_an_entry_that_is_no_bit_is_not_shown():
    """The error does not quote it."""
    with pytest.raises(InvalidData) as found:
        flip_bits([0, 1, 42], epsilon=1)
    assert "42" not in str(found.value)
