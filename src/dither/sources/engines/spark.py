"""Spark: a DataFrame, a table of the catalogue, or files that Spark reads itself."""

from __future__ import annotations

import contextlib
import itertools
import logging
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dither.errors import InvalidArgument, SourceFailed
from dither.sources.engines.engine import (
    DAY_SECONDS,
    HALF_BITS,
    Engine,
    Row,
    arrow_schema,
    clamped,
    column,
    guarded,
    kept_name,
    streamed,
    whole_result,
    within_infinities,
)
from dither.sources.engines.spark_scans import read_settings, unreadable_columns
from dither.sources.files import state_of_file
from dither.sources.formats import FIRST_SECOND, LAST_SECOND
from dither.sources.frames import arrow, repeated_name
from dither.sources.predicates import Constant, literal

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_STORED_TYPES = (
    dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "whole")
    | {"float": "real", "double": "real", "decimal": "decimal", "boolean": "boolean"}
    | {"string": "text", "varchar": "text", "char": "text"}
    | {"date": "date", "timestamp": "timestamp", "timestamp_ntz": "timestamp"}
)

_DAY_TIME = re.compile(r"interval (day|hour|minute|second)( to (hour|minute|second))?")
_BATCH = 1 << 16
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",  # else the machine's
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parquet.filterPushdown": "false",  # else statistics of many records decide about one
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",  # else a day before 1582 may make reading fail
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}
"""What our own sessions set.  Those of frames are their owners': there our expressions hold under any time zone."""
_AS_NAMED = {"__globPaths__": "false"}
"""The option by which a path is a name and no pattern."""


class Spark(Engine):
    """One DataFrame."""

    dialect = "spark"
    bytewise: str | None = None
    casts_text = False

    def __init__(self, source: DataFrame | str, table: str | None = None, *, beside: Spark | None = None) -> None:
        """beside: an engine whose session must be the same, so that one query can join both tables."""
        try:
            from pyspark.errors import PySparkException  # noqa: PLC0415  (an optional part)
        except ImportError:
            raise InvalidArgument("source", "spark", "install dither[spark] to read from Spark") from None
        from py4j.protocol import Py4JError  # noqa: PLC0415

        self._errors = (PySparkException, Py4JError, OSError)
        _keep_quiet()
        self._named = isinstance(source, str)
        self._described_as = str(source) if isinstance(source, str) else (table or "frame")
        own = beside._session if beside is not None and beside._named else None
        self._frame = guarded(self._called, lambda: self._frame_of(source, table, own), *self._errors)
        self._session: SparkSession = self._frame.sparkSession
        if beside is not None and self._session is not beside._session:
            raise InvalidArgument("source", "spark", "tables that are linked must be of one Spark session")
        self._kept: dict[str, DataFrame] = {}
        """Frames whose rows Spark keeps, by the names of their views."""
        self._view = f"dither_source_{id(self):x}"
        guarded(self._called, lambda: self._frame.createOrReplaceTempView(self._view), *self._errors)
        if (name := repeated_name(self._frame.columns)) is not None:
            raise InvalidArgument("columns", name, "stands twice in the frame: give each column a name of its own")
        self._settings = read_settings(self._frame)
        self.unreadable = guarded(self._called, lambda: unreadable_columns(self._frame), *self._errors)
        named = {field.name: field.dataType.simpleString().split("(")[0] for field in self._frame.schema}
        self._zoned = frozenset(name for name, stored_type in named.items() if stored_type == "timestamp")
        self._stored_types = {
            name: "duration" if _DAY_TIME.fullmatch(stored_type) else _STORED_TYPES.get(stored_type, "other")
            for name, stored_type in named.items()
        } | dict.fromkeys(self.unreadable, "other")

    @staticmethod
    def _frame_of(source: DataFrame | str, table: str | None, own: SparkSession | None) -> DataFrame:
        """own: a session that another engine has made."""
        if not isinstance(source, str):
            return source
        from pyspark.sql import SparkSession  # noqa: PLC0415

        where, _, path = source.removeprefix("spark+").partition("!")
        builder, before = SparkSession.builder.appName("dither"), SparkSession.getActiveSession()
        session = (builder.master(where) if where.startswith(("local", "spark:")) else builder).getOrCreate()
        if before is None:  # a session of our own, whose errors of tasks would quote records
            with contextlib.suppress(Exception):
                session.sparkContext.setLogLevel("OFF")
        if own is None:
            own = session.newSession()
            for name, value in _SETTINGS.items():
                own.conf.set(name, value)
        return own.read.options(**_AS_NAMED).parquet(path) if path else own.table(str(table))

    @property
    def _called(self) -> str:
        return f"the Spark source {self._described_as}"

    def stored_types(self) -> dict[str, str]:
        return self._stored_types

    def table(self, fraction: float | None = None) -> exp.Expr:
        name = exp.to_table(self._view)
        if fraction is None:
            return name
        chosen = exp.LT(this=exp.Anonymous(this="rand", expressions=[]), expression=literal(fraction))
        return exp.select("*").from_(name).where(chosen).subquery("source")

    def estimated_rows(self) -> int:
        return int(self.rows(exp.select(exp.Count(this=exp.Star())).from_(self.table()))[0][0])

    def rows(self, query: exp.Select) -> list[Row]:
        return guarded(self._called, lambda: [tuple(row) for row in self._session.sql(self.sql(query)).collect()])

    def kept(self, query: exp.Select) -> exp.Expr:
        name = kept_name()

        def cached() -> None:
            frame = self._session.sql(self.sql(query)).persist()
            frame.createOrReplaceTempView(name)
            self._kept[name] = frame

        guarded(self._called, cached)
        return exp.to_table(name)

    def forget(self, table: exp.Expr) -> None:
        def dropped() -> None:
            self._session.catalog.dropTempView(table.name)
            self._kept.pop(table.name).unpersist()

        guarded(self._called, dropped)

    def arrays(self, query: exp.Select) -> list[NDArray[np.int64]]:
        def fetched() -> list[NDArray[np.int64]]:
            frame = self._session.sql(self.sql(query))
            names = frame.columns
            if hasattr(frame, "toArrow"):
                arrow = frame.toArrow()
                return [whole_result(arrow.column(place).to_numpy()) for place in range(len(names))]
            rows = frame.collect()
            return [np.array([row[place] for row in rows], dtype=np.int64) for place in range(len(names))]

        return guarded(self._called, fetched)

    def sql(self, query: exp.Expr) -> str:
        # Spark would replace ${name} by a setting, inside texts too.
        return super().sql(query).replace("${", "\\u0024{")

    def values(self, rows: Iterable[Sequence[Constant]], name: str, columns: Sequence[str]) -> exp.Expr:
        # In parentheses it would be a subquery, whose columns have no names of their own there.
        return exp.Var(this=f"VALUES {self.listed(rows)} AS {name}({', '.join(columns)})")

    def stream(self, query: exp.Select, stored_types: Sequence[str]) -> Iterator[pa.RecordBatch]:
        built, schema = arrow(), arrow_schema([selected.alias_or_name for selected in query.selects], stored_types)

        def batches() -> Iterator[pa.RecordBatch]:
            frame = self._session.sql(self.sql(query))
            if hasattr(frame, "toArrow"):
                yield from frame.toArrow().cast(schema).to_batches()
                return
            rows = frame.toLocalIterator()
            while batch := list(itertools.islice(rows, _BATCH)):
                columns = [
                    built.array([row[place] for row in batch], stored_type)
                    for place, stored_type in enumerate(schema.types)
                ]
                yield built.record_batch(columns, schema=schema)

        return streamed(self._called, batches)

    def nearest(self, number: exp.Expr) -> exp.Expr:
        return exp.cast(exp.Anonymous(this="rint", expressions=[number]), "bigint")

    def exact_sum(self, whole: exp.Expr) -> exp.Expr:
        # A sum of bigints is one there.
        return exp.Sum(this=exp.cast(whole, "decimal(38, 0)"))

    def halves(self, total: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
        half = literal(1 << HALF_BITS)
        upper = exp.IntDiv(this=total.copy(), expression=half)
        return exp.cast(upper, "bigint"), exp.cast(exp.Mod(this=total.copy(), expression=half.copy()), "bigint")

    def text(self, name: str, stored_type: str) -> exp.Expr:
        # A file may hold bytes that are no UTF-8, which Spark passes on as they are.
        return exp.Anonymous(this="make_valid_utf8", expressions=[super().text(name, stored_type)])

    def matches(self, text: exp.Expr, pattern: str) -> exp.Expr:
        # In Java $ also matches before a last line feed.
        return exp.RegexpLike(this=text.copy(), expression=literal(f"^(?:{pattern})(?!(?s:.))"))

    def is_finite(self, number: exp.Expr) -> exp.Expr:
        return within_infinities(number)

    def is_nan(self, number: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="isnan", expressions=[number.copy()])

    def day_number(self, day: exp.Expr) -> exp.Expr:
        epoch = exp.cast(exp.Literal.string("1970-01-01"), "date")
        return exp.Anonymous(this="datediff", expressions=[day, epoch])

    def epoch_second(self, name: str) -> exp.Expr:
        raw = column(name)
        if name in self._zoned:
            whole: exp.Expr = exp.Anonymous(this="unix_seconds", expressions=[raw])
        else:  # (its days and hours as they stand: a cast to moments would be one to the session's time zone)
            parts = [
                exp.Mul(this=exp.Anonymous(this=part, expressions=[raw.copy()]), expression=literal(size))
                for part, size in (("hour", 3_600), ("minute", 60), ("second", 1))
            ]
            days = exp.cast(self.day_number(exp.cast(raw, "date")), "bigint")
            whole = exp.Mul(this=days, expression=literal(DAY_SECONDS))
            for part in parts:
                whole = exp.Add(this=whole, expression=part)
        ends = (literal(end) for end in (FIRST_SECOND, LAST_SECOND))
        return exp.case().when(exp.Is(this=raw.copy(), expression=exp.Null()), exp.Null()).else_(clamped(whole, *ends))

    def span_seconds(self, name: str) -> exp.Expr:
        # Whole days, hours and minutes, and seconds with their fraction: each of them by itself, none overflows.
        written = self.sql(column(name))
        parts = [
            f"CAST(EXTRACT({part} FROM {written}) AS DOUBLE) * {size}"
            for part, size in (("DAY", 86_400), ("HOUR", 3_600), ("MINUTE", 60), ("SECOND", 1))
        ]
        return exp.Paren(this=exp.Var(this=" + ".join(parts)))

    def fingerprint(self, below: Path | None = None) -> str:  # noqa: ARG002  (no server opens it)
        return f"spark:{self._described_as}" if self._named else ""

    def state(self) -> str | None:
        """Those of its files, where Spark reads files of this machine; nothing is known of others, or of a frame."""
        if not self._named:
            return None
        files: list[SplitResult] = []
        with contextlib.suppress(*self._errors):
            files = [urlsplit(file) for file in sorted(self._frame.inputFiles())]
        if not files or any(file.scheme != "file" for file in files):
            return None
        return ",".join(str(state_of_file(Path(unquote(file.path)))) for file in files)

    def ready(self) -> None:
        alive = False
        with contextlib.suppress(*self._errors):
            alive = self._session.sql("SELECT 1").count() == 1
        if not alive:
            raise SourceFailed(f"{self._called}: the Spark session has ended; nothing was charged")
        if read_settings(self._frame) != self._settings:
            raise SourceFailed(
                f"{self._called}: settings of its session have changed: open it anew; nothing was charged"
            )

    def close(self) -> None:
        with contextlib.suppress(*self._errors):
            self._session.catalog.dropTempView(self._view)


def _keep_quiet() -> None:
    """PySpark logs its errors with the values that caused them: not those of our queries."""
    try:
        from pyspark.logger import PySparkLogger  # noqa: PLC0415  (an optional part; before 4.0 nothing is logged)
    except ImportError:
        return
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logger = PySparkLogger.getLogger(name)
        if _is_of_others not in logger.filters:
            logger.addFilter(_is_of_others)


def _is_of_others(record: logging.LogRecord) -> bool:  # noqa: ARG001
    """False if the query that failed was made here: errors are logged below the call that raises them."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == __name__:
            return False
        frame = frame.f_back  # type: ignore[assignment]
    return True
