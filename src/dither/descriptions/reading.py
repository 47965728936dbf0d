"""The columns of a table that nobody has declared: how each is stored, which is public, and its entries, which are not.

Each entry is read by itself, and none raises an error: no record decides how others are read.
"""

from __future__ import annotations

import datetime
import functools
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from dither.errors import InvalidArgument
from dither.kernels.elementary import Floats
from dither.sources.column import as_array, declared_type, floats_of
from dither.sources.engines.factory import engine_of
from dither.sources.entries import SPACES, day, days, is_missing, real, texts
from dither.sources.files import file_rows, read_file_column, read_file_entries
from dither.sources.formats import ISO_MOMENTS
from dither.sources.frames import ColumnLike, Scalar, TableLike, collected, column_entries, named_columns
from dither.sources.lines import DELIMITERS, USUAL, TextLayout, inner_suffix

Storage: TypeAlias = Literal["whole", "real", "date", "boolean", "text", "untyped", "other"]
"""How a column is stored: public.  "untyped": a column of objects, or of a text file, may hold anything."""
Kind: TypeAlias = Literal["whole", "real", "date", "text"]
KINDS: tuple[Kind, ...] = ("whole", "real", "date", "text")
"""What an entry of an untyped column may be; anything else is missing."""
EPOCH = datetime.date(1970, 1, 1).toordinal()
_STORAGES: tuple[tuple[str, Storage], ...] = (
    (r"u?int\d+", "whole"),
    (r"(float\d*|double|half_?float|decimal\d*\(.*\))", "real"),
    (r"bool(ean)?", "boolean"),
    (r"(date.*|timestamp.*)", "date"),
    (r"(str|string|large_string|string_view|utf8|large_utf8)(\[.*\])?", "text"),
    (r"(|object|category|categorical.*|enum.*|null|dictionary<.*>)", "untyped"),
)
_OF_NUMPY: dict[str, Storage] = {
    "i": "whole",
    "u": "whole",
    "f": "real",
    "b": "boolean",
    "M": "date",
    "U": "text",
    "O": "untyped",
}
_OF_ENGINE: dict[str, Storage] = {
    "whole": "whole",
    "real": "real",
    "decimal": "real",
    "boolean": "boolean",
    "date": "date",
    "text": "text",
}


@dataclass(frozen=True)
class StoredColumn:
    """The name and the storage of a column, and a way to its private entries."""

    name: str
    storage: Storage
    entries: Callable[[], ColumnLike] = field(repr=False)

    def held(self) -> StoredColumn:
        """The same column, whose entries are read once."""
        return replace(self, entries=functools.cache(self.entries))

    def numbers(self, kind: Kind) -> Floats:
        """Private: its entries as numbers, days since 1970 where they are dates; NaN where one is missing or none."""
        entries = self.entries()
        if kind == "date":
            return _day_numbers(column_entries(entries))
        if self.storage == "untyped":
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return np.array(
                    [real(entry) if entry_kind(entry) in ("whole", "real") else np.nan for entry in entries]
                )
        return floats_of(as_array(entries))

    def texts(self) -> list[str | None]:
        """Private: its entries as texts; None where one is missing."""
        return [
            None if text is None or not text.strip(SPACES) else text for text in texts(column_entries(self.entries()))
        ]

    def kinds(self) -> list[str]:
        """Private: what each entry is."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return [entry_kind(entry) or "missing" for entry in column_entries(self.entries())]


def entry_kind(entry: Scalar) -> Kind | None:
    """What an entry without a declared type is; None where it is missing.

    >>> entry_kind("12"), entry_kind(1.5), entry_kind("2014-05-01"), entry_kind("n/a"), entry_kind(" ")
    ('whole', 'real', 'date', 'text', None)
    """
    if is_missing(entry) or (isinstance(entry, str) and not str.strip(entry, SPACES)):
        return None
    if not isinstance(entry, (bool, np.bool_)):
        number = real(entry)
        if number == number:
            return "whole" if number == np.floor(number) and abs(number) < np.inf else "real"
    return "text" if day(entry, ISO_MOMENTS.day) is None else "date"


def _day_numbers(entries: Sequence[Scalar]) -> Floats:
    result = days(entries, ISO_MOMENTS.day)
    return np.array([np.nan if item is None else item.toordinal() - EPOCH for item in result])


def storage_of(values: ColumnLike) -> Storage:
    """How a column of a frame is stored, by its declared type alone."""
    if isinstance(values, np.ndarray):
        return _OF_NUMPY.get(values.dtype.kind, "other") if values.ndim == 1 else "other"
    declared = declared_type(values).removesuffix("[pyarrow]")
    return next((storage for pattern, storage in _STORAGES if re.fullmatch(pattern, declared)), "other")


def frame_columns(data: TableLike) -> tuple[list[StoredColumn], int]:
    """The columns of a frame of any library or a mapping, and how many records they have."""
    named = named_columns(collected(data))
    if not named:
        raise InvalidArgument(
            "data", type(data), "must be a frame, a mapping of names to columns, or the path of a file"
        )
    if len({len(values) for values in named.values()}) != 1:
        raise InvalidArgument("data", type(data), "must have columns of equal length")
    columns = [StoredColumn(name, storage_of(values), _given(values)) for name, values in named.items()]
    return columns, len(next(iter(named.values())))


def _given(values: ColumnLike) -> Callable[[], ColumnLike]:
    return lambda: values


def file_columns(path: str | Path, layout: TextLayout = USUAL) -> tuple[list[StoredColumn], int]:
    """The columns of a CSV or Parquet file, and how many records it has.  A CSV file stores no types."""
    file = Path(path)
    engine = engine_of(str(file), layout=layout)
    stored = engine.stored_types()
    engine.close()
    untyped = inner_suffix(file) in DELIMITERS

    def column(name: str, stored_type: str) -> StoredColumn:
        storage: Storage = "untyped" if untyped else _OF_ENGINE.get(stored_type, "other")
        if storage in ("whole", "real"):
            return StoredColumn(name, storage, lambda: read_file_column(file, name))
        return StoredColumn(name, storage, lambda: read_file_entries(file, name, layout=layout))

    return [column(name, item) for name, item in stored.items()], file_rows(file, layout=layout)
