"""Draws from exponential weights follow their law exactly: every tape lands on the rung that exact sums say."""

from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest

from dither.noise import discrete_exponential as rungs
from dither.noise.discrete_exponential import draw_cost, draw_index, window

RUNGS = 10**6  # more than any list here has
RATES = [Fraction(1, 20), Fraction(1, 2), Fraction(5), Fraction(200)]
SIZES = [[1], [3, 5], [0, 4, 0, 0, 7, 1], [10**6, 0, 3] + [2**40] * 40, [1] * 120]


class OneTape:
    """A source for a single draw: 16 bytes of tape, then extensions of eight, then bytes for the index."""

    def __init__(self, word, later=b"\x5a" * 8):
        self.first, self.later, self.extensions = word.to_bytes(16, "big"), later, 0

    def __call__(self, count):
        if count == 16 and self.first is not None:
            first, self.first = self.first, None
            return first
        if count == 8:
            self.extensions += 1
            return self.later
        return b"\x00" * count

    def real(self, word):
        """The real that the tape spells, to 1152 bits."""
        return Fraction((word << 1024) | int.from_bytes(self.later * 16, "big"), 2**1152)


def cumulative(weights):
    """Shares of the total below and including each entry, to 300 digits."""
    with localcontext() as context:
        context.prec = 300
        sums = list(accumulate(weights))
        return [Fraction(part / sums[-1]) for part in sums]


def exponential_weights(costs, rate, sizes=None):
    """N e^{-rate cost} in 300 digits."""
    with localcontext() as context:
        context.prec = 300
        return [
            size * (-Decimal(rate.numerator) * cost / rate.denominator).exp()
            for cost, size in zip(costs, sizes or [1] * len(costs), strict=True)
        ]


def expected_index(shares, real):
    """The first entry whose cumulative share exceeds the real."""
    return next(index for index, share in enumerate(shares) if real < share)


def edge_words(shares, seed=0, count=100):
    """Words at, just below and just above cumulative shares (all, or a dozen of many), at both ends, and at random."""
    some = shares if len(shares) < 50 else shares[:: len(shares) // 12]
    edges = {int(share * 2**128) + step for share in some for step in (-2, -1, 0, 1)}
    rng = np.random.default_rng(seed)
    edges |= {int.from_bytes(rng.bytes(16), "big") for _ in range(count)} | {0, 1, 2**128 - 1}
    return sorted(word for word in edges if 0 <= word < 2**128)


def counter(sizes, calls=None):
    """The function that draw_rung asks for rung sizes; rungs beyond the list are empty."""

    def counts(first, last):
        if calls is not None:
            calls.append(last)
        return [sizes[t - 1] if t <= len(sizes) else 0 for t in range(first, last + 1)]

    return counts


@pytest.mark.sampled(23)
@pytest.mark.parametrize("rate", RATES, ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=len)
@pytest.mark.parametrize("certainty", [64, 1, -4])
def test_every_tape_lands_on_its_rung(sizes, rate, certainty, monkeypatch):
    """The rung is that of exact sums for words on both sides of every edge, also from windows that are too short."""
    monkeypatch.setattr(rungs, "_CERTAINTY", certainty)
    monkeypatch.setattr(rungs, "window", lambda points, rate, real=window: max(real(points, rate), 1))
    shares = cumulative(exponential_weights(range(1, len(sizes) + 1), rate, sizes))
    for word in edge_words(shares, count=40):
        source = OneTape(word)
        rung, index = draw_cost(counter(sizes), sum(sizes), RUNGS, rate, source)
        assert rung == expected_index(shares, source.real(word)) + 1
        assert 0 <= index < sizes[rung - 1]


@pytest.mark.parametrize("first", [1, 2, 7])
@pytest.mark.parametrize("sizes", SIZES, ids=len)
def test_how_many_rungs_are_looked_at_first_changes_no_draw(sizes, first, monkeypatch):
    """Words on both sides of every edge land on the rung of exact sums, however few rungs the first look is at."""
    monkeypatch.setattr(rungs, "_FIRST_REACH", first)
    rate = Fraction(1, 20)
    shares = cumulative(exponential_weights(range(1, len(sizes) + 1), rate, sizes))
    for word in edge_words(shares, count=40):
        source = OneTape(word)
        rung, _ = draw_cost(counter(sizes), sum(sizes), RUNGS, rate, source)
        assert rung == expected_index(shares, source.real(word)) + 1


def test_no_more_rungs_are_looked_at_than_hold_points():
    """At any rate, however many there might be: memory does not grow as 1 / rate."""
    sizes, calls = [5] * 20, []
    for rate in (Fraction(1, 10**4), Fraction(1, 10**9)):
        draw_cost(counter(sizes, calls), sum(sizes), 1 << 60, rate)
    assert max(calls) <= rungs._FIRST_REACH


def test_short_windows_are_extended(monkeypatch):
    """With little certainty the first window often does not decide, and is doubled until it does."""
    monkeypatch.setattr(rungs, "_CERTAINTY", 1)
    sizes, rate, calls, extended = [0] * 30 + [1] * 60, Fraction(1, 4), [], 0
    for word in range(0, 2**128, 2**121):
        calls.clear()
        draw_cost(counter(sizes, calls), sum(sizes), RUNGS, rate, OneTape(word))
        assert calls == [calls[0] << k for k in range(len(calls))]
        extended += len(calls) > 1
    assert extended > 20


@pytest.mark.parametrize("certainty", [64, 1])
def test_the_law_of_rungs_by_enumeration(certainty, monkeypatch):
    """Over all 4096 tapes that differ in their first 12 bits each rung is met as often as its mass says, up to one."""
    monkeypatch.setattr(rungs, "_CERTAINTY", certainty)
    sizes, rate = [2, 0, 5, 9, 1, 30], Fraction(3, 10)
    shares = [0, *cumulative(exponential_weights(range(1, 7), rate, sizes))]
    met = Counter(draw_cost(counter(sizes), sum(sizes), RUNGS, rate, OneTape(top << 116))[0] for top in range(4096))
    for rung in range(1, 7):
        assert abs(met[rung] - 4096 * (shares[rung] - shares[rung - 1])) <= 1


def test_a_wrong_rate_fails_the_enumeration():
    """A rate that is three percent off is seen by the same count."""
    sizes, rate = [2, 0, 5, 9, 1, 30], Fraction(3, 10)
    shares = [0, *cumulative(exponential_weights(range(1, 7), rate * Fraction(103, 100), sizes))]
    met = Counter(draw_cost(counter(sizes), sum(sizes), RUNGS, rate, OneTape(top << 116))[0] for top in range(4096))
    assert any(abs(met[rung] - 4096 * (shares[rung] - shares[rung - 1])) > 1 for rung in range(1, 7))


def test_the_index_inside_a_rung_is_uniform():
    """All one-byte continuations: each of five places is met equally often."""
    met = Counter()
    for value in range(256):
        handed = iter([bytes(16), bytes([value]), b"\x00"])
        met[draw_cost(counter([5]), 5, RUNGS, Fraction(1), lambda count, handed=handed: next(handed))] += 1
    places = [met[1, place] for place in range(1, 5)]
    assert len(set(places)) == 1  # place 0 also takes the rejected ones here, because the next byte is zero
    assert sum(met.values()) == 256


@pytest.mark.parametrize("rate", RATES, ids=str)
@pytest.mark.parametrize(
    "costs", [[3], [1, 1, 1], [0, 5, 2, 2, 9], [10**6, 10**6 + 1], [0, 10**4], list(range(200))], ids=len
)
def test_every_tape_lands_on_its_index(costs, rate):
    """draw_index agrees with exact sums on both sides of every edge."""
    shares = cumulative(exponential_weights([cost - min(costs) for cost in costs], rate))
    for word in edge_words(shares, count=40):
        source = OneTape(word)
        assert draw_index(costs, rate, source) == expected_index(shares, source.real(word))


def test_an_edge_is_decided_by_more_bits():
    """A tape that follows the edge itself for 128 bits is extended, and lands on the side its later bits say."""
    share = cumulative(exponential_weights([0, 1], Fraction(1, 3)))[0]
    for later, expected in ((b"\x00" * 8, 0), (b"\xff" * 8, 1)):
        source = OneTape(int(share * 2**128), later)
        assert draw_index([0, 1], Fraction(1, 3), source) == expected
        assert source.extensions >= 1


@pytest.mark.parametrize("digits", [8, 32, 256])
@pytest.mark.parametrize("rate", RATES, ids=str)
def test_weights_are_enclosed(rate, digits):
    """Whole numbers below and above 2^digits e^{-rate t}, at every t and for few digits too."""
    under, over = rungs.powers(rate, 40, digits)
    true = exponential_weights(range(40), rate)
    with localcontext() as context:
        context.prec = 300
        for low, weight, high in zip(under, true, over, strict=True):
            assert low <= weight * 2**digits <= high


def test_few_digits_change_nothing_but_time(monkeypatch):
    """Starting from 8 digits, where weights are rough, every tape still lands on its rung."""
    monkeypatch.setattr(rungs, "_DIGITS", 8)
    sizes, rate = [3, 5, 0, 8], Fraction(1, 2)
    shares = cumulative(exponential_weights(range(1, 5), rate, sizes))
    for word in edge_words(shares):
        source = OneTape(word)
        assert (
            draw_cost(counter(sizes), sum(sizes), RUNGS, rate, source)[0]
            == expected_index(shares, source.real(word)) + 1
        )


@pytest.mark.parametrize("points", [1, 10**9, 2**70])
@pytest.mark.parametrize("rate", [Fraction(1, 20), Fraction(3)], ids=str)
def test_the_window_leaves_out_what_it_says(points, rate):
    """All points beyond the window weigh at most 2^-40 of one point on the first rung."""
    reach = window(points, rate)
    with localcontext() as context:
        context.prec = 60
        outside = points * (-Decimal(rate.numerator) * reach / rate.denominator).exp()
        assert outside <= Decimal(2) ** -40


@pytest.mark.parametrize("rate", RATES[:3], ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=lambda sizes: str(len(sizes)))
def test_floats_decide_only_what_is_sure(sizes, rate, monkeypatch):
    """At and around every edge, and at random: the rung of exact sums, or none.  Twin: weights that are off by 1e-6."""
    shares = cumulative(exponential_weights(range(1, len(sizes) + 1), rate, sizes))

    def wrong():
        mistakes = decided = 0
        near = {int(share * 2**128) + step * 2**e for share in shares for step in (-1, 1) for e in (70, 80, 90, 105)}
        for word in [*edge_words(shares), *(word for word in near if 0 <= word < 2**128)]:
            source = OneTape(word)
            index = rungs._by_floats(sizes, sum(sizes), rate, rungs.LazyBits(128, source), complete=True)
            decided += index is not None
            mistakes += index is not None and index != expected_index(shares, source.real(word))
        return mistakes, decided

    mistakes, decided = wrong()
    assert not mistakes
    assert decided > 50 or float(rate) * (len(sizes) + 1) > 512
    if sum(size > 0 for size in sizes) > 1 and decided:
        honest = rungs._decay
        monkeypatch.setattr(rungs, "_decay", lambda rate, count: honest(rate, count) ** (1.0 - 1e-6))
        assert wrong()[0]


def test_floats_leave_room_for_rungs_that_were_not_seen():
    """Half of the points lie beyond: of the upper half of a tape nothing is decided."""
    rate, sizes = Fraction(1, 1000), [5] * 10
    for word in (0, 2**126, 2**127 + 2**126, 2**128 - 1):
        index = rungs._by_floats(sizes, 100, rate, rungs.LazyBits(128, OneTape(word)), complete=False)
        assert index is None or word < 2**127


@pytest.mark.sampled(4)
@pytest.mark.parametrize("lean", [1, 6, 10**9], ids=str)
@pytest.mark.parametrize("rate", RATES[:3], ids=str)
def test_floats_decide_only_what_is_sure_of_weighted_indices(rate, lean, monkeypatch):
    """At and around every edge, and at random: the index of exact sums, from lists and arrays of costs.

    Twin: weights that are off by 1e-6.
    """
    costs = [(7 * place) % 23 + 5 for place in range(30)]
    weights = tuple((lean + 1) ** place * lean ** (29 - place) for place in range(30))
    shares = cumulative(exponential_weights([cost - 5 for cost in costs], rate, weights))
    near = {int(share * 2**128) + step * 2**e for share in shares for step in (-1, 1) for e in (70, 80, 90, 105)}
    words = [*edge_words(shares), *(word for word in near if 0 <= word < 2**128)]
    above = np.array(costs) - 5

    def wrong():
        mistakes = decided = 0
        for word in words:
            source = OneTape(word)
            index = rungs._index_by_floats(above, rate, weights, rungs.LazyBits(128, source))
            decided += index is not None
            mistakes += index is not None and index != expected_index(shares, source.real(word))
        return mistakes, decided

    assert wrong()[0] == 0
    assert wrong()[1] > 50
    for word in words:
        expected = expected_index(shares, OneTape(word).real(word))
        assert draw_index(costs, rate, OneTape(word), weights=weights) == expected
        assert draw_index(np.array(costs), rate, OneTape(word), weights=list(weights)) == expected
    honest = rungs._decay
    monkeypatch.setattr(rungs, "_decay", lambda rate, count: honest(rate, count) ** (1.0 - 1e-6))
    assert wrong()[0]


def test_weights_too_large_for_floats_are_left_to_whole_numbers():
    """A weight of 2**2000 raises nothing, and takes nearly all of the chance."""
    weights = (1 << 2000, *[1] * 20)
    assert rungs._index_by_floats(np.zeros(21, dtype=np.int64), Fraction(1), weights, rungs.LazyBits(128)) is None
    assert draw_index([0] * 21, Fraction(1), OneTape(2**128 - 2), weights=weights) == 0
