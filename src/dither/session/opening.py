"""Opening a dataset: a schema file, or a source with its columns declared on the spot."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, overload

from dither.errors import InvalidArgument
from dither.ledger import Ledger, MemoryLedger, open_ledger
from dither.privacy import PRIVATE, Budget
from dither.session.session import Session
from dither.sources.engines.factory import engine_for
from dither.sources.frames import table_of
from dither.sources.graph_schema import GraphSchema
from dither.sources.lines import TextLayout
from dither.sources.schema import UNDECLARED, Schema
from dither.sources.types import ColumnType, untyped_entries, with_objects_as_declared

if TYPE_CHECKING:
    import pandas as pd

    from dither.session.graphs import GraphSession
    from dither.typing import FilterName, Frame, LedgerPlace, Named, Number

MEMORY = ":memory:"
FORGOTTEN = (
    "this budget is not recorded: it is forgotten with the session, and opening the data again starts a new one. Pass "
    "name= and home= (or ledger=) to keep it on disk, or ledger=':memory:' if that is meant"
)
_warned_of: set[str] = set()
"""The names of datasets of which this process has warned: once each."""


@overload
def open(source: GraphSchema, *, budget: Budget | None = None, ledger: LedgerPlace | None = None) -> GraphSession: ...
@overload
def open(source: Schema, *, budget: Budget | None = None, ledger: LedgerPlace | None = None) -> Session: ...
@overload
def open(source: str | Path, *, ledger: LedgerPlace | None = None) -> Session: ...
@overload
def open(
    source: str | Path | Frame | Named,
    *,
    columns: Mapping[str, ColumnType],
    budget: Budget | None = None,
    rows: int | Literal["private"] | None = None,
    unit: str | None = None,
    rows_per_unit: int | Literal["private"] | None = None,
    name: str | None = None,
    home: str | Path | None = None,
    table: str | None = None,
    engine: str | None = None,
    filter: FilterName = "basic",
    slack: Number | None = None,
    ledger: LedgerPlace | None = None,
    delimiter: str | None = None,
    skip_lines: int = 0,
    encoding: str = "utf-8",
) -> Session: ...
def open(
    source: GraphSchema | Schema | str | Path | Frame | Named,
    *,
    columns: Mapping[str, ColumnType] | None = None,
    budget: Budget | None = None,
    rows: int | Literal["private"] | None = None,
    unit: str | None = None,
    rows_per_unit: int | Literal["private"] | None = None,
    name: str | None = None,
    home: str | Path | None = None,
    table: str | None = None,
    engine: str | None = None,
    filter: FilterName = "basic",
    slack: Number | None = None,
    ledger: LedgerPlace | None = None,
    delimiter: str | None = None,
    skip_lines: int = 0,
    encoding: str = "utf-8",
) -> Session | GraphSession:
    """Open a dataset for questions: a ``Session``, or a ``GraphSession`` where the schema declares a graph.

    source: a schema file (``payroll.toml``) or a ``Schema``, or a CSV or Parquet file, a frame of pandas, Polars
        or Arrow, a mapping of names to arrays, a Spark DataFrame, or with ``table`` a database file or a
        ``postgresql://`` address.
    columns: what the owner declares about them, for example ``{"total_pay": Real(0, 600_000)}``.
    budget: what may be spent in all; of a ``Schema`` that declares none too, a schema file has its own.
    rows: the public number of rows; private by default.
    unit, rows_per_unit: the column that tells people apart, and how many rows of each are used, which must be
        declared too; "private": each release finds a limit by a draw, pays for it out of its privacy loss, and says
        which limit it is.
    delimiter, skip_lines, encoding: of a text file, where they are not the usual ones; by default a .csv whose first
        line has no comma is separated by the semicolon, tab or bar that stands there.
    ledger: a path or ``postgresql://`` address where charges are kept; ":memory:" forgets them with the session.  By
        default a schema file has its ledger beside it; anything else has none on disk, and says so.
    name, home: the dataset's name in the ledger, and a folder whose ``ledger.db`` keeps it, as that of ``dither
        serve``.  A frame whose charges are kept must be given a name: nothing else tells it from other frames.

    Type checkers take a schema file for that of a table: of a graph's, ``cast(GraphSession, open(...))`` tells them.
    """
    layout = TextLayout(delimiter, skip_lines, encoding)
    given = {
        "columns": columns,
        "rows": rows,
        "unit": unit,
        "name": name,
        "home": home,
        "table": table,
        "engine": engine,
        "slack": slack,
        "filter": None if filter == "basic" else filter,
        "rows_per_unit": rows_per_unit,
        **layout.options,
    }
    if isinstance(source, (Schema, GraphSchema)):
        _only_declared("the schema", **given)
        if budget is not None and source.budget is not None:
            raise InvalidArgument("budget", budget, "the schema declares one: leave it out here or there")
        source = source if budget is None else dataclasses.replace(source, budget=budget)
        return (
            _opened_graph(source, ledger)
            if isinstance(source, GraphSchema)
            else Session(source, ledger=_ledger(ledger))
        )
    if isinstance(source, (str, Path)) and str(source).endswith(".toml"):
        _only_declared("the schema file", **given, budget=budget)
        from dither.sources.schema_file import load_schema, pointing_at  # noqa: PLC0415

        schema = load_schema(source)
        with pointing_at(source):
            if isinstance(schema, GraphSchema):
                return _opened_graph(schema, ledger if ledger is not None else Path(source).with_suffix(".ledger"))
            opened = engine_for(schema)
            kept = _ledger(ledger if ledger is not None else Path(source).with_suffix(".ledger"))
            return Session(schema, ledger=kept, engine=opened)
    if home is not None and ledger is not None:
        raise InvalidArgument("home", str(home), "the ledger is named by ledger= already: leave one of them out")
    kept = _ledger(Path(home) / "ledger.db" if home is not None else ledger)
    is_named = name is not None or isinstance(source, (str, Path))
    if kept.is_durable and not is_named:
        wanted = "give the dataset a name, such as name='payroll': its charges are kept under it"
        raise InvalidArgument("name", None, wanted)
    if columns is None:
        raise InvalidArgument("columns", None, 'is missing: declare them, such as {"total_pay": Real(0, 600_000)}')
    if isinstance(source, Mapping):
        source = table_of(source, lambda name, entries: untyped_entries(columns.get(name), entries))
    elif type(source).__module__.partition(".")[0] == "pandas":
        source = with_objects_as_declared(cast("pd.DataFrame", source), columns)
    schema = Schema(
        str(source) if isinstance(source, Path) else source,
        columns,
        name or _named(source),
        rows or PRIVATE,
        table=table,
        engine=engine,
        unit=unit,
        rows_per_unit=UNDECLARED if rows_per_unit is None else rows_per_unit,
        budget=budget,
        filter=filter,
        slack=slack,
        layout=layout,
    )
    session = Session(schema, ledger=kept)
    if not kept.is_durable and ledger is None and schema.name not in _warned_of:
        _warned_of.add(schema.name)
        warnings.warn(FORGOTTEN, UserWarning, stacklevel=2)
    return session


def _only_declared(where: str, **given: object) -> None:  # anything: only its type is looked at
    """Refuse what a schema declares itself."""
    for argument, value in given.items():
        if value is not None:
            raise InvalidArgument(argument, value, f"it is declared in {where}")


def _opened_graph(schema: GraphSchema, ledger: LedgerPlace | None) -> GraphSession:
    from dither.session.graphs import GraphSession  # noqa: PLC0415  (graph kernels are slow to load)

    return GraphSession(schema, ledger=_ledger(ledger))


def _named(source: object) -> str:  # anything: only its type is looked at
    return Path(source).stem if isinstance(source, (str, Path)) and "://" not in str(source) else "data"


def _ledger(place: LedgerPlace | None) -> Ledger:
    if isinstance(place, Ledger):
        return place
    return (
        MemoryLedger()
        if place is None or place == MEMORY
        else open_ledger(place if isinstance(place, str) else Path(place))
    )
