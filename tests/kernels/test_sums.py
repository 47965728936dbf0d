"""Exact sums and inner products against Python's integers."""

import numpy as np
import pytest

from dither.kernels.sums import exact_dot, exact_sum

MOST = (1 << 54) - 1
SIZES = [0, 1, 2, 1000, (1 << 15) - 1, 1 << 15, (1 << 15) + 1, 70_000]


@pytest.mark.sampled(15)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bits", [1, 20, 37, 41, 48, 54])
def test_inner_products(size, bits):
    """Random entries and the largest ones, on either side of where floats are near enough."""
    rng = np.random.default_rng(bits)
    left, right = (rng.integers(0, 1 << bits, size) for _ in range(2))
    full = np.full(size, (1 << bits) - 1)
    for a, b in ((left, right), (left, left), (full, full), (full, right), (np.zeros(size, dtype=np.int64), full)):
        assert exact_dot(a, b) == sum(x * y for x, y in zip(a.tolist(), b.tolist(), strict=True))


@pytest.mark.parametrize("size", SIZES)
def test_sums(size):
    """Both signs, and all entries at an end of their type."""
    rng = np.random.default_rng(size)
    ends = np.iinfo(np.int64)
    for values in (
        rng.integers(-(2**62), 2**62, size),
        np.full(size, ends.max),
        np.full(size, ends.min),
        rng.integers(0, 2, size)[::-1],
    ):
        assert exact_sum(values) == sum(values.tolist())


def test_columns_of_a_table():
    """Entries that do not lie side by side in memory."""
    table = np.random.default_rng(0).integers(0, MOST, (1000, 3))
    assert exact_dot(table[:, 0], table[:, 2]) == sum(int(row[0]) * int(row[2]) for row in table)
    assert exact_sum(table[:, 1]) == sum(table[:, 1].tolist())
