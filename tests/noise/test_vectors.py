"""Vectors: floats decide only what is certain, so every entry is the exact draw for its own bits."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dither.kernels.elementary import LOG_ERROR
from dither.noise import vectors
from dither.noise.entropy import LazyBits
from dither.noise.exact import settle
from dither.noise.gaussian import Gaussian
from dither.noise.heavy_tails import Cauchy, PowerLaw, Student
from dither.noise.laplace import Laplace, settle_integer_laplace
from dither.noise.vectors import integer_laplace_draws, rounded_draws
from dither.numbers import ball

FAST = [Laplace(), PowerLaw(2.5), PowerLaw(4), PowerLaw(Fraction(1337, 256)), PowerLaw(12)]
SCALES = [Fraction(2) ** k for k in (-5, 0, 3, 10, 20, 30, 38, 42, 45)] + [Fraction(1000, 3), Fraction(10**12, 7)]
LATER = b"\x5a" * 8
"""What every tape goes on with after its first 64 bits."""


class Stream:
    """Hands out known words in chunks, and the same eight bytes for every extension; counts the extensions."""

    def __init__(self, words):
        self.left, self.extensions = np.asarray(words, dtype=np.uint64).tobytes(), 0

    def __call__(self, count):
        if count == 8:
            self.extensions += 1
            return LATER
        head, self.left = self.left[:count], self.left[count:]
        assert len(head) == count
        return head


def later(count):
    """The source of the ball path: extensions only."""
    assert count == 8
    return LATER


def random_words(count, seed=0):
    """Words of all sizes: uniform ones, and ones with long runs of zeros or ones at the top."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 2**64, count, dtype=np.uint64)
    tails = count // 4
    shifts = rng.integers(1, 60, tails).astype(np.uint64)
    words[:tails] = (words[:tails] >> shifts) | (words[:tails] & np.uint64(1 << 63))
    words[tails : 2 * tails] |= ~(np.uint64(2**64 - 1) >> shifts) & np.uint64(2**63 - 1)
    return words


def by_balls(law, scale, words):
    """Entry by entry on tapes that begin with the same words."""
    return [settle(law, 0, scale, LazyBits.continuing([int(word)], 64, later)) for word in words]


def boundary_words(scale, count):
    """Words whose Laplace draws lie within about 2^-63 of a rounding boundary, on either side."""
    words = []
    with localcontext() as context:
        context.prec = 60
        size = Decimal(scale.numerator) / scale.denominator
        for k in range(count):
            uniform = (-(Decimal(k) + Decimal("0.5")) / size).exp()
            words += [int(uniform * 2**63) + near for near in (-1, 0, 1)]
    return np.array([word | (1 << 63) * (k % 2) for k, word in enumerate(words)], dtype=np.uint64)


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("law", FAST, ids=str)
def test_the_fast_path_is_the_ball_path(law, scale, trials):
    """On the same bits both paths give the same integers, for scales from 2^-5 to 2^45."""
    words = random_words(trials(400, 20_000))
    assert rounded_draws(law, len(words), scale, source=Stream(words)).tolist() == by_balls(law, scale, words)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_fast_path_of_integer_laplace_is_the_ball_path(scale, trials):
    """The same for the difference of two geometric draws: row by row the first and second reals of a tape."""
    count = trials(300, 10_000)
    words = random_words(2 * count, 1)
    np.random.default_rng(2).shuffle(words)
    expected = [
        settle_integer_laplace(0, scale, LazyBits.continuing([int(a), int(b)], 64, later))
        for a, b in zip(words[:count], words[count:], strict=True)
    ]
    assert integer_laplace_draws(count, scale, source=Stream(words)).tolist() == expected


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(1000, 3), Fraction(2) ** 20], ids=str)
def test_draws_next_to_a_rounding_boundary_go_to_the_balls(scale, monkeypatch):
    """Words built to land on a boundary are all left undecided by the floats, and come out right."""
    words = boundary_words(scale, 30)
    repaired = []
    original = vectors._repair
    monkeypatch.setattr(
        vectors,
        "_repair",
        lambda values, decided, *rest: repaired.append(int((~decided).sum())) or original(values, decided, *rest),
    )
    assert rounded_draws(Laplace(), len(words), scale, source=Stream(words)).tolist() == by_balls(
        Laplace(), scale, words
    )
    assert sum(repaired) == len(words)


def test_floats_that_trusted_themselves_would_be_wrong(monkeypatch):
    """With the error bound removed the same words come out wrong: the comparison above has teeth."""
    scale = Fraction(1_000_003)
    words = boundary_words(scale, 30)
    monkeypatch.setitem(vectors._FAST, Laplace, lambda *given: (vectors._laplace(*given)[0], np.zeros(len(words))))
    got = rounded_draws(Laplace(), len(words), scale, source=Stream(words)).tolist()
    assert got != by_balls(Laplace(), scale, words)


@pytest.mark.parametrize("law", [Laplace(), PowerLaw(4)], ids=str)
def test_most_entries_of_a_usual_vector_are_decided_by_floats(law):
    """At a scale of 1000 fewer than one entry in a thousand needs a tape: the fast path is worth its proof."""
    words = np.random.default_rng(4).integers(0, 2**64, 20_000, dtype=np.uint64)
    stated, error = vectors._FAST[type(law)](law, words, 1000.0)
    total = stated + 0.5
    decided = (total - np.floor(total) > error) & (np.floor(total) + 1 - total > error)
    assert (~decided).sum() < 20


@pytest.mark.parametrize("seed", range(3))
def test_the_stated_error_of_an_exponential_variable_holds(seed):
    """-ln V lies within the stated error for both ends of what the 52 bits leave open."""
    words = random_words(600, seed)
    length, error = vectors._exponential(words)
    with localcontext() as context:
        context.prec = 40
        for word, claimed, bound in zip(words, length, error, strict=True):
            known = int(word) >> 12
            if known < 2**10:
                assert bound == np.inf
                continue
            for end in (known, known + 1):
                true = -(Decimal(end) / 2**52).ln()
                assert abs(Decimal(float(claimed)) - true) <= Decimal(float(bound))
    assert error[np.isfinite(error)].min() >= LOG_ERROR


@pytest.mark.parametrize("law", FAST, ids=str)
@pytest.mark.parametrize("scale", [0.01, 1.0, 1e6, 1e12])
def test_the_stated_error_of_a_scaled_draw_holds(law, scale):
    """scale * Z lies within the stated error of the float, for the real in the middle of its interval."""
    words = random_words(300, 9)
    stated, error = vectors._FAST[type(law)](law, words, scale)
    root = 1 if isinstance(law, Laplace) else 1 / (law.power - 1)
    with localcontext() as context:
        context.prec = 50
        for word, claimed, bound in zip(words, stated, error, strict=True):
            if not np.isfinite(bound):
                continue
            uniform = (2 * Decimal(int(word) & (2**63 - 1)) + 1) / 2**64
            exponent = -uniform.ln() * Decimal(Fraction(root).numerator) / Fraction(root).denominator
            size = exponent if isinstance(law, Laplace) else exponent.exp() - 1
            true = (1 if int(word) >> 63 else -1) * Decimal(scale) * size
            assert abs(Decimal(float(claimed)) - true) <= Decimal(float(bound))


@pytest.mark.parametrize("law", [PowerLaw(1.05), PowerLaw(1.01)], ids=str)
def test_draws_that_overflow_are_python_integers(law):
    """Tails beyond 62 bits, and beyond the range of floats, come out exact, without warnings, as objects."""
    words = random_words(200, 3)
    got = rounded_draws(law, len(words), 5, source=Stream(words))
    assert got.dtype == object
    assert all(type(value) is int for value in got)
    assert max(abs(value) for value in got) > 2**1024
    assert got.tolist() == by_balls(law, 5, words)


def test_one_large_entry_does_not_disturb_the_others():
    """Around 2^62 and 2^63 signs and last digits survive the change of dtype."""
    law = PowerLaw(2)
    words = np.array([1 << 63 | 3, 3, 1 << 63 | 1 << 62, 1 << 62, 1, 1 << 63 | 1], dtype=np.uint64)
    for scale in (1, 2, 3, 5):
        assert rounded_draws(law, len(words), scale, source=Stream(words)).tolist() == by_balls(law, scale, words)


@pytest.mark.parametrize("count", [2, 63, 64, 66, 127, 128, 131])
def test_chunks_join_without_a_seam(count, monkeypatch):
    """Vectors shorter than, equal to and longer than a chunk use each word once and in order."""
    monkeypatch.setattr(vectors, "_CHUNK", 64)
    words = random_words(count, count)
    stream = Stream(words)
    got = rounded_draws(Laplace(), count, 100, source=stream)
    assert got.tolist() == by_balls(Laplace(), 100, words)
    assert stream.left == b""


def test_chunks_of_integer_laplace_join_without_a_seam(monkeypatch):
    """Each chunk holds its first reals, then its second ones."""
    monkeypatch.setattr(vectors, "_CHUNK", 8)
    words = random_words(40, 11)
    expected = []
    for start, size in ((0, 8), (16, 8), (32, 4)):
        firsts, seconds = words[start : start + size], words[start + size : start + 2 * size]
        expected += [
            settle_integer_laplace(0, 50, LazyBits.continuing([int(a), int(b)], 64, later))
            for a, b in zip(firsts, seconds, strict=True)
        ]
    assert integer_laplace_draws(20, 50, source=Stream(words)).tolist() == expected


def test_an_object_chunk_makes_the_whole_vector_one(monkeypatch):
    """dtypes are unified over chunks."""
    monkeypatch.setattr(vectors, "_CHUNK", 4)
    words = np.array([1 << 63 | 1 << 60] * 4 + [1, 1 << 61, 1 << 61, 1 << 61], dtype=np.uint64)
    got = rounded_draws(PowerLaw(1.5), 8, 3, source=Stream(words))
    assert got.dtype == object
    assert got.tolist() == by_balls(PowerLaw(1.5), 3, words)


@pytest.mark.parametrize("law", [Gaussian(), Cauchy(1.5), Cauchy(4), Student(3), Laplace()], ids=str)
def test_laws_and_scales_without_a_fast_path_use_tapes(law):
    """Other laws, and secret scales, draw entry by entry from the same source as the scalar door."""

    def stream():
        return np.random.default_rng(8).bytes

    def scale():
        return ball(2).sqrt() * 100

    source = stream()
    expected = [settle(law, 0, scale, LazyBits(128, source)) for _ in range(20)]
    got = rounded_draws(law, 20, scale, source=stream())
    assert got.dtype == np.int64
    assert got.tolist() == expected


@pytest.mark.parametrize(
    "scale", [Fraction(1, 2**300), Fraction(2) ** 60, lambda: ball(3)], ids=["tiny", "huge", "real"]
)
def test_scales_outside_the_trusted_range_use_tapes(scale):
    """Where the float path is not proved it is not used."""
    assert len(rounded_draws(Laplace(), 5, scale)) == len(integer_laplace_draws(5, scale)) == 5


def test_an_empty_vector_is_empty():
    """Nothing is read for nothing."""

    def never(count):
        raise AssertionError(count)

    assert rounded_draws(Laplace(), 0, 1, source=never).tolist() == []
    assert integer_laplace_draws(0, 1, source=never).tolist() == []
    assert rounded_draws(Cauchy(2), 0, 1, source=never).tolist() == []
