"""Rows as blocks: arrays stay arrays; frames, mappings of columns and tables of an engine become Arrow tables.

A program therefore sees the same kind of block whichever executor runs it.  What it sees of a block must depend on that
block alone, its types included: texts have no common width, categories of others do not travel along, and entries
without a declared type (lists, columns of objects) get theirs block by block.  Otherwise one person could change what
every block looks like, or whether there is an answer at all.
"""

from __future__ import annotations

import contextlib
import datetime
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import ModuleType
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.procedures.partition import Independent, Members, Sampling
from dither.sources.entries import FAILURES, is_missing, reals, texts
from dither.sources.frames import (
    ColumnLike,
    Entries,
    TableLike,
    arrow,
    column_entries,
    column_names,
    object_array,
    plain_column,
    table_block,
    typed_column,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from dither.procedures.executor import Block

ACCEPTED = "must be an array, a frame of pandas, Polars or Arrow, a mapping of names to columns, or a list of rows"
_ARRAYS = "biufSUM"
_NUMBERS = (numbers.Number, Decimal, np.number, np.bool_)
_ROWS = {list, tuple, np.ndarray}
MOST_CHARACTERS = 1 << 22
"""Texts without a declared type have this much room in a block, all of them the same: longer ones are cut, so that one
record does not make all others of its block as long."""
SHORTEST_CUT = 100
"""No text is cut to fewer characters."""


class Rows:
    """Private: all records, one row for each person."""

    __slots__ = ("_array", "_columns", "_names", "_object_columns", "_objects", "people")

    def __init__(self, rows: TableLike | ColumnLike) -> None:
        self._names: tuple[str, ...] | None = None
        """Of the columns; None: blocks are arrays."""
        self._array: NDArray[np.generic] | None = None
        self._objects: NDArray[np.object_] = object_array([])
        """The same where there is no declared type."""
        self._columns: dict[str, pa.Array | pa.ChunkedArray] = {}
        self._object_columns: dict[str, NDArray[np.object_]] = {}
        if isinstance(rows, Mapping) or hasattr(rows, "columns"):
            lengths = self._take_columns(rows)
        else:
            lengths = self._take_array(rows)
        if len(lengths) > 1:
            raise InvalidArgument("rows", f"columns of {sorted(lengths)} rows", "must have columns of one length")
        self.people: int = lengths.pop() if lengths else 0
        """Public: how many there are."""
        if self.people == 0:
            raise InvalidArgument("rows", "no rows", "must have at least one row")

    def __repr__(self) -> str:
        return "Rows(<private>)"

    @property
    def is_table(self) -> bool:
        """True if blocks are Arrow tables; public."""
        return self._names is not None

    @property
    def made_up(self) -> MadeUpRows:
        """Public: what makes up rows of the declared types; none for entries that have no declared type."""
        if self._names is not None and not self._object_columns:
            return MadeUpRows({name: self._columns[name].type for name in self._names})
        return MadeUpRows() if self._array is None else MadeUpRows(None, self._array.dtype, self._array.shape[1:])

    def block(self, members: Members) -> Block:
        """The rows of one block."""
        if self._names is not None:
            return self._table(self._names, members)
        if self._array is None:
            return untyped_array(self._objects[members].tolist())
        block = self._array[members]
        # As wide as the texts of this block, not as those of others.
        return (
            np.array(block.tolist(), dtype=block.dtype.kind).reshape(block.shape) if block.dtype.kind in "SU" else block
        )

    def _table(self, names: tuple[str, ...], members: Members) -> pa.Table:
        built = arrow()
        columns = {
            name: untyped_column(built, column[members].tolist()) for name, column in self._object_columns.items()
        }
        if self._columns:
            some = table_block(built.table(self._columns), members)
            columns |= {name: some.column(name) for name in self._columns}
        return built.table({name: columns[name] for name in names})

    def _take_array(self, rows: TableLike | ColumnLike) -> set[int]:
        if not isinstance(rows, np.ndarray) and hasattr(rows, "to_numpy"):
            rows = _one_column(rows)
        if isinstance(rows, np.ma.MaskedArray) and rows.dtype.kind in "biuf":
            rows = np.ma.filled(rows.astype(np.float64), np.nan)
        if isinstance(rows, np.ndarray):
            if rows.ndim == 0:
                raise InvalidArgument("rows", "a single number", ACCEPTED)
            if rows.dtype.kind not in _ARRAYS + "O" or isinstance(rows, np.ma.MaskedArray):
                raise InvalidArgument("rows", f"an array of {rows.dtype}", "must hold numbers, texts or dates")
            if rows.dtype.kind != "O":
                self._array = rows
                return {len(rows)}
        elif not isinstance(rows, Sequence) or isinstance(rows, (str, bytes)):
            raise InvalidArgument("rows", type(rows), ACCEPTED)
        self._objects = object_array(list(rows))
        return {len(rows)}

    def _take_columns(self, rows: TableLike) -> set[int]:
        if hasattr(rows, "to_arrow"):
            rows = rows.to_arrow()
        names = column_names(rows) or []
        frame = cast("Mapping[str, ColumnLike] | pd.DataFrame | pa.Table", rows)  # it has names
        if len({str(name) for name in names}) != len(names):
            raise InvalidArgument("rows", [str(name) for name in names], "must have columns of different names")
        self._names = tuple(str(name) for name in names)
        for name in names:
            values = frame[name]
            if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "biuf":
                values = np.ma.filled(values.astype(np.float64), np.nan)
            column = typed_column(values)
            if column is None:
                self._object_columns[str(name)] = object_array(list(values))
            else:
                self._columns[str(name)] = plain_column(str(name), column, "rows")
        return {len(column) for column in (*self._columns.values(), *self._object_columns.values())}


@dataclass(frozen=True)
class MadeUpRows:
    """Public: makes up rows of the same types as some data, by what their columns declare and nothing else."""

    types: Mapping[str, pa.DataType] | None = None
    """The types of columns that have names; None: rows are entries of an array."""
    dtype: np.dtype[np.generic] | None = None
    shape: tuple[int, ...] = ()
    """Of one entry of the array."""

    def __call__(self, rows: int) -> Block | None:
        """So many rows, numbers from 1 to 100; None where a type does not say what entries look like."""
        if self.types is not None:
            columns = {name: _made_up(kind, rows) for name, kind in self.types.items()}
            return None if any(column is None for column in columns.values()) else arrow().table(columns)
        if self.dtype is None:
            return None
        numbers = _spread(rows * int(np.prod(self.shape, dtype=np.int64))).reshape(rows, *self.shape)
        if self.dtype.kind in "SU":
            return np.where(numbers < 50, "a", "b").astype(self.dtype.kind)
        if self.dtype.kind == "M":
            return (np.datetime64("2020-01-01") + numbers.astype(np.int64)).astype(self.dtype)
        return (numbers < 50 if self.dtype.kind == "b" else numbers).astype(self.dtype)


def _spread(count: int) -> NDArray[np.float64]:
    """Numbers from 1 to 100, evenly and in no order: fractional parts of multiples of an irrational number."""
    spread: NDArray[np.float64] = 1.0 + 99.0 * ((np.arange(1, count + 1) * np.sqrt(2.1)) % 1.0)
    return spread


def _made_up(kind: pa.DataType, rows: int) -> pa.Array | None:
    pa, numbers = arrow(), _spread(rows)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.array(np.where(numbers < 50, "a", "b").tolist(), kind)
    if pa.types.is_boolean(kind):
        return pa.array((numbers < 50).tolist(), kind)
    with contextlib.suppress(pa.ArrowException):  # (a type that numbers do not become)
        if pa.types.is_temporal(kind):
            days = pa.array(18_262 + numbers.astype(np.int32), pa.int32()).cast(pa.date32())
            return days.cast(kind)
        whole = pa.array(numbers.astype(np.int64))
        return whole.cast(kind) if pa.types.is_integer(kind) else pa.array(numbers).cast(kind, safe=False)
    return None


class TableBlocks:
    """Private: rows of a table in blocks of people; read when they are drawn, so that a schedule covers it.

    read: the rows as they were streamed and as programs see them.  by_person: a person may have several rows; the
    column h of those that were streamed says whose they are.
    """

    __slots__ = ("_by_person", "_read")

    def __init__(self, read: Callable[[], tuple[pa.Table, pa.Table]], *, by_person: bool) -> None:
        self._read, self._by_person = read, by_person

    def __repr__(self) -> str:
        return "TableBlocks(<private>)"

    def drawn(self, sampling: Sampling) -> list[pa.Table]:
        """The rows of every block as Arrow tables, in random order: that of the engine may depend on anybody."""
        streamed, declared = self._read()
        if not self._by_person:
            return [table_block(declared, members) for members in sampling.draw(streamed.num_rows)]
        if not isinstance(sampling, Independent):
            raise RuntimeError("people with several rows are drawn independently")
        encoded = streamed.column("h").dictionary_encode().unify_dictionaries()
        person = np.concatenate([np.zeros(0, dtype=np.int64), *(np.asarray(chunk.indices) for chunk in encoded.chunks)])
        drawn = sampling.draw_groups(person.astype(np.int64), int(person.max(initial=-1)) + 1)
        return [table_block(declared, members) for members in drawn]


def _one_column(rows: pd.Series | pa.ChunkedArray) -> NDArray[np.generic] | Entries:
    """One column of a frame as an array or a list, by its declared type alone.

    Where entries may be missing, what ``to_numpy`` makes of whole numbers depends on whether any is: here they are
    real numbers.
    """
    if isinstance(getattr(rows, "dtype", None), np.dtype):
        return np.asarray(rows.to_numpy())
    entries = column_entries(rows)
    if str(getattr(rows, "dtype", "")) == "category":  # (the list of categories depends on all records)
        return entries
    declared = _as_numpy(rows[:0]).dtype
    if declared.kind in "biuf":
        return reals(entries)
    if declared.kind == "M":
        return _as_numpy(rows).astype(declared)
    return entries


def _as_numpy(values: pd.Series | pa.ChunkedArray) -> NDArray[np.generic]:
    """As its library does it; Arrow would raise an error where it has to copy, as it has for missing entries."""
    return np.asarray(values.to_numpy(zero_copy_only=False) if hasattr(values, "to_pylist") else values.to_numpy())


def untyped_array(entries: Entries) -> NDArray[np.float64] | NDArray[np.str_]:
    """Rows or single entries without a type as an array: real numbers, or texts if there is anything else.

    >>> untyped_array([[1, None], [2.5, True]])
    array([[1. , nan],
           [2.5, 1. ]])
    >>> untyped_array([1, "two"])
    array(['1', 'two'], dtype='<U3')
    """
    built = object_array(entries)
    with contextlib.suppress(*FAILURES):  # (an entry that can't be looked at, or has no length: rows stay as they are)
        if {type(entry) for entry in entries} <= _ROWS and len({len(entry) for entry in entries}) == 1:
            built = np.array(entries, dtype=object)
    flat = built.ravel().tolist()
    if all(is_missing(value) or isinstance(value, _NUMBERS) for value in flat):
        return reals(flat).reshape(built.shape)
    longest = max(SHORTEST_CUT, MOST_CHARACTERS // len(flat))
    return np.array([(text or "")[:longest] for text in texts(flat)], dtype=str).reshape(built.shape)


def untyped_column(pa: ModuleType, entries: Entries) -> pa.Array:
    """A column without a type in Arrow: one kind for all entries; numbers are real, and what is mixed becomes text."""
    present = [entry for entry in entries if not is_missing(entry)]
    if all(isinstance(record, _NUMBERS) for record in present):
        numbers = zip(entries, reals(entries).tolist(), strict=True)
        return pa.array([None if is_missing(item) else number for item, number in numbers], pa.float64())
    for kind, arrow_type in ((datetime.datetime, pa.timestamp("us")), (datetime.date, pa.date32())):
        if all(isinstance(record, kind) for record in present):
            with contextlib.suppress(Exception):  # (a date that the type cannot hold: text, in this block alone)
                return pa.array([None if is_missing(entry) else entry for entry in entries], arrow_type)
    with contextlib.suppress(Exception):  # (half of a surrogate pair)
        return pa.array(texts(entries), pa.string())
    return pa.nulls(len(entries), pa.string())
