"""The second implementation of the samplers encloses what it should, and tells the two sides of a boundary apart."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_lab.audit.rational_samplers import SCRIPT, exponential, is_rounding, laplace_reaches, sampled_laws

UNIT = 1 << (SCRIPT - 1)


@given(st.fractions(0, 40), st.integers(8, 200))
def test_powers_of_e_are_enclosed(x, bits):
    """The ends are at most 2^-bits apart, and e^-x in floats is between them but for its rounding."""
    low, high = exponential(x, bits)
    assert 0 <= high - low <= Fraction(1, 1 << bits)
    value, slack = math.exp(-x), 1e-13
    assert float(low) <= value * (1 + slack) + 2.0**-1000
    assert float(high) >= value * (1 - slack)


def test_ends_are_below_and_above():
    """A finer enclosure lies within a coarser one."""
    for x in (Fraction(1, 7), Fraction(3), Fraction(29, 3)):
        coarse, fine = exponential(x, 20), exponential(x, 400)
        assert coarse[0] <= fine[0] < fine[1] <= coarse[1]


@pytest.mark.parametrize("sampled", list(sampled_laws()), ids=lambda sampled: str(sampled.law))
def test_sizes_change_at_the_boundary(sampled):
    """Below it the noise is at least as large as c, above it is smaller; floats agree about where that is."""
    for c in (Fraction(1, 9), Fraction(2), Fraction(17, 2)):
        cut = sampled.boundary(c)
        assert sampled.reaches(c, Fraction(cut - 1, UNIT))
        assert not sampled.reaches(c, Fraction(cut + 2, UNIT))
        assert cut / UNIT == pytest.approx(float(sampled.law.tail(float(c))), rel=1e-12)


@given(st.floats(1e-6, 1 - 1e-6), st.sampled_from((-1, 1)), st.fractions(-5, 5))
def test_roundings_are_those_of_the_formula(uniform, sign, at):
    """Of three whole numbers in a row around floor(at + sign scale |Z| + 1/2) one is the rounding."""
    scale, v = Fraction(7, 2), Fraction(uniform)
    middle = math.floor(float(at) - sign * 3.5 * math.log(uniform) + 0.5)
    close = [k for k in range(middle - 1, middle + 2) if is_rounding(laplace_reaches, sign, at, scale, k, (v, v))]
    assert len(close) == 1
