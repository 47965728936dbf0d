"""The reader of frames (pandas, Polars, Arrow) and of mappings of names to columns.

Types are those that a column declares.  Entries without a declared type are read one by one, and an entry that its
column cannot hold is missing: no record decides how others are read, and none raises an error.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, SupportsFloat, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument, InvalidData
from dither.sources.entries import FAILURES, SHORT, is_missing, seconds_of, texts

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

T = TypeVar("T")
Scalar: TypeAlias = "SupportsFloat | str | bytes | datetime.date | None"
ColumnLike: TypeAlias = "Sequence[Scalar] | NDArray[np.generic] | pd.Series | pl.Series | pa.Array | pa.ChunkedArray"
"""Entries of one column: a list, an array, or a column of another library."""
TableLike: TypeAlias = (
    "Sequence[Sequence[Scalar]] | NDArray[np.generic] | Mapping[str, ColumnLike] "
    "| pd.DataFrame | pl.DataFrame | pa.Table"
)
"""Rows, columns by name, or a frame of another library."""
Entries: TypeAlias = list[Any]  # what a column without a declared type holds: anything
_UNTYPED = ("object", "str", "string", "category")


def arrow() -> ModuleType:
    """The Arrow package, which is optional and slow to load."""
    return importlib.import_module("pyarrow")


def collected(data: T) -> T:
    """What is read once: lazy frames of Polars, relations of DuckDB and frames of Spark as tables; else as it is."""
    library = type(data).__module__.partition(".")[0].lstrip("_")
    name = {"polars": "collect", "duckdb": "to_arrow_table", "pyspark": "toArrow"}.get(library, "")
    read = getattr(data, name, None) if hasattr(type(data), "columns") else None
    return data if read is None else cast("T", read())


def is_table(data: object) -> bool:  # anything: an entry, or a frame of any library
    """True for a frame of any library and for a mapping; its type alone decides, for a label may be any word."""
    return isinstance(data, Mapping) or hasattr(type(data), "columns") or hasattr(type(data), "column_names")


def column_names(data: TableLike) -> list[str] | None:
    """The names of the columns of a frame of any library, or of a mapping, as they are; None for what has none."""
    if isinstance(data, Mapping):
        return list(data)
    names = data.column_names if hasattr(data, "column_names") else getattr(data, "columns", None)
    return None if names is None or not hasattr(data, "__getitem__") else list(names)


def repeated_name(names: Iterable[object], *, ignores_case: bool = True) -> str | None:  # a label may be anything
    """The first name that stands twice; None where each stands once."""
    seen: set[str] = set()
    for name in map(str, names):
        known = name.lower() if ignores_case else name
        if known in seen:
            return name
        seen.add(known)
    return None


def named_columns(data: TableLike) -> dict[str, ColumnLike] | None:
    """The columns of a frame of any library, or of a mapping, by name; None for what has no names."""
    names = column_names(data)
    if (name := repeated_name(names or (), ignores_case=False)) is not None:
        raise InvalidArgument("column", name, "stands twice in the data: give each column a name of its own")
    frame = cast("Mapping[str, ColumnLike] | pd.DataFrame | pl.DataFrame | pa.Table", data)  # if it has names
    return None if names is None else {str(name): frame[name] for name in names}


def typed_column(values: ColumnLike) -> pa.Array | pa.ChunkedArray | None:
    """A column with a declared type, in Arrow; None where it declares none, or one that Arrow does not know."""
    pa = arrow()
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if hasattr(values, "to_arrow"):
        with contextlib.suppress(Exception):  # (a column of objects)
            return values.to_arrow()
        return None
    declared = str(getattr(values, "dtype", "object"))
    if declared in ("object", "category"):  # (the list of categories depends on all records)
        return None
    try:
        wanted = pa.array(values[:0], from_pandas=True).type
    except Exception:  # noqa: BLE001 - whatever a type unknown to Arrow raises
        return None
    with contextlib.suppress(Exception):
        built = pa.array(values, from_pandas=True)
        if built.type == wanted:
            return built
    # An entry that Arrow does not take (half of a surrogate pair) is missing: the type of the others stays.
    return _converted(pa, list(values), wanted)


def table_of(
    given: Mapping[str, ColumnLike], untyped: Callable[[str, Entries], pa.Array], argument: str = "source"
) -> pa.Table:
    """Arrays or lists by name as an Arrow table; ``untyped`` converts entries of columns without a declared type."""
    columns = {str(name): _column_of(str(name), values, untyped, argument) for name, values in given.items()}
    if len({len(column) for column in columns.values()}) > 1:
        raise InvalidData(f"{argument}: all arrays must have one length; nothing was charged")
    return arrow().table(columns)


def _column_of(
    name: str, values: ColumnLike, untyped: Callable[[str, Entries], pa.Array], argument: str
) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, (str, bytes)) or not (hasattr(values, "__iter__") and hasattr(values, "__len__")):
        raise InvalidArgument(argument, type(values), "must be a mapping of names to arrays or lists")
    if isinstance(values, np.ndarray) and values.dtype.kind == "S":
        return arrow().array(texts(values.tolist()), arrow().string())
    column = typed_column(values)
    if column is not None:
        return plain_column(name, column, argument)
    if str(getattr(values, "dtype", "object")) not in ("object", "category"):
        raise InvalidArgument(argument, type(values), "must have arrays of numbers, texts, dates or truth values")
    return untyped(name, column_entries(values))


def plain_column(name: str, values: pa.Array | pa.ChunkedArray, argument: str) -> pa.Array | pa.ChunkedArray:
    """Without dictionaries, also inside lists and structs: each block would list the categories of all others."""
    pa = arrow()
    wanted = _plain_type(pa, values.type)
    if wanted == values.type:
        built = values
    elif pa.types.is_dictionary(values.type) and not pa.types.is_nested(wanted):
        built = values.cast(wanted)
    else:  # (Arrow casts some of these, and not all)
        built = _converted(pa, column_entries(values), wanted)
    try:  # (whether Arrow can take rows of such a type is found out without any)
        table_block(pa.table({name: built.slice(0, 0)}), np.zeros(0, dtype=np.int64))
    except Exception:  # noqa: BLE001
        raise InvalidArgument(
            argument, f"column {name!r} of {wanted}", "must have types whose rows Arrow can take"
        ) from None
    return built


def _plain_type(pa: ModuleType, stored_type: pa.DataType) -> pa.DataType:
    """The same type with values in place of dictionaries, and what is stored in place of extensions."""
    types = pa.types
    if types.is_dictionary(stored_type):
        return _plain_type(pa, stored_type.value_type)
    if isinstance(stored_type, pa.BaseExtensionType):
        return _plain_type(pa, stored_type.storage_type)
    if types.is_run_end_encoded(stored_type):
        return _plain_type(pa, stored_type.value_type)
    if types.is_struct(stored_type):
        fields = [stored_type.field(place) for place in range(stored_type.num_fields)]
        return pa.struct([(field.name, _plain_type(pa, field.type)) for field in fields])
    if types.is_map(stored_type):
        return pa.map_(_plain_type(pa, stored_type.key_type), _plain_type(pa, stored_type.item_type))
    if types.is_fixed_size_list(stored_type):
        return pa.list_(_plain_type(pa, stored_type.value_type), stored_type.list_size)
    # Views of lists share one store of values: a block of them would carry along the entries of others.
    if types.is_large_list(stored_type) or types.is_large_list_view(stored_type):
        return pa.large_list(_plain_type(pa, stored_type.value_type))
    if types.is_list(stored_type) or types.is_list_view(stored_type):
        return pa.list_(_plain_type(pa, stored_type.value_type))
    return stored_type


def _converted(pa: ModuleType, entries: Entries, wanted: pa.DataType) -> pa.Array:
    """An Arrow column of a type that is declared; missing where an entry is none of it, and nowhere else."""
    try:
        return pa.array(entries, wanted)
    except FAILURES:  # whatever a library raises for such a value
        return pa.concat_arrays([pa.nulls(0, wanted), *(_single(pa, entry, wanted) for entry in entries)])


# An entry may be anything.
def _single(pa: ModuleType, entry: object, wanted: pa.DataType) -> pa.Array:
    with contextlib.suppress(*FAILURES):
        return pa.array([None if is_missing(entry) else entry], wanted)
    return pa.nulls(1, wanted)


def column_entries(values: ColumnLike) -> Entries:
    """What a column holds as Python objects; None where an entry is none that Python knows."""
    try:
        return list(values.to_pylist() if hasattr(values, "to_pylist") else values)
    except Exception:  # noqa: BLE001 - (a date beyond the calendar)
        return [_entry(values, place) for place in range(len(values))]


def _entry(values: ColumnLike, place: int) -> object:  # anything: an entry, or a frame of any library
    with contextlib.suppress(Exception):
        entry: object = values[place]  # anything: an entry, or a frame of any library
        return entry.as_py() if hasattr(values, "to_pylist") and hasattr(entry, "as_py") else entry
    return None


def table_block(table: pa.Table, members: NDArray[np.int64]) -> pa.Table:
    """Some rows of an Arrow table, in one piece."""
    return table.take(members).combine_chunks()


def object_array(entries: Entries) -> NDArray[np.object_]:
    """A one-dimensional array of objects, whatever they are."""
    built = np.empty(len(entries), dtype=object)
    for place, entry in enumerate(entries):
        built[place] = entry
    return built


def readable(frame: TableLike) -> TableLike:
    """The same frame with texts in place of objects and of texts that have no bytes; types stay those declared."""
    library = type(frame).__module__.partition(".")[0]
    if library == "pandas" and hasattr(frame, "dtypes"):
        return _pandas_frame(frame)
    if library == "polars":
        frame = getattr(frame, "collect", lambda: frame)()
        frame = getattr(frame, "to_arrow", lambda: frame)()
        library = "pyarrow"
    if library.lstrip("_") == "duckdb":  # (a relation belongs to a connection of its own)
        frame, library = collected(frame), "pyarrow"
    if library == "pyarrow" and hasattr(frame, "read_all"):  # (a stream can be read once, a session asks often)
        frame = frame.read_all()
    if library == "pyarrow" and hasattr(frame, "itercolumns"):
        return _arrow_table(frame)
    return frame


def _pandas_frame(frame: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415  (there, for the frame is one of its own)

    for place, stored_type in enumerate(frame.dtypes):
        if str(stored_type).startswith(("timedelta", "duration")):
            frame = frame.copy(deep=False)
            frame.isetitem(place, pd.Series(_span_numbers(frame.iloc[:, place]), index=frame.index))
    untyped = [place for place, stored_type in enumerate(frame.dtypes) if str(stored_type) in _UNTYPED]
    zoned = [place for place, stored_type in enumerate(frame.dtypes) if isinstance(stored_type, pd.DatetimeTZDtype)]
    stored = [
        place
        for place, stored_type in enumerate(frame.dtypes)
        if isinstance(stored_type, pd.ArrowDtype) and place not in untyped
    ]
    if not untyped and not zoned and not stored:
        return frame
    cleaned = frame.copy(deep=False)
    for place in stored:
        column = arrow().table({"": frame.iloc[:, place].array}).column(0)
        safe = pd.arrays.ArrowExtensionArray(_readable_column(arrow(), column))
        cleaned.isetitem(place, pd.Series(safe, index=frame.index))
    for place in zoned:  # (days are those of UTC; with a zone the engine would convert while it reads)
        cleaned.isetitem(place, frame.iloc[:, place].dt.tz_convert("UTC").dt.tz_localize(None))
    for place in untyped:
        written = texts(_untyped_entries(frame.iloc[:, place]))
        cleaned.isetitem(place, pd.Series(written, index=frame.index, dtype=object))
    return cleaned


def _untyped_entries(column: pd.Series) -> Entries:
    try:
        return list(column.astype(object))
    except Exception:  # noqa: BLE001 - a text in Arrow's storage that is no UTF-8
        import pyarrow as pa  # noqa: PLC0415

        return pa.array(column).cast(pa.large_binary()).to_pylist()  # type: ignore[no-any-return]


def _arrow_table(table: pa.Table) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415

    if not isinstance(table, pa.Table):
        table = pa.Table.from_batches([table])
    unread = [field.name for field in table.schema if _is_span(pa, field.type)]
    table = table.drop_columns(unread) if unread else table
    for place, field in enumerate(table.schema):
        if pa.types.is_duration(field.type):  # (one may be beyond what the engine holds)
            table = table.set_column(place, field.name, table.column(place).cast(pa.int64()))
    for place, column in enumerate(table.itercolumns()):
        safe = _readable_column(pa, column)
        if safe is not column:
            table = table.set_column(place, table.schema.names[place], safe)
    return table


def _readable_column(pa: ModuleType, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A chunked column that the engine reads entry by entry, whatever the others are."""
    column = _decoded(pa, column)
    stored_type = column.type
    if pa.types.is_timestamp(stored_type) and stored_type.tz is not None:
        # Its days are those of UTC; with a zone the engine would convert while it reads, and fail on some.
        return column.cast(pa.timestamp(stored_type.unit))
    if not _is_text(pa, stored_type.value_type if pa.types.is_dictionary(stored_type) else stored_type):
        return column
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        plain = column.cast(stored_type.value_type) if pa.types.is_dictionary(stored_type) else column
        return pa.chunked_array([pa.array(texts(plain.cast(pa.large_binary()).to_pylist()), pa.large_string())])
    return column


def _decoded(pa: ModuleType, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values in place of run ends, extensions, and dictionaries of anything but texts: engines misread some of them."""
    import pyarrow.compute as pc  # noqa: PLC0415

    stored_type = column.type
    if pa.types.is_run_end_encoded(stored_type):
        chunks, inner = [pc.run_end_decode(chunk) for chunk in column.chunks], stored_type.value_type
    elif isinstance(stored_type, pa.BaseExtensionType):
        chunks, inner = [chunk.storage for chunk in column.chunks], stored_type.storage_type
    elif pa.types.is_dictionary(stored_type) and not _is_text(pa, stored_type.value_type):
        chunks, inner = [chunk.dictionary_decode() for chunk in column.chunks], stored_type.value_type
    else:
        return column
    return _decoded(pa, pa.chunked_array(chunks, type=inner))


def _is_span(pa: ModuleType, stored_type: pa.DataType) -> bool:
    """Times of a day and spans of months: no declared type reads them."""
    return bool(pa.types.is_time(stored_type) or pa.types.is_interval(stored_type))


def frame_durations(frame: TableLike) -> dict[str, float]:
    """Columns of a frame that declare durations, and how many of the numbers in ``readable`` of it a second has."""
    library = type(frame).__module__.partition(".")[0]
    if library == "pandas" and hasattr(frame, "dtypes"):
        spans = ("timedelta", "duration")
        return {
            str(name): 1.0 for name, kind in cast("pd.DataFrame", frame).dtypes.items() if str(kind).startswith(spans)
        }
    if library == "polars":
        units = {name: str(kind) for name, kind in cast("pl.LazyFrame", frame).collect_schema().items()}
        return {name: SHORT[_UNIT.sub("", kind)] for name, kind in units.items() if kind.startswith("Duration")}
    if library == "pyarrow" and hasattr(frame, "schema"):
        units = {field.name: str(field.type) for field in cast("pa.Table", frame).schema}
        return {name: SHORT[_UNIT.sub("", kind)] for name, kind in units.items() if kind.startswith("duration")}
    return {}


_UNIT = re.compile(r".*[(\[]|[)\]'\"]|time_unit=")
"""What stands around the unit in the text of a type: ``duration[us]``, ``Duration(time_unit='us')``."""


def _span_numbers(column: pd.Series) -> NDArray[np.float64]:
    """Durations of pandas as seconds; NaN where one is missing."""
    if str(column.dtype).endswith("[pyarrow]"):
        stored = arrow().table({"": column.array}).column(0)
        whole = np.asarray(stored.cast("int64").cast("float64", safe=False).fill_null(math.nan))
        return np.asarray(whole / SHORT[stored.type.unit], dtype=np.float64)
    return seconds_of(np.asarray(column.to_numpy()))


def _is_text(pa: ModuleType, stored_type: pa.DataType) -> bool:
    tests = ("is_string", "is_large_string", "is_string_view")
    return any(getattr(pa.types, test)(stored_type) for test in tests if hasattr(pa.types, test))
