"""Samplers against their laws, with a stated false-alarm rate and a twin that must fail.

**The test.**  ``n`` rounded draws ``X = floor(s Z + 1/2)``.  For a whole number k, ``X > k`` exactly if
``s Z >= k + 1/2`` and ``X < -k`` exactly if ``s Z < -(k + 1/2)``, so with ``q = P(|Z| > (k + 1/2) / s)`` the counts
of ``X > k`` and ``X < -k`` are binomial(n, q/2) and that of ``|X| > k`` is binomial(n, q).  A count K is an alarm if
``P(B <= K) < a`` or ``P(B >= K) < a``; each of these events has probability below a.  With P places, three counts,
two ends and two reference laws there are ``12 P`` such events, so ``a = 1e-9 / (12 P)`` makes the false-alarm rate
of a whole test at most 1e-9 (union bound; nothing is assumed about how the counts depend on each other).

**The power.**  The alarm is at about 6.8 standard deviations.  With n = 24000, noise that is 0.7 or 1.3 times as
large moves some count by at least 14 of them for every law below (``test_the_power_is_as_stated`` computes it), so a
twin passes by mistake with probability below 1e-11.
"""

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from dither.noise.blunt_power_law import BluntPowerLaw
from dither.noise.exact import rounded_draw
from dither.noise.gaussian import Gaussian
from dither.noise.heavy_tails import Cauchy, PowerLaw, Student
from dither.noise.laplace import Laplace, integer_laplace
from dither.noise.vectors import integer_laplace_draws, rounded_draws

FALSE_ALARMS = 1e-9
SCALE = 1000
DRAWS = 24_000
PLACES = (0.9, 0.7, 0.5, 0.3, 0.15, 0.05, 0.01)
"""Chances P(|Z| > z) at which counts are compared."""


def integrated(gamma):
    """P(|Z| > z) for the density proportional to 1 / (1 + z^gamma), by quadrature."""

    def mass(low, high):
        return scipy.integrate.quad(lambda z: 1 / (1 + z**gamma), low, high, epsabs=1e-13, limit=200)[0]

    # The far tail is integrated in 1/z, where it is smooth: int_z^inf = int_0^{1/z} w^{gamma-2} / (1 + w^gamma) dw.
    def beyond(z):
        return scipy.integrate.quad(lambda w: w ** (gamma - 2) / (1 + w**gamma), 0, 1 / z, epsabs=1e-13, limit=200)[0]

    whole = mass(0, 1) + beyond(1)
    return lambda z: (beyond(z) if z >= 1 else mass(z, 1) + beyond(1)) / whole


def blunt(p):
    """P(|Z| > z) of the blunt power law, by integration of its density."""
    joint = 1 / (p - 1)
    factor = (1 - joint) ** (p - 2) * (1 + joint) ** p
    near = lambda z: scipy.integrate.quad(lambda t: (1 - t) ** (p - 2), z, joint, epsabs=1e-13)[0]  # noqa: E731
    far = lambda z: factor * (1 + z) ** (1 - p) / (p - 1)  # noqa: E731
    whole = near(0) + far(joint)
    return lambda z: (far(z) if z >= joint else near(z) + far(joint)) / whole


LAWS = {
    BluntPowerLaw(2.25): blunt(2.25),
    BluntPowerLaw(4): blunt(4),
    BluntPowerLaw(15): blunt(15),
    Laplace(): lambda z: 2 * scipy.stats.laplace.sf(z),
    Gaussian(): lambda z: 2 * scipy.stats.norm.sf(z),
    PowerLaw(2.5): lambda z: scipy.stats.lomax.sf(z, 1.5),
    PowerLaw(4): lambda z: scipy.stats.lomax.sf(z, 3),
    PowerLaw(8): lambda z: scipy.stats.lomax.sf(z, 7),
    Cauchy(1.5): integrated(1.5),
    Cauchy(2): lambda z: 2 * scipy.stats.cauchy.sf(z),
    Cauchy(4): integrated(4.0),
    Student(1): lambda z: 2 * scipy.stats.t.sf(z, 1),
    Student(3): lambda z: 2 * scipy.stats.t.sf(z, 3),
}
each_law = pytest.mark.parametrize("law", LAWS, ids=str)


def alarms(draws, chances):
    """Places where a count is impossible to believe; ``chances``: k -> P(X > k) = P(X < -k) for one reference."""
    level = FALSE_ALARMS / (12 * len(PLACES))
    count, found = len(draws), []
    for place, chance in chances.items():
        for inside, q in ((draws > place, chance), (draws < -place, chance), (np.abs(draws) > place, 2 * chance)):
            hits = int(inside.sum())
            if min(scipy.stats.binom.cdf(hits, count, q), scipy.stats.binom.sf(hits - 1, count, q)) < level:
                found.append((place, hits / count, q))
    return found


def places(law):
    """Grid points near the wanted chances."""
    return [max(math.floor(SCALE * law.quantile(chance)), 0) for chance in PLACES]


def fits(law, draws):
    """No alarm against the law's own tail or against the independent one."""
    stated = {k: float(law.tail(np.array([(k + 0.5) / SCALE]))[0]) / 2 for k in places(law)}
    independent = {k: float(LAWS[law]((k + 0.5) / SCALE)) / 2 for k in places(law)}
    return not alarms(draws, stated) and not alarms(draws, independent)


def scalars(law, count, scale=SCALE):
    """Draws one by one, from the system's entropy."""
    # Heavy tails overflow int64; only comparisons with moderate places follow.
    return np.array([max(min(rounded_draw(law, 0, scale), 2**60), -(2**60)) for _ in range(count)])


@each_law
def test_stated_tails_are_those_of_an_independent_library(law):
    """tail agrees with scipy's distributions, or with quadrature, to eight digits, and quantile inverts it."""
    for chance in (0.9, 0.5, 0.1, 1e-3, 1e-6):
        distance = law.quantile(chance)
        assert float(law.tail(np.array([distance]))[0]) == pytest.approx(chance, rel=1e-9)
        assert float(LAWS[law](distance)) == pytest.approx(chance, rel=1e-8)


@each_law
def test_stated_densities_are_the_slope_of_the_tails(law):
    """log_density is the logarithm of -1/2 d tail / dz."""
    at, step = np.array([0.1, 0.5, 1.0, 2.0, 5.0]), 1e-5
    slope = (law.tail(at - step) - law.tail(at + step)) / (4 * step)
    assert np.allclose(np.log(slope), law.log_density(at), atol=1e-6)


@pytest.mark.sampled(1)
@each_law
def test_scalar_draws_follow_their_law(law, trials):
    """False alarms: at most 1e-9 (see above)."""
    assert fits(law, scalars(law, trials(DRAWS, 200_000)))


@pytest.mark.sampled(2)
@each_law
def test_vector_draws_follow_their_law(law, trials):
    """False alarms: at most 1e-9.  Laws with a float path draw more."""
    count = trials(100_000, 5_000_000) if type(law) in {Laplace, PowerLaw} else trials(DRAWS, 100_000)
    assert fits(law, rounded_draws(law, count, SCALE))


@each_law
def test_the_power_is_as_stated(law):
    """Noise of 0.7 or 1.3 times the size moves some expected count by at least 14 standard deviations."""
    for factor in (0.7, 1.3):
        wrong = [float(law.tail(np.array([law.quantile(chance) / factor]))[0]) for chance in PLACES]
        moved = [abs(w - q) / math.sqrt(q * (1 - q)) for w, q in zip(wrong, PLACES, strict=True)]
        assert max(moved) * math.sqrt(DRAWS) >= 14


@pytest.mark.sampled(2)
@pytest.mark.parametrize("factor", [7, 13])
@each_law
def test_noise_of_a_wrong_size_is_noticed(law, factor):
    """The same test on 0.7 or 1.3 times the noise fails; it would pass with probability below 1e-11."""
    assert not fits(law, rounded_draws(law, DRAWS, SCALE * factor // 10))


def test_scalar_noise_of_a_wrong_size_is_noticed():
    """The scalar door too: a factor of 1.3 is seen."""
    assert not fits(Laplace(), scalars(Laplace(), DRAWS, SCALE * 13 // 10))


def integer_fits(draws, scale):
    """The test for integer Laplace noise; references: the closed form and scipy's dlaplace."""
    marks = [max(round(-scale * math.log(chance)), 0) for chance in PLACES]
    # P(X > k) = e^{-(k+1)/s} / (1 + e^{-1/s}).
    closed = {k: math.exp(-(k + 1) / scale) / (1 + math.exp(-1 / scale)) for k in marks}
    library = {k: float(scipy.stats.dlaplace.sf(k, 1 / scale)) for k in marks}
    return not alarms(draws, closed) and not alarms(draws, library)


@pytest.mark.parametrize("scale", [1, 3, 200])
def test_integer_laplace_draws_follow_their_law(scale, trials):
    """Scalar and vector; false alarms: at most 1e-9 for each of the two."""
    assert integer_fits(np.array([integer_laplace(0, scale) for _ in range(trials(DRAWS, 200_000))]), scale)
    assert integer_fits(integer_laplace_draws(trials(100_000, 5_000_000), scale), scale)


@pytest.mark.parametrize("factor", [7, 13])
def test_integer_noise_of_a_wrong_size_is_noticed(factor):
    """The same test on 0.7 or 1.3 times the scale fails."""
    assert not integer_fits(integer_laplace_draws(DRAWS, 20 * factor), 200)
    assert not integer_fits(np.array([integer_laplace(0, 20 * factor) for _ in range(DRAWS)]), 200)


def test_a_biased_sign_is_noticed():
    """Both sides are counted, so noise of the right size with 60 to 40 signs fails."""
    sizes = np.abs(rounded_draws(Laplace(), 20_000, SCALE))
    signs = np.where(np.random.default_rng(0).random(20_000) < 0.6, 1, -1)
    assert not fits(Laplace(), sizes * signs)


def test_neighbouring_entries_are_independent(trials):
    """Signs and sizes of successive entries agree as often as fair coins: binomial(n, 1/2), level 1e-9 / 8 an end."""
    draws = rounded_draws(Laplace(), 2 * trials(50_000, 1_000_000), SCALE).reshape(-1, 2)
    large = np.abs(draws) > SCALE * math.log(2)
    # P(|X| > 693) = e^{-0.6935} differs from 1/2 by 2e-4, so agreement by 8e-8: negligible beside the level.
    for agree in (np.sum((draws[:, 0] >= 0) == (draws[:, 1] >= 0)), np.sum(large[:, 0] == large[:, 1])):
        chance = scipy.stats.binomtest(int(agree), len(draws), 0.5).pvalue
        assert chance > FALSE_ALARMS / 8
