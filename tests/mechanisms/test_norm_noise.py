"""Noise fitted to a norm: exactly rounded, of the right length in the right direction."""

import hashlib
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.special

from dither.mechanisms import norm_noise
from dither.mechanisms.norm_noise import norm_draw, norm_radius

NORMS = {
    "l1": lambda z: np.abs(z).sum(axis=1),
    "l2": lambda z: np.sqrt((z * z).sum(axis=1)),
    "linf": lambda z: np.abs(z).max(axis=1),
}
FALSE_ALARM = 1e-9


class Reals:
    """A source of fixed real numbers, read to as many bits as the tape asks for and then 64 bits further each."""

    def __init__(self, seed, count):
        self.seed, self.count, self.read, self.turn = seed, count, [], 0

    def __call__(self, size):
        if len(self.read) < self.count:
            index = len(self.read)
            self.read.append(size)
            return self._bytes(index)[:size]
        index, self.turn = self.turn, (self.turn + 1) % self.count
        start = self.read[index]
        self.read[index] += size
        return self._bytes(index)[start : start + size]

    def _bytes(self, index):
        return b"".join(hashlib.sha512(f"{self.seed}/{index}/{k}".encode()).digest() for k in range(16))


REALS_USED = {"l1": lambda d: d, "l2": lambda d: 2 * d + d % 2, "linf": lambda d: 2 * d + 1}


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_how_many_bits_are_read_first_changes_nothing(norm, dimension, monkeypatch):
    """Starting from a few bits and extending gives the draw that 512 bits give, for the same reals."""
    location = [Fraction(7 * i + 1, 3) for i in range(dimension)]
    for seed in range(25):
        drawn = []
        for bits in (1, 20, 512):
            monkeypatch.setattr(norm_noise, "INITIAL_BITS", bits)
            source = Reals(seed, REALS_USED[norm](dimension))
            drawn.append(norm_draw(location, Fraction(1000, 7), norm, source=source))
        assert drawn[0] == drawn[1] == drawn[2]


def sample(norm, dimension, count, scale):
    """Rounded noise around the origin."""
    return np.array([norm_draw([Fraction(0)] * dimension, scale, norm) for _ in range(count)], dtype=float)


def strays(values, cumulative):
    """The Kolmogorov distance between a sample and a law."""
    ordered = np.sort(cumulative(values))
    steps = np.arange(len(ordered) + 1) / len(ordered)
    return max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max())


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("dimension", [1, 3])
def test_the_length_is_gamma_and_a_wrong_one_is_noticed(norm, dimension, trials):
    """The Dvoretzky-Kiefer-Wolfowitz bound at a false-alarm rate of 1e-9; noise 30% too small fails it."""
    count, scale = trials(2500, 20_000), Fraction(2**20)
    allowed = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * count))
    lengths = NORMS[norm](sample(norm, dimension, count, scale)) / float(scale)
    assert strays(lengths, lambda r: scipy.special.gammainc(dimension, r)) < allowed
    assert strays(0.7 * lengths, lambda r: scipy.special.gammainc(dimension, r)) > allowed


@pytest.mark.parametrize(
    ("norm", "cumulative"),
    [
        # In R^3 one coordinate of a uniform direction is uniform; on the surface of the cube it is +-1 a third of the
        # time and uniform otherwise; on the octahedron |z_1| / |z| has the law of one of three exponential shares.
        ("l2", lambda u: (u + 1) / 2),
        ("linf", lambda u: np.where(u < 1, 1 / 6 + (u + 1) / 3, 1.0)),
        ("l1", lambda u: np.where(u < 0, (1 - np.abs(u) ** 1) ** 2 / 2, 1 - (1 - np.abs(u)) ** 2 / 2)),
    ],
)
def test_directions_follow_the_cone_measure(norm, cumulative, trials):
    """The first coordinate over the length, in three dimensions, against its closed form."""
    count = trials(2500, 20_000)
    drawn = sample(norm, 3, count, Fraction(2**30))
    shares = drawn[:, 0] / NORMS[norm](drawn)
    at = np.linspace(-0.99, 0.99, 199)
    seen = np.array([(shares <= u).mean() for u in at])
    assert np.abs(seen - cumulative(at)).max() < math.sqrt(math.log(2 / FALSE_ALARM) / (2 * count))


@pytest.mark.parametrize("norm", NORMS)
def test_the_log_density_moves_by_at_most_epsilon(norm):
    """|N(y - z) - N(y - w)| <= N(z - w): with scale S / eps that is the whole proof, and some y attains it."""
    rng = np.random.default_rng(1)
    size = NORMS[norm]
    y, z = rng.normal(size=(2000, 4)), rng.normal(size=(2000, 4))
    moved = rng.normal(size=(2000, 4))
    moved /= size(moved)[:, None]
    assert np.abs(size(y - z) - size(y - z - moved)).max() <= 1 + 1e-12
    assert np.abs(size(z - z) - size(-moved)).max() == pytest.approx(1)


@pytest.mark.parametrize("norm", NORMS)
def test_the_radius_covers_and_includes_rounding(norm):
    """Its Gamma tail is the allowance; a coarse grid adds half a step in every coordinate."""
    exact = norm_radius(3, Fraction(2), norm, Fraction(1, 10**12), 0.05)
    assert scipy.special.gammaincc(3, exact / 2) == pytest.approx(0.05, rel=1e-6)
    added = {"l1": 1.5, "l2": math.sqrt(3) / 2, "linf": 0.5}[norm]
    assert norm_radius(3, Fraction(2), norm, Fraction(1), 0.05) - exact == pytest.approx(added)
