"""DuckDB: CSV, Parquet, Arrow, frames of pandas and Polars, and tables of a ``.duckdb`` file."""

from __future__ import annotations

import contextlib
import csv
import gzip
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dither.data.engines.engine import Engine, arrow_schema, guarded, streamed, whole_result
from dither.data.files import state_of_file
from dither.data.predicates import literal
from dither.errors import InvalidArgument, InvalidData, SourceFailed

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
_KINDS = (
    dict.fromkeys(_WHOLE, "whole")
    | {"FLOAT": "real", "DOUBLE": "real", "DECIMAL": "decimal", "BOOLEAN": "boolean", "VARCHAR": "text", "ENUM": "text"}
    | {"UUID": "text", "DATE": "date", "TIMESTAMP": "date", "TIMESTAMP_NS": "date", "TIMESTAMP_MS": "date"}
    | {"TIMESTAMP_S": "date", "TIMESTAMP WITH TIME ZONE": "date"}
)
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")
_DATABASES = (".duckdb", ".db")
_SPLITTERS = {".csv": "comma_fields", ".tsv": "tab_fields"}
_BATCH = 1 << 16
_NEVER = "\x01"
"""The delimiter that makes a whole line one field."""
_MACROS = (
    """CREATE MACRO unquoted(f) AS CASE WHEN starts_with(f, '"') AND ends_with(f, '"') AND length(f) > 1
       THEN replace(substr(f, 2, length(f) - 2), '""', '"') ELSE f END""",
    """CREATE MACRO comma_fields(line) AS CASE WHEN contains(line, '"') THEN list_transform(
       regexp_extract_all(line, '(?:^|,)("(?:[^"]|"")*"|[^,]*)', 1), lambda f: unquoted(f))
       ELSE string_split(line, ',') END""",
    """CREATE MACRO tab_fields(line) AS CASE WHEN contains(line, '"') THEN list_transform(
       regexp_extract_all(line, '(?:^|\t)("(?:[^"]|"")*"|[^\t]*)', 1), lambda f: unquoted(f))
       ELSE string_split(line, '\t') END""",
    "CREATE MACRO field(fields, place) AS nullif(fields[place], '')",
)
FILES = (*_DELIMITERS, *_PARQUET, *_DATABASES)


class DuckDB(Engine):
    """One table, embedded in this process."""

    dialect: ClassVar[str] = "duckdb"
    bytewise: ClassVar[str | None] = "C"

    @property
    def casts_text(self) -> bool:  # type: ignore[override]
        # A CSV has nothing but texts; elsewhere a text is what its owner meant.
        return self._file is not None and inner_suffix(self._file) in _DELIMITERS

    def __init__(self, source: Any, table: str | None = None, *, threads: int | None = None) -> None:
        import duckdb  # noqa: PLC0415  (slow to load)

        self._errors = duckdb.Error
        self._file: Path | None = None
        if isinstance(source, (str, Path)):
            self._file = Path(source)
            suffix = inner_suffix(self._file)
            if suffix not in FILES:
                raise InvalidArgument("source", str(source), f"a file ending in {', '.join(FILES)} is accepted")
            if not self._file.is_file():
                raise InvalidArgument("source", str(source), "the path of a readable file is accepted")
        in_file = self._file is not None and inner_suffix(self._file) in _DATABASES
        place = str(self._file) if in_file else ":memory:"
        self._connection = guarded(self._called, lambda: duckdb.connect(place, read_only=in_file))
        if threads is not None:
            self._connection.execute(f"SET threads = {int(threads)}")
        self._connection.execute("SET enable_progress_bar = false")
        # A pandas column of objects is text, whatever they are: a type guessed from some records fails on others.
        self._connection.execute("SET pandas_analyze_sample = 0")
        self._table = self._database_table(table) if in_file else self._view(source)
        self._kinds = self._described()

    def absent_column(self) -> str:
        if self.casts_text:  # not listing them: without a header the first line would be a record
            return f"a column of the source is accepted: a name from the first line of {self._called}"
        return super().absent_column()

    @property
    def _called(self) -> str:
        return "the frame" if self._file is None else f"the file {self._file.name}"

    def _database_table(self, table: str | None) -> exp.Expr:
        if table is None:
            raise InvalidArgument("table", table, "the name of a table in the database file is accepted")
        parts = [exp.to_identifier(part, quoted=True) for part in table.split(".")]
        return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))

    def _view(self, source: Any) -> exp.Expr:
        if self._file is None:
            registered = False
            with contextlib.suppress(Exception):  # (a foreign object may fail in any way, and quote its records)
                self._connection.register("source", source)
                registered = True
            if not registered:
                raise InvalidArgument(
                    "source", type(source), "a path or a frame of pandas, Polars or Arrow is accepted"
                )
            return exp.to_table("source")
        path = literal(_only(self._file))
        if inner_suffix(self._file) in _PARQUET:
            return exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[path]))
        for macro in _MACROS:
            self._connection.execute(macro)
        return _csv_table(self._file)

    def _described(self) -> dict[str, str]:
        described = None
        with contextlib.suppress(self._errors):
            described = self._connection.sql(self.sql(exp.select("*").from_(self._table.copy())))
        if described is None:
            raise InvalidData(f"{self._called} could not be read as what its name says; nothing was charged")
        kinds = (str(kind).split("(")[0] for kind in described.types)
        return {name: _KINDS.get(kind, "other") for name, kind in zip(described.columns, kinds, strict=True)}

    def kinds(self) -> dict[str, str]:
        return self._kinds

    def table(self, fraction: float | None = None) -> exp.Expr:
        if fraction is None:
            return self._table.copy()
        percent = exp.Literal.number(f"{100 * fraction:.9f}")
        sampled = exp.select("*").from_(self._table.copy())
        sampled.set("sample", exp.TableSample(method=exp.var("bernoulli"), percent=percent))
        return sampled.subquery("source")

    def estimated_rows(self) -> int:
        if self._file is not None and inner_suffix(self._file) in _DELIMITERS:
            # Counting the lines of a CSV costs as much as reading it.
            return max(self._file.stat().st_size // 64, 1)
        return int(self.rows(exp.select(exp.Count(this=exp.Star())).from_(self.table()))[0][0])

    def rows(self, query: exp.Select) -> list[tuple[Any, ...]]:
        return guarded(self._called, lambda: self._connection.execute(self.sql(query)).fetchall())

    def arrays(self, query: exp.Select) -> list[NDArray[np.int64]]:
        def fetched() -> list[NDArray[np.int64]]:
            columns = self._connection.execute(self.sql(query)).fetchnumpy()
            return [whole_result(values) for values in columns.values()]

        return guarded(self._called, fetched)

    def stream(self, query: exp.Select, kinds: Sequence[str]) -> Iterator[Any]:
        schema = arrow_schema([one.alias_or_name for one in query.selects], kinds)

        def batches() -> Iterator[Any]:
            result = self._connection.sql(self.sql(query))
            # Newer versions have another name for it.
            reader = getattr(result, "to_arrow_reader", None) or result.fetch_arrow_reader
            for batch in reader(_BATCH):
                yield batch.cast(schema)

        return streamed(self._called, batches)

    def half_even(self, number: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="round_even", expressions=[number, literal(0)])

    def day_number(self, day: exp.Expr) -> exp.Expr:
        epoch = exp.cast(exp.Literal.string("1970-01-01"), "date")
        return exp.Anonymous(this="date_diff", expressions=[exp.Literal.string("day"), epoch, day])

    def fingerprint(self) -> str:
        return f"file:{self._file.resolve()}" if self._file is not None else ""

    def state(self) -> str | None:
        return None if self._file is None else state_of_file(self._file)

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
        self._connection.close()


def inner_suffix(file: Path) -> str:
    """The suffix that tells the format: that of the packed file for ``.gz``."""
    return Path(file.stem).suffix.lower() if file.suffix.lower() == ".gz" else file.suffix.lower()


def _only(file: Path) -> str:
    """The path of this file alone: DuckDB takes *, ? and [ for patterns, which may name others."""
    return re.sub(r"([*?[])", r"[\1]", str(file))


def _csv_lines(file: Path) -> exp.Expr:
    """A CSV, one record a line.  Nothing is guessed from records, and no quote of one line reaches into the next."""
    options: dict[str, exp.Expr] = {
        "auto_detect": exp.false(), "header": exp.true(), "delim": exp.Literal.string(_NEVER),
        "quote": exp.Literal.string(""), "escape": exp.Literal.string(""), "null_padding": exp.true(),
        "ignore_errors": exp.true(), "strict_mode": exp.false(),
        "columns": exp.Struct(
            expressions=[exp.PropertyEQ(this=exp.to_identifier("line", quoted=True), expression=literal("VARCHAR"))]
        ),
    }  # fmt: skip
    given = [exp.PropertyEQ(this=exp.to_identifier(key), expression=value) for key, value in options.items()]
    return exp.Table(this=exp.Anonymous(this="read_csv", expressions=[literal(_only(file)), *given]))


def _csv_table(file: Path) -> exp.Expr:
    """The fields of every line, named by the first line; an empty field is missing.

    An empty line is a record without a value where there is one column, else it is none.
    """
    suffix = inner_suffix(file)
    names = csv_names(file, _DELIMITERS[suffix])
    split = exp.Anonymous(this=_SPLITTERS[suffix], expressions=[exp.column("line")])
    lines = exp.select(exp.alias_(split, "fields")).from_(_csv_lines(file))
    if len(names) > 1:
        lines = lines.where("NOT line IS NULL")
    fields = [
        exp.alias_(
            exp.Anonymous(this="field", expressions=[exp.column("fields"), literal(index + 1)]), name, quoted=True
        )
        for index, name in enumerate(names)
    ]
    return exp.select(*fields).from_(lines.subquery("lines")).subquery("source")


def csv_names(file: Path, delimiter: str) -> list[str]:
    """The names in the first line."""
    opened = gzip.open if file.suffix.lower() == ".gz" else open
    with opened(file, "rt", encoding="utf-8-sig", errors="replace", newline="") as lines:
        names = next(csv.reader([next(iter(lines), "")], delimiter=delimiter), [])
    if not names or len(set(names)) != len(names) or not all(names):
        raise InvalidData(f"{file.name}: the first line must name every column once; nothing was charged")
    return [str(name) for name in names]
