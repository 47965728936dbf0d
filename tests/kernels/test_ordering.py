"""Order statistics by selection equal those of the sorted array, whatever was asked before."""

from fractions import Fraction

import numpy as np
import pytest

from dither.kernels import ordering
from dither.kernels.ordering import Ordering
from dither.sources.column import Column
from dither.sources.grid import Grid

KINDS = {
    "distinct": lambda rng, n: rng.permutation(n).astype(np.int64),
    "tied": lambda rng, n: rng.integers(0, 5, n),
    "constant": lambda rng, n: np.full(n, 7, dtype=np.int64),
    "huge": lambda rng, n: rng.integers(-(2**62), 2**62, n),
    "ascending": lambda rng, n: np.arange(n, dtype=np.int64),
    "descending": lambda rng, n: np.arange(n, 0, -1, dtype=np.int64),
}


@pytest.fixture
def short(monkeypatch):
    """Arrays of a few hundred entries are selected from."""
    monkeypatch.setattr(ordering, "FEW", 8)
    monkeypatch.setattr(ordering, "AROUND", 3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0, 1, 9, 40, 700])
@pytest.mark.usefixtures("short")
def test_equal_to_the_sorted_array(kind, size):
    """Single ranks, windows and sums of ranks, asked one after the other."""
    rng = np.random.default_rng(size)
    for _ in range(20):
        values = KINDS[kind](rng, size)
        before, right = values.copy(), np.sort(values)
        found = Ordering(values)
        for _ in range(30):
            first, last = sorted(rng.integers(0, size + 1, 2)) if rng.random() < 0.3 else (0, 0)
            if first == last:
                first = int(rng.integers(0, size + 1))
                last = min(first + int(rng.integers(0, 6)), size)
            if rng.random() < 0.3:
                assert found.total(first, last) == sum(right[first:last].tolist())
            else:
                assert np.array_equal(found.between(first, last), right[first:last])
        assert np.array_equal(values, before)  # the records of the caller are left as they are


@pytest.mark.usefixtures("short")
def test_columns_pad_and_sum():
    """Beyond the records stand the bounds."""
    rng = np.random.default_rng(1)
    for size in (1, 12, 300):
        values = rng.integers(0, 50, size)
        column, right = Column(values, Grid(Fraction(1), 0, 50)), np.sort(values)
        padded = np.concatenate([np.zeros(20, dtype=np.int64), right, np.full(20, 50)])
        for _ in range(100):
            first, last = sorted(rng.integers(-15, size + 15, 2))
            assert np.array_equal(column.ranks(first, last), padded[first + 19 : last + 20])
            assert column.total(first, last) == padded[first + 19 : last + 20].sum()


def test_few_ranks_leave_the_rest_alone():
    """A window of ranks of many entries is selected; half of them are sorted."""
    values = np.random.default_rng(0).permutation(1 << 17).astype(np.int64)
    found = Ordering(values)
    assert np.array_equal(found.between(60_000, 60_010), np.arange(60_000, 60_010))
    assert sum(len(window) for _, window in found._windows) < len(values) // 8
    assert found.total(10_000, 120_000) == sum(range(10_000, 120_000))
    assert sum(len(window) for _, window in found._windows) < len(values) // 2
    assert np.array_equal(found.between(0, 1 << 16), np.arange(1 << 16))
    assert len(found._windows[0][1]) == len(values)


def test_a_sample_that_misleads():
    """Entries that a sample by equal steps does not meet: all are sorted then."""
    size = 1 << 15
    values = np.arange(size, dtype=np.int64) % 1000
    values[:: round(size ** (1 / 3))] = 10**6
    for first in (0, 5, size // 2, size - 3):
        assert np.array_equal(Ordering(values).between(first, first + 3), np.sort(values)[first : first + 3])


def test_ranks_far_beyond_the_records():
    """Only bounds stand there, in long columns too."""
    values = np.arange(20_000, dtype=np.int64)
    for first, last in ((30_000, 30_005), (-9, -3), (20_001, 20_001), (19_999, 20_003)):
        places = range(first - 1, last)
        right = [0 if one < 0 else 25_000 if one >= 20_000 else one for one in places]
        assert Column(values, Grid(Fraction(1), 0, 25_000)).ranks(first, last).tolist() == right


@pytest.mark.parametrize("ends", [(0, 1), (-40, 60), (-(1 << 52), (1 << 16) - 1 - (1 << 52)), (7, 7 + (1 << 16))])
def test_few_public_places_are_sorted_by_digits(ends):
    """Both sides of 2**16 places, wherever they lie, with both ends among the entries."""
    rng = np.random.default_rng(3)
    for size in (1, 2, 1000):
        values = np.concatenate([rng.integers(ends[0], ends[1] + 1, size), ends])
        ordered = Ordering(values, ends=ends).between(0, len(values))
        assert ordered.dtype == np.int64
        assert np.array_equal(ordered, np.sort(values))
