"""Sums, means, trimmed means, ranges, variances, covariances and histograms: sensitivities by enumeration."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dither as dt
from dither.kernels.sums import exact_dot, exact_sum
from dither.mechanisms.base_measure import Measure
from dither.mechanisms.exponential import Shells
from dither.sources.column import Column, Shape, Table
from dither.statistics.spread import SquaredSpread
from dither_lab.audit.enumeration import as_column, datasets, neighbours

VALUES = range(4)


def reached(f, x, changes):
    """The least and the largest value of f within so many changes."""
    within = [y for y in product(VALUES, repeat=len(x)) if sum(a != b for a, b in zip(x, y, strict=True)) <= changes]
    return min(map(f, within)), max(map(f, within))


def chained(records):
    """(statistic, function) pairs that have a chain."""
    shape = Shape(records, whole=True, nullable=False)
    for m in range((records - 1) // 2 + 1):
        query = dt.TrimmedMean(trim=Fraction(m, records), bounds=(0, 3))
        yield query.resolve(shape), lambda x, m=m: sum(sorted(x)[m : len(x) - m])
    for k in range(1, records + 1):
        yield dt.SmallestSum(k=k, bounds=(0, 3)).resolve(shape), lambda x, k=k: sum(sorted(x)[:k])
    if records > 1:
        query = dt.IQR(low=0, high=1, bounds=(0, 3))
        yield query.resolve(shape), lambda x: max(x) - min(x)
        yield (
            dt.IQR(low=Fraction(1, records), high=Fraction(2, records), bounds=(0, 3)).resolve(shape),
            lambda x: sorted(x)[1] - min(x),
        )


@pytest.mark.parametrize("records", [1, 2, 3, 4])
def test_chains_are_what_changes_can_reach(records):
    """R_k and R_{-k} equal the largest and least value within k changes, on every dataset."""
    for statistic, f in chained(records):
        for x in datasets(VALUES, records):
            chain = statistic.reachable_values(as_column(x, statistic.records_on))
            links = chain.values(-records, records)
            for k in range(records + 1):
                assert (links[records - k], links[records + k]) == reached(f, x, k), (x, k)
            low, high = statistic.answers.ends
            assert chain.values(chain.bottom, chain.bottom) == [low]
            assert chain.values(chain.top, chain.top) == [high]


@pytest.mark.parametrize("records", [1, 2, 3])
def test_shells_hold_every_answer(records):
    """The declared number of shells holds all grid points, on every dataset: no draw looks for more."""
    for statistic, _ in chained(records):
        for x in datasets(VALUES, records):
            chain = statistic.reachable_values(as_column(x, statistic.records_on))
            shells = Shells(chain, 1, Measure.even(statistic.answers.ends))
            assert sum(shells.counts(1, shells.shell_count)) == statistic.answers.points


def test_equal_ranks_are_refused():
    """The range between a rank and itself is no question; n is public, so the refusal is."""
    with pytest.raises(dt.InvalidArgument, match="low"):
        dt.iqr([3.0], bounds=(0, 10), epsilon=1.0)
    with pytest.raises(dt.InvalidArgument, match="low"):
        dt.iqr([3.0] * 5, low=0.45, high=0.55, bounds=(0, 10), epsilon=1.0)


@pytest.mark.parametrize("records", [2, 3, 5])
def test_the_variance_moves_by_at_most_its_cap(records):
    """The bound (n-1) w^2 on n sum x^2 - (sum x)^2 holds for all neighbours and is attained."""
    statistic = dt.Variance(bounds=(0, 3)).resolve(Shape(records, whole=True, nullable=False))
    assert isinstance(statistic, SquaredSpread)
    value = {x: statistic.value(as_column(x, statistic.column)) for x in datasets(VALUES, records)}
    moved = max(abs(value[x] - value[y]) for x in value for y in neighbours(x, VALUES))
    assert moved == statistic.global_sensitivity
    assert max(value.values()) == statistic.answers.ends[1]


@pytest.mark.parametrize("records", [2, 3])
def test_the_covariance_moves_by_at_most_its_caps(records):
    """All entries stay within their caps and within l1 together, on all tables over 3 x 2 values; attained."""
    shape = Shape(records, whole=True, nullable=False, columns=2)
    statistic = dt.Covariance(bounds=[(0, 2), (0, 1)]).resolve(shape)
    rows = list(product(range(3), range(2)))

    def values(table):
        columns = [
            Column(np.array(c), grid) for c, grid in zip(zip(*table, strict=True), statistic.columns, strict=True)
        ]
        return statistic.values(Table(columns))

    worst = [0.0] * 3
    together = 0.0
    for table in product(rows, repeat=records):
        for row in rows:
            moves = [
                abs(a - b) / cap
                for a, b, cap in zip(
                    values(table), values((row, *table[1:])), statistic.global_sensitivities, strict=True
                )
            ]
            worst = [max(a, b) for a, b in zip(worst, moves, strict=True)]
            together = max(together, sum(moves))
    assert worst == [1.0, 1.0, 1.0]
    assert together == statistic.l1 == 3


def test_erratum_7_the_covariance_bound_is_loose():
    """DMNS06 says 8 g^2 / n for records of l1 norm at most g; a search finds nothing above 6 g^2 (n-1) / n^2."""
    rng, n, worst = np.random.default_rng(8), 6, 0.0
    corners = np.concatenate([np.eye(2), -np.eye(2)])
    for _ in range(4000):
        x = corners[rng.integers(0, 4, n)] if rng.random() < 0.5 else corners[[rng.integers(0, 4)] * n]
        y = x.copy()
        x[0], y[0] = corners[rng.integers(0, 4)], corners[rng.integers(0, 4)]
        worst = max(worst, np.abs(np.cov(x.T, bias=True) - np.cov(y.T, bias=True)).sum())
    assert worst <= 6 * (n - 1) / n**2 + 1e-9
    assert worst < 8 / n


def test_histograms_count_every_record_once():
    """Half-open bins, the last one closed; values outside and missing ones land where the rules say."""
    x = np.array([-5.0, 0.0, 1.0, 1.5, 2.0, 99.0, np.nan])
    query = dt.Histogram(edges=[0, 1, 2])
    shape = query.shape(x)
    statistic = query.resolve(shape)
    assert statistic.values(query.read(x, shape)) == [3, 4]
    masked = np.ma.MaskedArray(np.array([0, 1, 9]), mask=[False, False, True])
    assert statistic.values(query.read(masked, query.shape(masked))) == [2, 1]
    named = dt.Histogram(categories=["a", "b"])
    data = ["a", "x", "b", "a", None, [1], ("b", [1])]
    assert named.resolve(named.shape(data)).values(named.read(data, named.shape(data))) == [2, 1, 4]


@given(st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=50))
def test_sums_are_exact(x):
    """No order of records and no size changes a sum; products of limbs add up to the inner product."""
    array = np.array(x, dtype=np.int64)
    assert exact_sum(array) == sum(x)
    shifted = np.abs(array)
    assert exact_dot(shifted, shifted[::-1].copy()) == sum(abs(a) * abs(b) for a, b in zip(x, x[::-1], strict=True))


@pytest.mark.parametrize(
    ("ask", "truth", "within"),
    [
        (lambda x: dt.mean(x, bounds=(0, 100), epsilon=1.0), np.mean, 0.5),
        (lambda x: dt.sum(x, bounds=(0, 100), epsilon=1.0), np.sum, 2_500),
        (lambda x: dt.variance(x, bounds=(0, 100), epsilon=1.0), np.var, 50),
        (
            lambda x: dt.trimmed_mean(x, trim=0.25, bounds=(0, 100), epsilon=1.0),
            lambda x: np.sort(x)[1250:3750].mean(),
            1,
        ),
        (lambda x: dt.iqr(x, bounds=(0, 100), epsilon=1.0), lambda x: np.sort(x)[3749] - np.sort(x)[1249], 3),
    ],
)
def test_answers_are_close(ask, truth, within):
    """One line, a value near the truth (25 noise scales wide), a bar around the value."""
    x = np.random.default_rng(4).random(5_000) * 100
    release = ask(x)
    assert abs(release.value - truth(x)) < within
    assert release.interval[0] <= release.value <= release.interval[1]


def test_counts_means_and_matrices():
    """Counting a mask, several means, and a covariance matrix by its upper triangle."""
    rng = np.random.default_rng(5)
    assert abs(dt.count(rng.random(1000) < 0.3, epsilon=1.0).value - 300) < 120
    table = rng.random((4_000, 3))
    means = dt.mean(table, bounds=(0, 1), epsilon=3.0)
    assert np.abs(np.array(means.value) - 0.5).max() < 0.05
    matrix = dt.covariance(table, bounds=[(0, 1)] * 3, epsilon=3.0, names=["a", "b", "c"])
    assert matrix.labels == ("a, a", "a, b", "a, c", "b, b", "b, c", "c, c")
    assert np.abs(np.array(matrix.value) - np.array([1, 0, 0, 1, 0, 1]) / 12).max() < 0.05


def test_gaussian_noise_is_chosen_where_it_is_smaller():
    """With delta > 0 a long vector gets Gaussian noise by its l2 sensitivity, a short one keeps Laplace."""
    x = np.random.default_rng(6).random((200, 40))
    assert dt.mean(x, bounds=(0, 1), epsilon=1.0, delta=1e-6).noise == "gaussian"
    few = dt.histogram(x[:, 0], edges=[0, 0.5, 1], epsilon=1.0, delta=1e-6)
    assert few.noise == "laplace"
    assert few.loss == dt.Loss(1.0)


@pytest.mark.parametrize(
    ("ask", "argument"),
    [
        (lambda: dt.histogram([1.0], edges=[0, 2, 1], epsilon=1), "edges"),
        (lambda: dt.histogram([1.0], edges=[0], epsilon=1), "edges"),
        (lambda: dt.histogram([1.0], edges=[0, math.inf], epsilon=1), "edges"),
        (lambda: dt.histogram([1.0], epsilon=1), "edges"),
        (lambda: dt.histogram(["a"], categories=[], epsilon=1), "categories"),
        (lambda: dt.histogram(["a"], categories=["a", "a"], epsilon=1), "categories"),
        (lambda: dt.histogram([], categories=["a"], epsilon=1), "data"),
        (lambda: dt.covariance(np.ones((3, 2)), epsilon=1), "bounds"),
        (lambda: dt.covariance(np.ones((3, 2)), bounds=[(0, 1)], epsilon=1), "bounds"),
        (lambda: dt.covariance([[], [3]], bounds=(0, 1), epsilon=1), "data"),
        (lambda: dt.trimmed_mean([1.0], trim=0.5, bounds=(0, 1), epsilon=1), "trim"),
        (lambda: dt.trimmed_mean([1.0], trim=-0.1, bounds=(0, 1), epsilon=1), "trim"),
        (lambda: dt.iqr([1.0, 2.0], low=0.8, high=0.2, bounds=(0, 1), epsilon=1), "low"),
        (lambda: dt.variance([1.0], ddof=2, bounds=(0, 1), epsilon=1), "ddof"),
        (lambda: dt.variance([1.0], ddof=1, bounds=(0, 1), nulls="lower", epsilon=1), "ddof"),
        (lambda: dt.quantiles([1.0], q=[0.5, 0.2], bounds=(0, 1), epsilon=1), "^q must "),
        (lambda: dt.quantiles([1.0], q=[], bounds=(0, 1), epsilon=1), "^q must "),
        (lambda: dt.quantiles([1.0], q=0.5, bounds=(0, 1), epsilon=1), "^q must "),
        (lambda: dt.mean([1.0], epsilon=1), "bounds"),
        (lambda: dt.histogram([1.0], edges=[0, 1], epsilon=1, mechanism="smooth"), "mechanism"),
        (lambda: dt.variance([1.0, 2.0], bounds=(0, 1), epsilon=1, mechanism="inverse"), "mechanism"),
    ],
)
def test_bad_input_is_refused_by_name(ask, argument):
    """Edges, categories, bounds, trims, shares: the error names the argument and nothing is charged."""
    with pytest.raises(dt.DitherError, match=argument) as caught:
        ask()
    assert "nothing was" in str(caught.value)


def test_bounds_by_name_belong_to_their_columns():
    """A mapping of bounds is matched by name, whatever the order; an unknown name is refused; labels are the names."""
    rng = np.random.default_rng(9)
    table = {"pay": rng.random(3_000) * 1000, "age": rng.integers(18, 80, 3_000).astype(float)}
    release = dt.mean(table, bounds={"age": (0, 120), "pay": (0, 1000)}, epsilon=5.0)
    assert release.labels == ("pay", "age")
    assert abs(release.value[0] - table["pay"].mean()) < 10
    assert abs(release.value[1] - table["age"].mean()) < 2
    assert dt.mean(table, bounds=[(10, 1000), (18, 120)], epsilon=5.0).missing == (10.0, 18.0)
    with pytest.raises(dt.InvalidArgument, match="bounds"):
        dt.mean(table, bounds={"age": (0, 120), "py": (0, 1000)}, epsilon=5.0)


def test_more_columns_than_rows_are_fine():
    """A covariance of five columns and two rows has fifteen entries."""
    assert len(dt.covariance(np.ones((2, 5)), bounds=(0, 1), epsilon=1.0).value) == 15
