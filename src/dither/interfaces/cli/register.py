"""``dither register``: an owner drafts the schema of a dataset, in a dialogue or by flags.

It shows the names and stored types of columns, and nothing in the file comes from records: bounds, categories and the
number of rows are what the owner declares to be public.  A schema that is complete is tried: the owner is warned, on
the terminal alone, of columns that can't be read as declared.
"""

from __future__ import annotations

import csv
import functools
import json
import os
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from dither.errors import InvalidArgument
from dither.interfaces.cli.options import (
    RegisterFlags,
    column_option,
    declared_limit,
    layout_of,
    layout_options,
    refuse,
)
from dither.interfaces.cli.output import number
from dither.interfaces.cli.register_tables import register_tables

if TYPE_CHECKING:
    from decimal import Decimal

    from dither.sources.engines.engine import Engine
    from dither.sources.types import ColumnType

WHY = (
    "Bounds are never read off the data: a maximum is one person's record, and it would stand in public for ever. "
    "Declare a range that you would have named before seeing any record; values outside are clamped."
)
_USUAL = {"whole": "integer", "real": "real", "decimal": "decimal", "boolean": "boolean"} | {
    "date": "date",
    "timestamp": "timestamp",
    "duration": "duration",
}
_END = r"([0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?(?:Z|[+-][0-9]{2}:[0-9]{2})?)?)"
_MOMENTS = re.compile(rf"timestamp:{_END}:{_END}(?::([0-9]{{1,9}}))?")
_FORM = (
    "must be written NAME=TYPE:LOWER:UPPER[:STEP] for real, integer, decimal and duration (in seconds), "
    "NAME=date:FIRST:LAST, NAME=timestamp:FIRST:LAST[:SECONDS], NAME=boolean, "
    "or NAME=category:VALUE:VALUE... (or NAME=category)"
)


@dataclass
class Draft:
    """What the owner has declared so far."""

    source: str
    stored_types: dict[str, str]
    name: str
    table: str | None
    engine: str | None
    layout: dict[str, str | int] = field(default_factory=dict)
    columns: dict[str, ColumnType] = field(default_factory=dict)
    priors: dict[str, dict[str, str | Decimal]] = field(default_factory=dict)
    rows: int | str = "private"
    unit: str | None = None
    rows_per_unit: int | str = "private"
    epsilon: Any = None  # a decimal, as it was typed: a budget means what it prints
    delta: Any = None  # likewise

    @property
    def is_complete(self) -> bool:
        """True if questions can be asked."""
        return bool(self.columns) and self.epsilon is not None

    @property
    def undeclared(self) -> list[str]:
        """Columns that cannot be asked; the one that tells people apart need not be."""
        return [name for name in self.stored_types if name not in self.columns and name != self.unit]

    def text(self) -> str:
        """The schema file: what was declared, and the rest as comments to fill in."""
        from dither.sources.schema_file import VERSION, written, written_key

        lines = [
            f"version = {VERSION}",
            "",
            "[dataset]",
            f"name = {written(self.name)}",
            f"source = {written(self.source)}",
        ]
        lines += [f"{key} = {written(item)}" for key, item in (("table", self.table), ("engine", self.engine)) if item]
        lines += [f"{key} = {written(item)}" for key, item in self.layout.items()]
        of_rows = "public number of rows" if self.unit is None else "public number of rows, not of people"
        lines += [f'rows = {written(self.rows)}  # {of_rows}, or "private"']
        if self.unit is not None:
            lines += [f"unit = {written(self.unit)}", f"rows_per_unit = {written(self.rows_per_unit)}"]
        lines += ["", "[budget]"]
        lines += [
            "# epsilon = 1.0  # what may be spent in all" if self.epsilon is None else f"epsilon = {self.epsilon}"
        ]
        if self.delta:
            lines += [f"delta = {self.delta}"]
        for column, declared in self.columns.items():
            lines += ["", f"[columns.{written_key(column)}]"]
            lines += [f"{key} = {written(item)}" for key, item in declared.to_dict().items()]
        for column, prior in self.priors.items():
            lines += ["", f"[priors.{written_key(column)}]"]
            lines += [f"{key} = {written(item)}" for key, item in prior.items()]
        left = self.undeclared
        if left:
            lines += ["", *(f"# {line}" for line in wrapped(WHY)), "# Columns that are not declared cannot be asked:"]
        for column in left:
            lines += ["", f"# [columns.{written_key(column)}]  # stored as {self.stored_types[column]}"]
            lines += [f"# {line}" for line in _template(self.stored_types[column])]
        return "\n".join(lines) + "\n"


@click.command()
@click.argument("data", nargs=-1, required=True)
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="The schema file to write (.toml).")
@column_option
@click.option(
    "--codebook",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=None,
    help="A public CSV file that declares columns: name, type, lower, upper, step, values (with | between them).",
)
@layout_options
@click.option("--nulls", multiple=True, metavar="NAME=POLICY", help="lower, upper, drop or a value; repeatable.")
@click.option(
    "--prior",
    "priors",
    multiple=True,
    metavar="NAME=PRIOR",
    help="Publicly known, for quotes: pay=lognormal:6e4:0.6.",
)
@click.option("--rows", default=None, metavar="N|private|count", help="Rows, if public; count counts them.")
@click.option("--unit", default=None, metavar="COLUMN", help="The column that tells people apart.")
@click.option(
    "--rows-per-unit",
    default=None,
    metavar="N|private",
    help="How many rows of one person are used; private: each answer finds a limit.",
)
@click.option("--epsilon", default=None, help="What may be spent in all.")
@click.option("--delta", default=None, help="Delta of the budget.")
@click.option("--name", default=None, help="Name of the dataset; by default that of the schema file.")
@click.option("--table", "tables", multiple=True, help="The table of a database; several are linked tables.")
@click.option("--person", default=None, metavar="TABLE", help="Of several tables: the one with a row for each person.")
@click.option("--key", "keys", multiple=True, metavar="TABLE=COLUMN", help="What other tables refer to; repeatable.")
@click.option("--link", "links", multiple=True, metavar="TABLE.COLUMN=TABLE", help="A foreign key; repeatable.")
@click.option("--public", multiple=True, metavar="TABLE", help="A table that anybody may know; repeatable.")
@click.option("--engine", default=None, help="Its name, such as duckdb or postgres; by default guessed from DATA.")
@click.option("--interactive/--no-interactive", default=None, help="Ask for what is missing; by default on a terminal.")
@click.option("--force", is_flag=True, help="Overwrite the file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def register(
    data: tuple[str, ...],
    out: Path,
    *,
    force: bool,
    interactive: bool | None,
    as_json: bool,
    name: str | None,
    tables: tuple[str, ...],
    engine: str | None,
    **flags: Unpack[RegisterFlags],
) -> None:
    """Draft a schema for DATA: a CSV or Parquet file, or with --table a database file or a postgresql:// address.

    It lists the columns and their stored types: bounds are what you declare, never what the data contain (a maximum is
    one person's record). Records are read only to warn you of columns that can't be read as declared.

    \b
    dither register pay.parquet -o payroll.toml
    dither register pay.csv -o payroll.toml --column total_pay=real:0:600000 --column year=integer:2010:2020 \\
        --column job=category:clerk:nurse --rows private --epsilon 1

    Several files, or several --table of one database, are tables that are linked by keys:

    \b
    dither register people.csv visits.csv -o clinic.toml --person people --key people=id \\
        --link visits.patient=people --column visits.cost=real:0:1000 --rows-per-unit 10 --epsilon 1
    """
    from dither.sources.engines.engine import STORED_TYPES
    from dither.sources.engines.factory import check, engine_of

    _check_place(out, force)
    if len(data) > 1 or len(tables) > 1:
        refuse(flags, ("codebook",), "is for one table: declare columns of several with --column TABLE.NAME=TYPE")
        linked = _tables(data, tables, out)
        templates = {stored: _template(stored) for stored in STORED_TYPES}
        text = register_tables(
            linked,
            out,
            name=name,
            engine=engine,
            as_json=as_json,
            flags=flags,
            template=templates,
            talking=sys.stdin.isatty() and not as_json if interactive is None else interactive,
        )
        _write(out, text, force)
        return
    refuse(flags, ("person", "keys", "links", "public"), "is for several tables: name all of their files")
    source, table = _source(data[0], out), next(iter(tables), None)
    layout = layout_of(flags)
    opened = engine_of(source, table=table, engine=engine, folder=str(out.absolute().parent), layout=layout)
    draft = Draft(source, opened.stored_types(), name or out.stem, table, engine, layout.options)
    talking = sys.stdin.isatty() and not as_json if interactive is None else interactive
    _declare(draft, opened, flags, talking=talking)
    if not as_json:
        _list_columns(draft)
    if talking:
        _talk(draft, opened, flags)
    text, warned = draft.text(), list[str]()
    if draft.is_complete:
        from dither.interfaces.cli.check import warnings_for_owner
        from dither.sources.schema import Schema
        from dither.sources.schema_file import read_schema

        drafted = read_schema(text, out.name, folder=str(out.absolute().parent))
        if isinstance(drafted, Schema):
            check(drafted, opened)
            warned = warnings_for_owner(drafted)
    opened.close()
    _write(out, text, force)
    _report(draft, out, as_json, warned)


def _tables(data: Sequence[str], tables: Sequence[str], out: Path) -> list[tuple[str, str, str | None]]:
    """The name, the source and the table of each of several linked tables."""
    if len(data) == 1:
        return [(item.rpartition(".")[2], _source(data[0], out), item) for item in tables]
    if tables:
        raise InvalidArgument("table", list(tables), "is for one database: name it once, and --table for each table")
    return [(Path(item).name.partition(".")[0], _source(item, out), None) for item in data]


def _check_place(out: Path, force: bool) -> None:
    if out.suffix.lower() != ".toml" or not out.absolute().parent.is_dir():
        raise InvalidArgument("out", str(out), "must be a path ending in .toml in an existing folder")
    if out.exists() and not force:
        raise InvalidArgument("out", str(out), "must be a file that does not exist yet; --force overwrites it")


def _write(out: Path, text: str, force: bool) -> None:
    try:
        with out.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        raise InvalidArgument("out", str(out), "must be a file that can be written") from None


def _source(data: str, out: Path) -> str:
    """The source as the schema file names it: files relative to its folder."""
    from dither.sources.engines.factory import ENGINES, guessed

    if "://" in data or not ENGINES[guessed(data)].reads_files or Path(data).is_absolute():
        return data
    return os.path.relpath(data, out.absolute().parent)


# --- flags ---------------------------------------------------------------------------------------------


def declared_columns(
    specs: Sequence[str],
    stored_types: Mapping[str, str],
    nulls: dict[str, str],
    formats: Sequence[str],
    others: Collection[str] = (),
) -> dict[str, ColumnType]:
    """The columns that flags declare; a format without a name is that of all numbers, or of all dates.

    others: columns that are declared in another way, which may have a format too.
    """
    written = formats_of(formats, stored_types)
    results = {}
    for spec in specs:
        name, payload = _named(spec, stored_types, "column", _FORM)
        usual = usual_format(written, payload.partition(":")[0])
        results[name] = column_type(payload, spec, nulls.pop(name, None), written.pop(name, usual))
    for name in written:
        if name not in ("", "%") and name not in others:
            raise InvalidArgument("format", name, "must be a column that is declared with --column")
    return results


def formats_of(formats: Sequence[str], stored_types: Mapping[str, str]) -> dict[str, str]:
    """Formats by the names of columns; "" has that of all other numbers, "%" that of all other dates."""
    results = {}
    for spec in formats:
        fitting = [name for name in stored_types if spec.startswith(f"{name}=")]
        name = max(fitting, key=len, default="%" if "%" in spec and "1234" not in spec else "")
        results[name] = spec[len(name) + 1 :] if fitting else spec
    return results


def usual_format(written: Mapping[str, str], type_name: str) -> str | None:
    """The format of all columns of a type."""
    if type_name in ("date", "timestamp"):
        return written.get("%")
    return written.get("") if type_name in ("real", "integer", "decimal") else None


def _declare(draft: Draft, engine: Engine, flags: RegisterFlags, *, talking: bool) -> None:
    nulls = dict(_named(spec, draft.stored_types, "nulls", "must be written NAME=lower") for spec in flags["nulls"])
    if flags["codebook"] is not None:
        draft.columns |= codebook_columns(flags["codebook"], draft.stored_types)
    draft.columns |= declared_columns(flags["columns"], draft.stored_types, nulls, flags["format_"])
    for name in nulls:
        raise InvalidArgument("nulls", name, "must be a column that is declared with --column")
    for spec in flags["priors"]:
        name, payload = _named(spec, draft.stored_types, "prior", "must be written NAME=lognormal:MEDIAN:SIGMA")
        if name not in draft.columns:
            raise InvalidArgument("prior", name, "must be a column that is declared with --column")
        draft.priors[name] = _prior(payload)
    if flags["rows"] is not None:
        draft.rows = _rows(flags["rows"], engine)
    if flags["unit"] is not None:
        _check_unit(flags["unit"], draft)
        draft.unit = flags["unit"]
        draft.rows_per_unit = declared_limit(flags["rows_per_unit"], talking=talking)
    elif flags["rows_per_unit"] is not None:
        raise InvalidArgument(
            "rows_per_unit", flags["rows_per_unit"], "is for --unit: pass --unit too, or leave it out"
        )
    if flags["epsilon"] is not None:
        draft.epsilon = number("epsilon", flags["epsilon"])
    if flags["delta"] is not None:
        draft.delta = number("delta", flags["delta"])
    if draft.epsilon is not None:
        from dither.privacy import Budget

        Budget(draft.epsilon, draft.delta or 0)


def codebook_columns(file: Path, stored_types: Mapping[str, str]) -> dict[str, ColumnType]:
    """The columns that a codebook declares; a line without bounds and values leaves its column undeclared."""
    from dither.sources.types import Category

    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            entries = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError, csv.Error):
        raise InvalidArgument("codebook", str(file), "must be a CSV file that can be read, in UTF-8") from None
    results: dict[str, ColumnType] = {}
    for place, entry in enumerate(entries, 2):
        given = {str(key).strip().lower(): str(text or "").strip() for key, text in entry.items()}
        name, values = given.get("name", ""), [text.strip() for text in given.get("values", "").split("|") if text]
        ends = [given[end] for end in ("lower", "upper", "step") if given.get(end)]
        here = f"{file.name}, line {place}"
        if not name or name in results or name not in stored_types:
            raise InvalidArgument("codebook", name, f"must name each column of the source once ({here})")
        if values and given.get("type", "") in ("", "category"):
            results[name] = Category(values)
            continue
        type_name = given.get("type", "") or _USUAL.get(stored_types[name], "real")
        if ends or type_name in ("boolean", "category"):
            payload = ":".join([type_name, *ends])
            results[name] = column_type(payload, f"{name}={payload} ({here})")
    return results


def _prior(payload: str) -> dict[str, str | Decimal]:
    """A prior as a schema file has it."""
    from dither.sources.schema import MAY_BE_MISSING, PRIOR_PARAMETERS

    kind, *numbers = payload.split(":")
    wanted = PRIOR_PARAMETERS.get(kind, ())
    needed = [item for item in wanted if (kind, item) not in MAY_BE_MISSING]
    if not wanted or not len(needed) <= len(numbers) <= len(wanted):
        forms = ", ".join(":".join((key, *names)) for key, names in PRIOR_PARAMETERS.items())
        raise InvalidArgument("prior", payload, f"must be one of {forms}")
    return {"kind": kind} | {item: number("prior", given) for item, given in zip(wanted, numbers, strict=False)}


def _named(spec: str, stored_types: Mapping[str, str], argument: str, accepted: str) -> tuple[str, str]:
    """Split NAME=REST at the name of a column; names may contain any sign."""
    fitting = [name for name in stored_types if spec.startswith(f"{name}=")]
    if not fitting:
        given = spec.split("=", 1)
        if len(given) == 2:
            raise InvalidArgument(argument, given[0], f"must be a column of the source: {', '.join(stored_types)}")
        raise InvalidArgument(argument, spec, accepted)
    name = max(fitting, key=len)
    return name, spec[len(name) + 1 :]


def column_type(payload: str, spec: str, nulls: str | None = None, written: str | None = None) -> ColumnType:
    """The type that a flag describes.

    >>> column_type("real:0:600000", "pay=real:0:600000")
    Real(lower=0, upper=600000, step=None, nulls=None, format=None)
    """
    from dither.sources.types import TYPES

    types: Mapping[str, Callable[..., ColumnType]] = TYPES
    type_name, *rest = payload.split(":")
    if (ends := _MOMENTS.fullmatch(payload)) is not None:
        type_name, rest = "timestamp", [item for item in ends.groups() if item is not None]
    if type_name not in types:
        raise InvalidArgument("column", spec, _FORM)
    options: dict[str, str | bool | Decimal] = {}
    if written is not None:
        if type_name in ("boolean", "category"):
            raise InvalidArgument("format", written, f"is for numbers and dates, not for {type_name}: leave it out")
        options["format"] = written
    if nulls is not None and type_name != "category":
        plain = nulls in ("lower", "upper", "drop") or type_name in ("date", "timestamp")
        options["nulls"] = nulls if plain else _truth(nulls) if type_name == "boolean" else number("nulls", nulls)
    if type_name == "category":
        return types[type_name](rest or None)
    if type_name == "boolean" and not rest:
        return types[type_name](**options)
    if type_name == "date" and len(rest) == 2:
        return types[type_name](*rest, **options)
    if type_name == "timestamp" and len(rest) in (2, 3):
        return types[type_name](*rest[:2], **({"step": int(rest[2])} if len(rest) > 2 else {}), **options)
    if type_name in ("real", "integer", "decimal", "duration") and len(rest) in (2, 3):
        numbers = [number(f"column {spec}", item) for item in rest]
        return types[type_name](*numbers[:2], **({"step": numbers[2]} if len(numbers) > 2 else {}), **options)
    raise InvalidArgument("column", spec, _FORM)


def _truth(text: str) -> bool | str:
    return {"true": True, "false": False}.get(text.lower(), text)


def _rows(payload: str, engine: Engine) -> int | str:
    if payload == "private":
        return payload
    if payload == "count":
        return _counted(engine)
    if not re.fullmatch(r"[0-9][0-9_,]{0,30}", payload) or not int(re.sub("[_,]", "", payload)):
        raise InvalidArgument("rows", payload, "must be a positive whole number, private or count")
    return int(re.sub("[_,]", "", payload))


def _counted(engine: Engine) -> int:
    from sqlglot import exp

    return int(engine.rows(exp.select(exp.Count(this=exp.Star())).from_(engine.table()))[0][0])


def _check_unit(unit: str, draft: Draft) -> None:
    if unit not in draft.stored_types:
        raise InvalidArgument("unit", unit, f"must be a column of the source: {', '.join(draft.stored_types)}")


# --- the talk ------------------------------------------------------------------------------------------


def _talk(draft: Draft, engine: Engine, flags: RegisterFlags) -> None:
    """Ask for everything that no flag gave."""
    click.echo(f"\n{WHY}\n")
    for name, stored_type in draft.stored_types.items():
        if name not in draft.columns and stored_type != "other":
            _again(functools.partial(_ask_column, draft, name, stored_type))
    if flags["unit"] is None:
        _again(lambda: _ask_unit(draft))
    if flags["rows"] is None:
        _again(lambda: _ask_rows(draft, engine))
    if draft.epsilon is None:
        _again(lambda: _ask_budget(draft))


def _again(step: Callable[[], None]) -> None:
    """Repeat a step of the dialogue until what was typed can be used."""
    for _ in range(20):
        try:
            step()
            return
        except InvalidArgument as error:
            click.secho(f"  {error.rule}", fg="red")
    raise InvalidArgument(
        "register", "typed", "none of twenty answers could be used; pass flags such as --column instead"
    )


def _ask_column(draft: Draft, name: str, stored_type: str) -> None:
    from dither.sources.types import TYPES

    usual = _USUAL.get(stored_type, "category")
    chosen = click.prompt(
        f"{name} (stored as {stored_type}): type", default=usual, type=click.Choice([*TYPES, "skip"]), show_choices=True
    )
    if chosen == "skip":
        return
    if chosen == "boolean":
        draft.columns[name] = column_type("boolean", name)
    elif chosen == "category":
        payload = click.prompt("  values, separated by commas (empty: private)", default="", show_default=False)
        values = [part.strip() for part in payload.split(",") if part.strip()]
        draft.columns[name] = TYPES["category"](values or None)  # type: ignore[call-arg]
    else:
        lower = click.prompt("  lower bound", type=str)
        upper = click.prompt("  upper bound", type=str)
        payload = f"{chosen}:{lower.strip()}:{upper.strip()}"
        draft.columns[name] = column_type(payload, f"{name}={payload}")


def _ask_unit(draft: Draft) -> None:
    unit = click.prompt("Column that tells people apart (empty: every row is a person)", default="", show_default=False)
    if unit:
        _check_unit(unit, draft)
        draft.unit, draft.rows_per_unit = unit, declared_limit(None, talking=True)


def _ask_rows(draft: Draft, engine: Engine) -> None:
    payload = click.prompt('Number of rows: a number that anyone may know, "count" to count, or', default="private")
    if payload != "count":
        draft.rows = _rows(payload.strip(), engine)
        return
    counted = _counted(engine)
    click.echo(f"  The source has {counted:,} rows.")
    public = click.confirm("  Is that number public: may anyone know whether it is one more or less?", default=False)
    draft.rows = counted if public and counted else "private"


def _ask_budget(draft: Draft) -> None:
    from dither.privacy import Budget

    epsilon = number("epsilon", click.prompt("Budget: epsilon for all questions together", default="1.0"))
    delta = number("delta", click.prompt("Budget: delta", default="0"))
    checked = replace(draft, epsilon=epsilon, delta=delta)
    Budget(checked.epsilon, checked.delta)
    draft.epsilon, draft.delta = epsilon, delta


# --- what is shown -------------------------------------------------------------------------------------


def _is_text_file(source: str) -> bool:
    """Whether a source is a text file, whose columns are all texts."""
    from dither.sources.lines import DELIMITERS, inner_suffix

    return inner_suffix(Path(source)) in DELIMITERS


def _list_columns(draft: Draft) -> None:
    texts = " (a CSV stores texts; its first line names them)" if _is_text_file(draft.source) else ""
    click.echo(f"{len(draft.stored_types)} columns{texts}:")
    width = max(map(len, draft.stored_types), default=0)
    for name, stored_type in draft.stored_types.items():
        declared = draft.columns.get(name)
        payload = "" if declared is None else f"  declared {declared.type_name}"
        click.echo(
            f"  {name:<{width}}  {stored_type}{payload}" + ("  tells people apart" if name == draft.unit else "")
        )


def _report(draft: Draft, out: Path, as_json: bool, warned: list[str]) -> None:
    left = draft.undeclared
    if as_json:
        payload = {
            "schema": str(out),
            "dataset": draft.name,
            "stored": draft.stored_types,
            "declared": list(draft.columns),
            "undeclared": left,
            "rows": draft.rows,
            "complete": draft.is_complete,
            "warnings": warned,
            "why": WHY,
        }
        click.echo(json.dumps(payload))
        return
    for warning in warned:
        click.secho(f"warning: {warning}", fg="yellow", err=True)
    if left:
        click.echo(f"not declared: {', '.join(left)}.  {WHY}")
    click.echo(f"wrote {out}" + ("" if draft.is_complete else "; fill in what stands there as a comment"))
    if re.search(r"://[^/@]*:[^/@$]+@", draft.source):
        click.echo("The address contains a password: write ${NAME} there, and set that variable where dither runs.")
    if draft.is_complete:
        numbers = [
            name for name, declared in draft.columns.items() if declared.type_name in ("real", "integer", "decimal")
        ]
        asked = f"median({_quoted(numbers[0])})" if numbers else "count(*)"
        click.echo(f"Next: dither ask {out} '{asked}' --epsilon 0.1")


def _quoted(name: str) -> str:
    """A column as SQL names it."""
    return name if name.isidentifier() else '"' + name.replace('"', '""') + '"'


def _template(stored_type: str) -> list[str]:
    if stored_type == "text":
        types = "real, integer, decimal, date, timestamp or duration with bounds, or boolean"
        return [f'type = "category"  # or {types}', 'values = ["...", "..."]']
    usual = _USUAL.get(stored_type, "category")
    more: dict[str, list[str]] = {
        "boolean": [],
        "category": ['values = ["...", "..."]'],
        "date": ["bounds = [FIRST, LAST]"],
        "timestamp": ["bounds = [FIRST, LAST]"],
    }
    return [f'type = "{usual}"', *more.get(usual, ["bounds = [LOWER, UPPER]"])]


def wrapped(text: str) -> list[str]:
    """A text in lines."""
    import textwrap

    return textwrap.wrap(text, 100)
