"""Rows in memory as blocks: arrays stay arrays; frames and mappings of columns become Arrow tables.

A program therefore sees the same kind of block whichever executor runs it.  What it sees of a block must depend on that
block alone, its types included: untyped numbers are real whatever they are, texts have no common width, and categories
of others do not travel along.  Otherwise one person could change what every block looks like.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dither.errors import InvalidArgument, InvalidData
from dither.procedures.partition import Members

ACCEPTED = "an array, a frame of pandas, Polars or Arrow, a mapping of names to columns, or a list of rows is accepted"
_ALIKE = "rows: not all entries of a column are numbers, texts, dates or times, or rows differ in length"


class Rows:
    """Private: the records of everybody, one row a person."""

    __slots__ = ("_rows", "people")

    def __init__(self, rows: Any) -> None:
        self._rows = _as_block(rows)
        self.people: int = len(self._rows)
        """Public: how many there are."""
        if self.people == 0:
            raise InvalidArgument("rows", "no rows", "at least one row is accepted")

    def __repr__(self) -> str:
        return "Rows(<private>)"

    @property
    def is_table(self) -> bool:
        """True if blocks are Arrow tables; public."""
        return hasattr(self._rows, "column_names")

    def block(self, members: Members) -> Any:
        """The rows of one block."""
        if self.is_table:
            return table_block(self._rows, members)
        block = self._rows[members]
        # As wide as the texts of this block, not as those of others.
        return (
            np.array(block.tolist(), dtype=block.dtype.kind).reshape(block.shape) if block.dtype.kind in "SU" else block
        )


def table_block(table: Any, members: Members) -> Any:
    """Some rows of an Arrow table, in one piece."""
    return table.take(members).combine_chunks()


def _as_block(rows: Any) -> Any:
    if isinstance(rows, np.ndarray):
        if rows.ndim == 0:
            raise InvalidArgument("rows", "a single number", ACCEPTED)
        return _typed(rows)
    if isinstance(rows, Mapping) or hasattr(rows, "columns"):
        return _as_table(rows)
    if hasattr(rows, "to_numpy"):
        return _typed(np.asarray(rows.to_numpy()))
    if isinstance(rows, Sequence) and not isinstance(rows, (str, bytes)):
        return _untyped(rows)
    raise InvalidArgument("rows", type(rows), ACCEPTED)


def _typed(array: Any) -> Any:
    """An array by its type: masked entries as NaN, objects by what all of them are."""
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    return array if array.dtype.kind in "biufSUM" else _untyped(array)


def _untyped(rows: Any) -> Any:
    """All entries as real numbers, or all as texts."""
    made = None
    with contextlib.suppress(Exception):  # (foreign entries may fail in any way; the cause would quote a record)
        entries = np.asarray(rows, dtype=object)
        texts = {isinstance(one, (str, bytes)) for one in entries.flat}
        if texts == {True}:
            made = entries.astype(str)
        elif texts == {False}:
            made = entries.astype(np.float64)
        elif not texts:
            made = np.zeros(0)
    if made is None:
        raise InvalidData(f"{_ALIKE}; nothing was charged")
    return made


def _as_table(rows: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415  (an optional part)

    made = None
    with contextlib.suppress(Exception):  # (the cause would quote a record)
        made = pa.table(_columns(pa, rows))
    if made is None:
        raise InvalidData(f"{_ALIKE}; nothing was charged")
    return made


def _columns(pa: Any, rows: Any) -> dict[str, Any]:
    if hasattr(rows, "to_arrow"):
        rows = rows.to_arrow()
    if isinstance(rows, (pa.Table, pa.RecordBatch)):
        return {name: _plain(pa, rows.column(name)) for name in rows.schema.names}
    names = rows if isinstance(rows, Mapping) else rows.columns
    return {str(name): _plain(pa, _column(pa, rows[name])) for name in names}


def _column(pa: Any, values: Any) -> Any:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if hasattr(values, "to_arrow"):
        return values.to_arrow()
    declared = getattr(values, "dtype", None)
    if declared is None or str(declared) == "object":
        return _listed(pa, list(values))
    return pa.array(_typed(values) if isinstance(values, np.ndarray) else values, from_pandas=True)


def _listed(pa: Any, values: list[Any]) -> Any:
    """An untyped column: one kind for all entries, and numbers always real."""
    present = [one for one in values if one is not None and one == one]
    for kind, arrow_type in (
        (str, pa.string()),
        (datetime.datetime, pa.timestamp("us")),
        (datetime.date, pa.date32()),
    ):
        if present and all(isinstance(one, kind) for one in present):
            return pa.array([None if one != one else one for one in values], arrow_type)
    if any(isinstance(one, str) for one in present):
        raise TypeError
    return pa.array(np.asarray(values, dtype=np.float64), from_pandas=True)


def _plain(pa: Any, values: Any) -> Any:
    """Without a dictionary, which would list the categories of everybody in every block."""
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
