"""SQLite: a table or view of a database file, by Python's own sqlite3.

Columns there have no types, records have: any of them may be a number, a text or bytes in any column, whatever is
declared.  So what a record is read as depends on its own ``typeof``; the declared type, which is public, only says what
a schema may declare.  What SQLite does not have, or does not do exactly, stands here: every double is written as a
whole number times powers of two (SQLite's own reader of decimals is off by a bit now and then), sums are added up in
two halves (its own raises an error beyond 64 bits), numbers are rounded by adding and taking away 2**52, and texts
become UTF-8, days and hashes in functions of Python that never raise.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import math
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dither.errors import InvalidArgument, SourceFailed
from dither.sources.engines.engine import (
    HALF_BITS,
    LARGEST_DOUBLE,
    Engine,
    Row,
    arrow_schema,
    clamped,
    column,
    double_literal,
    guarded,
    kept_name,
    streamed,
    within_infinities,
)
from dither.sources.entries import FALSE_WORDS, TRUE_WORDS
from dither.sources.files import file_mark, state_of_file
from dither.sources.formats import (
    ISO_MOMENTS,
    DateFormat,
    DurationFormat,
    IsoMoments,
    Moments,
    NumberFormat,
    TimestampFormat,
)
from dither.sources.frames import arrow
from dither.sources.predicates import Constant, literal

if TYPE_CHECKING:
    import pyarrow as pa

_OLDEST = (3, 31, 0)
"""The first version with columns that are computed and listed; NULLS LAST came before it."""
_BATCH = 1 << 16
_WAIT = 30.0
"""Seconds that a writer may lock the file."""
_LONGEST = 1 << 20
"""Of a text so many bytes count: no text that is made of it exceeds what SQLite can hold."""
_HALF = 32
"""Bits of the lower half of a sum: neither overflows in a table of less than 2**31 rows."""
_LONG_CONDITION = 100
"""Conditions in a row that are written as a balanced tree: SQLite refuses trees of more than 1,000 levels."""
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_NAMES = {"GREATEST": "MAX", "LEAST": "MIN"}
_AFFINITIES = (
    (("BOOL",), "boolean"),
    (("DATE", "TIMESTAMP"), "date"),
    (("INT",), "whole"),
    (("CHAR", "CLOB", "TEXT"), "text"),
    (("BLOB", "ANY"), "other"),
    (("REAL", "FLOA", "DOUB"), "real"),
)
"""SQLite's own rules, in their order, after what it has no types for; anything else is a decimal."""


class SQLite(Engine):
    """One table or view of a SQLite file, which is never written to."""

    dialect = "sqlite"
    bytewise: str | None = "BINARY"
    stores_nan = False
    has_grouping_sets = False
    casts_text = False

    def __init__(self, source: str | Path, table: str | None = None, *, beside: SQLite | None = None) -> None:
        """beside: an engine whose connection is used, so that one query can join both tables."""
        self._file, self._beside = Path(source), beside
        if sqlite3.sqlite_version_info < _OLDEST:
            needed = ".".join(map(str, _OLDEST))
            raise InvalidArgument("source", str(source), f"needs SQLite {needed} or newer below Python's sqlite3")
        if not self._file.is_file():
            raise InvalidArgument("source", str(source), "must be the path of a readable file")
        if beside is not None and beside._file.resolve() != self._file.resolve():
            raise InvalidArgument("source", str(source), "tables that are linked must be in one file")
        self._lock: threading.RLock = threading.RLock() if beside is None else beside._lock
        self._formats: list[NumberFormat | DateFormat | DurationFormat | IsoMoments] = (
            [] if beside is None else beside._formats
        )
        self._connection: sqlite3.Connection = self._connected() if beside is None else beside._connection
        self._name = self._found(table)
        self._stored_types = self._described()

    @property
    def _called(self) -> str:
        return f"the file {self._file.name}"

    def _connected(self) -> sqlite3.Connection:
        reached = encoding = None
        with contextlib.suppress(sqlite3.Error, OSError):
            self._inode = self._file.stat().st_ino
            reached = sqlite3.connect(
                f"{self._file.resolve().as_uri()}?mode=ro",
                uri=True,
                timeout=_WAIT,
                isolation_level=None,
                check_same_thread=False,
            )
            reached.execute("SELECT count(*) FROM sqlite_master").fetchone()
            encoding = reached.execute("PRAGMA encoding").fetchone()[0]
        if reached is None or encoding is None:
            raise SourceFailed(
                f"{self._called} cannot be opened: it is no database of SQLite, or another process writes to it; "
                "nothing was charged"
            )
        if encoding != "UTF-8":
            reached.close()
            raise InvalidArgument("source", encoding, "texts of the database must be UTF-8: copy it into one that is")
        reached.text_factory = _decoded
        for name, arguments, function in (
            ("dither_text", 1, _text),
            ("dither_day", 1, _day),
            ("dither_format", 2, self._formatted),
            ("dither_sum", 2, _sum),
            ("dither_cut", 2, _cut),
            ("dither_upper", 1, _upper),
            ("dither_lower", 1, _lower),
            ("md5", 1, _md5),
        ):
            reached.create_function(name, arguments, function, deterministic=True)
        return reached

    def _found(self, table: str | None) -> str:
        """The table's own name: SQLite takes it in any case."""
        listed = guarded(
            self._called,
            # What is virtual has no page of its own, and may compute anything.
            lambda: self._connection.execute(
                "SELECT name FROM sqlite_master WHERE (type = 'view' OR (type = 'table' AND rootpage > 0)) "
                "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
            ).fetchall(),
        )
        names = [str(row[0]) for row in listed]
        known = ", ".join(names) or "it has none"
        if table is None:
            raise InvalidArgument("table", table, f"pass table=NAME (at the shell --table NAME): {known}")
        alike = [name for name in names if name.lower() == table.lower()]
        if not alike:
            raise InvalidArgument("table", table, f"must be a table or view of the file: {known}")
        return alike[0]

    def _described(self) -> dict[str, str]:
        quoted = self._name.replace('"', '""')
        listed = guarded(
            self._called, lambda: self._connection.execute(f'PRAGMA main.table_xinfo("{quoted}")').fetchall()
        )
        names = [str(row[1]) for row in listed]
        for name in names:  # (a view with two columns of one name: SQLite calls the second one name:1)
            if name.rpartition(":")[0] in names and name.rpartition(":")[2].isdigit():
                raise InvalidArgument("table", self._name, f"has two columns {name.rpartition(':')[0]}: name each once")
        # Columns that are computed while they are read (2) may fail on one record; those that are stored (3) may not.
        return {str(name): _stored_type(str(declared)) for _, name, declared, *_, hidden in listed if hidden in (0, 3)}

    def stored_types(self) -> dict[str, str]:
        return self._stored_types

    def table(self, fraction: float | None = None) -> exp.Expr:
        named = exp.Table(this=exp.to_identifier(self._name, quoted=True), db=exp.to_identifier("main", quoted=True))
        if fraction is None:
            return named
        drawn = exp.BitwiseAnd(this=exp.Anonymous(this="random", expressions=[]), expression=literal((1 << 53) - 1))
        chosen = exp.LT(this=exp.Paren(this=drawn), expression=literal(int(fraction * (1 << 53))))
        names = [column(name) for name in self._stored_types]
        return exp.select(*names).from_(named).where(chosen).subquery("source")

    def estimated_rows(self) -> int:
        return int(self.rows(exp.select(exp.Count(this=exp.Star())).from_(self.table()))[0][0] or 0)

    def rows(self, query: exp.Select) -> list[Row]:
        return guarded(self._called, lambda: self._connection.execute(self.sql(query)).fetchall())

    def kept(self, query: exp.Select) -> exp.Expr:
        name = kept_name()
        guarded(self._called, lambda: self._connection.execute(f"CREATE TEMP TABLE {name} AS {self.sql(query)}"))
        return exp.to_table(f"temp.{name}")

    def forget(self, table: exp.Expr) -> None:
        guarded(self._called, lambda: self._connection.execute(f"DROP TABLE {self.sql(table)}"))

    def arrays(self, query: exp.Select) -> list[NDArray[np.int64]]:
        width = len(query.selects)

        def fetched() -> list[NDArray[np.int64]]:
            parts = [np.zeros((0, width), dtype=np.int64)]
            cursor = self._connection.execute(self.sql(query))
            while batch := cursor.fetchmany(_BATCH):
                parts.append(np.array(batch, dtype=np.int64))
            return list(np.concatenate(parts).T)

        return guarded(self._called, fetched)

    def stream(self, query: exp.Select, stored_types: Sequence[str]) -> Iterator[pa.RecordBatch]:
        built, schema = arrow(), arrow_schema([selected.alias_or_name for selected in query.selects], stored_types)

        def batches() -> Iterator[pa.RecordBatch]:
            cursor = self._connection.execute(self.sql(query))
            while batch := cursor.fetchmany(_BATCH):
                columns = [
                    built.array(part, stored_type)
                    for part, stored_type in zip(zip(*batch, strict=True), schema.types, strict=True)
                ]
                yield built.record_batch(columns, schema=schema)

        return streamed(self._called, batches)

    # --- SQL that SQLite has in other words, or not exactly ------------------------------------------------

    def sql(self, query: exp.Expr) -> str:
        tree = query.copy()
        for node in list(tree.walk()):
            if isinstance(node, exp.Anonymous):
                node.set("this", _NAMES.get(node.this, node.this))
            elif isinstance(node, exp.Cast) and node.this.is_string and node.to.this == exp.DataType.Type.DOUBLE:
                node.replace(exp.Var(this=_double(float(node.this.this))))
            elif isinstance(node, exp.Connector) and not isinstance(node.parent, type(node)):
                parts = list(node.flatten(unnest=False))
                if len(parts) > _LONG_CONDITION:
                    node.replace(exp.Paren(this=_balanced(type(node), parts)))
        return super().sql(tree)

    def values(self, rows: Iterable[Sequence[Constant]], name: str, columns: Sequence[str]) -> exp.Expr:
        # An alias names no columns there; those of VALUES are column1, column2, ...
        named = [exp.alias_(exp.column(f"column{place}"), item) for place, item in enumerate(columns, 1)]
        return exp.select(*named).from_(exp.Var(this=f"(VALUES {self.listed(rows)})")).subquery(name)

    def constant(self, value: Constant) -> str:
        # A statement ends at the character NUL, which a text of a record may have.
        if isinstance(value, str) and "\0" in value:
            return f"CAST(x'{value.encode().hex()}' AS TEXT)"
        return _double(value) if isinstance(value, float) else super().constant(value)

    def exact_sum(self, whole: exp.Expr) -> exp.Expr:
        # As a text, which Python makes a whole number of any size of.
        high = exp.BitwiseRightShift(this=exp.Paren(this=whole.copy()), expression=literal(_HALF))
        low = exp.BitwiseAnd(this=exp.Paren(this=whole.copy()), expression=literal((1 << _HALF) - 1))
        return exp.Anonymous(this="dither_sum", expressions=[exp.Sum(this=high), exp.Sum(this=low)])

    def cut_sum(self, whole: exp.Expr, most: int) -> exp.Expr:
        return exp.Anonymous(this="dither_cut", expressions=[self.exact_sum(whole), literal(most)])

    def halves(self, total: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
        upper, lower = (
            exp.Anonymous(this=name, expressions=[total.copy()]) for name in ("dither_upper", "dither_lower")
        )
        return upper, lower

    def nearest(self, number: exp.Expr) -> exp.Expr:
        # Where doubles are one apart a sum is rounded to a whole number, ties to even: between 2**52 and 2**53.
        middle, edge = double_literal(1.5 * 2.0**52), double_literal(2.0**52)
        small = exp.Between(this=number.copy(), low=double_literal(-(2.0**51)), high=double_literal(2.0**51))
        rounded = (
            exp.case()
            .when(small, _there_and_back(number, middle))
            .when(exp.GTE(this=exp.Abs(this=number.copy()), expression=edge), number.copy())
            .when(exp.GT(this=number.copy(), expression=double_literal(0.0)), _there_and_back(number, edge))
            .else_(_there_and_back(number, double_literal(-(2.0**52))))
        )
        return exp.cast(rounded, "bigint")

    # --- what a record is, by its own type -----------------------------------------------------------------

    def finite(self, number: exp.Expr) -> exp.Expr:
        inside = clamped(number, double_literal(-LARGEST_DOUBLE), double_literal(LARGEST_DOUBLE))
        # (a type that is given as text is parsed every time)
        whole = exp.Cast(this=number.copy(), to=exp.DataType(this=exp.DataType.Type.DOUBLE, nested=False))
        return _by_type(number, real=inside, integer=whole)

    def is_finite(self, number: exp.Expr) -> exp.Expr:
        return within_infinities(number)

    def is_nan(self, number: exp.Expr) -> exp.Expr:
        # NaN is stored as NULL.
        return exp.Is(this=number.copy(), expression=exp.Null())

    def number(self, name: str, stored_type: str, written: NumberFormat | None = None) -> exp.Expr:
        if stored_type == "text" and written is not None:
            return self._read(name, written)
        if stored_type == "text":
            self._needs_casts(name)
        return self.finite(column(name))

    def day(self, name: str, stored_type: str, written: DateFormat | IsoMoments | None = None) -> exp.Expr:
        if stored_type == "text" and isinstance(written, DateFormat):
            return self._read(name, written)
        if stored_type == "text":
            self._needs_casts(name)
        return self.day_number(column(name))

    def second(self, name: str, stored_type: str, written: Moments | None = None) -> exp.Expr:
        if stored_type == "text" and written is None:
            self._needs_casts(name)
        # There are no moments: texts are.  A number may be a Julian day or seconds since 1970: it is missing.
        read = self._read(name, ISO_MOMENTS if written is None else written)
        return _by_type(column(name), text=read)

    def epoch_second(self, name: str) -> exp.Expr:
        return self.second(name, "date")

    def span(self, name: str, stored_type: str, written: DurationFormat | None = None) -> exp.Expr:
        if stored_type == "text" and written is not None:
            return self._read(name, written)
        return self.number(name, stored_type)

    def span_seconds(self, name: str) -> exp.Expr:
        return self.number(name, "real")

    def day_number(self, day: exp.Expr) -> exp.Expr:
        # There are no dates: ISO texts are.  A number may be a Julian day or seconds since 1970: it is missing.
        read = exp.Anonymous(this="dither_day", expressions=[_bytes(day)])
        return _by_type(day, text=read)

    def truth(self, name: str, stored_type: str, *, numbers: bool = True) -> exp.Expr:  # noqa: ARG002
        number, word = self.finite(column(name)), exp.Lower(this=self._trimmed(name))
        zero = literal(0)
        cases = exp.case()
        for sign, words, truth in ((exp.NEQ, TRUE_WORDS, 1), (exp.EQ, FALSE_WORDS, 0)):
            cases = cases.when(sign(this=number.copy(), expression=zero.copy()), literal(truth))
            cases = cases.when(exp.In(this=word.copy(), expressions=[literal(item) for item in words]), literal(truth))
        return cases.else_(exp.Null())

    def text(self, name: str, stored_type: str) -> exp.Expr:
        if stored_type == "boolean":
            truth = self.truth(name, stored_type)
            yes, no = (exp.EQ(this=truth.copy(), expression=literal(item)) for item in (1, 0))
            read: exp.Expr = exp.case().when(yes, literal("true")).when(no, literal("false")).else_(exp.Null())
        else:
            read = exp.Anonymous(this="dither_text", expressions=[_bytes(column(name))])
        return exp.Collate(this=read, expression=exp.to_identifier(self.bytewise, quoted=True))

    def whole_key(self, name: str) -> exp.Expr:
        return _by_type(column(name), integer=column(name))

    def person(self, name: str, stored_type: str) -> exp.Expr:  # noqa: ARG002
        return self.text(name, "text")

    def _read(self, name: str, written: NumberFormat | DateFormat | DurationFormat | IsoMoments) -> exp.Expr:
        if written not in self._formats:
            self._formats.append(written)
        place = literal(self._formats.index(written))
        return exp.Anonymous(this="dither_format", expressions=[place, _bytes(column(name))])

    def _formatted(self, place: int, entry: bytes | None) -> float | int | None:
        if entry is None:
            return None
        written, text = self._formats[place], _decoded(entry)
        if isinstance(written, NumberFormat):
            return written.number(text)  # (NaN is NULL)
        if isinstance(written, DurationFormat):
            return written.seconds(text)
        if isinstance(written, (TimestampFormat, IsoMoments)):
            return written.second(text)
        day = written.day(text)
        return None if day is None else day.toordinal() - _EPOCH

    # --- the file ------------------------------------------------------------------------------------------

    def fingerprint(self, below: Path | None = None) -> str:
        return file_mark(self._file, below)

    def state(self) -> str | None:
        log = self._file.with_name(f"{self._file.name}-wal")
        return ",".join(filter(None, map(state_of_file, (self._file, log)))) or None

    def ready(self) -> None:
        if self._beside is not None:
            self._beside.ready()
            self._connection = self._beside._connection
            return
        if not self._file.is_file():
            raise SourceFailed(f"{self._called} is not there any more; nothing was charged")
        if self._file.stat().st_ino != self._inode:  # another file has been put in its place
            self._connection.close()
            self._connection = self._connected()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        with self._lock:
            begins = not self._connection.in_transaction
            if begins:
                guarded(self._called, lambda: self._connection.execute("BEGIN"))
            try:
                # (where a column is gone SQLite takes its quoted name for a text; and reading this begins the snapshot)
                if self._described() != self._stored_types:
                    raise SourceFailed(f"{self._called} has other columns than it had; what was charged stays charged")
                yield
            finally:
                if begins:
                    with contextlib.suppress(sqlite3.Error):
                        self._connection.execute("ROLLBACK")

    def close(self) -> None:
        if self._beside is None:
            self._connection.close()


def _stored_type(declared: str) -> str:
    """What a column may be declared as, by the words of its type: public."""
    words = declared.upper()
    if not words:
        return "other"
    return next((kind for parts, kind in _AFFINITIES if any(part in words for part in parts)), "decimal")


def _double(value: float) -> str:
    """A double in whole numbers that SQLite reads exactly: a mantissa, times or divided by powers of two."""
    if math.isinf(value):
        return "9e999" if value > 0 else "(-9e999)"
    fraction, exponent = math.frexp(value)
    mantissa, exponent = int(fraction * (1 << 53)), exponent - 53
    while mantissa and mantissa % 2 == 0:
        mantissa, exponent = mantissa // 2, exponent + 1
    whole, rest = divmod(abs(exponent), 60)
    powers = [1 << 60] * whole + ([1 << rest] if rest else [])
    sign = "*" if exponent > 0 else "/"
    scaled = f"CAST({mantissa} AS REAL)" + "".join(f" {sign} {power}" for power in powers)
    return f"({scaled})" if mantissa else "0.0"


def _balanced(kind: type[exp.Connector], parts: list[exp.Expr]) -> exp.Expr:
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    left, right = (exp.Paren(this=_balanced(kind, some)) for some in (parts[:middle], parts[middle:]))
    return kind(this=left, expression=right)


def _there_and_back(number: exp.Expr, distance: exp.Expr) -> exp.Expr:
    there = exp.Paren(this=exp.Add(this=exp.Paren(this=number.copy()), expression=distance))
    return exp.Sub(this=there, expression=distance.copy())


def _by_type(value: exp.Expr, **read: exp.Expr) -> exp.Expr:
    """What a record is read as, by what it is stored as; NULL where it is stored as anything else."""
    result = exp.Case(this=exp.Anonymous(this="typeof", expressions=[value.copy()]))
    for stored_as, item in read.items():
        result = result.when(literal(stored_as), item)
    return result


def _bytes(value: exp.Expr) -> exp.Expr:
    """The bytes of any value's text: a text itself that is no UTF-8 would fail on its way to Python."""
    cut = exp.Anonymous(this="substr", expressions=[exp.cast(value, "blob"), literal(1), literal(_LONGEST)])
    empty = exp.Anonymous(this="zeroblob", expressions=[literal(0)])  # (of which a part is NULL)
    present = exp.Coalesce(this=cut, expressions=[empty])
    return exp.case().when(exp.Is(this=value.copy(), expression=exp.Null()), exp.Null()).else_(present)


# --- functions of SQLite that are Python's: none of them raises, whatever it is given ---------------------------------


def _decoded(entry: bytes) -> str:
    return entry.decode("utf-8", "replace")


def _text(entry: bytes | None) -> str | None:
    return None if entry is None else _decoded(entry)


def _day(entry: bytes | None) -> int | None:
    """The day of an ISO date or moment (that of UTC where it has a time zone); None for any other text."""
    result = ISO_MOMENTS.day(_decoded(entry or b""))
    return None if result is None else result.toordinal() - _EPOCH


def _md5(text: str | None) -> str | None:
    return None if text is None else hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _sum(high: int | None, low: int | None) -> str:
    return str(((high or 0) << _HALF) + (low or 0))


def _cut(total: str, most: int) -> int:
    return max(min(int(total), most), -most)


def _upper(total: str | int) -> int:
    return int(total) >> HALF_BITS


def _lower(total: str | int) -> int:
    return int(total) & ((1 << HALF_BITS) - 1)
