"""Coins and uniform integers: exact to the last bit, whatever the chance."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dither.mechanisms.bit_flipping import flip_chance
from dither.noise.bernoulli import coins, leading_word, uniform_integers
from dither.numbers import ball

RATES = [Fraction(1, 1000), Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(30), Fraction(44), Fraction(600)]


def expansion(rate, bits):
    """floor(2^bits / (1 + e^rate)), with two hundred digits more than needed."""
    with localcontext() as context:
        context.prec = 200 + bits
        return int(Decimal(2) ** bits / (1 + (Decimal(rate.numerator) / rate.denominator).exp()))


class Words:
    """A source that hands out these 64-bit words, one after the other: in memory order, or big-endian to a tape."""

    def __init__(self, first, later=()):
        self.first, self.later = np.asarray(first, dtype=np.uint64).tobytes(), list(later)

    def __call__(self, count):
        if self.first:
            head, self.first = self.first[:count], self.first[count:]
            assert len(head) == count
            return head
        return self.later.pop(0).to_bytes(count, "big")


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_the_first_word_of_a_chance_is_exact(rate):
    """The word that separates heads from tails agrees with two hundred decimal digits."""
    assert leading_word(flip_chance(rate)) == expansion(rate, 64)


@pytest.mark.parametrize("rate", RATES[:-1], ids=str)
def test_words_next_to_the_chance_are_decided_by_further_bits(rate):
    """One below is heads, one above is tails, and a tie is settled by the next word of the same real."""
    chance = flip_chance(rate)
    cut, further = divmod(expansion(rate, 128), 1 << 64)
    assert coins(1, chance, source=Words([cut + 1])).tolist() == [False]
    if cut:
        assert coins(1, chance, source=Words([cut - 1])).tolist() == [True]
    assert coins(1, chance, source=Words([cut], [further - 1])).tolist() == [True]
    assert coins(1, chance, source=Words([cut], [further + 1])).tolist() == [False]


def test_a_rational_chance_is_met_exactly():
    """Three sixteenths of all first hex digits are heads: a rational chance needs no further bits."""
    words = [digit << 60 | 1 for digit in range(16)]
    assert coins(16, Fraction(3, 16), source=Words(words)).sum() == 3


def test_a_chance_that_underflows_is_no_trouble():
    """e^-10^9 is as good as never, and is not mistaken for a negative number."""
    assert leading_word(lambda: ball(3) * (-ball(10**9)).exp()) == 0
    assert not coins(1000, flip_chance(Fraction(10**9))).any()


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 1000, 1 << 32])
def test_uniform_integers_leave_out_the_words_that_would_favour_some(bound):
    """As many words are accepted for each integer: the last 2^64 mod bound words are drawn again."""
    spare = 2**64 % bound
    last = 2**64 - 1 - spare
    assert (last + 1) % bound == 0
    if spare:
        assert uniform_integers(1, bound, source=Words([last + 1, 5])).tolist() == [5 % bound]
    assert uniform_integers(2, bound, source=Words([last, 0])).tolist() == [bound - 1, 0]


@pytest.mark.parametrize("bound", [0, -1, 2**32 + 1])
def test_a_bound_that_does_not_fit_is_refused(bound):
    """Zero integers cannot be drawn from, and products of 64-bit words stay below 2^64."""
    with pytest.raises(ValueError, match=r"^bound must "):
        uniform_integers(1, bound)
