"""DuckDB: CSV, Parquet, Arrow, frames of pandas and Polars, and tables of a ``.duckdb`` file."""

from __future__ import annotations

import contextlib
import csv
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dither.errors import InvalidArgument, InvalidData, SourceFailed
from dither.sources.engines.engine import (
    CALENDAR,
    HALF_BITS,
    Engine,
    Row,
    arrow_schema,
    clamped,
    column,
    double_literal,
    floored,
    guarded,
    kept_name,
    streamed,
    whole_result,
)
from dither.sources.files import DATABASES, PARQUET, file_mark, state_of_file
from dither.sources.formats import DateFormat, IsoMoments
from dither.sources.frames import TableLike, column_names, frame_durations, readable, repeated_name
from dither.sources.lines import DELIMITERS, USUAL, TextColumns, TextLayout, header, inner_suffix, is_packed
from dither.sources.parquet import MILLISECONDS, connect, literal_path, parquet_schema
from dither.sources.predicates import literal

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_WHOLE = {
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "UHUGEINT",
}
_WIDEST = {"HUGEINT", "UHUGEINT"}
_STORED_TYPES = (
    dict.fromkeys(_WHOLE, "whole")
    | {"FLOAT": "real", "DOUBLE": "real", "DECIMAL": "decimal", "BOOLEAN": "boolean", "VARCHAR": "text", "ENUM": "text"}
    | {"UUID": "text", "DATE": "date", "INTERVAL": "duration"}
    | dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP_S"), "timestamp")
    | {"TIMESTAMP WITH TIME ZONE": "timestamp"}
)
_CALENDAR_ENDS = {
    False: ("0001-01-01 00:00:00", "9999-12-31 23:59:59"),
    True: ("0001-01-01 00:00:00+00", "9999-12-31 23:59:59+00"),
}
_NANOSECOND_ENDS = ("1677-09-21 00:12:44", "2262-04-11 23:47:16")
"""The first and the last whole second that nanoseconds in 64 bits hold."""
_BATCH = 1 << 16
_LINES, _SOME_LINES, _LAST = "dither_lines", "dither_some_lines", "dither_last"
_EXACT_DIGITS = 15
"""Decimals of at most so many digits become doubles by one division of exact numbers: correctly rounded."""
_OF_FILES = re.compile(r"READ_|_SCAN$|GLOB|SNIFF")
_OF_TABLES = re.compile(r"^(SEQ_SCAN|TABLE_SCAN|INDEX_SCAN|COLUMN_DATA_SCAN|DUMMY_SCAN|EXPRESSION_SCAN)")
FILES = (*DELIMITERS, *PARQUET, *DATABASES)


class DuckDB(Engine):
    """One table, embedded in this process."""

    dialect = "duckdb"
    bytewise: str | None = "C"
    has_running_windows = True

    @property
    def casts_text(self) -> bool:
        # A CSV has nothing but texts; elsewhere a text is what its owner meant.
        return self._file is not None and inner_suffix(self._file) in DELIMITERS

    def __init__(
        self,
        source: TableLike | Path,
        table: str | None = None,
        *,
        threads: int | None = None,
        layout: TextLayout = USUAL,
        beside: DuckDB | None = None,
    ) -> None:
        """beside: an engine whose connection is used, so that one query can join both tables."""
        import duckdb  # noqa: PLC0415  (slow to load)

        self._errors = duckdb.Error
        self._layout = layout
        self._file: Path | None = None
        if isinstance(source, (str, Path)):
            self._file = Path(source)
            suffix = inner_suffix(self._file)
            if suffix not in FILES:
                raise InvalidArgument("source", str(source), f"must be a file ending in {', '.join(FILES)}")
            if not self._file.is_file():
                raise InvalidArgument("source", str(source), "must be the path of a readable file")
        in_file = self._file is not None and inner_suffix(self._file) in DATABASES
        self._together: list[DuckDB] = [] if beside is None else beside._together
        """All engines of this connection."""
        self._number = len(self._together)
        self._together.append(self)
        self._lines, self._some_lines, self._frame = (
            f"{name}_{self._number}" if self._number else name for name in (_LINES, _SOME_LINES, "source")
        )
        self._catalog = ""
        """What the database file is called in this connection."""
        self._connection: duckdb.DuckDBPyConnection = connect() if beside is None else beside._connection
        if in_file:
            self._catalog = self._attached()
        if threads is not None:
            self._connection.execute(f"SET threads = {int(threads)}")
        self._share = 1.0
        """Of a text file: which part of its lines is sampled next."""
        self._registered: dict[str, TextColumns] = {}
        self._last: tuple[exp.Select, str] | None = None
        """The query, and its text, that stays planned under the name _LAST; of several engines the first one knows."""
        self._wide: dict[str, tuple[int, int]] = {}
        """Columns of long decimals: how many digits, and how many of them behind the point."""
        self._spans: dict[str, float] = {}
        """Columns of durations that are numbers there: how many of their units a second has."""
        self._zoned: frozenset[str] = frozenset()
        self._in_nanoseconds: frozenset[str] = frozenset()
        self.moments: frozenset[str] = frozenset()
        self._table = self._database_table(table) if in_file else self._view(source)
        self._stored_types = self._described()
        if in_file:
            self._look_below_views()
        elif self._file is not None and inner_suffix(self._file) in PARQUET:
            schema = parquet_schema(self._connection, self._file)
            self.unreadable = dict.fromkeys(schema.milliseconds & self._stored_types.keys(), MILLISECONDS)
            self._stored_types |= dict.fromkeys(self.unreadable, "other")
            self._spans = schema.durations
        elif self._file is None:
            self._spans = frame_durations(source)
        self._stored_types |= dict.fromkeys(self._spans.keys() & self._stored_types.keys(), "duration")

    def _not_opened(self) -> SourceFailed:
        return SourceFailed(
            f"{self._called} cannot be opened: it is no database of DuckDB (of another program: name its engine), "
            "or another process writes to it; nothing was charged"
        )

    def _attached(self) -> str:
        """The name of a database file in the connection."""
        file = (self._file or Path()).resolve()
        for engine in self._together[:-1]:
            if engine._file is not None and engine._file.resolve() == file:
                return engine._catalog
        name, attached = f"dither_database_{self._number}", False
        with contextlib.suppress(self._errors):
            quoted = str(file).replace("'", "''")
            self._connection.execute(f"ATTACH '{quoted}' AS {name} (READ_ONLY, TYPE duckdb)")
            attached = True
        if not attached:
            raise self._not_opened()
        return name

    def absent_column(self) -> str:
        if self.casts_text:  # not listing them: without a header the first line would be a record
            return f"must be a column of the source: a name from the first line of {self._called}"
        return super().absent_column()

    @property
    def _called(self) -> str:
        return "the frame" if self._file is None else f"the file {self._file.name}"

    def _database_table(self, table: str | None) -> exp.Expr:
        """A table or view of the file, under its whole name: a name by itself may be that of a frame or of a file."""
        listed = self._listed()
        known = ", ".join(name if schema == "main" else f"{schema}.{name}" for schema, name in listed) or "it has none"
        if table is None:
            raise InvalidArgument("table", table, f"pass table=NAME (at the shell --table NAME): {known}")
        for schema, name in listed:
            names = [f"{schema}.{name}", f"{self._catalog}.{schema}.{name}", *([name] if schema == "main" else [])]
            if table.lower() in (item.lower() for item in names):
                parts = (exp.to_identifier(part, quoted=True) for part in (name, schema, self._catalog))
                return exp.Table(**dict(zip(("this", "db", "catalog"), parts, strict=True)))
        raise InvalidArgument("table", table, f"must be a table or view of the file: {known}")

    def _listed(self) -> list[tuple[str, str]]:
        """The schemas and names of the tables and views of a database file: public."""
        query = (
            exp.select("table_schema", "table_name")
            .from_("information_schema.tables")
            .where(exp.EQ(this=exp.column("table_catalog"), expression=literal(self._catalog)))
            .order_by("table_schema", "table_name")
        )
        result = guarded(self._called, lambda: self._connection.execute(self.sql(query)).fetchall())
        return [(str(schema), str(name)) for schema, name in result]

    def _view(self, source: TableLike | Path) -> exp.Expr:
        if self._file is None:
            registered, repeated = False, None
            with contextlib.suppress(Exception):  # (a foreign object may fail in any way, and quote its records)
                frame = readable(source)
                repeated = repeated_name(column_names(frame) or ())
                self._connection.register(self._frame, frame)
                registered = True
            if repeated is not None:
                raise InvalidArgument("columns", repeated, "stands twice in the frame: give each column another name")
            if not registered:
                raise InvalidArgument("source", type(source), "must be a path or a frame of pandas, Polars or Arrow")
            return exp.to_table(self._frame)
        if inner_suffix(self._file) in PARQUET:
            path = literal(literal_path(self._file))
            # Statistics leave NaN out; a text with a byte that is no UTF-8 is read as another text, not refused; and
            # folders such as year=2024 add no columns, which would replace those of the file.
            options = [
                _option("can_have_nan", exp.true()),
                _option("utf8_validation", exp.Literal.string("replace")),
                _option("hive_partitioning", exp.false()),
            ]
            return exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[path, *options]))
        return exp.to_table(self._lines)

    def _described(self) -> dict[str, str]:
        if self.casts_text and self._file is not None:
            return dict.fromkeys(csv_names(self._file, self._layout), "text")
        described = None
        with contextlib.suppress(self._errors):
            described = self._connection.sql(self.sql(exp.select("*").from_(self._table.copy())))
        if described is None:
            raise InvalidData(f"{self._called} could not be read as what its name says; nothing was charged")
        typed = list(zip(described.columns, described.types, strict=True))
        self.moments = frozenset(name for name, stored_type in typed if str(stored_type).startswith("TIMESTAMP"))
        self._zoned = frozenset(name for name, stored_type in typed if "ZONE" in str(stored_type))
        self._in_nanoseconds = frozenset(name for name, stored_type in typed if str(stored_type) == "TIMESTAMP_NS")
        for name, stored_type in typed:
            if stored_type.id == "decimal":
                digits, scale = (int(str(dict(stored_type.children)[item])) for item in ("precision", "scale"))
                if digits > _EXACT_DIGITS:
                    self._wide[name] = (digits, scale)
        # Whole numbers of 64 bits, and decimals that are such numbers in units of at least 1e-15, whatever they hold.
        self.moderate = frozenset(
            name
            for name, stored_type in typed
            if str(stored_type) in _WHOLE - _WIDEST or (stored_type.id == "decimal" and name not in self._wide)
        )
        stored_types = (str(stored_type).split("(")[0] for stored_type in described.types)
        return {
            name: _STORED_TYPES.get(stored_type, "other")
            for name, stored_type in zip(described.columns, stored_types, strict=True)
        }

    def _look_below_views(self) -> None:
        """Of a view that reads files: text files are refused, and so are columns of Parquet that one record breaks."""
        below = self._files_below()
        if below - {"READ_PARQUET", "PARQUET_SCAN"}:
            raise InvalidArgument(
                "table", self._table.name, "a view over text files takes types from records: register the file itself"
            )
        if below:
            breakable = ("text", "date", "timestamp", "duration")
            fragile = (name for name, stored_type in self._stored_types.items() if stored_type in breakable)
            self._stored_types |= dict.fromkeys(fragile, "other")

    def _files_below(self) -> set[str]:
        """Which readers of files stand behind a table of a database; none if its rows are in the database."""
        query = exp.select("*").from_(self._table.copy())
        plan = guarded(
            self._called, lambda: self._connection.execute(f"EXPLAIN (FORMAT json) {self.sql(query)}").fetchall()
        )
        pending, result = list(json.loads(plan[0][1])), set()
        while pending:
            node = pending.pop()
            details = node.get("extra_info") or {}
            names = {str(node.get("name", "")), str(details.get("Function", "")) if isinstance(details, dict) else ""}
            for name in (item.strip().upper().replace(" ", "_") for item in names):
                if _OF_FILES.search(name) and not _OF_TABLES.match(name):
                    result.add(name)
            pending += node.get("children", ())
        return result

    def stored_types(self) -> dict[str, str]:
        return self._stored_types

    def table(self, fraction: float | None = None) -> exp.Expr:
        if fraction is None:
            return self._table.copy()
        if self.casts_text and self._file is not None and not is_packed(self._file):
            self._share = fraction
            return exp.to_table(self._some_lines)
        percent = exp.Literal.number(f"{100 * fraction:.9f}")
        sampled = exp.select("*").from_(self._table.copy())
        sampled.set("sample", exp.TableSample(method=exp.var("bernoulli"), percent=percent))
        return sampled.subquery("source")

    def estimated_rows(self) -> int:
        if self._file is not None and inner_suffix(self._file) in DELIMITERS:
            # Counting the lines of a CSV costs as much as reading it.
            return max(self._file.stat().st_size // 64, 1)
        return int(self.rows(exp.select(exp.Count(this=exp.Star())).from_(self.table()))[0][0])

    def _opened(self, query: exp.Select) -> duckdb.DuckDBPyConnection:
        """The connection, with the lines of text files from the first."""
        self._register_lines(query)
        return self._connection

    def _register_lines(self, query: exp.Select) -> bool:
        """Have the lines of text files read by a query; whether it reads nothing else."""
        texts = [engine for engine in self._together if engine.casts_text]
        if not texts:
            return False
        named = {item.name for item in query.find_all(exp.Column)}
        tables = {item.name for item in query.find_all(exp.Table)}
        for engine in texts:
            engine._register_own_lines(named, tables)
        return tables <= {table for engine in texts for table in (engine._lines, engine._some_lines)}

    def _executed(self, query: exp.Select) -> duckdb.DuckDBPyConnection:
        """The connection with the result of a query.

        To plan a query takes longer than to read a small text file, so the last one stays planned.  Not those of
        other files and of tables: their plans may hold what was found there, and text files have no statistics.
        """
        first = self._together[0]
        if first._last is None or first._last[0] is not query:
            is_of_lines, text = self._register_lines(query), self.sql(query)
            if not is_of_lines:
                return self._connection.execute(text)
            if first._last is None or first._last[1] != text:
                first._last = None
                self._connection.execute(f"PREPARE {_LAST} AS {text}")
            first._last = query, text
        return self._connection.execute(f"EXECUTE {_LAST}")

    def _register_own_lines(self, named: set[str], tables: set[str]) -> None:
        if self._file is None:
            return
        places = {name: place for place, name in enumerate(self._stored_types) if name in named}
        places = places or {next(iter(self._stored_types)): 0}
        for table, share in ((self._lines, None), (self._some_lines, self._share)):
            if table in tables:
                lines = TextColumns(self._file, self._layout, places, len(self._stored_types), share)
                if lines != self._registered.get(table):
                    self._together[0]._last = None  # planned for other columns
                    self._connection.register(table, lines)
                    self._registered[table] = lines

    def kept(self, query: exp.Select) -> exp.Expr:
        name = kept_name()
        made = f"CREATE TEMP TABLE {name} AS {self.sql(query)}"
        guarded(self._called, lambda: self._opened(query).execute(made))
        return exp.to_table(name)

    def forget(self, table: exp.Expr) -> None:
        guarded(self._called, lambda: self._connection.execute(f"DROP TABLE {self.sql(table)}"))

    def rows(self, query: exp.Select) -> list[Row]:
        return guarded(self._called, lambda: self._opened(query).execute(self.sql(query)).fetchall())

    def arrays(self, query: exp.Select) -> list[NDArray[np.int64]]:
        def fetched() -> list[NDArray[np.int64]]:
            columns = self._executed(query).fetchnumpy()
            return [whole_result(values) for values in columns.values()]

        return guarded(self._called, fetched)

    def long_arrays(self, query: exp.Select) -> list[NDArray[np.int64]]:
        # Arrow takes half a millisecond more for a small result, and a quarter less of the time of a large one.
        def fetched() -> list[NDArray[np.int64]]:
            table = self._opened(query).sql(self.sql(query)).to_arrow_table()
            return [whole_result(item.combine_chunks().fill_null(0)) for item in table.columns]

        return guarded(self._called, fetched)

    def list_of(self, whole: exp.Expr) -> exp.Expr | None:
        return exp.Anonymous(this="list", expressions=[whole])

    def arrays_and_list(
        self, query: exp.Select
    ) -> tuple[list[NDArray[np.int64]], NDArray[np.int64], NDArray[np.int64]]:
        def fetched() -> tuple[list[NDArray[np.int64]], NDArray[np.int64], NDArray[np.int64]]:
            result = self._opened(query).sql(self.sql(query))
            *columns, lists = (item.combine_chunks() for item in result.to_arrow_table().columns)
            lengths = whole_result(lists.value_lengths().fill_null(0))
            return [whole_result(item) for item in columns], lengths, whole_result(lists.flatten())

        return guarded(self._called, fetched)

    def stream(self, query: exp.Select, stored_types: Sequence[str]) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema([selected.alias_or_name for selected in query.selects], stored_types)

        def batches() -> Iterator[pa.RecordBatch]:
            result = self._opened(query).sql(self.sql(query))
            # Newer versions have another name for it.
            reader = getattr(result, "to_arrow_reader", None) or result.fetch_arrow_reader
            for batch in reader(_BATCH):
                yield batch.cast(schema)

        return streamed(self._called, batches)

    def nearest(self, number: exp.Expr) -> exp.Expr:
        # The cast is C's nearbyint: ties to even.
        return exp.cast(number, "bigint")

    def halves(self, total: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
        wide = exp.cast(total, "hugeint")
        upper = exp.BitwiseRightShift(this=wide, expression=literal(HALF_BITS))
        lower = exp.BitwiseAnd(this=wide.copy(), expression=literal((1 << HALF_BITS) - 1))
        return exp.cast(upper, "bigint"), exp.cast(lower, "bigint")

    def extremes(self, value: exp.Expr, most: int, *, least: bool) -> exp.Expr | None:
        return exp.Anonymous(this="min" if least else "max", expressions=[value, literal(most)])

    def is_finite(self, number: exp.Expr) -> exp.Expr:
        # A function, not comparisons: those are decided by statistics of whole row groups, which leave NaN out.
        return exp.Anonymous(this="isfinite", expressions=[number.copy()])

    def is_nan(self, number: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="isnan", expressions=[number.copy()])

    def day_number(self, day: exp.Expr) -> exp.Expr:
        days = _days(clamped(day, *_calendar_ends()))
        return exp.case().when(exp.Is(this=day.copy(), expression=exp.Null()), exp.Null()).else_(days)

    def day(self, name: str, stored_type: str, written: DateFormat | IsoMoments | None = None) -> exp.Expr:
        if stored_type == "text" or name in self._zoned:
            return super().day(name, stored_type, written)
        if stored_type == "date":  # comparisons take half the time, and a column may be named several times
            raw, (first, last) = column(name), _calendar_ends()
            beyond = exp.case().when(exp.LT(this=raw.copy(), expression=first), first.copy())
            return _days(beyond.when(exp.GT(this=raw.copy(), expression=last), last.copy()).else_(raw))
        # Moments of seconds and milliseconds may lie beyond what DuckDB can make days of: these are missing.
        return self.day_number(exp.TryCast(this=column(name), to=exp.DataType.build("date")))

    def epoch_second(self, name: str) -> exp.Expr:
        raw = column(name)
        # Cut to whole seconds that can be counted: infinite moments have no number, and rounding down overflows.
        if name in self._in_nanoseconds:
            kind, function, units, written = "timestamp_ns", "epoch_ns", 1_000_000_000, _NANOSECOND_ENDS
        else:
            kind = "timestamptz" if name in self._zoned else "timestamp"
            function, units, written = "epoch_us", 1_000_000, _CALENDAR_ENDS[name in self._zoned]
            # Moments of seconds and milliseconds may lie beyond the others: these are missing, infinite ones are not.
            raw = raw if name in self._zoned else exp.TryCast(this=raw, to=exp.DataType.build(kind))
        ends = [exp.cast(exp.Literal.string(end), kind, dialect=self.dialect) for end in written]
        missing = exp.Is(this=raw.copy(), expression=exp.Null())
        whole = exp.Anonymous(this=function, expressions=[clamped(raw, *ends)])
        seconds = exp.IntDiv(this=floored(whole, units), expression=literal(units))
        return exp.case().when(missing, exp.Null()).else_(seconds)

    def span_seconds(self, name: str) -> exp.Expr:
        if name not in self._spans:
            return exp.Anonymous(this="epoch", expressions=[column(name)])
        return exp.Div(this=exp.cast(column(name), "double"), expression=double_literal(self._spans[name]), typed=True)

    def from_decimal(self, raw: exp.Expr) -> exp.Expr:
        # DuckDB rounds long decimals twice.
        if raw.name not in self._wide:
            return exp.cast(raw, "double")
        # Bits that are no decimal of so many digits have no text: these are cut to the largest that are.
        digits, scale = self._wide[raw.name]
        nines = f"{'9' * (digits - scale)}.{'9' * scale}".rstrip(".")
        stored_type = f"decimal({digits}, {scale})"
        ends = [exp.cast(exp.Literal.string(sign + nines), stored_type) for sign in ("-", "")]
        inside = exp.cast(exp.cast(clamped(raw, *ends), "text"), "double")
        return exp.case().when(exp.Is(this=raw.copy(), expression=exp.Null()), exp.Null()).else_(inside)

    def fingerprint(self, below: Path | None = None) -> str:
        return file_mark(self._file, below) if self._file is not None else ""

    def state(self) -> str | None:
        return None if self._file is None else state_of_file(self._file)

    @property
    def says_every_change(self) -> bool:
        return self._file is not None

    def ready(self) -> None:
        if self._file is not None and not self._file.is_file():
            raise SourceFailed(f"{self._called} is not there any more; nothing was charged")

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        before = self._stamp()
        yield
        if self._stamp() != before:
            raise SourceFailed(f"{self._called} changed while it was being read; what was charged stays charged")

    def _stamp(self) -> tuple[int, int, int] | None:
        if self._file is None:
            return None
        try:
            status = self._file.stat()
        except OSError:
            return (-1, -1, -1)
        return status.st_mtime_ns, status.st_size, status.st_ino

    def close(self) -> None:
        if self._number == 0:
            self._connection.close()


def _calendar_ends() -> tuple[exp.Expr, exp.Expr]:
    """What dates are cut to: an infinite one is beyond all bounds, as an infinite number is."""
    first, last = (exp.cast(exp.Literal.string(item), "date") for item in CALENDAR)
    return first, last


def _days(date: exp.Expr) -> exp.Expr:
    """How many days a date within the calendar is after the first of 1970; NULL if missing."""
    epoch = exp.cast(exp.Literal.string("1970-01-01"), "date")
    return exp.Anonymous(this="date_diff", expressions=[exp.Literal.string("day"), epoch, date])


def _option(name: str, value: exp.Expr) -> exp.Expr:
    return exp.PropertyEQ(this=exp.to_identifier(name), expression=value)


def csv_names(file: Path, layout: TextLayout = USUAL) -> list[str]:
    """The names in the first line, or in the first behind those that are skipped."""
    names: list[str] = []
    with contextlib.suppress(csv.Error):
        names = next(csv.reader([header(file, layout)], delimiter=layout.delimiter_of(file)), [])
    if not names or not all(names):
        raise InvalidData(f"{file.name}: the first line must name every column; nothing was charged")
    if (name := repeated_name(names)) is not None:
        # Not the name itself: without a header the first line would be a record.
        same = [str(place) for place, other in enumerate(names, 1) if other.lower() == name.lower()]
        problem = f"columns {' and '.join(same)} of the first line have one name: give each a name of its own"
        raise InvalidData(f"{file.name}: {problem}; nothing was charged")
    return names
