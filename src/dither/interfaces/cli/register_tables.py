"""``dither register`` of several files, or of several tables of one database: a schema of linked tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dither.errors import InvalidArgument, suggested
from dither.interfaces.cli.options import RegisterFlags, declared_limit, layout_of, refuse
from dither.interfaces.cli.output import number

if TYPE_CHECKING:
    from dither.sources.types import ColumnType

_OF_ONE_TABLE = ("rows", "unit", "priors")


@dataclass
class TableDraft:
    """What is known of one table so far."""

    source: str
    table: str | None
    stored_types: Mapping[str, str]
    columns: dict[str, ColumnType] = field(default_factory=dict)
    key: str | None = None
    links: dict[str, str] = field(default_factory=dict)
    public: bool = False

    def undeclared(self) -> list[str]:
        """Columns that are neither declared nor keys."""
        return [name for name in self.stored_types if name not in self.columns and name not in (self.key, *self.links)]


def register_tables(
    sources: Sequence[tuple[str, str, str | None]],
    out: Path,
    *,
    name: str | None,
    engine: str | None,
    as_json: bool,
    flags: RegisterFlags,
    template: Mapping[str, list[str]],
    talking: bool,
) -> str:
    """The text of a schema file.  sources: the name of each table, its source, and its table in a database.

    template: what to write for a column of each stored type.
    """
    refuse(flags, _OF_ONE_TABLE, "is for one table: leave it out")
    drafts = _opened(sources, out, engine, flags)
    _declare(drafts, flags)
    text = _text(drafts, name or out.stem, engine, flags, template, talking=talking)
    complete = _is_complete(drafts, flags)
    if complete:
        from dither.sources.engines.factory import engine_for
        from dither.sources.schema import Schema
        from dither.sources.schema_file import read_schema

        drafted = read_schema(text, out.name, folder=str(out.absolute().parent))
        if isinstance(drafted, Schema):
            engine_for(drafted).close()
    _report(drafts, out, complete, as_json)
    return text


def _opened(
    sources: Sequence[tuple[str, str, str | None]], out: Path, engine: str | None, flags: RegisterFlags
) -> dict[str, TableDraft]:
    from dither.sources.engines.factory import engine_of

    drafts: dict[str, TableDraft] = {}
    for name, source, table in sources:
        if name in drafts:
            raise InvalidArgument("data", name, "two tables have this name: rename a file")
        folder = str(out.absolute().parent)
        opened = engine_of(source, table=table, engine=engine, folder=folder, layout=layout_of(flags))
        drafts[name] = TableDraft(source, table, opened.stored_types())
        opened.close()
    return drafts


def _declare(drafts: dict[str, TableDraft], flags: RegisterFlags) -> None:
    from dither.interfaces.cli.register import declared_columns

    for spec in flags["keys"]:
        table, column = _table_and(spec, "=", drafts, "key", "must be written TABLE=COLUMN")
        drafts[table].key = _column(column, drafts[table], "key")
    for spec in flags["links"]:
        table, rest = _table_and(spec, ".", drafts, "link", "must be written TABLE.COLUMN=TABLE")
        column, _, target = rest.rpartition("=")
        if target not in drafts:
            raise InvalidArgument("link", target, f"must be a table: {', '.join(drafts)}{suggested(target, drafts)}")
        drafts[table].links[_column(column, drafts[table], "link")] = target
    for option, name in (*(("public", name) for name in flags["public"]), ("person", flags["person"])):
        if name is not None and name not in drafts:
            raise InvalidArgument(option, name, f"must be a table: {', '.join(drafts)}{suggested(name, drafts)}")
    for name in flags["public"]:
        drafts[name].public = True
    given = {
        option: [_table_and(spec, ".", drafts, option, "must be written TABLE.COLUMN=...") for spec in specs]
        for option, specs in (("column", flags["columns"]), ("nulls", flags["nulls"]), ("format", flags["format_"]))
    }
    for name, draft in drafts.items():
        own = {option: [rest for table, rest in pairs if table == name] for option, pairs in given.items()}
        nulls = {column: policy for column, _, policy in (spec.rpartition("=") for spec in own["nulls"])}
        draft.columns |= declared_columns(own["column"], draft.stored_types, nulls, own["format"])
        for column in nulls:
            raise InvalidArgument("nulls", f"{name}.{column}", "must be a column that is declared with --column")


def _table_and(spec: str, sign: str, drafts: Mapping[str, TableDraft], option: str, form: str) -> tuple[str, str]:
    table, found, rest = spec.partition(sign)
    if not found:
        raise InvalidArgument(option, spec, form)
    if table not in drafts:
        raise InvalidArgument(option, table, f"must be a table: {', '.join(drafts)}{suggested(table, drafts)}")
    return table, rest


def _column(name: str, draft: TableDraft, option: str) -> str:
    if name not in draft.stored_types:
        names = ", ".join(draft.stored_types)
        raise InvalidArgument(
            option, name, f"must be a column of the table: {names}{suggested(name, draft.stored_types)}"
        )
    return name


def _is_complete(drafts: Mapping[str, TableDraft], flags: RegisterFlags) -> bool:
    declared = any(draft.columns for draft in drafts.values())
    return declared and flags["person"] is not None and flags["epsilon"] is not None


def _text(
    drafts: Mapping[str, TableDraft],
    name: str,
    engine: str | None,
    flags: RegisterFlags,
    template: Mapping[str, list[str]],
    *,
    talking: bool,
) -> str:
    from dither.interfaces.cli.register import WHY, wrapped
    from dither.sources.schema_file import VERSION, written, written_key

    person = flags["person"]
    is_open = person is None and flags["rows_per_unit"] is None  # a draft that is filled in by hand
    limit = (
        "# rows_per_unit = 10"
        if is_open
        else f"rows_per_unit = {written(declared_limit(flags['rows_per_unit'], talking=talking))}"
    )
    layout = layout_of(flags).options
    lines = [f"version = {VERSION}", "", "[dataset]", f"name = {written(name)}"]
    lines += [
        '# person = "TABLE"  # the table with a row for each person'
        if person is None
        else f"person = {written(person)}",
        f'{limit}  # how many rows of one person are used, or "private"',
        "",
        "[budget]",
    ]
    epsilon, delta = (
        None if given is None else number(key, given)
        for key, given in (("epsilon", flags["epsilon"]), ("delta", flags["delta"]))
    )
    lines += ["# epsilon = 1.0  # what may be spent in all" if epsilon is None else f"epsilon = {epsilon}"]
    lines += [f"delta = {delta}"] if delta else []
    for table, draft in drafts.items():
        here = f"tables.{written_key(table)}"
        lines += ["", f"[{here}]", f"source = {written(draft.source)}"]
        lines += [f"{key} = {written(item)}" for key, item in (("table", draft.table), ("engine", engine)) if item]
        lines += [f"{key} = {written(item)}" for key, item in layout.items()]
        lines += [
            '# key = "COLUMN"  # that other tables refer to' if draft.key is None else f"key = {written(draft.key)}"
        ]
        pairs = ", ".join(f"{written_key(column)} = {written(target)}" for column, target in draft.links.items())
        if pairs:
            lines += [f"links = {{ {pairs} }}"]
        elif table != person and not draft.public:
            lines += ['# links = { COLUMN = "TABLE" }  # the foreign key that leads to the person']
        lines += ["public = true  # anybody may know the whole table"] if draft.public else []
        for column, declared in draft.columns.items():
            lines += ["", f"[{here}.columns.{written_key(column)}]"]
            lines += [f"{key} = {written(item)}" for key, item in declared.to_dict().items()]
        for column in draft.undeclared():
            stored = draft.stored_types[column]
            lines += ["", f"# [{here}.columns.{written_key(column)}]  # stored as {stored}"]
            lines += [f"# {line}" for line in template[stored]]
    lines += ["", *(f"# {line}" for line in wrapped(WHY))]
    return "\n".join(lines) + "\n"


def _report(drafts: Mapping[str, TableDraft], out: Path, complete: bool, as_json: bool) -> None:
    if as_json:
        tables = {
            name: {
                "stored": dict(draft.stored_types),
                "declared": list(draft.columns),
                "undeclared": draft.undeclared(),
                "key": draft.key,
                "links": draft.links,
                "public": draft.public,
            }
            for name, draft in drafts.items()
        }
        click.echo(json.dumps({"schema": str(out), "tables": tables, "complete": complete}))
        return
    for name, draft in drafts.items():
        click.echo(f"{name}: {len(draft.stored_types)} columns{', public' if draft.public else ''}")
        width = max(map(len, draft.stored_types), default=0)
        for column, stored in draft.stored_types.items():
            declared = draft.columns.get(column)
            declarations = [f"declared {declared.type_name}"] if declared is not None else []
            declarations += ["key"] if column == draft.key else []
            declarations += [f"refers to {draft.links[column]}"] if column in draft.links else []
            click.echo(f"  {column:<{width}}  {stored}" + (f"  {', '.join(declarations)}" if declarations else ""))
    click.echo(f"wrote {out}" + ("" if complete else "; fill in what stands there as a comment"))
    if complete:
        click.echo(f"Next: dither check {out}")
