"""``dither check``: how the columns of a source are read, exactly.  For its owner: NOT private, nothing is charged."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from dither.interfaces.cli.options import OF_FILES, CheckOptions, column_option, layout_of, layout_options, refuse
from dither.interfaces.cli.output import console_of, plain_table

if TYPE_CHECKING:
    from rich.console import Console

    from dither.session.session import Session
    from dither.sources.graph_schema import GraphSchema
    from dither.sources.link_checks import KeyFigures, LinkFigures, PersonFigures
    from dither.sources.schema import Schema
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
    those of a text file as plain numbers. Every line of a text file is one record: lines that end inside quotes are
    counted, for such fields are cut there. Of a graph: how many records are edges, and what the others are.

    \b
    dither check payroll.toml
    dither check pay.csv --column pay=real:0:600000 --format '$1,234.56'
    """
    graph = _graph_schema(file, options)
    if graph is not None:
        _check_graph(file, graph, as_json=as_json)
        return
    session, declared = _session(file, options)
    with session:
        rows, shares = _exact(session)
        types = {name: declared.type_name for name, declared in session.schema.columns.items()}
        linked = _linked(session) if session.schema.tables else None
        if linked is not None:
            rows = next(each.people for each in linked["people"] if each.table == session.schema.person)
    cut = _lines_cut(session.schema)
    warned = unreadable_text(session.schema, shares)
    if as_json:
        columns = {name: {"type": types[name], **each} for name, each in shares.items()}
        report = {} if linked is None else _plain(linked)
        wrong = {} if declared in (None, rows) else {"declared_rows": declared}
        wrong |= {"lines_cut": cut} if cut else {}
        click.echo(
            json.dumps({"rows": rows, **wrong, "columns": columns, **report, "warnings": warned, "private": False})
        )
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
    if linked is not None:
        _show_links(console, linked, session.schema.rows_per_unit)
    console.print(f"{rows:,} {_counted(session.schema)}; {NOT_PRIVATE}", markup=False)
    for warning in warned:
        console.print(warning, markup=False, style="red")
    if declared not in (None, rows):
        console.print(
            f"the schema declares {declared:,} rows: correct rows in it, or make it private", markup=False, style="red"
        )
    if cut:
        console.print(
            f"{cut:,} lines end inside quotes, and every line is one record: where fields have line breaks, write the "
            "file as Parquet",
            markup=False,
            style="red",
        )


MOSTLY = 0.5
"""A column of which at least this share can't be read as declared is probably declared wrongly."""


def unreadable_text(schema: Schema, shares: Mapping[str, Mapping[str, float]]) -> list[str]:
    """For the owner: which columns can't be read as declared, before anything is spent on them."""
    return [
        f"{name}: {share:.0%} of the entries can't be read as {schema.columns[name].type_name}, so that answers about "
        "it say next to nothing: correct its type or its format"
        for name, each in shares.items()
        if (share := each["unreadable"]) >= MOSTLY
    ]


def warnings_for_owner(schema: Schema) -> list[str]:
    """NOT private: what ``dither check`` would warn of."""
    from dither.ledger import MemoryLedger
    from dither.session.session import Session

    private = schema if schema.unit is not None or schema.tables else dataclasses.replace(schema, rows="private")
    with Session(private, ledger=MemoryLedger()) as session:
        return unreadable_text(schema, _exact(session)[1])


def _counted(schema: Schema) -> str:
    """What the number of rows counts: where people have several, those that questions are answered from."""
    if schema.tables:
        return "people"
    if schema.unit is None or schema.limit_is_private:
        return "rows"
    return f"rows are used, at most {schema.rows_per_unit:,} of each {schema.unit}"


def _lines_cut(schema: Schema) -> int:
    """How many lines of a text file end inside quotes: each half of such a record is read as one."""
    from dither.sources.files import is_text
    from dither.sources.lines import records

    file = None if schema.source is None else Path(schema.source)
    if file is None or not (file.is_file() and is_text(file)):
        return 0
    is_open, cut = False, 0
    for line in records(file, schema.layout):
        is_open ^= line.count('"') % 2 == 1
        cut += is_open
    return cut


def _graph_schema(file: Path, options: CheckOptions) -> GraphSchema | None:
    """The schema of a graph, if the file has one."""
    from dither.sources.graph_schema import GraphSchema
    from dither.sources.schema_file import load_schema

    if file.suffix.lower() != ".toml":
        return None
    schema = load_schema(file)
    if not isinstance(schema, GraphSchema):
        return None
    refuse(options, OF_FILES, "is declared in the schema file: leave it out")
    return schema


def _check_graph(file: Path, schema: GraphSchema, *, as_json: bool) -> None:
    from dither.sources.edge_checks import edge_figures
    from dither.sources.schema_file import pointing_at

    with pointing_at(file):
        figures = edge_figures(schema)
    if as_json:
        click.echo(json.dumps({**dataclasses.asdict(figures), "private": False}))
        return
    table = plain_table(["records that are", "number"], right=("number",), wrapped="records that are")
    table.add_row("edges", f"{figures.edges:,}")
    table.add_row(f"no two vertices from 0 to {schema.vertices - 1:,}", f"{figures.not_vertices:,}")
    table.add_row("loops", f"{figures.loops:,}")
    table.add_row("edges once more", f"{figures.repeated:,}")
    console = console_of(100)
    console.print(table, markup=False)
    console.print(f"{figures.records:,} records; {NOT_PRIVATE}", markup=False)


class Linked(TypedDict):
    """What the owner learns of linked tables."""

    links: list[LinkFigures]
    keys: list[KeyFigures]
    people: list[PersonFigures]


def _linked(session: Session) -> Linked:
    """Keys that lead nowhere or repeat, and rows of one person."""
    from dither.sources.engines.views import ViewEngine
    from dither.sources.link_checks import key_figures, link_figures, person_figures

    engine = session._source.engine
    if not isinstance(engine, ViewEngine):
        raise RuntimeError("linked tables are read by a view")
    schema = session.schema
    return {
        "links": link_figures(schema, engine),
        "keys": key_figures(schema, engine),
        "people": person_figures(schema, engine),
    }


def _plain(linked: Linked) -> dict[str, list[dict[str, str | int | None]]]:
    """The same in plain values for JSON."""
    parts: dict[str, Sequence[LinkFigures | KeyFigures | PersonFigures]] = {
        "links": linked["links"],
        "keys": linked["keys"],
        "people": linked["people"],
    }
    return {name: [dataclasses.asdict(item) for item in each] for name, each in parts.items()}


def _show_links(console: Console, linked: Linked, limit: int | str) -> None:
    links = plain_table(
        ["link", "rows", "missing", "lead nowhere"], right=("rows", "missing", "lead nowhere"), wrapped="link"
    )
    for link in linked["links"]:
        name = f"{link.table}.{link.column} -> {link.target}"
        links.add_row(name, f"{link.rows:,}", f"{link.missing:,}", f"{link.orphans:,}")
    keys = plain_table(
        ["key", "values that repeat", "of several people"],
        right=("values that repeat", "of several people"),
        wrapped="key",
    )
    for key in linked["keys"]:
        keys.add_row(f"{key.table}.{key.column}", f"{key.repeated:,}", "-" if key.shared is None else f"{key.shared:,}")
    columns = ["rows of one person", "people", "half", "90%", "99%", "most"]
    columns += [f"more than {limit}"] if isinstance(limit, int) else []
    people = plain_table(columns, right=tuple(columns[1:]), wrapped="rows of one person")
    for each in linked["people"]:
        numbers = (each.people, *each.quantiles, each.most, each.beyond)
        people.add_row(each.table, *(f"{number:,}" for number in numbers[: len(columns) - 1]))
    for table in (links, keys, people):
        console.print(table, markup=False)
    console.print("rows that lead nowhere count nowhere; a key of several people makes what refers to it part of each")


def _session(file: Path, options: CheckOptions) -> tuple[Session, int | None]:
    """A session of the file, whatever number of rows its schema declares, and that number where answers rely on it."""
    import dither as dt
    from dither.interfaces.cli.register import declared_columns
    from dither.ledger import MemoryLedger
    from dither.session.session import Session
    from dither.sources.engines.factory import engine_of
    from dither.sources.schema import Schema

    if file.suffix.lower() == ".toml":
        refuse(options, OF_FILES, "is declared in the schema file: leave it out")
        opened = dt.open(file, ledger=":memory:")
        rows = getattr(opened.schema, "rows", None)
        if not isinstance(rows, int) or opened.schema.unit is not None:
            return opened, None
        opened.close()
        return Session(dataclasses.replace(opened.schema, rows="private"), ledger=MemoryLedger()), rows
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
    return Session(schema, ledger=MemoryLedger()), None


def _as_stored(stored_type: str, casts_text: bool) -> ColumnType | None:
    """What a column is read as where nothing is declared; None: it is not read."""
    from dither.sources.types import Boolean, Category, Date, Real

    if stored_type in ("whole", "real", "decimal") or (stored_type == "text" and casts_text):
        return Real(None, None)
    results = {"text": Category(), "boolean": Boolean(), "date": Date("0001-01-01", "9999-12-31")}
    return results.get(stored_type)


def _exact(session: Session) -> tuple[int, dict[str, dict[str, float]]]:
    """The number of rows that are used, and the shares of each column; of all rows where their limit is private."""
    import dither as dt
    from dither.ledger import MemoryLedger
    from dither.procedures.people import MOST_LIMIT
    from dither.session.session import Session
    from dither.sources.linked_tables import names_of_columns
    from dither.sources.states import STATES

    if session.schema.limit_is_private:
        declared = dataclasses.replace(session.schema, rows_per_unit=MOST_LIMIT)
        session = Session(declared, ledger=MemoryLedger(), engine=session._source.engine)
    tables = session.schema.tables
    public = {name for (table, _), name in names_of_columns(tables).items() if tables[table].public}
    names = [name for name in session.schema.columns if name not in public]
    shares = {name: dict(zip(STATES[1:], dt.inspect.value(dt.Quality(name), session), strict=True)) for name in names}
    return int(dt.inspect.value(dt.Count(), session)), shares
