"""Grids and columns: clamping, rounding, missing values, padding; and nothing private in a repr."""

import datetime
import math
import warnings
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dither as dt
import oracle
from dither.errors import InvalidArgument
from dither.sources.column import Column, as_array, columns_of, missing_steps, read_column, shape_of
from dither.sources.entries import reals
from dither.sources.grid import Grid


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.integers(-40, 40), st.integers(0, 80))
def test_ranks_are_padded_with_the_bounds(x, first, length):
    """Ranks below 1 read as the lower bound, above n as the upper one."""
    grid = Grid(Fraction(1), 0, 50)
    at = oracle.padded(x, 0, 50)
    found = Column(np.array(x), grid).ranks(first, first + length)
    assert found.tolist() == [at(rank) for rank in range(first, first + length + 1)]


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=20))
def test_every_float_lands_on_the_grid(x):
    """Any float, infinities and NaN included, becomes a grid point within the bounds, record by record."""
    grid = Grid.between((-10, 10))
    steps = read_column(np.array(x), grid, 3).values
    low, high = grid.ends
    assert np.all((steps >= low) & (steps <= high))
    for value, step in zip(x, steps, strict=True):
        if math.isnan(value):
            assert step == missing_steps(3, grid)
        else:
            assert abs(grid.value(int(step)) - min(max(value, -10), 10)) <= float(grid.step)


class Foreign:
    """A column of another library whose conversion changes with a missing record."""

    def __init__(self, values, dtype):
        self.values, self.dtype = values, dtype

    def to_numpy(self):
        return (
            np.array([np.nan if v is None else v for v in self.values])
            if None in self.values
            else np.array(self.values)
        )


def test_columns_of_other_libraries_are_read_by_their_declared_type():
    """One missing record changes neither the grid nor the kind of the answer."""
    assert shape_of(Foreign([1, 2, 3], "Int64")) == shape_of(Foreign([1, 2, None], "Int64"))
    assert shape_of(Foreign([1, 2, None], "Int64")).whole
    assert not shape_of(Foreign([1, 2, 3], "Float64")).whole
    grid = Grid.between((0, 10), 1)
    assert read_column(Foreign([1, None, 3], "int64"), grid, 9).values.tolist() == [1, 9, 3]


def test_huge_and_masked_objects_are_read():
    """Python integers beyond float range clamp; the mask of an object array is kept."""
    grid = Grid.between((0, 10), 1)
    assert read_column([1, 10**400, -(10**400)], grid).values.tolist() == [1, 10, 0]
    assert read_column([10**400, 1, None], grid, 5).values.tolist() == [10, 1, 5]
    assert read_column([[4, 1], [2, 3]], grid, 5).values.tolist() == [5, 5]
    with pytest.raises(InvalidArgument, match="one dimension"):
        shape_of(np.array([[4, 1], [2, 3]]))
    masked = np.ma.MaskedArray(np.array([9, 9], dtype=object), mask=[True, False])
    assert read_column(masked, grid).values.tolist() == [0, 9]


@pytest.mark.parametrize("bounds", [(300, 400), (-10, -5)])
def test_small_types_and_far_bounds(bounds):
    """Bounds that the type cannot hold clamp like any others."""
    column = read_column(np.array([0, 255], dtype=np.uint8), Grid.between(bounds, whole=True))
    assert set(column.values.tolist()) <= {*bounds}


@pytest.mark.parametrize("bounds", [(0, 1e-323), (0, 1e-300), (0, 10**400)])
def test_steps_that_floats_cannot_hold_are_refused(bounds):
    """Otherwise dividing by the step would lose records, and warn only if there are some."""
    with pytest.raises(InvalidArgument, match="bounds"):
        Grid.between(bounds)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int64, np.uint64])
def test_integer_types_are_clamped_without_wrapping(kind):
    """The extremes of every integer type clamp to the bounds."""
    info = np.iinfo(kind)
    column = read_column(np.array([info.min, info.max], dtype=kind), Grid.between((-5, 100), whole=True))
    assert column.values.tolist() == [max(-5, int(info.min)), min(100, int(info.max))]


def test_whole_numbers_stay_whole():
    """Integer arrays get the step 1 and integer values back."""
    grid = Grid.between((0, 120), whole=shape_of(np.array([1, 2])).whole)
    assert grid.step == 1
    assert isinstance(grid.value(7), int)


def test_a_list_never_tells_its_grid():
    """One record that is not whole must not change the grid: lists are real, whatever they hold."""
    assert shape_of([1, 2, 3]) == shape_of([1, 2, 3.5])
    assert not shape_of([1, 2, 3]).whole


def test_a_declared_step_is_exact():
    """A decimal step such as 0.01 is a hundredth, not a binary neighbour of it."""
    grid = Grid.between((0, 10), 0.01)
    assert grid.step == Fraction(1, 100)
    assert grid.points == 1001
    assert grid.value(7) == 0.07


def test_masked_records_count_as_missing():
    """A masked array and NaN follow the same public policy."""
    grid = Grid.between((0, 10), 1)
    masked = read_column(np.ma.MaskedArray([1, 2, 3], mask=[0, 1, 0]), grid, "upper")
    floats = read_column(np.array([1.0, np.nan, 3.0]), grid, "upper")
    assert masked.values.tolist() == floats.values.tolist() == [1, 10, 3]


def test_private_data_do_not_show_in_reprs():
    """Neither a column nor a ladder prints a record."""
    column = Column(np.array([123456789]), Grid(Fraction(1), 0, 10**9))
    assert "123" not in repr(column)


@pytest.mark.parametrize(
    "bounds", [None, 3, (1, 0), (0, 0), (0, math.inf), (math.nan, 1), (0, 1, 2), "ab", ("a", "b"), (0, None)]
)
def test_bad_bounds_are_refused_by_name(bounds):
    """Reversed, infinite, missing or odd bounds: an error that names the argument."""
    with pytest.raises(InvalidArgument, match="bounds"):
        Grid.between(bounds)


@pytest.mark.parametrize("step", [0, -1, math.nan, "x", 1e-30])
def test_bad_steps_are_refused_by_name(step):
    """A step that is not positive, or too fine to count with."""
    with pytest.raises(InvalidArgument, match="step"):
        Grid.between((0, 1), step)


@pytest.mark.parametrize("nulls", ["middle", 11, math.nan, -1])
def test_missing_values_need_a_public_place(nulls):
    """The policy for missing values lies within the bounds."""
    with pytest.raises(InvalidArgument, match="nulls"):
        missing_steps(nulls, Grid.between((0, 10)))


@pytest.mark.parametrize(
    "data",
    [[], np.zeros((2, 2)), "abc", 5, np.array(["a"]), np.array([1j]), None, {1, 2}, np.array([1], dtype="m8[s]")],
)
def test_data_that_are_not_a_column_of_numbers(data):
    """Empty, two-dimensional, textual, complex or no data at all."""
    with pytest.raises(InvalidArgument, match="data"):
        shape_of(data)


class Hostile:
    """Somebody's own class, which fails however it is touched."""

    def __float__(self):
        raise RuntimeError("secret")

    __str__ = __repr__ = __eq__ = __gt__ = __lt__ = __index__ = __hash__ = __float__


ODD_ENTRIES = [
    None,
    float("nan"),
    pd.NA,
    pd.NaT,
    "secret-name",
    Hostile(),
    1 + 2j,
    np.complex128(3),
    Decimal("sNaN"),
    [1, 2],
    {},
    datetime.date(2020, 1, 1),
    np.datetime64("2020-01-01"),
    "\ud800",
    object(),
]
"""What counts as missing."""
FAR = {
    10: [10**400, 10**5000, float("inf"), 1e308, Fraction(10**400), Decimal("1e500"), np.longdouble("1e4000")],
    0: [-(10**400), float("-inf"), -1e308, np.longdouble("-1e4000")],
}


def objects(entries):
    """An array of objects."""
    made = np.empty(len(entries), dtype=object)
    made[:] = entries
    return made


@pytest.mark.parametrize("made", [list, tuple, lambda entries: pd.Series(entries, dtype=object), objects])
def test_no_entry_raises_an_error_or_a_warning(made):
    """What is no number is missing, what is too large is clamped, and the other records are read as ever."""
    grid = Grid.between((0, 10), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for entry in ODD_ENTRIES:
            assert read_column(made([1, entry, 3]), grid, 7).values.tolist() == [1, 7, 3]
        for bound, entries in FAR.items():
            for entry in entries:
                assert read_column(made([1, entry, 3]), grid, 7).values.tolist() == [1, bound, 3]
        read_column(np.array([1, np.longdouble("1e4000")], dtype=np.longdouble), grid)


@pytest.mark.parametrize(
    "data",
    [pd.Series(["1", "2"]), pl.Series(["1"]), pa.array(["1"]), pd.Series(["1"], dtype="string"), np.array(["1"])],
)
def test_columns_that_store_texts_are_refused_by_their_type(data):
    """Whether each of them could be read as a number is not looked at."""
    with pytest.raises(InvalidArgument, match="data"):
        shape_of(data)


NO_NUMBERS = {
    "category": pd.Series(["a", "b"] * 4, dtype="category"),
    "category of numbers": pd.Series([1, 2] * 4, dtype="category"),
    "period": pd.Series(pd.period_range("2020-01", periods=8, freq="M")),
    "interval": pd.Series(pd.interval_range(0, 8)),
    "complex": pd.Series(np.ones(8) * 1j),
    "list": pl.Series([[1, 2]] * 8),
    "struct": pl.Series([{"a": 1}] * 8),
    "time": pl.Series([0] * 8).cast(pl.Time),
    "Arrow list": pa.array([[1]] * 8),
    "Arrow dictionary": pa.array(["a", "b"] * 4).dictionary_encode(),
    "Arrow list in pandas": pd.Series([[1]] * 8, dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
    "bytes of one width": pa.array([b"ab"] * 8, pa.binary(2)),
}


@pytest.mark.parametrize("declared", NO_NUMBERS)
def test_types_that_hold_no_numbers_are_refused_by_their_type(declared):
    """Their entries would all count as missing, and the answer about them would look like one."""
    with pytest.raises(InvalidArgument, match="numbers"):
        shape_of(NO_NUMBERS[declared])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1] * 4, dtype=">i4"),
        pd.Series([1] * 4, dtype="Int16"),
        pd.Series([1] * 4, dtype="Float32"),
        pd.Series([True] * 4, dtype="boolean"),
        pd.Series([1] * 4, dtype="double[pyarrow]"),
        pd.Series([1] * 4, dtype=pd.ArrowDtype(pa.decimal128(10, 2))),
        pd.Series(pd.arrays.SparseArray([1.0] * 4)),
        pl.Series([1] * 4, dtype=pl.Decimal(10, 2)),
        pl.Series([1] * 4, dtype=pl.UInt8),
        pa.array(np.ones(4, np.float16)),
        pa.array([1] * 4).dictionary_encode(),
    ],
    ids=lambda column: str(getattr(column, "dtype", getattr(column, "type", None))),
)
def test_types_of_numbers_are_read(column):
    """Every way in which the libraries declare numbers."""
    assert read_column(column, Grid(Fraction(1), 0, 10)).values.tolist() == [1, 1, 1, 1]


_UNITS = [None, 0, 5, -1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63, -(2**64), 3 * 2**64 + 7, 10**38 - 1, 1 - 10**38]


@given(st.lists(st.sampled_from(_UNITS) | st.integers(1 - 10**17, 10**17), min_size=1), st.sampled_from([0, 2, 22, 23]))
def test_decimals_are_the_nearest_doubles_whoever_holds_them(units, scale):
    """From Arrow's memory, in chunks and slices, as from each decimal by itself."""
    context = Context(prec=60)
    entries = [None if unit is None else context.scaleb(Decimal(unit), -scale) for unit in units]
    array = pa.array([None, *entries], pa.decimal128(38, scale))
    chunked = pa.chunked_array([array[1:], array[:0], array])
    expected = reals(entries)
    assert np.array_equal(as_array(array[1:]), expected, equal_nan=True)
    assert np.array_equal(as_array(chunked), [*expected, math.nan, *expected], equal_nan=True)
    assert np.array_equal(as_array(pl.Series(array[1:])), expected, equal_nan=True)
    assert np.array_equal(as_array(pd.Series(chunked, dtype=pd.ArrowDtype(array.type)))[: len(units)], expected, True)


def test_decimals_of_usual_size_make_no_objects(monkeypatch):
    """Only those of more than 2**53 units are looked at one by one; bits that are no decimal are read too."""
    seen = []

    def watched(entries):
        seen.extend(entries)
        return reals(entries)

    monkeypatch.setattr("dither.sources.decimals.reals", watched)
    memory = pa.py_buffer(np.array([125, 0, -250, -1, -1, 2**62], "<i8").tobytes())
    array = pa.Array.from_buffers(pa.decimal128(18, 2), 3, [None, memory])
    large = (2**126 + 2**64 - 1) / 100
    assert as_array(array).tolist() == [1.25, -2.5, large]
    assert len(seen) == 1


_ODD_ROWS = [[1], [1, 2, 3], [], None, 5, "ab", b"ab", {"a": 1, "b": 2}, [[1], [2]], [[1, 2], [3, 4]], object()]


@pytest.mark.parametrize("odd", _ODD_ROWS)
def test_a_row_of_another_length_is_missing(odd):
    """The number of columns is public: the first row has it, or ``count`` says it; no other row changes it."""
    rows = [[1, 2], (3, 4), [5.5, None], np.array([6, 7]), pd.Series([8, 9], index=["a", "b"])]
    for place, count in ((1, None), (2, None), (3, 2), (0, 2)):
        given = [*rows[:place], odd, *rows[place:]]
        first, second = columns_of(given, "data", count)
        expected = [*rows[:place], (math.nan, math.nan), *rows[place:]]
        assert np.array_equal(first, np.array([next(iter(row)) for row in expected], float), equal_nan=True)
        assert np.array_equal(second, np.array([list(row)[1] for row in expected], float), equal_nan=True)


def test_lists_whose_number_of_columns_nobody_knows():
    """Empty ones, and those that begin with what is no row."""
    for rows in ([], [[]], [5, [1, 2]], ["ab", "cd"], 5):
        with pytest.raises(InvalidArgument, match="must have records in rows and columns"):
            columns_of(rows)


@pytest.mark.parametrize("odd", _ODD_ROWS)
@pytest.mark.parametrize("place", [0, 5])
def test_no_row_of_a_list_makes_a_question_fail(odd, place):
    """The first one neither, where bounds or names are given for each column."""
    rows = [[one % 7, one % 5] for one in range(60)]
    rows[place] = odd
    each = [(0, 10), (0, 10)]
    dt.covariance(rows, bounds=each, epsilon=1.0)
    dt.covariance(rows, bounds=(0, 10), names=["a", "b"], epsilon=1.0)
    dt.kmeans(rows, k=2, bounds=each, epsilon=1.0, delta=1e-6)
    dt.kmeans_cost(rows, centres=[[1, 2], [3, 4]], bounds=each, epsilon=1.0)
