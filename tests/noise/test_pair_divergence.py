"""The checker of noise made by hand, for every law: its bounds enclose exact divergences, its verdicts are proved."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

import dither as dt
from dither.errors import InvalidArgument
from dither.mechanisms.largest_local import scales_fit
from dither.noise.pair_divergence import Enclosed, Logistic, divergence, within
from dither.numbers import ball, precision
from dither.privacy import Loss
from dither_lab.audit.divergence import hockey_stick, log_ratio

HEAVY = [
    dt.BluntPowerLaw(p=4),
    dt.BluntPowerLaw(p=2.25),
    dt.PowerLaw(p=4),
    dt.Cauchy(gamma=2),
    dt.Cauchy(gamma=2.5),
    dt.Student(dof=3),
]
LIGHT = [dt.Laplace(), dt.Gaussian()]
LAWS = [*LIGHT, *HEAVY]
PAIRS = [
    (Fraction(2), Fraction(1), Fraction(1, 3), Fraction(1)),
    (Fraction(1), Fraction(1), Fraction(3, 2), Fraction(1)),
    (Fraction(11, 10), Fraction(1), Fraction(7, 3), Fraction(1, 2)),
    (Fraction(1), Fraction(13, 10), Fraction(9, 2), Fraction(2)),
    (Fraction(1, 3), Fraction(1, 4), Fraction(0), Fraction(1, 10)),
]
"""Scales of both noises, the distance of their centres, epsilon."""

each_law = pytest.mark.parametrize("law", LAWS, ids=str)


@pytest.mark.sampled(19)
@each_law
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "-".join(map(str, pair)))
def test_the_bounds_enclose_the_exact_divergence(law, pair):
    """That of the audit, computed in floats from densities and tails alone; both are narrower than a millionth."""
    here, there, shift, epsilon = pair
    low, high = divergence(law, here, there, shift, epsilon)
    exact = hockey_stick(law, float(shift / here), math.log(there / here), float(epsilon)).delta
    assert low * (1 - 1e-9) - 1e-14 <= exact <= high * (1 + 1e-9) + 1e-14
    assert high - low <= 1e-6 * high + 1e-20


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "-".join(map(str, pair)))
def test_the_bounds_of_logistic_noise_enclose_a_quadrature(pair):
    """dither draws no such noise, so its density is written out here."""
    here, there, shift, epsilon = map(float, pair)

    def density(z, centre, scale):
        away = -abs(z - centre) / scale
        return math.exp(away) / (1 + math.exp(away)) ** 2 / scale

    def above(z):
        return max(density(z, 0, here) - math.exp(epsilon) * density(z, shift, there), 0.0)

    cuts = np.linspace(-60 * here, 60 * here + shift, 4001)
    exact = sum(integrate.quad(above, a, b)[0] for a, b in pairwise(cuts))
    low, high = divergence(Logistic(), *pair)
    assert low - 1e-7 <= exact <= high + 1e-7


@each_law
def test_verdicts_change_at_the_exact_delta(law):
    """A delta a thousandth above the larger of both divergences is proved, one a thousandth below is not."""
    here, there, shift, epsilon = Fraction(3, 2), Fraction(1), Fraction(5, 4), Fraction(1, 2)
    both = [divergence(law, here, there, shift, epsilon), divergence(law, there, here, shift, epsilon)]
    exact = max(high for _, high in both)
    assert exact > 0
    assert within(law, here, there, shift, Loss(0.5, exact * 1.001))
    assert not within(law, here, there, shift, Loss(0.5, exact * 0.999))
    assert within(law, there, here, -shift, Loss(0.5, exact * 1.001))


@pytest.mark.parametrize("law", HEAVY, ids=str)
def test_pure_verdicts_change_at_the_largest_log_ratio(law):
    """Heavy tails need no delta: epsilon a thousandth above the supremum on a fine grid is proved, below it is not."""
    here, there, shift = Fraction(3, 2), Fraction(1), Fraction(1, 2)
    far = np.concatenate([[0.0], np.logspace(-6, 9, 200_000)])
    z = np.concatenate([-far, far])
    worst = max(
        float(log_ratio(law, z, float(shift / one), math.log(other / one)).max())
        for one, other in ((here, there), (there, here))
    )
    assert within(law, here, there, shift, Loss(worst * 1.001))
    assert not within(law, here, there, shift, Loss(worst * 0.999))


@pytest.mark.parametrize("law", [*LIGHT, Logistic()], ids=["laplace", "gaussian", "logistic"])
def test_light_tails_without_delta_have_one_scale(law):
    """With two scales the log-ratio is unbounded; with one it is the shift, and Gaussian noise has no bound at all."""
    one = Fraction(1)
    assert not within(law, one, Fraction(1001, 1000), Fraction(0), Loss(5.0))
    assert within(law, one, one, Fraction(0), Loss(0.001))
    has_bound = not isinstance(law, dt.Gaussian)
    assert within(law, one, one, Fraction(2), Loss(2.0)) is has_bound
    assert not within(law, one, one, Fraction(20001, 10000), Loss(2.0))


def test_the_closed_form_of_laplace_noise_and_the_cells_agree():
    """What the closed form accepts is proved by cells; it refuses more only where it wants one direction to be pure."""
    law = dt.Laplace()
    for ratio in (Fraction(1), Fraction(21, 20), Fraction(3, 2)):
        for shift in (Fraction(0), Fraction(1, 2), Fraction(9, 10), Fraction(5, 4)):
            for delta in (1e-6, 1e-2, 0.2):
                loss = Loss(1.0, delta)
                closed = scales_fit(ratio, Fraction(1), shift, loss)
                cells = within(law, ratio, Fraction(1), shift, loss)
                pure = math.log(ratio) + float(shift / ratio) <= 1.0
                assert closed == (cells and pure)


@each_law
def test_a_check_without_the_normalisers_would_accept_what_is_not_private(law):
    """COQ17's mistake: the factor ln(b/b') left out.  Here it hides a divergence of more than twice delta."""
    here, there, shift, epsilon = Fraction(1), Fraction(3, 2), Fraction(0), Fraction(3, 10)
    low, _ = divergence(law, here, there, shift, epsilon)
    z = np.concatenate([[0.0], np.logspace(-6, 3, 20_000)])
    ratio = log_ratio(law, z, 0.0, math.log(1.5))
    assert float((ratio - math.log(1.5)).max()) <= float(epsilon) < float(ratio.max())
    loss = Loss(0.3, low / 2)
    assert not within(law, here, there, shift, loss)


@pytest.mark.parametrize("law", [*LAWS, Logistic()], ids=lambda law: law.name + str(getattr(law, "shape", "")))
def test_laws_in_balls_are_those_in_floats(law):
    """Tails and densities agree, the slope of psi is its derivative, and far out it is a power and the rest named."""
    assert isinstance(law, Enclosed)
    with precision(320):
        for w in (Fraction(1, 8), Fraction(3, 4), Fraction(5, 2), Fraction(12)):
            step = Fraction(1, 1 << 40)
            rise = (law.rise(ball(w + step)) - law.rise(ball(w))) / ball(step)
            assert float(rise) == pytest.approx(float(law.slope(ball(w))), rel=1e-6)
            mass = (law.beyond(ball(w)) - law.beyond(ball(w + step))) / ball(step)
            height = (
                (-law.rise(ball(w))).exp()
                / (-law.rise(ball(0))).exp()
                * ((law.beyond(ball(0)) - law.beyond(ball(step))) / ball(step))
            )
            assert float(mass) == pytest.approx(float(height), rel=1e-6)
            if not isinstance(law, Logistic):
                assert 2 * float(law.beyond(ball(w))) == pytest.approx(float(law.tail(np.asarray(float(w)))), rel=1e-9)
            far = law.far_rise(ball(w))
            if far is not None:
                power, rest = far
                between = float(law.rise(ball(64 * w)) - law.rise(ball(w)) - power * ball(64).log())
                assert -float(rest) * (1 + 1e-12) <= between <= 1e-12
        assert float(law.beyond(ball(0))) == pytest.approx(0.5)


def test_hand_made_noise_of_any_law_is_checked_for_users():
    """``unfit_pairs`` names the pairs by law; a power law needs its exponent, and what is no law is refused."""
    mechanism = {"x": (0, 3.0), "y": (1, 3.3), "z": (1, 6.0)}
    pairs = [("x", "y"), ("x", "z"), ("y", "z")]
    heavy = [dt.inspect.unfit_pairs(mechanism, pairs, epsilon=e, noise="student") for e in (0.3, 0.6, 3.0)]
    assert heavy == [pairs, pairs[1:], []]
    assert ("x", "z") in dt.inspect.unfit_pairs(mechanism, pairs, epsilon=1.0, delta=1e-6, noise="gaussian")
    assert ("x", "z") in dt.inspect.unfit_pairs(mechanism, pairs, epsilon=1.0, delta=1e-6, noise="logistic")
    assert dt.inspect.unfit_pairs(mechanism, pairs[:1], epsilon=1.0, delta=1e-3, noise="logistic") == []
    with pytest.raises(InvalidArgument, match="exponent"):
        dt.inspect.unfit_pairs(mechanism, pairs, epsilon=1.0, noise="power_law")
    for wrong in ("auto", "uniform", 3):
        with pytest.raises(InvalidArgument, match="noise"):
            dt.inspect.unfit_pairs(mechanism, pairs, epsilon=1.0, noise=wrong)
