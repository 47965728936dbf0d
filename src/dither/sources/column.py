"""One column of records on a public grid, and its public facts."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument, suggested
from dither.kernels.ordering import Ordering, Runs
from dither.kernels.sums import exact_dot, exact_sum
from dither.numbers import Number, exact
from dither.privacy import LEFT_OUT, Neighbours
from dither.sources.decimals import decimals
from dither.sources.entries import FAILURES, reals, truths
from dither.sources.frames import ColumnLike, TableLike, is_table, named_columns, typed_column
from dither.sources.grid import BIT, Grid

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


@dataclass(frozen=True)
class Shape:
    """What is public about an array: its length and its type."""

    records: int
    """The number of records, or the most there can be if ``private``."""
    whole: bool
    nullable: bool
    """True if the type allows missing values, whether or not there are any."""
    columns: int = 1
    names: tuple[str, ...] = ()
    """The names of the columns of a table that has them."""
    private: bool = False
    """True if the number of records is private: behind a filter, in a group, where people own several rows."""
    neighbours: Neighbours = Neighbours.CHANGE_ONE
    """What one step between neighbours does to these records."""
    rows_per_person: int = 1
    """How many such steps one person can make."""
    dropped: bool = False
    """True if records of an array that have no value are left out: then their number is private."""

    def without_missing(self) -> Shape:
        """The facts where records without a value are left out; where none can be missing, these."""
        if not self.nullable:
            return self
        # Whoever changes one record of the array adds, removes or changes one of those that are left.
        return dataclasses.replace(self, private=True, neighbours=Neighbours.ADD_REMOVE_CHANGE, dropped=True)


class RankedRecords(Protocol):
    """Private: one column of records on a public grid, in memory, in an engine or imagined."""

    @property
    def grid(self) -> Grid: ...
    @property
    def records(self) -> int: ...
    @property
    def values(self) -> NDArray[np.int64]: ...
    def ranks(self, first: int, last: int) -> NDArray[np.int64]: ...
    def runs(self, first: int, last: int) -> Runs: ...
    def near(self, ranks: Sequence[int]) -> NDArray[np.int64]: ...
    def below(self, points: Sequence[int]) -> NDArray[np.int64]: ...
    def total(self, first: int | None = None, last: int | None = None) -> int: ...
    def moments(self) -> tuple[int, int]: ...


class BinnableRecords(Protocol):
    """Private: records that fall into bins, each counted by its place."""

    def bin_counts(self, bins: int) -> list[int]: ...


class Column:
    """Private: the records of one column, as whole numbers of grid steps."""

    __slots__ = ("_is_ordered", "_ordering", "_values", "grid")

    def __init__(self, values: NDArray[np.int64], grid: Grid, *, ordered: bool = False) -> None:
        self.grid = grid
        self._values = values
        self._is_ordered = ordered
        self._ordering: Ordering | None = None

    def __repr__(self) -> str:
        return "Column(<private>)"

    @property
    def records(self) -> int:
        """The (public) number of records."""
        return len(self._values)

    @property
    def values(self) -> NDArray[np.int64]:
        """The records, in no particular order."""
        return self._values

    def ranks(self, first: int, last: int) -> NDArray[np.int64]:
        """The order statistics of ranks first..last (from 1); the bounds stand in below 1 and above n."""
        low, high = self.grid.ends
        start = min(max(first - 1, 0), self.records)
        inside = self._order().between(start, max(min(last, self.records), start))
        before = max(0, min(last, 0) - first + 1)
        after = max(0, last - max(self.records, first - 1))
        if not before and not after:
            return inside
        return np.concatenate([np.full(before, low), inside, np.full(after, high)]).astype(np.int64)

    def runs(self, first: int, last: int) -> Runs:
        """The different values at ranks first..last (from 1 to the number of records), with all of their records."""
        return self._order().runs(first - 1, last)

    def near(self, ranks: Sequence[int]) -> NDArray[np.int64]:
        """The order statistics of some ranks (from 1 to the number of records)."""
        return self._order().between(0, self.records)[np.array(ranks, dtype=np.int64) - 1]

    def below(self, points: Sequence[int]) -> NDArray[np.int64]:
        """How many records are less than each of these grid points."""
        return np.searchsorted(self._order().between(0, self.records), np.array(points, dtype=np.int64), side="left")

    def total(self, first: int | None = None, last: int | None = None) -> int:
        """The exact sum of all records, or of those at ranks first..last."""
        if first is None or last is None:
            return exact_sum(self.values)
        if first < 1 or last > self.records:
            return exact_sum(self.ranks(first, last))
        return self._order().total(first - 1, last)

    def moments(self) -> tuple[int, int]:
        """The exact sums of the records, and of their squares, above the lower end of the grid."""
        shifted = self.values - self.grid.ends[0]
        return exact_sum(shifted), exact_dot(shifted, shifted)

    def bin_counts(self, bins: int) -> list[int]:
        """How many records are 0, 1, ..., bins - 1."""
        counts: list[int] = np.bincount(self.values, minlength=bins).tolist()
        return counts

    def _order(self) -> Ordering:
        if self._ordering is None:
            low, high = self.grid.low, self.grid.high
            ends = None if low is None or high is None else (low, high)
            self._ordering = Ordering(self.values, ordered=self._is_ordered, ends=ends)
        return self._ordering


class UnroundedColumn(Column):
    """Private: reals that are rounded to the grid when somebody looks at them; sums are taken on the way.

    missing: what NaN counts as; None where it is left out.
    """

    __slots__ = ("_count", "_missing", "_numbers")

    def __init__(self, numbers: NDArray[np.generic], grid: Grid, missing: int | None) -> None:
        super().__init__(_NOTHING, grid)
        self._numbers: NDArray[np.generic] | None = numbers
        self._missing = missing
        self._count = len(numbers) - (0 if missing is not None else int(np.count_nonzero(np.isnan(numbers))))

    @property
    def records(self) -> int:
        """How many records there are."""
        return self._count

    @property
    def values(self) -> NDArray[np.int64]:
        """The records, in no particular order."""
        if self._numbers is not None:
            numbers = self._numbers if self._count == len(self._numbers) else _present(self._numbers)
            self._values, self._numbers = self.grid.quantise(numbers, self._missing or 0), None
        return self._values

    def total(self, first: int | None = None, last: int | None = None) -> int:
        """The exact sum of all records, or of those at ranks first..last."""
        if first is not None and last is not None:
            return super().total(first, last)
        sums = self._sums(1)
        return super().total() if sums is None else sums[0] + self.grid.ends[0] * self.records

    def moments(self) -> tuple[int, int]:
        """The exact sums of the records, and of their squares, above the lower end of the grid."""
        sums = self._sums(2)
        return super().moments() if sums is None else (sums[0], sums[1])

    def _sums(self, powers: int) -> tuple[int, ...] | None:
        """Sums above the lower end, to which a record that is left out adds nothing; None: there is no short way."""
        rounding = self.grid.rounding(self.grid.ends[0] if self._missing is None else self._missing)
        if self._numbers is None or not rounding.can_sum(powers):
            return None
        return rounding.sums(self._numbers, powers)


_NOTHING = np.zeros(0, dtype=np.int64)


def shape_of(data: ColumnLike, argument: str = "data") -> Shape:
    """The public facts of a one-dimensional numeric array; looks at its type and length only."""
    array = as_array(data, argument)
    whole = array.dtype.kind in "iub"
    return Shape(len(array), whole, nullable=not whole or isinstance(array, np.ma.MaskedArray))


Reader: TypeAlias = Callable[[Iterable[object]], NDArray[np.float64]]  # anything: an entry of a list
"""What makes numbers of entries without a declared type: ``reals``, or ``truths``."""


def as_array(data: ColumnLike, argument: str = "data", read: Reader = reals) -> NDArray[np.generic]:
    """A one-dimensional numeric array.  Errors depend on the type of the data alone, never on an entry."""
    array: NDArray[np.generic]
    if is_table(data):
        raise InvalidArgument(argument, type(data), "must be one column, such as frame['age'], not a whole table")
    declared = declared_type(data)
    if declared.startswith(_TIMES):
        raise InvalidArgument(
            argument,
            type(data),
            "must be numbers; of dates pass bounds=(date, date), of durations bounds=(timedelta, timedelta), for those "
            "that take them",
        )
    if declared.startswith(_TEXTS) and not declared.startswith("struct"):
        raise InvalidArgument(
            argument,
            type(data),
            f"this column stores {declared}: convert it to numbers first, or open it as a category",
        )
    if not _NUMBERS.fullmatch(declared):
        raise InvalidArgument(argument, type(data), f"must be numbers, not {declared}")
    if isinstance(data, np.ma.MaskedArray) and data.dtype == object:
        array = np.ma.MaskedArray(_untyped(data.filled(np.nan), read), np.ma.getmaskarray(data))
    elif isinstance(data, np.ndarray):
        array = _untyped(data, read) if data.dtype == object else data
    elif hasattr(data, "to_numpy"):
        array = _foreign(data, declared, read)
    elif isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        array = _untyped(data, read)
    else:
        raise InvalidArgument(argument, type(data), "must be a one-dimensional array or sequence of numbers")
    if array.ndim != 1:
        raise InvalidArgument(argument, type(data), f"must have one dimension, not {array.ndim}")
    if array.dtype.kind not in "iufb":
        raise InvalidArgument(argument, type(data), f"must be numbers, not {array.dtype}")
    if len(array) == 0:
        raise InvalidArgument(argument, type(data), "must have at least one record")
    if array.dtype.itemsize > np.dtype(np.float64).itemsize:
        with np.errstate(all="ignore"):  # (a long double beyond the range of doubles is infinite, and clamped)
            return array.astype(np.float64)
    return array


_TIMES = ("date", "time", "duration")
_TEXTS = ("str", "utf8", "large_str", "large_utf8", "binary", "large_binary", "category", "categorical", "enum")
_NUMBER = r"(u?int\d+|bool|boolean|float\d*|double|half_?float|decimal\d*\([^()]*\))"
_NUMBERS = re.compile(
    rf"(|object|null|{_NUMBER}|sparse\[{_NUMBER},.*\]|dictionary<values={_NUMBER},.*>"
    rf"|run_end_encoded<run_ends: int\d+, values: {_NUMBER}>)(\[pyarrow\])?"
)
"""Declared types whose entries are numbers, or may be.

A pandas category is none: its list of categories, which decides whether they are numbers, is made of all records.
"""


def declared_type(data: ColumnLike) -> str:
    """The name of the type that a column of another library declares; nothing for what declares none."""
    if isinstance(data, np.ndarray):
        return "" if data.dtype.kind not in "mM" else str(data.dtype)
    declared = getattr(data, "dtype", getattr(data, "type", ""))
    return str(declared.name if isinstance(declared, np.dtype) else declared).lower()


def declares_numbers(data: ColumnLike) -> bool:
    """True for a column whose type says that its entries are numbers; lists and columns of objects say nothing."""
    if isinstance(data, np.ndarray):
        return data.dtype.kind in "iufb"
    declared = declared_type(data)
    return declared not in ("", "object", "null") and _NUMBERS.fullmatch(declared) is not None


_PLAIN = frozenset(
    {bool, int, float, np.bool_, np.float16, np.float32, np.float64}
    | {np.dtype(code).type for code in np.typecodes["AllInteger"] if code.lower() not in "mn"}
)
"""Types of which an array holds the same number as ``float`` gives; of a class made from them it need not."""


def _untyped(data: ColumnLike, read: Reader = reals) -> NDArray[np.float64]:
    """Entries without a declared type are real numbers: whether all of them are whole is no public fact.

    What is no number is missing.  A list of plain numbers is converted at once, anything else entry by entry: both read
    every entry in the same way, so no entry decides about how the others are read.
    """
    if not isinstance(data, np.ndarray):
        with contextlib.suppress(*FAILURES), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if _PLAIN.issuperset(map(type, data)):
                return np.asarray(data).astype(np.float64)
    if isinstance(data, np.ndarray) and data.ndim != 1:
        return read(data.ravel()).reshape(data.shape)
    return read(data)


def _foreign(data: pd.Series | pl.Series | pa.ChunkedArray, declared: str, read: Reader) -> NDArray[np.generic]:
    """A column of another library, by its declared type: what it converts to may depend on a missing record."""
    typed = typed_column(data) if read is reals and declared.startswith("decimal") else None
    real = None if typed is None else decimals(typed)
    if real is None and declared != "object":
        for options in ({"dtype": "float64", "na_value": np.nan}, {"zero_copy_only": False}, {}):
            with contextlib.suppress(Exception), warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                array = np.asarray(data.to_numpy(**options))
                if array.dtype.kind in "iufb":
                    real = array.astype(np.float64, copy=False)
                    break
    if real is None:
        real = read(data.to_pylist() if hasattr(data, "to_pylist") else data)
    if not declared.startswith(("int", "uint", "bool")):
        return real
    missing = np.isnan(real)
    whole = np.clip(np.where(missing, 0.0, real), -(2.0**62), 2.0**62)
    return np.ma.MaskedArray(whole.astype(np.int64), missing)


_NOT_HERE = '; "drop" is for queries about one column'


def missing_steps(nulls: Number | str | datetime.date | None, grid: Grid) -> int:
    """The grid point that a missing value counts as: a number, "lower" or "upper" (the default is "lower")."""
    low, high = grid.ends
    if nulls is None or nulls == "lower":
        return low
    if nulls == "upper":
        return high
    if isinstance(nulls, str):
        raise InvalidArgument("nulls", nulls, 'must be "lower", "upper" or a number within the bounds' + _NOT_HERE)
    steps = round(exact(nulls, "nulls") / grid.step)
    if not low <= steps <= high:
        raise InvalidArgument("nulls", nulls, 'must be "lower", "upper" or a number within the bounds')
    return steps


def read_column(data: ColumnLike, grid: Grid, nulls: Number | str | None = None) -> Column:
    """Clamp and round every record to the grid; missing values become the declared public one, or are left out."""
    array = as_array(data)
    drops = isinstance(nulls, str) and nulls == LEFT_OUT
    if array.dtype.kind == "f" and not isinstance(array, np.ma.MaskedArray):
        return UnroundedColumn(array, grid, None if drops else missing_steps(nulls, grid))
    return _on_grid(_present(array), grid) if drops else _on_grid(array, grid, nulls)


def _on_grid(array: NDArray[np.generic], grid: Grid, nulls: Number | str | None = None) -> Column:
    """Numbers as a column; there may be none left."""
    missing = missing_steps(nulls, grid)
    present = np.asarray(array.filled(0) if isinstance(array, np.ma.MaskedArray) else array)
    steps = grid.quantise(present.astype(np.int64) if present.dtype == np.bool_ else present, missing)
    if isinstance(array, np.ma.MaskedArray):
        steps[np.ma.getmaskarray(array)] = missing
    return Column(steps, grid)


def complete_rows(columns: Sequence[NDArray[np.generic]], grids: Sequence[Grid]) -> list[Column]:
    """Several columns of the same records without those in which any of them is missing: that may be all of them."""
    known = np.logical_and.reduce([~_is_missing(column) for column in columns])
    return [_on_grid(np.ma.getdata(column)[known], grid) for column, grid in zip(columns, grids, strict=True)]


def _is_missing(array: NDArray[np.generic]) -> NDArray[np.bool_]:
    values = np.ma.getdata(array)
    return np.asarray((values != values) | np.ma.getmaskarray(array))


def _present(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """The entries that are not missing."""
    if array.dtype.kind in "iub" and not isinstance(array, np.ma.MaskedArray):
        return array  # (a type that has no missing values)
    present: NDArray[np.generic] = np.ma.getdata(array)[~_is_missing(array)]
    return present


def read_bits(data: ColumnLike, nulls: Number | str | None = None) -> Column:
    """Truth values as 0 and 1: numbers other than 0 are true; missing values become the declared public one."""
    array = as_array(data, read=truths)
    if isinstance(nulls, str) and nulls == LEFT_OUT:
        return Column((_present(array) != 0).astype(np.int64), BIT)
    missing = missing_steps(nulls, BIT)
    present = np.asarray(array.filled(0) if isinstance(array, np.ma.MaskedArray) else array)
    steps = (present != 0).astype(np.int64)
    steps[np.ma.getmaskarray(array) | (present != present)] = missing
    return Column(steps, BIT)


def table_shape_of(data: TableLike, argument: str = "data", count: int | None = None) -> Shape:
    """The public facts of several columns; ``count`` as for ``columns_of``."""
    shapes = [shape_of(column, argument) for column in columns_of(data, argument, count)]
    whole, nullable = all(s.whole for s in shapes), any(s.nullable for s in shapes)
    return Shape(shapes[0].records, whole, nullable, len(shapes), tuple(named_columns(data) or ()))


class Table:
    """Private: several columns of the same records."""

    __slots__ = ("columns",)

    def __init__(self, columns: list[Column]) -> None:
        self.columns = columns

    def __repr__(self) -> str:
        return "Table(<private>)"


@overload
def only_columns(data: TableLike, names: Sequence[str], argument: str = "columns") -> dict[str, ColumnLike]: ...
@overload
def only_columns(data: TableLike, names: Sequence[str] | None, argument: str = "columns") -> TableLike: ...
def only_columns(data: TableLike, names: Sequence[str] | None, argument: str = "columns") -> TableLike:
    """The data without other columns than the named ones; None: all of them."""
    named = named_columns(data)
    if names is None:
        return data if named is None else named
    for name in names:
        if named is None or name not in named:
            known = [] if named is None else list(named)
            raise InvalidArgument(argument, name, f"must be the name of a column of the data{suggested(name, known)}")
    return {name: (named or {})[name] for name in names}


def floats_of(column: NDArray[np.generic]) -> NDArray[np.float64]:
    """A column as floats, NaN where an entry is missing.  Of short floats one kind of NaN would warn of itself."""
    with np.errstate(all="ignore"):
        real = column.astype(np.float64)
    return np.asarray(real.filled(np.nan) if isinstance(real, np.ma.MaskedArray) else real)


def columns_of(
    data: TableLike, argument: str = "data", count: int | None = None, read: Reader = reals
) -> list[NDArray[np.generic]]:
    """The columns of a two-dimensional array, a frame, a mapping of names to arrays, or a list of rows.

    Of a list of rows the number of columns is ``count``, or else the length of the first row: both are public.  A row
    of another length, or what is no row, counts as one in which everything is missing.
    """
    named = named_columns(data)
    if named is not None:
        columns = [as_array(column, f"{argument}[{name!r}]", read) for name, column in named.items()]
        return _same_length(columns, data, argument)
    array = data if isinstance(data, np.ndarray) else _rows(data, count)
    array = _untyped(array, read) if array.dtype == object else array
    if array.ndim != 2 or array.shape[1] == 0:
        raise InvalidArgument(argument, type(data), "must have records in rows and columns")
    return [as_array(array[:, j], argument) for j in range(array.shape[1])]


def count_of(bounds: object, names: object = None) -> int | None:  # anything: an entry of a list
    """How many columns there are, where bounds or names are given for each; else None."""
    for given in (bounds, names):
        if isinstance(given, Sequence) and given and not isinstance(given, str) and hasattr(given[0], "__len__"):
            return len(given)
    return None


def _rows(data: TableLike, count: int | None) -> NDArray[np.object_]:
    """A list of rows as an array of objects; its length is public, and so is the number of columns."""
    rows: list[object] = []  # anything: an entry of a list
    with contextlib.suppress(*FAILURES):
        rows = list(data)
    if not rows:
        return np.zeros(0, dtype=object)
    columns = row_length(rows[0]) if count is None else count
    read = np.full((len(rows), columns), np.nan, dtype=object)
    for place, row in enumerate(rows):
        if row_length(row) == columns:
            with contextlib.suppress(*FAILURES):
                entries = list(itertools.islice(row, columns))  # type: ignore[call-overload]  # a row
                for column, entry in enumerate(entries):
                    read[place, column] = entry
    return read


def row_length(row: object) -> int:  # anything: an entry of a list
    """How many entries a row has (a list, a tuple, an array, a column of a frame); none where it is no row."""
    is_row = hasattr(type(row), "__len__") and hasattr(type(row), "__getitem__")
    if not is_row or isinstance(row, (str, bytes, Mapping)):
        return 0
    with contextlib.suppress(*FAILURES):
        return len(row)  # type: ignore[arg-type]  # it has a length
    return 0


def _same_length(columns: list[NDArray[np.generic]], data: TableLike, argument: str) -> list[NDArray[np.generic]]:
    if len({len(column) for column in columns}) != 1:
        raise InvalidArgument(argument, type(data), "must have columns of equal length")
    return columns
