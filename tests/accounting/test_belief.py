"""What may be believed after a release: by brute force, attained, rounded outwards."""

import math

import numpy as np
import pytest

import dither as dt
from conftest import trials
from dither.errors import InvalidArgument


def after(before, here, there):
    """The probability of a statement after each answer, by Bayes' rule."""
    return before * here / (before * here + (1 - before) * there)


def test_randomised_response_attains_the_limits():
    """Both ends are reached, so that limits a little narrower would be wrong."""
    for epsilon in (0.1, 1.0, 4.0):
        keep = math.exp(epsilon) / (1 + math.exp(epsilon))
        here, there = np.array([keep, 1 - keep]), np.array([1 - keep, keep])
        for before in (0.001, 0.3, 0.5, 0.99):
            found = dt.belief(before, dt.Loss(epsilon))
            beliefs = after(before, here, there)
            assert found.lowest == pytest.approx(beliefs.min(), rel=1e-9)
            assert found.highest == pytest.approx(beliefs.max(), rel=1e-9)
            assert found.lowest <= before <= found.highest
            assert found.failure == 0


def least_delta(here, there, epsilon):
    """The divergence in both directions."""
    grown = math.exp(epsilon)
    return max(np.maximum(here - grown * there, 0).sum(), np.maximum(there - grown * here, 0).sum())


def test_with_delta_the_limits_are_left_as_rarely_as_stated():
    """Random pairs of laws on ten answers, with the least delta that they have at an epsilon."""
    rng, nearest = np.random.default_rng(9), 0.0
    for _ in range(trials(500, 20_000)):
        here, there = rng.dirichlet(np.full(10, 0.3), size=2)
        there = 0.9 * here + 0.1 * there
        epsilon, before = float(rng.choice([0.1, 0.5, 1.0])), float(rng.uniform(0.05, 0.95))
        delta = least_delta(here, there, epsilon)
        if 0 < delta < 1:
            found = dt.belief(before, dt.Loss(epsilon, min(delta * (1 + 1e-12), 0.999)))
            beliefs = after(before, here, np.maximum(there, 1e-300))
            outside = (beliefs < found.lowest * (1 - 1e-12)) | (beliefs > found.highest * (1 + 1e-12))
            most = max(here[outside].sum(), there[outside].sum())
            assert most <= found.failure * (1 + 1e-9)
            nearest = max(nearest, most / found.failure)
    assert nearest > 0.1


def test_groups_and_certainties():
    """Four people move it as far as four times the loss; what was certain stays so."""
    assert dt.belief(0.1, dt.Loss(0.5), people=4).highest == pytest.approx(dt.belief(0.1, dt.Loss(2.0)).highest)
    for sure in (0, 1.0):
        found = dt.belief(sure, dt.Loss(3.0, 1e-6))
        assert (found.lowest, found.highest) == (sure, sure)


def test_large_losses_do_not_overflow():
    """Everything may be believed."""
    found = dt.belief(0.5, dt.Loss(5_000.0))
    assert found.lowest == pytest.approx(0.0, abs=1e-300)
    assert found.highest == 1.0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"before": -0.1}, "before"),
        ({"before": 1.5}, "before"),
        ({"before": float("nan")}, "before"),
        ({"loss": 1.0}, "loss"),
        ({"people": 0}, "people"),
    ],
)
def test_bad_input_is_named(options, named):
    """Named."""
    with pytest.raises(InvalidArgument, match=named):
        dt.belief(**{"before": 0.5, "loss": dt.Loss(1.0), **options})
