"""COQ17's Theorem 8 as a tool: designed scales are private by the corrected checker, and none can be smaller."""

import math
from fractions import Fraction
from itertools import combinations

import pytest

import dither as dt
from dither.errors import InvalidArgument
from dither.mechanisms.noise_design import largest_beta
from dither.noise.laplace import Laplace
from dither.privacy import Loss

LOSS = {"epsilon": 1.0, "delta": 1e-3}
PAY = [24634, 29475, 37468, 48104, 69624, 113511]
EDGES = list(combinations(range(4), 2))
GRAPHS = [frozenset(chosen) for size in range(7) for chosen in combinations(EDGES, size)]
SPACES = {
    "COQ17 Example 5": dt.FiniteSpace(range(7), neighbours="chain", value=lambda k: sum(PAY[:k])),
    "triangles": dt.FiniteSpace(
        GRAPHS,
        neighbours=lambda g: [g ^ {edge} for edge in EDGES],
        value=lambda g: sum({(a, b), (a, c), (b, c)} <= g for a, b, c in combinations(range(4), 3)),
    ),
    "in two pieces": dt.FiniteSpace(range(4), neighbours=[(0, 1), (2, 3)], value=[0, 0, 5, 9].__getitem__),
}
SHARES = {"half": Fraction(1, 2), "by dataset": lambda x: Fraction(1, 3) if hash(x) % 2 else Fraction(3, 4)}


def by_paths(space, share):
    """``max_y e^{-dist(y, x)} LS(y) / (a_y eps)``, by Floyd and Warshall."""
    of = share if callable(share) else lambda _: share
    listed, loss = list(space.datasets), Loss.asked(**LOSS)
    far = {(x, y): 0.0 if x == y else math.inf for x in listed for y in listed}
    for x, y in space.pairs:
        far[x, y] = largest_beta(max(of(x), of(y)), loss, Laplace())
    for via in listed:
        for x in listed:
            for y in listed:
                far[x, y] = min(far[x, y], far[x, via] + far[via, y])
    own = {y: float(space.local_sensitivity(y)) / (float(of(y)) * LOSS["epsilon"]) for y in listed}
    return {x: max(own[y] * math.exp(-far[y, x]) for y in listed) for x in listed}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("name", SPACES)
def test_designed_scales_are_private_and_least(name, share):
    """By the checker, which knows nothing of shares; and equal to the maximum over all paths."""
    space, alpha = SPACES[name], SHARES[share]
    found = dt.inspect.largest_lambdas(space, alpha=alpha, **LOSS)
    mechanism = {x: (space.value(x), 1 / found[x]) for x in space.datasets}
    assert dt.inspect.unfit_pairs(mechanism, space.pairs, **LOSS) == []
    for x, scale in by_paths(space, alpha).items():
        assert mechanism[x][1] == pytest.approx(scale, rel=1e-6)
        assert mechanism[x][1] >= scale * (1 - 1e-12)


def test_scales_30_percent_smaller_are_not_private():
    """The checker sees it."""
    space = SPACES["COQ17 Example 5"]
    found = dt.inspect.largest_lambdas(space, alpha=Fraction(9, 10), **LOSS)
    mechanism = {x: (space.value(x), 0.7 / found[x]) for x in space.datasets}
    assert dt.inspect.unfit_pairs(mechanism, space.pairs, **LOSS)


NOISES = [
    dt.Gaussian(),
    dt.PowerLaw(p=4),
    dt.BluntPowerLaw(p=4),
    dt.Cauchy(gamma=2),
    dt.Cauchy(gamma=4),
    dt.Student(dof=3),
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("name", SPACES)
def test_other_noises_are_designed_privately(name, noise):
    """COQ17 Remark 9: by the checker of pairs, which knows no shares; laws with heavy tails without delta."""
    space, loss = SPACES[name], {"epsilon": 1.0, "delta": 0.0 if noise.pure else 1e-3}
    for alpha in SHARES.values():
        found = dt.inspect.largest_lambdas(space, alpha=alpha, noise=noise, **loss)
        mechanism = {x: (space.value(x), 1 / found[x]) for x in space.datasets}
        assert dt.inspect.unfit_pairs(mechanism, space.pairs, noise=noise, **loss) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_other_noises_30_percent_smaller_are_not_private(noise):
    """The checker sees it, where shifts have nine tenths of the largest."""
    space, loss = SPACES["COQ17 Example 5"], {"epsilon": 1.0, "delta": 0.0 if noise.pure else 1e-3}
    found = dt.inspect.largest_lambdas(space, alpha=Fraction(9, 10), noise=noise, **loss)
    mechanism = {x: (space.value(x), 0.7 / found[x]) for x in space.datasets}
    assert dt.inspect.unfit_pairs(mechanism, space.pairs, noise=noise, **loss)


def test_a_power_law_has_the_exponent_that_suits_the_loss():
    """Left open it is that of the smooth mechanism; scales are those of that law."""
    space = SPACES["COQ17 Example 5"]
    law = dt.inspect.admissible("power_law", epsilon=1.0).law
    found = dt.inspect.largest_lambdas(space, epsilon=1.0, delta=0.0, noise="power_law")
    assert found == dt.inspect.largest_lambdas(space, epsilon=1.0, delta=0.0, noise=law)
    with pytest.raises(InvalidArgument, match="delta"):
        dt.inspect.largest_lambdas(space, epsilon=1.0, delta=0.0, noise="gaussian")


@pytest.mark.parametrize("wrong", [0, 1, -1, 2, "text"])
def test_shares_are_between_0_and_1(wrong):
    """And delta above 0."""
    with pytest.raises(InvalidArgument, match="alpha"):
        dt.inspect.largest_lambdas(SPACES["in two pieces"], alpha=wrong, **LOSS)
    with pytest.raises(InvalidArgument, match="delta"):
        dt.inspect.largest_lambdas(SPACES["in two pieces"], epsilon=1.0, delta=0.0)
