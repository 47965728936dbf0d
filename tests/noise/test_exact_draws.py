"""A draw is the rounding of the ideal draw for its tape, however few bits it starts from.

The oracle evaluates the same reals with 200 decimal digits in the ``decimal`` module, which shares no code with
the balls under test.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from dither.noise.blunt_power_law import BluntPowerLaw
from dither.noise.entropy import LazyBits
from dither.noise.exact import rounded_draw, settle
from dither.noise.gaussian import Gaussian
from dither.noise.heavy_tails import Cauchy, PowerLaw, Student
from dither.noise.laplace import Laplace, integer_laplace, settle_integer_laplace
from dither.numbers import ball, precision

LENGTH = 1024
DIGITS = 200
LAWS = [
    Laplace(),
    Gaussian(),
    BluntPowerLaw(2.25),
    BluntPowerLaw(4),
    BluntPowerLaw(Fraction(1337, 256)),
    BluntPowerLaw(15),
    PowerLaw(2.5),
    PowerLaw(4),
    PowerLaw(Fraction(1337, 256)),
    PowerLaw(1.1),
    Cauchy(1.5),
    Cauchy(2),
    Cauchy(4),
    Cauchy(2.75),
    Student(1),
    Student(3),
    Student(2.5),
]


class KnownTape(LazyBits):
    """A tape whose reals are known in advance to 1024 bits; ``extend`` uncovers more of them."""

    def __init__(self, bits, reals):
        super().__init__(bits)
        self.reals, self.extensions = reals, 0

    def word(self, index):
        return self.reals[index] >> (LENGTH - self.bits)

    def extend(self, bits=64):
        self.bits += bits
        self.extensions += 1
        if self.bits > LENGTH:
            raise EOFError("the known reals are used up")


def known_reals(seed, count=40):
    """Random reals of 1024 bits; the first begins with a run of equal bits now and then, to visit the tails."""
    rng = np.random.default_rng(seed)
    reals = [int.from_bytes(rng.bytes(LENGTH // 8), "big") for _ in range(count)]
    if seed % 3 == 0:
        reals[0] >>= 1 + int(rng.integers(60))
        reals[0] |= int(rng.integers(2)) << (LENGTH - 1)
    return reals


def decimal_uniform(word, bits):
    """The middle of the interval that these bits leave."""
    return (2 * Decimal(word) + 1) / Decimal(2) ** (bits + 1)


def decimal_signed(word):
    """A sign and a uniform, as on a tape."""
    top = LENGTH - 1
    return (1 if word >> top else -1), decimal_uniform(word & ((1 << top) - 1), top)


def decimal_power(base, exponent):
    """A rational power."""
    return (base.ln() * exponent.numerator / exponent.denominator).exp()


def decimal_pi():
    """Machin's formula."""

    def arc_cotangent(n):
        total, term, k = Decimal(0), Decimal(1) / n, 0
        while abs(term) > Decimal(10) ** -(DIGITS + 5):
            total += term / (2 * k + 1) * (-1) ** k
            term /= n * n
            k += 1
        return total

    return 4 * (4 * arc_cotangent(5) - arc_cotangent(239))


def decimal_cosine(angle):
    """The Taylor series."""
    total = term = Decimal(1)
    k = 0
    while abs(term) > Decimal(10) ** -(DIGITS + 5):
        k += 2
        term *= -angle * angle / (k * (k - 1))
        total += term
    return total


def ideal(law, reals):
    """Z for these reals, by the formulas of docs/proofs/sampling.md."""
    if isinstance(law, Gaussian):
        radius = (-2 * decimal_uniform(reals[0], LENGTH).ln()).sqrt()
        return radius * decimal_cosine(2 * decimal_pi() * decimal_uniform(reals[1], LENGTH))
    sign, uniform = decimal_signed(reals[0])
    if isinstance(law, Laplace):
        return -sign * uniform.ln()
    root = 1 / (law.power - 1)
    if isinstance(law, PowerLaw):
        return sign * (decimal_power(uniform, -root) - 1)
    if isinstance(law, BluntPowerLaw):
        a = Decimal(law.power.numerator - law.power.denominator) / law.power.denominator
        kept = decimal_power(1 - 1 / a, 1 / root)
        outer = kept * (a + 1) / (a - 1)
        level = uniform * (1 - kept + outer)
        if level <= outer:
            return sign * ((1 + 1 / a) * decimal_power(outer / level, root) - 1)
        return sign * (1 - decimal_power(level - outer + kept, root))
    for at in range(0, len(reals), 2):
        sign, upper = decimal_signed(reals[at])
        lower = decimal_power(decimal_uniform(reals[at + 1], LENGTH), root)
        if decimal_power(upper, law.inner) + decimal_power(lower, law.inner) <= 1:
            width = (Decimal(law.squared_width.numerator) / law.squared_width.denominator).sqrt()
            return sign * width * upper / lower
    raise EOFError


def floor(value):
    """The greatest integer that is not above."""
    return int(value.to_integral_value(rounding="ROUND_FLOOR"))


@pytest.fixture(autouse=True)
def many_digits():
    """The oracle's precision."""
    with localcontext() as context:
        context.prec = DIGITS
        context.Emax, context.Emin = 10**9, -(10**9)
        yield


@pytest.mark.sampled(6)
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_draws_are_the_rounded_ideal_draws(law, trials):
    """For random tapes, integer locations and scales from 2^-10 to 2^60 the draw is floor(f + sZ + 1/2)."""
    for seed in range(trials(60, 1000)):
        reals = known_reals(seed)
        location, scale = 17 - 3 * seed, Fraction(2 * seed + 1, 7) * Fraction(2) ** (seed % 71 - 10)
        true = floor(location + Decimal(scale.numerator) / scale.denominator * ideal(law, reals) + Decimal("0.5"))
        assert settle(law, location, scale, KnownTape(136, reals)) == true


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_how_many_bits_are_read_first_changes_nothing(law, trials):
    """Starting from 8 bits, where almost every draw must be refined, gives the answer of starting from 512."""
    extensions = 0
    for seed in range(trials(60, 1000)):
        reals = known_reals(seed)
        short, long = KnownTape(8, reals), KnownTape(512, reals)
        assert settle(law, seed, Fraction(1000, 3), short) == settle(law, seed, Fraction(1000, 3), long)
        extensions += short.extensions
    assert extensions >= 40


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_locations_and_scales_may_be_computable_reals(law):
    """A location and a scale that are only known as shrinking intervals give the exact answer too."""

    def location():
        return ball(5).log() * 1000

    def scale():
        # Much wider than rounding alone would make it: the last 40 bits are unknown at every precision.
        return 100 * ball(2).sqrt() + arb(0, arb((1, 40 - ctx.prec)))

    for seed in range(40):
        reals = known_reals(seed)
        true = floor(Decimal(5).ln() * 1000 + 100 * Decimal(2).sqrt() * ideal(law, reals) + Decimal("0.5"))
        for bits in (8, 136):
            assert settle(law, location, scale, KnownTape(bits, reals)) == true


def test_a_draw_next_to_a_rounding_boundary_is_decided_by_more_bits():
    """V = e^{-1/2} to 900 bits puts Z + 1/2 next to an integer: both sides are told apart, after many extensions."""
    target = int((Decimal(-1) / 2).exp() * 2**600) << (LENGTH - 1 - 600)
    sign = 1 << (LENGTH - 1)
    below, above = (target - (1 << 300)) | sign, (target + (2 << (LENGTH - 601))) | sign
    for word, expected in ((below, 1), (above, 0)):
        tape = KnownTape(96, [word])
        assert settle(Laplace(), 0, 1, tape) == expected == floor(ideal(Laplace(), [word]) + Decimal("0.5"))
        assert tape.extensions >= 7


@pytest.mark.parametrize("bits", [8, 136])
def test_integer_laplace_is_the_difference_of_two_geometric_draws(bits):
    """floor(-s ln V) - floor(-s ln W) for the same tape, with rational and with computable scales."""
    for seed in range(60):
        reals = known_reals(seed)
        for scale, same in (
            (Fraction(seed + 1, 9), Decimal(seed + 1) / 9),
            (Fraction(2) ** 50, Decimal(2) ** 50),
            (lambda: ball(3).sqrt(), Decimal(3).sqrt()),
        ):
            plus, minus = (floor(-same * decimal_uniform(reals[i], LENGTH).ln()) for i in (0, 1))
            assert settle_integer_laplace(7, scale, KnownTape(bits, reals)) == 7 + plus - minus


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_tapes_of_equal_bits_are_survived(law):
    """All zeros or all ones at the start decide nothing and raise nothing; later bits do."""
    for first in (0x00, 0x7F, 0x80, 0xFF):
        rest = 0xFF if first in (0x00, 0x80) else 0x00
        reals = [int.from_bytes([first] * 1 + [rest] * 15 + [0x5A] * (LENGTH // 8 - 16), "big")] * 2
        reals += known_reals(1)
        value = settle(law, 0, 10, KnownTape(8, reals))
        assert value == floor(10 * ideal(law, reals) + Decimal("0.5"))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_an_undecided_variate_is_wide_or_none(law):
    """From 8 bits per real a law returns None or a ball that still contains Z as 400 bits know it."""
    for first in (0, 1, 100, 127, 128, 200, 254, 255):
        reals = [first << (LENGTH - 8) | known_reals(k)[0] >> 8 for k in (1, 2)] + known_reals(4)
        with precision(600):
            coarse, fine = law.variate(KnownTape(8, reals)), law.variate(KnownTape(400, reals))
            assert coarse is None or coarse.contains(fine)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_public_door_reads_a_fresh_tape(law):
    """rounded_draw consumes 96 + headroom bits per real from the source and agrees with settle on them."""
    stream = np.random.default_rng(5).bytes(10_000)
    used = []

    def source(count):
        used.append(count)
        start = sum(used[:-1])
        return stream[start : start + count]

    got = rounded_draw(law, 3, 50, headroom=40, source=source)
    assert set(used) == {17}
    words = [int.from_bytes(stream[17 * k : 17 * k + 17], "big") for k in range(40)]
    assert got == settle(law, 3, 50, LazyBits.continuing(words, 136))


def test_the_public_door_of_integer_laplace():
    """integer_laplace reads exactly two reals and moves with its location."""
    stream = np.random.default_rng(6).bytes(34)
    draws = [
        integer_laplace(location, 20, source=lambda count, left=[stream[:17], stream[17:]]: left.pop(0))
        for location in (0, 1000)
    ]
    assert draws[1] - draws[0] == 1000


def test_noise_without_scale_is_the_rounded_location():
    """A scale of zero releases floor(f + 1/2): half-way is rounded up, also below zero."""
    for location, rounded in ((3, 3), (Fraction(5, 2), 3), (Fraction(-5, 2), -2), (Fraction(1, 3), 0)):
        assert rounded_draw(Laplace(), location, 0) == rounded
