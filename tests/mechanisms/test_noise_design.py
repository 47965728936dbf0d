"""COQ17's Theorem 8 as a tool: designed scales are private by the corrected checker, and none can be smaller."""

import math
from fractions import Fraction
from itertools import combinations

import pytest

import dither as dt
from dither.errors import InvalidArgument
from dither.mechanisms.noise_design import largest_beta
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
        far[x, y] = largest_beta(max(of(x), of(y)), loss)
    for via in listed:
        for x in listed:
            for y in listed:
                far[x, y] = min(far[x, y], far[x, via] + far[via, y])
    own = {y: float(space.local_sensitivity(y)) / (float(of(y)) * LOSS["epsilon"]) for y in listed}
    return {x: max(own[y] * math.exp(-far[y, x]) for y in listed) for x in listed}


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


@pytest.mark.parametrize("wrong", [0, 1, -1, 2, "text"])
def test_shares_are_between_0_and_1(wrong):
    """And delta above 0."""
    with pytest.raises(InvalidArgument, match="alpha"):
        dt.inspect.largest_lambdas(SPACES["in two pieces"], alpha=wrong, **LOSS)
    with pytest.raises(InvalidArgument, match="delta"):
        dt.inspect.largest_lambdas(SPACES["in two pieces"], epsilon=1.0, delta=0.0)
