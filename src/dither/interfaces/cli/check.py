"""``dither check``: how the columns of a source are read, exactly.  For its owner: NOT private, nothing is charged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from dither.interfaces.cli.options import OF_FILES, CheckOptions, column_option, layout_of, layout_options, refuse
from dither.interfaces.cli.output import console_of, plain_table

if TYPE_CHECKING:
    from dither.session.session import Session
    from dither.sources.types import ColumnType

NOT_PRIVATE = "exact, not private: for the owner alone; nothing was charged"


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@column_option
@layout_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(file: Path, *, as_json: bool, **options: Unpack[CheckOptions]) -> None:
    """Which shares of the columns of FILE are missing, unreadable and clamped: a schema (.toml), CSV or Parquet file.

    The figures are exact and NOT private: they are for the owner, to see what bounds and formats do. Whoever may only
    ask questions asks quality(column) instead. Columns that --column does not declare are read as what is stored, and
    those of a text file as plain numbers.

    \b
    dither check payroll.toml
    dither check pay.csv --column pay=real:0:600000 --format '$1,234.56'
    """
    with _session(file, options) as session:
        rows, shares = _exact(session)
        types = {name: declared.type_name for name, declared in session.schema.columns.items()}
    if as_json:
        columns = {name: {"type": types[name], **each} for name, each in shares.items()}
        click.echo(json.dumps({"rows": rows, "columns": columns, "private": False}))
        return
    table = plain_table(
        ["column", "read as", "missing", "unreadable", "clamped"],
        right=("missing", "unreadable", "clamped"),
        wrapped="column",
    )
    for name, each in shares.items():
        table.add_row(name, types[name], *(f"{share:.2%}" for share in each.values()))
    console = console_of(100)
    console.print(table, markup=False)
    console.print(f"{rows:,} rows; {NOT_PRIVATE}", markup=False)


def _session(file: Path, options: CheckOptions) -> Session:
    import dither as dt
    from dither.interfaces.cli.register import declared_columns
    from dither.ledger import MemoryLedger
    from dither.session.session import Session
    from dither.sources.engines.factory import engine_of
    from dither.sources.schema import Schema

    if file.suffix.lower() == ".toml":
        refuse(options, OF_FILES, "is declared in the schema file: leave it out")
        return dt.open(file, ledger=":memory:")
    layout = layout_of(options)
    engine = engine_of(str(file), layout=layout)
    stored_types = engine.stored_types()
    declared = declared_columns(options["columns"], stored_types, {}, options["format_"])
    columns = {
        name: declared.get(name) or _as_stored(stored_type, engine.casts_text)
        for name, stored_type in stored_types.items()
    }
    engine.close()
    known: dict[str, ColumnType] = {name: column for name, column in columns.items() if column is not None}
    schema = Schema(str(file), known, budget=dt.Budget(1.0), layout=layout)
    return Session(schema, ledger=MemoryLedger())


def _as_stored(stored_type: str, casts_text: bool) -> ColumnType | None:
    """What a column is read as where nothing is declared; None: it is not read."""
    from dither.sources.types import Boolean, Category, Date, Real

    if stored_type in ("whole", "real", "decimal") or (stored_type == "text" and casts_text):
        return Real(None, None)
    results = {"text": Category(), "boolean": Boolean(), "date": Date("0001-01-01", "9999-12-31")}
    return results.get(stored_type)


def _exact(session: Session) -> tuple[int, dict[str, dict[str, float]]]:
    """The number of rows that are used, and the shares of each column."""
    import dither as dt
    from dither.sources.states import STATES

    names = list(session.schema.columns)
    shares = {name: dict(zip(STATES[1:], dt.inspect.value(dt.Quality(name), session), strict=True)) for name in names}
    return int(dt.inspect.value(dt.Count(), session)), shares
