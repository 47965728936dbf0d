"""PostgreSQL: a table or view, read in one consistent snapshot by psycopg."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dither.errors import InvalidArgument, SourceFailed
from dither.sources.engines.engine import (
    CALENDAR,
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
from dither.sources.frames import arrow
from dither.sources.predicates import literal

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa

_STORED_TYPES = (
    dict.fromkeys(("smallint", "integer", "bigint"), "whole")
    | {"real": "real", "double precision": "real", "numeric": "decimal", "boolean": "boolean"}
    | dict.fromkeys(("text", "character varying", "character", "USER-DEFINED", "uuid", "name"), "text")
    | {"date": "date", "timestamp without time zone": "timestamp", "timestamp with time zone": "timestamp"}
    | {"interval": "duration"}
)
_HOURS = ("00:00:00", "23:59:59")
_BATCH = 200_000
_LEAST = "2.4703282292062328e-324"
"""Just above half of the least double: what is smaller rounds to 0, which PostgreSQL takes for an error."""
_WHOLE_ENCODINGS = frozenset(
    [
        "UTF8",
        *(f"LATIN{number}" for number in (1, 2, 4, 5, 6, 7, 8, 9, 10)),
        *("ISO_8859_5", "KOI8R", "KOI8U", "WIN866", "WIN1256"),
    ]
)
"""Encodings of databases in which every text that can be stored is one in UTF-8: in WIN1252 the byte 81 is none, and a
query that reads it fails."""
_SETTINGS = {
    "standard_conforming_strings": "on",  # else a backslash would end the texts of an analyst's filter early
    "client_encoding": "'UTF8'",  # else a record whose text another encoding lacks would make a query fail
    "search_path": "pg_catalog, pg_temp",  # else a function of the database's own could replace a built-in one
    "TimeZone": "'UTC'",  # else views would have the days of the role's time zone
    "DateStyle": "'ISO, YMD'",
    "IntervalStyle": "'postgres'",
    "extra_float_digits": "1",
    "transform_null_equals": "off",
}
"""What each connection sets, for a database or a role may have set it otherwise."""


LONGEST_SILENCE = 10
"""Seconds that a server may take to accept a connection, or to reply to a query that reads no record."""


@contextlib.contextmanager
def answering_in_time(connection: psycopg.Connection) -> Iterator[None]:
    """End a connection whose server does not reply in time: the query within then fails instead of waiting for ever."""

    def end() -> None:
        # (where it is closed already there is nothing to end)
        with contextlib.suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(LONGEST_SILENCE, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Postgres(Engine):
    """One table or view of a PostgreSQL database."""

    dialect = "postgres"
    bytewise: str | None = "C"
    double = "DOUBLE PRECISION"
    casts_text = False

    def __init__(self, address: str, table: str | None, *, beside: Postgres | None = None) -> None:
        """beside: an engine whose connection is used, so that one query can join both tables."""
        if not table:
            raise InvalidArgument("table", table, "must be the name of a table or view (schema.table)")
        try:
            import psycopg  # noqa: PLC0415  (an optional part)
        except ImportError:
            raise InvalidArgument("source", "postgresql", "install dither[postgres] to read from PostgreSQL") from None
        self._psycopg = psycopg
        self._address, self._name, self._beside = address, table, beside
        if beside is not None and beside._address != address:
            raise InvalidArgument(
                "source", "postgresql", "tables that are linked must be in one database: the same address"
            )
        self._keeps = False
        """Whether a snapshot may have temporary tables; each query reads in a transaction of its own then."""
        *schemas, self._table_name = table.split(".")
        if len(schemas) > 1:
            raise InvalidArgument("table", table, "must be the name of a table or view (schema.table)")
        self._schema_name = schemas[0] if schemas else ""
        self._searched: list[str] = [] if beside is None else beside._searched
        self._connection: psycopg.Connection = self._connected() if beside is None else beside._connection
        with answering_in_time(self._connection):
            self._find()
            self._stored_types = self._described()

    def _connected(self) -> psycopg.Connection:
        reached = None
        with contextlib.suppress(self._psycopg.Error):
            connection = self._psycopg.connect(self._address, autocommit=True, connect_timeout=LONGEST_SILENCE)
            try:
                with answering_in_time(connection):
                    # Where a table without a schema is looked for; named in full, for a path may name another function.
                    searched = connection.execute("SELECT pg_catalog.current_schemas(true)").fetchall()
                    self._searched = [str(name) for name in searched[0][0]]
                    connection.execute("; ".join(f"SET {name} = {value}" for name, value in _SETTINGS.items()))
            except self._psycopg.Error:
                connection.close()
                raise
            reached = connection
        if reached is None:
            raise SourceFailed("PostgreSQL could not be reached at the declared source; nothing was charged")
        encoding = reached.info.parameter_status("server_encoding")
        if encoding not in _WHOLE_ENCODINGS:
            reached.close()
            raise InvalidArgument(
                "source", encoding, "texts of a database in this encoding may be no text in UTF-8: use one in UTF-8"
            )
        return reached

    @property
    def _called(self) -> str:
        return f"the table {self._name}"

    def _find(self) -> None:
        """The schema that the name means: one table has one name, however it was written."""
        for schema in [self._schema_name] if self._schema_name else self._searched:
            self._schema_name = schema
            wanted = (
                exp.select("nspname", "relname")
                .from_("pg_class")
                .join("pg_namespace", on="pg_namespace.oid = relnamespace")
                .where(exp.EQ(this=exp.column("oid", table="pg_class"), expression=self._place()))
            )
            if result := self.rows(wanted):
                self._schema_name, self._table_name = map(str, result[0])
                return
        raise InvalidArgument("table", self._name, "must be the name of a table that exists at the source")

    def _place(self) -> exp.Expr:
        """The number of the table in PostgreSQL's catalogue."""
        quoted = ".".join('"' + name.replace('"', '""') + '"' for name in (self._schema_name, self._table_name))
        result = exp.Anonymous(this="to_regclass", expressions=[literal(quoted)])
        return exp.cast(result, exp.DataType.build("oid", udt=True))

    def _described(self) -> dict[str, str]:
        wanted = (
            exp.select("column_name", "data_type")
            .from_("information_schema.columns")
            .where(exp.EQ(this=exp.column("table_schema"), expression=literal(self._schema_name)))
            .where(exp.EQ(this=exp.column("table_name"), expression=literal(self._table_name)))
            .order_by("ordinal_position")
        )
        described = self.rows(wanted)
        self._zoned = frozenset(
            str(name) for name, stored_type in described if stored_type == "timestamp with time zone"
        )
        return {str(name): _STORED_TYPES.get(str(stored_type), "other") for name, stored_type in described}

    def stored_types(self) -> dict[str, str]:
        return self._stored_types

    def table(self, fraction: float | None = None) -> exp.Expr:
        name = exp.Table(
            this=exp.to_identifier(self._table_name, quoted=True),
            db=exp.to_identifier(self._schema_name, quoted=True),
        )
        if fraction is None:
            return name
        # TABLESAMPLE would refuse views.
        chosen = exp.LT(this=exp.Anonymous(this="random", expressions=[]), expression=double_literal(fraction))
        return exp.select("*").from_(name).where(chosen).subquery("source")

    def estimated_rows(self) -> int:
        wanted = exp.EQ(this=exp.column("oid"), expression=self._place())
        known = self.rows(exp.select("reltuples").from_("pg_class").where(wanted))
        if known and float(known[0][0]) >= 0:
            return int(known[0][0])
        return int(self.rows(exp.select(exp.Count(this=exp.Star())).from_(self.table()))[0][0])

    def rows(self, query: exp.Select) -> list[Row]:
        def fetched() -> list[Row]:
            with self._reading():
                return self._connection.execute(self.sql(query), prepare=False).fetchall()

        return guarded(self._called, fetched)

    def kept(self, query: exp.Select) -> exp.Expr:
        if not self._first._keeps:
            return super().kept(query)
        name = kept_name()

        def filled() -> None:
            # The query itself is run where nothing but such a table can be written; it is gone when the snapshot is.
            self._connection.execute(f"CREATE TEMP TABLE {name} ON COMMIT DROP AS {self.sql(query)} WITH NO DATA")
            with self._reading():
                self._connection.execute(f"INSERT INTO pg_temp.{name} {self.sql(query)}", prepare=False)

        guarded(self._called, filled)
        return exp.to_table(f"pg_temp.{name}")

    @property
    def _first(self) -> Postgres:
        """The engine whose connection it is."""
        return self if self._beside is None else self._beside._first

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """Within it nothing is written, whatever a view calls."""
        if not self._first._keeps:
            yield
            return
        with self._connection.transaction():
            self._connection.execute("SET LOCAL transaction_read_only = on")
            yield

    def arrays(self, query: exp.Select) -> list[NDArray[np.int64]]:
        return guarded(self._called, lambda: self._streamed(query))

    def _streamed(self, query: exp.Select) -> list[NDArray[np.int64]]:
        width = len(query.selects)
        parts: list[list[NDArray[np.int64]]] = [[np.zeros(0, dtype=np.int64)] for _ in range(width)]
        # A named cursor streams: the rows never stand in memory as Python objects all at once.
        with (
            self._reading(),
            self._connection.transaction(),
            self._connection.cursor(name="window", binary=True) as cursor,
        ):
            cursor.execute(self.sql(query))
            while batch := cursor.fetchmany(_BATCH):
                for part, values in zip(parts, zip(*batch, strict=True), strict=True):
                    part.append(np.array(values, dtype=np.int64))
        return [np.concatenate(part) for part in parts]

    def stream(self, query: exp.Select, stored_types: Sequence[str]) -> Iterator[pa.RecordBatch]:
        built, schema = arrow(), arrow_schema([selected.alias_or_name for selected in query.selects], stored_types)

        def batches() -> Iterator[pa.RecordBatch]:
            with (
                self._reading(),
                self._connection.transaction(),
                self._connection.cursor(name="stream", binary=True) as cursor,
            ):
                cursor.execute(self.sql(query))
                while batch := cursor.fetchmany(_BATCH):
                    columns = [
                        built.array(part, stored_type)
                        for part, stored_type in zip(zip(*batch, strict=True), schema.types, strict=True)
                    ]
                    yield built.record_batch(columns, schema=schema)

        return streamed(self._called, batches)

    def nearest(self, number: exp.Expr) -> exp.Expr:
        # round(double precision) is C's rint: ties to even.
        return exp.cast(exp.Anonymous(this="round", expressions=[number]), "bigint")

    def nearest_multiple(self, number: exp.Expr, size: float) -> exp.Expr:
        # A quotient too small for a double is an error there.
        tiny = exp.LT(this=exp.Abs(this=number.copy()), expression=double_literal(size / 4))
        return exp.case().when(tiny, literal(0)).else_(super().nearest_multiple(number, size))

    def is_finite(self, number: exp.Expr) -> exp.Expr:
        return within_infinities(number)

    def is_nan(self, number: exp.Expr) -> exp.Expr:
        # NaN is equal to itself there.
        return exp.EQ(this=number.copy(), expression=exp.cast(exp.Literal.string("NaN"), "double"))

    def day_number(self, day: exp.Expr) -> exp.Expr:
        # Infinite dates cannot be subtracted: cut to the calendar first.
        first, last = (exp.cast(exp.Literal.string(text), "date") for text in CALENDAR)
        inside = clamped(day, first, last)
        known = exp.Sub(this=inside, expression=exp.cast(exp.Literal.string("1970-01-01"), "date"))
        return exp.case().when(exp.Is(this=day.copy(), expression=exp.Null()), exp.Null()).else_(exp.Paren(this=known))

    def epoch_second(self, name: str) -> exp.Expr:
        # Infinite moments have no number: cut to the calendar first, which has the zone of UTC in either type.
        raw = column(name)
        kind = "timestamptz" if name in self._zoned else "timestamp"
        zone = "+00" if name in self._zoned else ""
        written = [f"{day} {hour}{zone}" for day, hour in zip(CALENDAR, _HOURS, strict=True)]
        ends = [exp.cast(exp.Literal.string(end), kind) for end in written]
        inside = self.sql(clamped(raw, *ends))
        seconds = exp.cast(exp.Var(this=f"FLOOR(EXTRACT(EPOCH FROM {inside}))"), "bigint")
        return exp.case().when(exp.Is(this=raw.copy(), expression=exp.Null()), exp.Null()).else_(seconds)

    def span_seconds(self, name: str) -> exp.Expr:
        # Infinite intervals (PostgreSQL 17) are infinite numbers there.
        return exp.cast(exp.Var(this=f"EXTRACT(EPOCH FROM {self.sql(column(name))})"), "double")

    def captured(self, text: exp.Expr, pattern: str) -> exp.Expr:
        return exp.Anonymous(this="substring", expressions=[text.copy(), literal(f"^(?:{pattern})$")])

    def from_decimal(self, raw: exp.Expr) -> exp.Expr:
        """A numeric beyond the range of doubles would raise an error; NaN is missing."""
        most = exp.cast(exp.Literal.string(repr(LARGEST_DOUBLE)), "numeric")
        tiny = exp.cast(exp.Literal.string(_LEAST), "numeric")
        inside = clamped(raw, exp.Neg(this=most), most.copy())
        return (
            exp.case()
            .when(exp.Is(this=raw.copy(), expression=exp.Null()), exp.Null())  # GREATEST ignores NULL
            .when(exp.EQ(this=raw.copy(), expression=exp.cast(exp.Literal.string("NaN"), "numeric")), exp.Null())
            .when(exp.LT(this=exp.Abs(this=raw.copy()), expression=tiny), double_literal(0.0))
            .else_(exp.cast(inside, "double"))
        )

    def fingerprint(self, below: Path | None = None) -> str:  # noqa: ARG002  (it is no file)
        # What the server says about itself: an address can be written in many ways.
        info = self._connection.info
        where = f"{(info.host or info.hostaddr).lower()}:{info.port}"
        with contextlib.suppress(self._psycopg.Error), answering_in_time(self._connection):
            result = self._connection.execute("SELECT system_identifier FROM pg_control_system()").fetchone()
            where = where if result is None else f"system-{result[0]}"
        return f"postgresql://{where}/{info.dbname}#{self._schema_name}.{self._table_name}"

    def state(self) -> str | None:
        """The table's file and PostgreSQL's counters of changed rows, which are some seconds late; none of a view."""
        query = (
            "SELECT c.oid, c.relfilenode, s.n_tup_ins, s.n_tup_upd, s.n_tup_del FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_stat_all_tables s ON s.relid = c.oid "
            "WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'm')"
        )
        with contextlib.suppress(self._psycopg.Error), answering_in_time(self._connection):
            result = self._connection.execute(query, (self._schema_name, self._table_name)).fetchone()
            return None if result is None else ":".join(map(str, result))
        return None

    def ready(self) -> None:
        if self._beside is not None:
            self._beside.ready()
            self._connection = self._beside._connection
            return
        alive = False
        with contextlib.suppress(self._psycopg.Error), answering_in_time(self._connection):
            self._connection.execute("SELECT 1")
            alive = True
        if not alive:
            self._connection = self._connected()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        if self._beside is not None:  # all that its connection reads is one snapshot already
            yield
            return
        transaction = self._connection.transaction()
        guarded(self._called, lambda: self._begun(transaction))
        try:
            yield
        except BaseException as error:
            with contextlib.suppress(self._psycopg.Error):
                transaction.__exit__(type(error), error, error.__traceback__)
            raise
        finally:
            self._keeps = False
        guarded(self._called, lambda: transaction.__exit__(None, None, None))

    def _begun(self, transaction: AbstractContextManager[psycopg.Transaction]) -> None:
        transaction.__enter__()
        # A standby, or a user without the right to temporary tables, keeps nothing: public facts of the server.
        keeps = "SELECT has_database_privilege(current_database(), 'TEMP') AND NOT pg_is_in_recovery()"
        self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        self._keeps = self._connection.execute(keeps).fetchall() == [(True,)]
        if not self._keeps:
            self._connection.execute("SET TRANSACTION READ ONLY")

    def close(self) -> None:
        if self._beside is None:
            self._connection.close()
