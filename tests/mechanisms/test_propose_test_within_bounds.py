"""Tests with declared bounds: how wide they are adds no noise, and answers stay within them."""

from fractions import Fraction

import numpy as np
import pytest

import dither as dt
from dither.procedures.ordered import OnGrid, Ordered, RankRange, cell_margin, trimmed_margin, window_margin
from dither.queries.plan import Options
from dither.queries.unbounded import cut_to
from dither.sources.column import Column, Shape
from dither.sources.grid import Grid

QUERIES = {
    "median": lambda bounds: dt.Median(bounds=bounds),
    "quantile": lambda bounds: dt.Quantile(q=0.9, bounds=bounds),
    "trimmed mean": lambda bounds: dt.TrimmedMean(trim=0.1, bounds=bounds),
    "iqr": lambda bounds: dt.IQR(bounds=bounds),
}
BOUNDS = [(-30, 30), (-1000, 1000), (-(10**6), 10**6), (0, 10**9)]


def planned(query, mechanism="propose_test"):
    """The plan of a query of 20,000 records."""
    return query.plan(Shape(20_000, whole=False, nullable=False), Options.asked(1.0, 1e-6, mechanism))


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("bounds", BOUNDS)
def test_the_proposal_does_not_follow_from_the_bounds(name, bounds):
    """The procedure is that without bounds, to the last constant, and so is the loss."""
    within, without = planned(QUERIES[name](bounds)), planned(QUERIES[name](None))
    assert within.procedure == without.procedure
    assert within.loss == without.loss
    assert within.mechanism == "propose_test"


@pytest.mark.parametrize("name", QUERIES)
def test_answers_and_intervals_stay_within_the_bounds(name):
    """Records at one end: noise beyond it is cut, in a call and in a session."""
    records = np.concatenate([np.zeros(19_000), np.linspace(0, 50, 1_000)])
    query = QUERIES[name]((0, 50))
    for _ in range(3):
        release = dt.ask(query, records, epsilon=1.0, delta=1e-6, mechanism="propose_test")
        if not release.refused:
            low, high = release.interval
            assert 0 <= low <= high <= 50
            assert 0 <= release.value <= 50


def test_a_session_tests_within_bounds():
    """Records that an engine keeps are read rank by rank."""
    rng = np.random.default_rng(5)
    values = np.clip(np.rint(rng.normal(300, 40, 6_000)), 0, 10**6).astype(int)
    with dt.open(
        {"x": values.tolist()}, columns={"x": dt.Integer(0, 10**6)}, rows=6_000, budget=dt.Budget(100.0, 1e-3)
    ) as session:
        releases = [
            session.ask(dt.Median("x"), epsilon=8.0, delta=1e-4, mechanism="propose_test", again=True) for _ in range(3)
        ]
    # The noise has a scale of about ten: a thousand is exceeded with a probability below 1e-9 by each.
    assert all(release.refused or abs(release.value - 300) < 1_000 for release in releases)


def test_a_bound_of_ones_own_is_still_proposed():
    """``ProposeTest(bound=...)`` keeps its noise, which is that bound's."""
    plan = planned(dt.Median(bounds=(0, 1000)), dt.ProposeTest(bound=50))
    assert plan.prepared.bound * plan.prepared.statistic.answers.step == pytest.approx(50)


@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 10), Fraction(3, 7), Fraction(1, 2**20)])
def test_a_column_on_a_grid_is_its_floats_in_order(step):
    """Ranks, counts below any edge, sums and margins against the same floats sorted."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        steps = rng.integers(-40, 60, int(rng.integers(5, 40)))
        column = OnGrid(Column(steps, Grid(step, -40, 60)))
        plain = Ordered(steps.astype(np.float64) * float(step))
        n = plain.records
        assert column.records == n
        for first, last in ((1, n), (-3, n + 4), (2, 1), (-5, -2), (n + 1, n + 3)):
            assert column.ranks(first, last).tolist() == plain.ranks(first, last).tolist()
        edges = [Fraction(int(k)) * Fraction(float(step)) + shift for k in steps for shift in (0, step / 3, -step / 3)]
        for edge in [*edges, Fraction(-(10**9)), Fraction(10**9), Fraction(0)]:
            assert column.below(edge) == plain.below(edge)
        rank = (n + 1) // 2
        assert column.at(rank) == plain.at(rank)
        assert column.total(2, n - 1) == plain.total(2, n - 1)
        for width in (0.5, 3.0, 20.0):
            assert window_margin(column, rank, width) == window_margin(plain, rank, width)
            assert cell_margin(column, rank, Fraction(width), Fraction(1, 3)) == cell_margin(
                plain, rank, Fraction(width), Fraction(1, 3)
            )
            assert trimmed_margin(column, 1, width) == trimmed_margin(plain, 1, width)
        for changes in range(3):
            both = [RankRange(item, 2, n - 1) for item in (column, plain)]
            assert both[0].most(changes) == both[1].most(changes)
            assert both[0].least(changes) == both[1].least(changes)


@pytest.mark.parametrize(
    ("interval", "cut"),
    [((-5, 3), (0, 3)), ((2, 30), (2, 10)), ((-9, -4), (0, 5)), ((20, 90), (0, 10)), ((12, 14), (8, 10))],
)
def test_intervals_are_cut_and_never_to_a_point(interval, cut):
    """What lies outside of the range is moved to its end, as wide as it was."""
    assert cut_to(interval, 0, 10) == cut
