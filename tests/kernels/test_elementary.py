"""log and exp keep their proved error bounds; a kernel that is slightly worse is caught by the same check."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dither.kernels import elementary
from dither.kernels.elementary import EXP_ERROR, LOG_ERROR, exp, log
from dither.numbers import ball, precision, upper_float


def around(points, steps=3):
    """The given floats with their nearest neighbours on both sides."""
    found = [np.asarray(points, dtype=np.float64)]
    for direction in (-np.inf, np.inf):
        here = found[0]
        for _ in range(steps):
            here = np.nextafter(here, direction)
            found.append(here)
    return np.concatenate(found)


def log_arguments(count):
    """Where the reduction changes (powers of two, halves of sqrt 2), near 1, and at random in [2^-64, 2^64]."""
    rng = np.random.default_rng(20)
    powers = 2.0 ** np.arange(-63, 64)
    seams = np.concatenate([powers, np.sqrt(0.5) * powers, 1.5 * powers / 2])
    near_one = np.concatenate([1 + s * 2.0 ** -np.arange(1.0, 53.0) for s in (1, -1)])
    whole = rng.integers(1, 2**52, count).astype(np.float64)
    spread = 2.0 ** rng.uniform(-64, 64, count)
    found = np.concatenate([around(seams), around(near_one), whole, 2.0 ** rng.uniform(0, 10, 50), spread])
    return found[(found >= 2.0**-64) & (found <= 2.0**64)]


def exp_arguments(count):
    """Half-way between multiples of ln 2 (where the remainder is longest), multiples, tiny and random ones."""
    rng = np.random.default_rng(21)
    halves = np.arange(-1477, 1478) * (np.log(2.0) / 2)
    tiny = np.concatenate([s * 2.0 ** -np.arange(1.0, 300.0, 7) for s in (1, -1)])
    found = np.concatenate([around(halves, 1), tiny, [0.0, -0.0, 512.0, -512.0], rng.uniform(-512, 512, count)])
    return found[np.abs(found) <= 512]


def worst_log(kernel, x):
    """The largest absolute error of a logarithm, bounded from above in balls."""
    with precision(160):
        return max(upper_float(abs(arb(float(y)) - arb(float(t)).log())) for t, y in zip(x, kernel(x), strict=True))


def worst_exp(kernel, x):
    """The largest relative error of an exponential, bounded from above in balls."""
    with precision(160):
        return max(upper_float(abs(arb(float(y)) / arb(float(t)).exp() - 1)) for t, y in zip(x, kernel(x), strict=True))


def test_log_keeps_its_bound(trials):
    """The absolute error is at most LOG_ERROR, also where the argument reduction changes."""
    assert worst_log(log, log_arguments(trials(4000, 200_000))) <= LOG_ERROR


def test_exp_keeps_its_bound(trials):
    """The relative error is at most EXP_ERROR, also where the remainder is longest."""
    assert worst_exp(exp, exp_arguments(trials(4000, 200_000))) <= EXP_ERROR


def test_a_shorter_log_series_is_caught(monkeypatch):
    """Four terms fewer break the bound on the same arguments: the check has teeth."""
    monkeypatch.setattr(elementary, "_ODD", elementary._ODD[4:])
    assert worst_log(log, log_arguments(1000)) > LOG_ERROR


def test_a_shorter_exp_series_is_caught(monkeypatch):
    """Three terms fewer break the bound on the same arguments."""
    monkeypatch.setattr(elementary, "_FACTORIALS", elementary._FACTORIALS[3:])
    assert worst_exp(exp, exp_arguments(1000)) > EXP_ERROR


def test_single_precision_is_caught():
    """A platform's single-precision functions fail both checks."""

    def coarse(function):
        return lambda x: function(x.astype(np.float32)).astype(np.float64)

    assert worst_log(coarse(np.log), log_arguments(100)) > LOG_ERROR
    modest = np.linspace(-80, 80, 400)
    assert worst_exp(coarse(np.exp), modest) > EXP_ERROR


def test_the_constants_are_what_the_proof_says():
    """ln 2 = high + low to 2^-85, high has at most 33 bits, ln 2 as one double is off by at most 2^-54."""
    with precision(300):
        true = arb(2).log()
        high, low = Fraction(elementary._LN2_HIGH), Fraction(elementary._LN2_LOW)
        assert abs(true - ball(high + low)) < arb(2) ** -85
        assert abs(true - ball(Fraction(elementary._LN2))) < arb(2) ** -54
        assert abs(ball(2) * ball(Fraction(elementary._SQRT_HALF)) ** 2 - 1) < arb(2) ** -51
    mantissa = high.numerator
    assert (mantissa // (mantissa & -mantissa)).bit_length() <= 33
    assert elementary._FACTORIALS[0] == 6227020800.0  # 13!
    assert len(elementary._ODD) == 10


@pytest.mark.parametrize("whole", [1, -1, 739, -739, 2**20 - 1])
def test_multiples_of_the_high_part_are_exact(whole):
    """whole * high is a double, so the first subtraction in exp loses nothing but its own rounding."""
    assert Fraction(whole * elementary._LN2_HIGH) == whole * Fraction(elementary._LN2_HIGH)


def test_exact_values():
    """log 1 and exp 0 have no error at all."""
    assert log(np.array([1.0]))[0] == 0.0
    assert exp(np.array([0.0, -0.0])).tolist() == [1.0, 1.0]


def test_arguments_are_not_changed():
    """The kernels work in place on their own arrays only."""
    x = np.array([0.5, 2.0])
    log(x)
    exp(x)
    assert x.tolist() == [0.5, 2.0]
