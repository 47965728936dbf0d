"""One private pass: what a person may add, and how far apart two people can be; docs/proofs/certified_average.md."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dither.errors import InvalidArgument
from dither.privacy import Loss
from dither.procedures.clusters import Space, _moved_in, plan_clusters, root_share
from dither.procedures.private_pass import WHOLE, Components, PrivatePass
from dither.queries.clusters import KMeans

CENTRES = np.array([[0.0, 0.0], [3.0, 1.0], [-2.0, 2.5]])
HARD = Components(CENTRES)
SOFT = Components(CENTRES, np.array([0.2, 0.5, 0.3]), np.array([0.4, 1.5, 0.8]))


def entries(step, points, components):
    """Everything that each person adds, stretched so that noise is the same for all: one row each."""
    held, moved, squares = step.entries(points, components)
    per_count, per_offset, per_square = (float(stretch) for stretch in step.stretches)
    rows = [held / per_count, moved.reshape(len(points), -1) / per_offset]
    if step.soft:
        rows.append(squares / per_square)
    return np.hstack(rows) / WHOLE


def adverse_points():
    """Points all over, on circles around every centre, at the centres, and very far."""
    rng = np.random.default_rng(1)
    turns = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    circle = np.column_stack([np.cos(turns), np.sin(turns)])
    rings = [centre + size * circle for centre in CENTRES for size in (0.01, 0.5, 1.0, 1.3, 5.0)]
    return np.vstack([*rings, CENTRES, rng.uniform(-6, 6, (400, 2)), [[1e6, 0.0], [-1e6, 1e-9]]])


@pytest.mark.parametrize(("soft", "components"), [(False, HARD), (True, SOFT), (True, HARD)])
def test_no_two_people_are_farther_apart_than_the_noise_allows(soft, components):
    """In units of the noise times mu: the greatest distance is at most 1, and near to it."""
    step = PrivatePass(Fraction(1), 1.0, soft)
    rows = entries(step, adverse_points(), components)
    apart = np.sqrt(((rows[:, None, :] - rows[None, :, :]) ** 2).sum(axis=2))
    assert 0.9 < apart.max() <= 1


@pytest.mark.parametrize(("soft", "components"), [(False, HARD), (True, SOFT)])
def test_what_a_person_may_say(soft, components):
    """Counts sum to at most one person, offsets are no longer than counts, squares no larger, for any reach."""
    for reach in (1e-9, 0.3, 1.0, 7.0, 1e9):
        held, moved, squares = PrivatePass(Fraction(1), reach, soft).entries(adverse_points(), components)
        assert (held >= 0).all()
        assert (held.sum(axis=1) <= WHOLE).all()
        assert ((moved**2).sum(axis=2) <= held**2).all()
        assert ((squares >= 0) & (squares <= held)).all()
        # Hardly anything is lost to rounding.
        assert (held.sum(axis=1) >= WHOLE - 100).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("reach", [1e-170, 5e-324])
def test_offsets_that_are_no_numbers_are_not_said(reach):
    """A reach whose square is zero makes 0/0; as a whole number that is -2**63, whose square wraps round to 0."""
    components = Components(np.zeros((1, 2)))
    held, moved, _ = PrivatePass(Fraction(1), reach, soft=False).entries(np.zeros((3, 2)), components)
    assert (np.abs(moved) <= held[:, :, None]).all()


@pytest.mark.parametrize("width", [1e-200, 1e200])
def test_bounds_whose_squares_are_no_floats_are_refused(width):
    """A public fact, said before anything is read."""
    with pytest.raises(InvalidArgument, match="apart"):
        KMeans(k=2, bounds=(0, width))


def test_the_diameter_of_all_that_is_lawful():
    """Extreme points of what may be said: counts of one person, unit offsets, squares of nothing or all."""
    for soft in (False, True):
        per_count, per_offset, per_square = (float(one) for one in PrivatePass(Fraction(1), 1.0, soft).stretches)
        turns = [np.array([1.0, 0.0]), np.array([-1.0, 0.0]), np.array([0.0, 1.0])]
        rows = [np.zeros(8)]
        for place, turn, square in itertools.product(range(2), turns, (0.0, 1.0) if soft else (0.0,)):
            row = np.zeros(8)
            row[4 * place] = 1 / per_count
            row[4 * place + 1 : 4 * place + 3] = turn / per_offset
            row[4 * place + 3] = square / per_square if soft else 0.0
            rows.append(row)
        apart = max(np.linalg.norm(one - other) for one, other in itertools.combinations(rows, 2))
        assert 0.999 < apart <= 1


def test_noise_of_nine_tenths_would_be_too_little():
    """The test above has power: stretches a tenth smaller put two people more than mu apart."""
    step = PrivatePass(Fraction(1), 1.0, soft=False)
    rows = entries(step, np.array([[1.0, 0.0], [-1.0, 0.0]]), HARD) / 0.9
    assert np.linalg.norm(rows[0] - rows[1]) > 1.1


def test_sums_are_exact_and_move_with_one_person():
    """Sums over chunks equal sums of whole numbers."""
    rng = np.random.default_rng(2)
    points = rng.uniform(-5, 5, (70_000, 2))
    step = PrivatePass(Fraction(1), 1.0, soft=True)
    counts, offsets, squares = step.sums(points, SOFT)
    held, moved, squared = step.entries(points, SOFT)
    assert counts == held.sum(axis=0).tolist()
    assert offsets == moved.sum(axis=0).tolist()
    assert squares == squared.sum(axis=0).tolist()


def test_a_pass_finds_the_means():
    """With hardly any noise a pass is a step of Lloyd's algorithm, or tells spreads and shares."""
    rng = np.random.default_rng(3)
    points = np.vstack([rng.normal(centre, 0.2, (3000, 2)) for centre in CENTRES])
    start = Components(CENTRES + 0.2)
    hard = PrivatePass(Fraction(1000), 3.0, soft=False).run(points, start)
    means = np.array([points[part * 3000 : (part + 1) * 3000].mean(axis=0) for part in range(3)])
    assert np.abs(hard.centres - means).max() < 1e-3
    soft = PrivatePass(Fraction(1000), 3.0, soft=True)
    fitted = soft.run(points, soft.run(points, start))
    assert np.abs(fitted.centres - means).max() < 1e-2
    assert np.abs(fitted.deviations - 0.2).max() < 0.02
    assert np.abs(fitted.shares - 1 / 3).max() < 0.01


def test_empty_centres_stay():
    """A centre with nobody near is not moved by noise."""
    start = Components(np.array([[0.0, 0.0], [50.0, 50.0]]))
    moved = PrivatePass(Fraction(1, 10), 1.0, soft=False).run(np.zeros((5000, 2)), start)
    assert moved.centres[1].tolist() == [50.0, 50.0]


def test_all_noise_together_is_one_gaussian_mechanism():
    """Squares of what each Gaussian answer may be shifted add up to at most the whole, on every path."""
    from dither.procedures import clusters

    plan = plan_clusters(10_000, Space((0.0,), (1.0,)), 3, Loss(1.0, 1e-6), soft=False)
    for passes in clusters.PASSES.values():
        assert sum(passes) == 1
        parts = [root_share(plan.mu, (1 - clusters.START_SHARE) * share) for share in passes]
        parts.append(root_share(plan.mu, clusters.START_SHARE))
        assert sum(part**2 for part in parts) <= plan.mu**2
        assert sum(part**2 for part in parts) >= plan.mu**2 * Fraction(999, 1000)


def test_intervals_cover_the_pass_without_noise():
    """80% bars of 2 * 400 coordinates: 240 misses have a probability below 1e-9; bars half as long have many more."""
    rng = np.random.default_rng(4)
    points = np.vstack([rng.normal(-2, 1, (1500, 1)), rng.normal(3, 1, (500, 1))])
    now = Components(np.array([[-1.5], [2.0]]))
    step = PrivatePass(Fraction(1, 10), 4.0, soft=False, miss=0.2)
    counts, offsets, _ = step.sums(points, now)
    truth = now.centres[:, 0] + 4.0 * np.array([row[0] / count for row, count in zip(offsets, counts, strict=True)])
    missed, short = 0, 0
    for _ in range(400):
        low, high = step.run(points, now).intervals
        middle, half = (low + high)[:, 0] / 2, (high - low)[:, 0] / 2
        missed += int((np.abs(truth - middle) > half).sum())
        short += int((np.abs(truth - middle) > half / 2).sum())
    assert missed < 240
    assert short > 40


def test_intervals_outside_of_the_cube_move_in():
    """Centres without noise lie in it; whole lines stay, and no interval is left to be cut to a point."""
    low, high = _moved_in(np.array([-0.5, 0.2, -np.inf, 1.1]), np.array([-0.3, 0.4, np.inf, 1.5]))
    assert low == pytest.approx([-0.1, 0.2, -np.inf, 0.8])
    assert high == pytest.approx([0.1, 0.4, np.inf, 1.2])
