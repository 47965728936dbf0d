"""Admissible points: figures, exactness, the neighbour box, other dimensions, and what the papers got wrong."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import integrate, stats

import dither as dt
from dither import inspect
from dither.errors import InvalidArgument, NotProved
from dither.noise.blunt_power_law import BluntPowerLaw
from dither.noise.gaussian import Gaussian, dilation_masses, shift_mass
from dither.noise.heavy_tails import Cauchy, PowerLaw, Student
from dither.noise.laplace import Laplace
from dither.noise.small_losses import flow_alpha, flow_proves
from dither.noise.suprema import shifted_rise_at_most
from dither.numbers import ball, exact, precision
from dither.privacy import Loss
from dither_lab.audit.divergence import hockey_stick


def test_figures_of_the_default_points():
    """E|Z|/(alpha beta): ours against the papers', as the literature and our own search give them."""
    assert inspect.admissible("power_law", epsilon=1.0).error_factor <= 6.3
    assert inspect.admissible("power_law", epsilon=0.1).error_factor <= 900
    paper = {e: inspect.admissible(Cauchy(4), epsilon=e, constants="paper").error_factor for e in (0.1, 1.0)}
    assert paper == {0.1: pytest.approx(7071, rel=1e-3), 1.0: pytest.approx(70.7, rel=1e-3)}
    assert inspect.admissible(Cauchy(4), epsilon=1.0).error_factor == pytest.approx(13.6, rel=0.01)
    assert inspect.admissible("laplace", epsilon=1.0, delta=1e-6).error_factor == pytest.approx(37.6, rel=0.01)
    assert inspect.admissible("gaussian", epsilon=1.0, delta=1e-6).error_factor == pytest.approx(240, rel=0.01)
    assert inspect.admissible("laplace", epsilon=1.0, delta=1e-6, constants="paper").error_factor == pytest.approx(
        58.0, rel=0.01
    )
    assert inspect.admissible("gaussian", epsilon=1.0, delta=1e-6, constants="paper").error_factor == pytest.approx(
        986, rel=0.01
    )


@pytest.mark.parametrize(
    "law", [Cauchy(4), Cauchy(2), Cauchy(Fraction(3, 2)), Cauchy(20), Student(3), Student(1), PowerLaw(3)]
)
def test_tails_are_exact_to_rounding(law):
    """From next to zero to far out, against the incomplete beta function in 2,400 bits; quantiles invert them."""
    for distance in [0.0, *np.logspace(-15, 6, 85), 1.0]:
        with precision(2_400):
            grown = (ball(exact(float(distance))) / ball(law.squared_width).sqrt()) ** ball(law.inner)
            orders = ball((law.power - 1) / law.inner), ball(1 / law.inner)
            truth = float((1 / (1 + grown)).beta_lower(*orders, regularized=1)) if distance else 1.0
        assert float(law.tail(np.asarray(distance))) == pytest.approx(truth, rel=1e-12, abs=0.0), distance
    for tail in (1.0 - 1e-9, 0.9999, 0.75, 0.5, 0.1, 1e-9):
        beyond = float(law.tail(np.asarray(law.quantile(tail))))
        assert 1.0 - beyond == pytest.approx(1.0 - tail, rel=1e-6, abs=1e-15)


def test_a_point_tells_what_it_rests_on():
    """inspect.admissible shows alpha, beta, the shape and the proof."""
    point = inspect.admissible("power_law", epsilon=1.0)
    assert 0.2 < point.alpha < 0.3
    assert 0.3 < point.beta < 0.4
    assert 3 < point.shape["p"] < 5
    assert "docs/proofs/admissible.md" in point.proof


def test_power_law_closed_form_is_exact():
    """The closed form equals the supremum found by search over the box, for many (p, alpha, beta)."""
    for p, alpha, beta in product([2.5, 4.0, 7.0], [0.05, 0.5, 3.0], [0.01, 0.3, 2.0]):
        claimed = max(p * math.log1p(alpha), beta + p * math.log1p(alpha * math.exp(-beta)), (p - 1) * beta)
        law = PowerLaw(p)
        found = max(
            hockey_stick(law, part * alpha * min(1.0, math.exp(dilation)), dilation, 50.0).epsilon
            for dilation in np.linspace(-beta, beta, 9)
            for part in (0.0, 0.5, 1.0)
        )
        assert found == pytest.approx(claimed, rel=1e-6)


@pytest.mark.parametrize("law", [Cauchy(2), Cauchy(4), Student(3)], ids=str)
def test_interval_proofs_refuse_what_is_false(law):
    """The prover accepts a bound just above the true supremum and refuses one just below."""
    alpha, beta = Fraction(1, 5), Fraction(1, 10)
    shift, stretch = float(alpha), float(beta)
    w = np.logspace(-6, 6, 400_001)
    rise = np.asarray(-law.log_density(w * math.exp(stretch) + shift) + law.log_density(w))
    supremum = Fraction(float(rise.max()))
    assert shifted_rise_at_most(law, alpha, beta, supremum * Fraction(100_001, 100_000))
    assert not shifted_rise_at_most(law, alpha, beta, supremum * Fraction(99_999, 100_000))


@pytest.mark.parametrize("law", [BluntPowerLaw(), PowerLaw(), Cauchy(4), Student(3)], ids=str)
@pytest.mark.parametrize("dimension", [2, 5])
def test_pure_products_in_several_dimensions(law, dimension):
    """No l1 shift and common dilation of the box costs more than epsilon: the worst split of the shift, by search."""
    epsilon = 1.0
    point = law.point(Loss(epsilon), dimension=dimension)
    w = np.concatenate([[0.0], np.logspace(-7, 9, 4000)])
    rng = np.random.default_rng(7)
    splits = [np.eye(dimension)[0], np.full(dimension, 1 / dimension), *rng.dirichlet(np.ones(dimension), 20)]
    worst = 0.0
    for dilation in np.linspace(-float(point.beta), float(point.beta), 9):
        for split in splits:
            shifts = split * float(point.alpha) * min(1.0, math.exp(dilation))
            loss = sum(
                float(
                    np.max(
                        point.law.log_density(w) - point.law.log_density((w + shift) * math.exp(-dilation)) + dilation
                    )
                )
                for shift in shifts
            )
            worst = max(worst, loss)
    assert worst <= epsilon * (1 + 1e-9)
    assert worst >= 0.75 * epsilon


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_gaussian_masses_against_noncentral_chi_squares(dimension):
    """The ball arithmetic equals scipy's noncentral chi-square formula."""
    shift, dilation, epsilon = 0.3, 0.2, 0.5
    r = math.exp(-dilation)
    q, d = 1 - r * r, dimension
    size = (2 * (epsilon + d * dilation) + shift**2 / q) / (r**-2 - 1)
    forward = stats.ncx2.sf(size, d, (shift / q) ** 2) - math.exp(epsilon) * stats.ncx2.sf(
        size / r**2, d, (shift * r / q) ** 2
    )
    size = (2 * (d * dilation - epsilon) + shift**2 / q) / (r**-2 - 1)
    reverse = stats.ncx2.cdf(size / r**2, d, (shift * r / q) ** 2) - math.exp(epsilon) * stats.ncx2.cdf(
        size, d, (shift / q) ** 2
    )
    with precision(192):
        found = dilation_masses(*(ball(Fraction(v)) for v in (shift, dilation, epsilon)), dimension)
    assert float(found[0]) == pytest.approx(forward, rel=1e-9)
    assert float(found[1]) == pytest.approx(max(reverse, 0.0), rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("dimension", [2, 4])
def test_gaussian_points_hold_over_the_box_in_several_dimensions(dimension):
    """scipy's formula at many dilations stays within delta at the proved point, and exceeds it with 20% less noise."""
    loss = Loss(1.0, 1e-4)
    point = Gaussian().point(loss, dimension=dimension)

    def worst(alpha):
        with precision(192):
            masses = [float(shift_mass(ball(Fraction(alpha)), ball(1)))]
            for dilation in np.linspace(float(point.beta) / 12, float(point.beta), 12):
                shift = Fraction(alpha * math.exp(-dilation))
                pair = dilation_masses(ball(shift), ball(Fraction(dilation)), ball(1), dimension)
                masses += [float(mass) for mass in pair]
        return max(masses)

    assert worst(float(point.alpha)) <= loss.delta
    assert worst(float(point.alpha) / 0.8) > loss.delta


def test_laplace_in_several_dimensions_against_sampling():
    """The closed form in d dimensions bounds the divergence estimated from samples, and is not far above it."""
    loss, d = Loss(1.0, 1e-2), 3
    point = Laplace().point(loss, dimension=d)
    alpha, beta = float(point.alpha), float(point.beta)
    z = np.random.default_rng(3).laplace(size=(400_000, d))
    shift = np.zeros(d)
    shift[0] = alpha * math.exp(-beta)
    ratio = -d * beta + np.abs(z - shift).sum(1) * math.exp(beta) - np.abs(z).sum(1)
    delta = np.maximum(0.0, 1.0 - np.exp(loss.epsilon - ratio)).mean()
    assert 0.3 * loss.delta <= delta <= loss.delta


def test_erratum_1_two_half_conditions_do_not_make_a_whole():
    """NRS11 Lemma 2.6: sliding and dilation each within (eps/2, delta/2) do not give (eps, delta).

    A Gaussian tuned so that both hold with equality at eps = 8, delta = 0.001 has a delta 30% too large.
    """
    law, epsilon, delta = Gaussian(), 8.0, 1e-3

    def largest(fits, high):
        low = 0.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low

    def both(shift, dilation):
        return max(hockey_stick(law, shift, sign * dilation, epsilon / 2).delta for sign in (1, -1))

    alpha = largest(lambda a: both(a, 0.0) <= delta / 2, 10.0)
    beta = largest(lambda b: both(0.0, b) <= delta / 2, 2.0)
    together = max(
        hockey_stick(law, alpha * min(1.0, math.exp(sign * beta)), sign * beta, epsilon).delta for sign in (1, -1)
    )
    assert together > 1.25 * delta
    with pytest.raises(NotProved):
        law.prove(Fraction(alpha), Fraction(beta), Loss(epsilon, delta))


def test_erratum_7_the_standard_deviation_of_laplace_noise():
    """DMNS06 says that Lap(l) has standard deviation l; it is sqrt(2) l."""
    law = Laplace()
    variance = 2 * integrate.quad(lambda z: z * z * math.exp(float(law.log_density(np.asarray(z)))), 0, 60)[0]
    assert math.sqrt(variance) == pytest.approx(math.sqrt(2), rel=1e-9)


def test_erratum_7_the_sign_in_the_metric_mechanism():
    """DMNS06 Eq. 4 prints exp(+eps d / 2S): that prefers far answers; with the minus sign it prefers near ones."""
    near, far = 0.0, 5.0
    for sign, better in ((-1, near), (1, far)):
        assert max((near, far), key=lambda distance, sign=sign: math.exp(sign * distance / 2)) == better


def test_a_beta_that_is_too_large_is_refused():
    """No alpha is admissible at beta = epsilon for the default power law."""
    with pytest.raises(InvalidArgument, match="beta"):
        PowerLaw().point(Loss(1.0), beta=Fraction(1))


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: Cauchy(1), "gamma"),
        (lambda: Student(0), "dof"),
        (lambda: PowerLaw(1), "p"),
        (lambda: BluntPowerLaw(2), "p"),
    ],
)
def test_shapes_out_of_range_are_refused(make, argument):
    """Generalised Cauchy needs gamma > 1, Student dof > 0, the power law p > 1, the blunt one p > 2."""
    with pytest.raises(InvalidArgument, match=argument):
        make()


TAILS = [Cauchy(4), Cauchy(1.5), Cauchy(40), Student(3), Student(1), Student(0.25)]


def gains(law, alpha, beta):
    """The largest log-ratio at each corner, by balls of 300 bits at many places: a lower bound of the supremum."""
    found = []
    with precision(300):
        for stretch in (Fraction(0), -beta, beta):
            grow = ball(stretch).exp()
            moved = ball(alpha) * grow if stretch < 0 else ball(alpha)
            places = [(ball(Fraction(k, 64)) * ball(2).log()).exp() for k in range(-640, 1280)]
            found.append(max(float(law.rise(w * grow + moved) - law.rise(w) - ball(stretch)) for w in places))
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("law", TAILS, ids=str)
def test_small_losses_have_points_in_closed_form(law):
    """At epsilon 1e-6 a point is found at once; it holds at all corners, and one 0.1% beyond it does not."""
    loss = Loss(1e-6)
    point = law.point(loss)
    assert "small losses" in point.proof
    worst = max(gains(law, point.alpha, point.beta))
    assert 0.999e-6 < worst <= 1e-6
    assert max(gains(law, point.alpha * Fraction(1002, 1000), point.beta)) > 1e-6
    with pytest.raises(NotProved):
        law.prove(point.alpha * Fraction(1001, 1000), point.beta, loss)


@pytest.mark.parametrize("law", TAILS, ids=str)
def test_the_frontier_scales_with_small_losses(law):
    """alpha / epsilon and beta / epsilon tend to fixed numbers: those of 1e-9 are those of 1e-5."""
    near, far = law.point(Loss(1e-5)), law.point(Loss(1e-9))
    assert far.error_factor * 1e-18 == pytest.approx(near.error_factor * 1e-10, rel=1e-4)
    assert float(far.alpha * far.beta) == pytest.approx(float(near.alpha * near.beta) * 1e-8, rel=1e-4)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("law", TAILS, ids=str)
@pytest.mark.parametrize("epsilon", [0.02, 0.3])
def test_the_closed_form_of_small_losses_implies_the_three_corners(law, epsilon):
    """What the flow admits, branch and bound proves as well, at losses where both are at hand."""
    for share in (0.0, 0.2, 0.7):
        beta = Fraction(share * epsilon / max(float(law.power) - 1, 1.0))
        alpha = Fraction(flow_alpha(law, float(beta), epsilon)) * Fraction(999_999, 1_000_000)
        assert alpha > 0
        assert flow_proves(law, alpha, beta, Fraction(epsilon))
        assert "corners" in law.prove(alpha, beta, Loss(epsilon))


def test_students_closed_form_is_the_formula():
    """For a = 2 the supremum is (p/2)(b + sqrt(s^2 + b^2)): alpha by hand."""
    epsilon, beta, dof = 1e-7, 2e-8, 3.0
    p = dof + 1
    shift = math.sqrt((2 * (epsilon + beta) / p - beta) ** 2 - beta**2)
    assert flow_alpha(Student(3), beta, epsilon) == pytest.approx(shift * math.sqrt(dof), rel=1e-6)


@pytest.mark.parametrize(
    ("law", "argument"),
    [(Student, 1e30), (Student, 1e-9), (Cauchy, 1.0000001), (Cauchy, 1e9), (PowerLaw, 1.0000001), (PowerLaw, 1e9)],
)
def test_shapes_whose_draws_would_not_end_are_refused(law, argument):
    """Rejection would go on for 1e15 pairs, or one draw would have 1e7 digits: from public facts alone."""
    with pytest.raises(InvalidArgument, match="must be"):
        law(argument)


@pytest.mark.parametrize("law", [BluntPowerLaw(), PowerLaw(), Cauchy(4), Student(3), Laplace(), Gaussian()], ids=str)
def test_a_negative_smoothness_is_refused(law):
    """No proof is looked for: the box would be another one."""
    with pytest.raises(InvalidArgument, match="negative"):
        law.point(Loss(1.0, 1e-6), beta=Fraction(-1, 10))


def test_a_smoothness_next_to_nothing_is_refused_in_a_sentence():
    """Its exponent would be beyond all floats; the smooth bound can't be computed for it, which is what is said."""
    with pytest.raises(InvalidArgument, match="smoothness"):
        dt.median(range(1, 202), epsilon=1, bounds=(0, 300), step=1, mechanism=dt.Smooth(beta=1e-310))


@pytest.mark.parametrize("noise", ["laplace", "power_law", "cauchy"])
def test_an_epsilon_beyond_the_numbers_is_refused_by_name(noise):
    """What floats cannot hold is an error about epsilon, not one of arithmetic."""
    with pytest.raises(InvalidArgument, match="epsilon is too large for the numbers"):
        inspect.admissible(noise, epsilon=1_000, delta=1e-6)
