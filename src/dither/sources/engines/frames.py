"""Frames of pandas and Arrow in a form that an engine reads to the end, whatever single entries are."""

from __future__ import annotations

from typing import Any

from dither.sources.entries import texts

_UNTYPED = ("object", "str", "string", "category")


def readable(frame: Any) -> Any:
    """The same frame with texts in place of objects and of texts that have no bytes; types stay those declared."""
    library = type(frame).__module__.partition(".")[0]
    if library == "pandas" and hasattr(frame, "dtypes"):
        return _pandas(frame)
    if library == "polars":
        frame = (frame.collect() if hasattr(frame, "collect") else frame).to_arrow()
        library = "pyarrow"
    if library == "pyarrow" and hasattr(frame, "read_all"):  # (a stream can be read once, a session asks often)
        frame = frame.read_all()
    if library == "pyarrow" and hasattr(frame, "itercolumns"):
        return _arrow(frame)
    return frame


def _pandas(frame: Any) -> Any:
    import pandas as pd  # noqa: PLC0415  (there, for the frame is one of its own)

    frame = frame.loc[:, [not str(stored_type).startswith(("timedelta", "duration")) for stored_type in frame.dtypes]]
    untyped = [place for place, stored_type in enumerate(frame.dtypes) if str(stored_type) in _UNTYPED]
    zoned = [place for place, stored_type in enumerate(frame.dtypes) if isinstance(stored_type, pd.DatetimeTZDtype)]
    if not untyped and not zoned:
        return frame
    cleaned = frame.copy(deep=False)
    for place in zoned:  # (days are those of UTC; with a zone the engine would convert while it reads)
        cleaned.isetitem(place, frame.iloc[:, place].dt.tz_convert("UTC").dt.tz_localize(None))
    for place in untyped:
        written = texts(_entries(frame.iloc[:, place]))
        cleaned.isetitem(place, pd.Series(written, index=frame.index, dtype=object))
    return cleaned


def _entries(column: Any) -> list[Any]:
    try:
        return list(column.astype(object))
    except Exception:  # noqa: BLE001 - a text in Arrow's storage that is no UTF-8
        import pyarrow as pa  # noqa: PLC0415

        return pa.array(column).cast(pa.large_binary()).to_pylist()  # type: ignore[no-any-return]


def _arrow(table: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    if not isinstance(table, pa.Table):
        table = pa.Table.from_batches([table])
    unread = [field.name for field in table.schema if _is_span(pa, field.type)]
    table = table.drop_columns(unread) if unread else table
    for place, column in enumerate(table.itercolumns()):
        stored_type = column.type
        if pa.types.is_timestamp(stored_type) and stored_type.tz is not None:
            # Its days are those of UTC; with a zone the engine would convert while it reads, and fail on some.
            table = table.set_column(place, table.schema.names[place], column.cast(pa.timestamp(stored_type.unit)))
        if not _is_text(pa, stored_type.value_type if pa.types.is_dictionary(stored_type) else stored_type):
            continue
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            plain = column.cast(stored_type.value_type) if pa.types.is_dictionary(stored_type) else column
            replaced = texts(plain.cast(pa.large_binary()).to_pylist())
            table = table.set_column(place, table.schema.names[place], pa.array(replaced, pa.large_string()))
    return table


def _is_span(pa: Any, stored_type: Any) -> bool:
    """Durations and times of a day: no declared type reads them, and one may be beyond what the engine holds."""
    return bool(pa.types.is_duration(stored_type) or pa.types.is_time(stored_type) or pa.types.is_interval(stored_type))


def _is_text(pa: Any, stored_type: Any) -> bool:
    tests = ("is_string", "is_large_string", "is_string_view")
    return any(getattr(pa.types, test)(stored_type) for test in tests if hasattr(pa.types, test))
