"""Rows in memory as blocks: arrays stay arrays; frames and mappings of columns become Arrow tables.

A program therefore sees the same kind of block whichever executor runs it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dither.errors import InvalidArgument, InvalidData
from dither.procedures.partition import Members

ACCEPTED = "an array, a frame of pandas, Polars or Arrow, a mapping of names to columns, or a list of rows is accepted"


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
        return self._rows.take(members) if self.is_table else self._rows[members]


def _as_block(rows: Any) -> Any:
    if isinstance(rows, np.ndarray):
        if rows.ndim == 0:
            raise InvalidArgument("rows", "a single number", ACCEPTED)
        return _typed(rows)
    if hasattr(rows, "column_names") and hasattr(rows, "take"):
        return rows
    if isinstance(rows, Mapping) or hasattr(rows, "columns"):
        return _as_table(rows)
    if hasattr(rows, "to_numpy"):
        return _typed(np.asarray(rows.to_numpy()))
    if isinstance(rows, Sequence) and not isinstance(rows, (str, bytes)):
        return _typed(_array(rows))
    raise InvalidArgument("rows", type(rows), ACCEPTED)


def _array(rows: Sequence[Any]) -> Any:
    made = None
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        made = np.asarray(rows)
    if made is None:
        raise InvalidData("rows: not every row has the same length and kind; nothing was charged")
    return made


def _typed(array: Any) -> Any:
    """Masked entries as NaN, objects as numbers: what can be sent to a sandbox."""
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    if array.dtype.kind in "biufSUM":
        return array
    made = None
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        made = array.astype(np.float64)
    if made is None:
        raise InvalidData("rows: not every entry is a number; give texts as texts or a frame; nothing was charged")
    return made


def _as_table(rows: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415  (an optional part)

    made = None
    try:
        if isinstance(rows, Mapping):
            made = pa.table({str(name): _column(pa, values) for name, values in rows.items()})
        elif hasattr(rows, "to_arrow"):
            made = rows.to_arrow()
        else:
            made = pa.Table.from_pandas(rows, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass  # the cause would quote a record
    if made is None:
        raise InvalidData("rows: the columns must have equal lengths and one kind of entries each; nothing was charged")
    return made


def _column(pa: Any, values: Any) -> Any:
    return values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values)
