"""Exact numbers mean what they print, and balls and floats err outward only."""

import math
import threading
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import InvalidArgument
from dither.numbers import (
    ball,
    ball_of_bits,
    exact,
    float_down,
    float_up,
    lower_float,
    precision,
    round_down,
    upper_float,
)

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("given_value", "meant"),
    [
        (0.07, Fraction(7, 100)),
        (1e-6, Fraction(1, 10**6)),
        (3, Fraction(3)),
        (Fraction(1, 3), Fraction(1, 3)),
        (Decimal("0.1"), Fraction(1, 10)),
        (np.float64(0.07), Fraction(7, 100)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.int64(-4), Fraction(-4)),
        (-0.0, Fraction(0)),
    ],
)
def test_a_number_means_its_shortest_decimal(given_value, meant):
    """0.07 is 7/100 in whatever type it comes, so ceil(0.07 * 100) is 7."""
    assert exact(given_value) == meant


@pytest.mark.parametrize(
    "value",
    [math.inf, -math.inf, math.nan, None, True, np.True_, Decimal("NaN"), Decimal("Infinity"), "text", [1.0], 1j],
)
def test_what_is_not_a_finite_number_is_refused(value):
    """Infinities, NaN, booleans and non-numbers raise an error that names the argument."""
    with pytest.raises(InvalidArgument, match=r"^epsilon must "):
        exact(value, "epsilon")


@given(finite)
def test_exact_round_trips(value):
    """The meant rational rounds back to the float that was given."""
    assert float(exact(value)) == value


@given(st.fractions(), st.integers(10, 200))
def test_a_ball_contains_its_rational(value, bits):
    """At every precision the ball is around the true number."""
    with precision(bits):
        enclosure = ball(value)
    with precision(4000):
        assert enclosure.contains(ball(value))


@given(st.integers(1, 200), st.data())
def test_a_ball_of_bits_contains_every_real_with_these_bits(count, data):
    """Both ends of [b, b+1] / 2^count lie inside, also when the precision is too small to hold b."""
    bits = data.draw(st.integers(0, 2**count - 1))
    with precision(data.draw(st.sampled_from([8, 30, 53, 300]))):
        enclosure = ball_of_bits(bits, count)
    with precision(1000):
        assert enclosure.contains(ball(Fraction(bits, 2**count)))
        assert enclosure.contains(ball(Fraction(bits + 1, 2**count)))


def test_a_ball_of_bits_is_no_wider_than_needed():
    """The enclosure is the interval itself up to a part in a million: bits are not thrown away."""
    with precision(200):
        assert float(ball_of_bits(5, 10).rad()) <= 2.0**-11 * (1 + 1e-6)


@given(st.fractions(), st.integers(20, 120))
def test_float_bounds_of_balls_point_outward(value, bits):
    """upper_float and lower_float enclose the ball."""
    with precision(bits):
        enclosure = ball(value) / 3
        low, high = lower_float(enclosure), upper_float(enclosure)
    assert Fraction(low) < value / 3 < Fraction(high)


@pytest.mark.parametrize("exponent", [-5000, -1074, 1024, 5000])
@pytest.mark.parametrize("sign", [1, -1])
def test_float_bounds_hold_beyond_the_range_of_floats(exponent, sign):
    """Overflow and underflow of the conversion still give bounds."""
    huge = sign * arb((1, exponent))
    low, high = lower_float(huge), upper_float(huge)
    assert arb(low) <= huge <= arb(high)


def test_float_bounds_of_what_is_not_finite_promise_nothing():
    """An infinite ball has infinite bounds; no finite float is claimed for it."""
    everything = arb(0).log()
    assert not math.isfinite(upper_float(everything))
    assert not math.isfinite(lower_float(everything))


@given(st.fractions())
def test_float_up_is_the_least_float_above(value):
    """Not below the value, and the float before it is."""
    number = float_up(value)
    assert Fraction(number) >= value > Fraction(math.nextafter(number, -math.inf))


@given(st.fractions())
def test_float_down_is_the_greatest_float_below(value):
    """Not above the value, and the float after it is."""
    number = float_down(value)
    assert Fraction(number) <= value < Fraction(math.nextafter(number, math.inf))


@given(st.floats(min_value=1e-300, max_value=1e300), st.integers(2, 52))
def test_round_down_is_short_and_just_below(value, bits):
    """At most ``bits`` bits, at most the value, within a part in 2^(bits-1)."""
    short = round_down(value, bits)
    assert short <= Fraction(value) <= short * (1 + Fraction(1, 2 ** (bits - 1)))
    assert (short.numerator // (short.numerator & -short.numerator)).bit_length() <= bits


def test_precision_is_restored_after_an_error():
    """The precision in force before the block is in force after it, however the block ends."""
    before, inside = ctx.prec, 0
    with suppress(ZeroDivisionError), precision(777):
        inside = ctx.prec
        raise ZeroDivisionError
    assert (inside, ctx.prec) == (777, before)


def test_threads_do_not_lower_each_others_precision():
    """While one thread computes with many bits, another cannot switch to few: seen in the radius of a ball."""
    seen, stop = [], threading.Event()

    def disturb():
        while not stop.is_set():
            with precision(24):
                ball(Fraction(1, 3))

    other = threading.Thread(target=disturb)
    other.start()
    try:
        for _ in range(300):
            with precision(500):
                seen.append(float(ball(Fraction(1, 3)).rad()))
    finally:
        stop.set()
        other.join()
    assert max(seen) < 1e-140
