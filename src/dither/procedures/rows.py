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
from decimal import Decimal
from typing import Any

import numpy as np

from dither.errors import InvalidArgument
from dither.procedures.partition import Independent, Members, Sampling
from dither.sources.entries import is_missing, real, text

ACCEPTED = "an array, a frame of pandas, Polars or Arrow, a mapping of names to columns, or a list of rows is accepted"
_ARRAYS = "biufSUM"
_NUMBERS = (numbers.Number, Decimal, np.number, np.bool_)


class Rows:
    """Private: the records of everybody, one row a person."""

    __slots__ = ("_names", "_typed", "_untyped", "people")

    def __init__(self, rows: Any) -> None:
        self._names: tuple[str, ...] | None = None
        """Of the columns; None: blocks are arrays."""
        self._typed: Any = None
        """What has a declared type: an array, or columns by name."""
        self._untyped: Any = None
        """What has none: an array of objects, or columns of them by name."""
        if isinstance(rows, Mapping) or hasattr(rows, "columns"):
            lengths = self._take_columns(rows)
        else:
            lengths = self._take_array(rows)
        if len(lengths) > 1:
            raise InvalidArgument("rows", f"columns of {sorted(lengths)} rows", "columns of one length are accepted")
        self.people: int = lengths.pop() if lengths else 0
        """Public: how many there are."""
        if self.people == 0:
            raise InvalidArgument("rows", "no rows", "at least one row is accepted")

    def __repr__(self) -> str:
        return "Rows(<private>)"

    @property
    def is_table(self) -> bool:
        """True if blocks are Arrow tables; public."""
        return self._names is not None

    def block(self, members: Members) -> Any:
        """The rows of one block."""
        if self._names is not None:
            return self._table(self._names, members)
        if self._typed is None:
            return untyped_array(self._untyped[members].tolist())
        block = self._typed[members]
        # As wide as the texts of this block, not as those of others.
        return (
            np.array(block.tolist(), dtype=block.dtype.kind).reshape(block.shape) if block.dtype.kind in "SU" else block
        )

    def _table(self, names: tuple[str, ...], members: Members) -> Any:
        pa = _arrow()
        columns = {name: untyped_column(pa, column[members].tolist()) for name, column in self._untyped.items()}
        if self._typed:
            some = table_block(pa.table(self._typed), members)
            columns |= {name: some.column(name) for name in self._typed}
        return pa.table({name: columns[name] for name in names})

    def _take_array(self, rows: Any) -> set[int]:
        if not isinstance(rows, np.ndarray) and hasattr(rows, "to_numpy"):
            rows = _one_column(rows)
        if isinstance(rows, np.ma.MaskedArray) and rows.dtype.kind in "biuf":
            rows = np.ma.filled(rows.astype(np.float64), np.nan)
        if isinstance(rows, np.ndarray):
            if rows.ndim == 0:
                raise InvalidArgument("rows", "a single number", ACCEPTED)
            if rows.dtype.kind not in _ARRAYS + "O" or isinstance(rows, np.ma.MaskedArray):
                raise InvalidArgument("rows", f"an array of {rows.dtype}", "numbers, texts or dates are accepted")
            if rows.dtype.kind != "O":
                self._typed = rows
                return {len(rows)}
        elif not isinstance(rows, Sequence) or isinstance(rows, (str, bytes)):
            raise InvalidArgument("rows", type(rows), ACCEPTED)
        self._untyped = _objects(list(rows))
        return {len(rows)}

    def _take_columns(self, rows: Any) -> set[int]:
        pa = _arrow()
        if hasattr(rows, "to_arrow"):
            rows = rows.to_arrow()
        arrow = isinstance(rows, (pa.Table, pa.RecordBatch))
        names = list(rows.schema.names if arrow else rows if isinstance(rows, Mapping) else rows.columns)
        if len({str(name) for name in names}) != len(names):
            raise InvalidArgument("rows", [str(name) for name in names], "different names of columns are accepted")
        self._names = tuple(str(name) for name in names)
        self._typed, self._untyped = {}, {}
        for name in names:
            column = rows.column(name) if arrow else _typed_column(pa, rows[name])
            if column is None:
                self._untyped[str(name)] = _objects(list(rows[name]))
            else:
                self._typed[str(name)] = _plain(pa, str(name), column)
        return {len(column) for column in (*self._typed.values(), *self._untyped.values())}


class TableBlocks:
    """Private: rows of a table in blocks of people; read when they are drawn, so that a schedule covers it.

    read: the rows as they were streamed and as programs see them.  by_person: a person may have several rows; the
    column h of those that were streamed says whose they are.
    """

    __slots__ = ("_by_person", "_read")

    def __init__(self, read: Callable[[], tuple[Any, Any]], *, by_person: bool) -> None:
        self._read, self._by_person = read, by_person

    def __repr__(self) -> str:
        return "TableBlocks(<private>)"

    def drawn(self, sampling: Sampling) -> list[Any]:
        """The rows of every block as Arrow tables, in random order: that of the engine may depend on anybody."""
        streamed, shown = self._read()
        if not self._by_person:
            return [table_block(shown, members) for members in sampling.draw(streamed.num_rows)]
        if not isinstance(sampling, Independent):
            raise RuntimeError("people with several rows are drawn independently")
        encoded = streamed.column("h").dictionary_encode().unify_dictionaries()
        person = np.concatenate([np.zeros(0, dtype=np.int64), *(np.asarray(chunk.indices) for chunk in encoded.chunks)])
        drawn = sampling.draw_groups(person.astype(np.int64), int(person.max(initial=-1)) + 1)
        return [table_block(shown, members) for members in drawn]


def _one_column(rows: Any) -> Any:
    """One column of a frame as an array or a list, by its declared type alone.

    Where entries may be missing, what ``to_numpy`` makes of whole numbers depends on whether any is: here they are
    real numbers.
    """
    if isinstance(getattr(rows, "dtype", None), np.dtype):
        return np.asarray(rows.to_numpy())
    entries = _entries(rows)
    if str(getattr(rows, "dtype", "")) == "category":  # (what the categories are depends on everybody)
        return entries
    declared = _as_numpy(rows[:0]).dtype
    if declared.kind in "biuf":
        return np.array([real(one) for one in entries], dtype=np.float64)
    if declared.kind == "M":
        return _as_numpy(rows).astype(declared)
    return entries


def _as_numpy(values: Any) -> Any:
    """As its library does it; Arrow would raise an error where it has to copy, as it has for missing entries."""
    return np.asarray(values.to_numpy(zero_copy_only=False) if hasattr(values, "to_pylist") else values.to_numpy())


def _entries(values: Any) -> list[Any]:
    """What a column holds as Python objects; None where an entry is none that Python knows."""
    try:
        return list(values.to_pylist() if hasattr(values, "to_pylist") else values)
    except Exception:  # noqa: BLE001 - (a date beyond the calendar)
        return [_entry(values, place) for place in range(len(values))]


def _entry(values: Any, place: int) -> Any:
    with contextlib.suppress(Exception):
        return values[place].as_py() if hasattr(values, "to_pylist") else values[place]
    return None


def _converted(pa: Any, entries: list[Any], wanted: Any) -> Any:
    """An Arrow column of a type that is declared; missing where an entry is none of it, and nowhere else."""
    try:
        return pa.array(entries, wanted)
    except Exception:  # noqa: BLE001 - whatever a library raises for such a value
        return pa.concat_arrays([pa.nulls(0, wanted), *(_single(pa, one, wanted) for one in entries)])


def _single(pa: Any, entry: Any, wanted: Any) -> Any:
    with contextlib.suppress(Exception):
        return pa.array([None if is_missing(entry) else entry], wanted)
    return pa.nulls(1, wanted)


def table_block(table: Any, members: Members) -> Any:
    """Some rows of an Arrow table, in one piece."""
    return table.take(members).combine_chunks()


def untyped_array(entries: list[Any]) -> Any:
    """Rows or single entries without a type as an array: real numbers, or texts if there is anything else.

    >>> untyped_array([[1, None], [2.5, True]])
    array([[1. , nan],
           [2.5, 1. ]])
    >>> untyped_array([1, "two"])
    array(['1', 'two'], dtype='<U3')
    """
    try:
        made = np.array(entries, dtype=object)
    except ValueError:  # rows of different lengths
        made = _objects(entries)
    flat = made.ravel().tolist()
    if all(is_missing(one) or isinstance(one, _NUMBERS) for one in flat):
        return np.array([real(one) for one in flat], dtype=np.float64).reshape(made.shape)
    return np.array([text(one) or "" for one in flat], dtype=str).reshape(made.shape)


def untyped_column(pa: Any, entries: list[Any]) -> Any:
    """A column without a type in Arrow: one kind for all entries; numbers are real, and what is mixed becomes text."""
    present = [one for one in entries if not is_missing(one)]
    if all(isinstance(one, _NUMBERS) for one in present):
        return pa.array([None if is_missing(one) else real(one) for one in entries], pa.float64())
    for kind, arrow_type in ((datetime.datetime, pa.timestamp("us")), (datetime.date, pa.date32())):
        if all(isinstance(one, kind) for one in present):
            with contextlib.suppress(Exception):  # (a date that the type cannot hold: text, in this block alone)
                return pa.array([None if is_missing(one) else one for one in entries], arrow_type)
    with contextlib.suppress(Exception):  # (half of a surrogate pair)
        return pa.array([text(one) for one in entries], pa.string())
    return pa.nulls(len(entries), pa.string())


def _objects(entries: list[Any]) -> Any:
    """A one-dimensional array of objects, whatever they are."""
    made = np.empty(len(entries), dtype=object)
    for place, one in enumerate(entries):
        made[place] = one
    return made


def _typed_column(pa: Any, values: Any) -> Any:
    """A column whose type is declared, in Arrow; None: it has none, or one that Arrow does not know."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if hasattr(values, "to_arrow"):
        return values.to_arrow()
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "biuf":
        values = np.ma.filled(values.astype(np.float64), np.nan)
    declared = str(getattr(values, "dtype", "object"))
    if declared in ("object", "category"):  # (what the categories are depends on everybody)
        return None
    try:
        wanted = pa.array(values[:0], from_pandas=True).type
    except Exception:  # noqa: BLE001 - whatever a type unknown to Arrow raises
        return None
    with contextlib.suppress(Exception):
        made = pa.array(values, from_pandas=True)
        if made.type == wanted:
            return made
    # An entry that Arrow does not take (half of a surrogate pair) is missing: the type of the others stays.
    return _converted(pa, list(values), wanted)


def _plain(pa: Any, name: str, values: Any) -> Any:
    """Without dictionaries, however deep: they would list the categories of everybody in every block."""
    wanted = _plain_type(pa, values.type)
    if wanted == values.type:
        made = values
    elif pa.types.is_dictionary(values.type) and not pa.types.is_nested(wanted):
        made = values.cast(wanted)
    else:  # (Arrow casts some of these, and not all)
        made = _converted(pa, _entries(values), wanted)
    try:  # (whether Arrow can take rows of such a type is found out without any)
        table_block(pa.table({name: made.slice(0, 0)}), np.zeros(0, dtype=np.int64))
    except Exception:  # noqa: BLE001
        raise InvalidArgument("rows", f"column {name!r} of {wanted}", "types whose rows Arrow can take") from None
    return made


def _plain_type(pa: Any, kind: Any) -> Any:
    """The same type with values in place of dictionaries, and what is stored in place of extensions."""
    types = pa.types
    if types.is_dictionary(kind):
        return _plain_type(pa, kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_type(pa, kind.storage_type)
    if types.is_run_end_encoded(kind):
        return _plain_type(pa, kind.value_type)
    if types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        return pa.struct([(one.name, _plain_type(pa, one.type)) for one in fields])
    if types.is_map(kind):
        return pa.map_(_plain_type(pa, kind.key_type), _plain_type(pa, kind.item_type))
    if types.is_fixed_size_list(kind):
        return pa.list_(_plain_type(pa, kind.value_type), kind.list_size)
    # Views of lists share one store of values: a block of them would carry along the entries of others.
    if types.is_large_list(kind) or types.is_large_list_view(kind):
        return pa.large_list(_plain_type(pa, kind.value_type))
    if types.is_list(kind) or types.is_list_view(kind):
        return pa.list_(_plain_type(pa, kind.value_type))
    return kind


def _arrow() -> Any:
    import pyarrow as pa  # noqa: PLC0415  (an optional part)

    return pa
