"""Questions about a file without a schema: ``dither ask pay.parquet 'median(total_pay)' --bounds 0 600000``."""

from __future__ import annotations

import contextlib
import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import click

from dither.errors import InvalidArgument, suggested
from dither.interfaces.cli.options import AskCommandOptions, FileOptions, QuoteCommandOptions, layout_of, refuse
from dither.interfaces.cli.output import check_picture, confidence_of, number, show
from dither.interfaces.cli.register import formats_of
from dither.interfaces.cli.tables import answered_by
from dither.sql.select import is_select

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from decimal import Decimal

    from dither.privacy import Budget
    from dither.release import Release
    from dither.sources.schema import Schema
    from dither.sources.types import ColumnType
    from dither.sql.calls import Field


def ask_file(
    file: Path, question: str, *, plot: Path | None, as_json: bool, **options: Unpack[AskCommandOptions]
) -> None:
    """Answer one call about columns of a CSV or Parquet file; nothing keeps account of what is spent."""
    refuse(options, ("ledger", "again"), "is for a schema file, which dither register drafts: leave it out")
    from dither.answer import answer, released
    from dither.privacy import Neighbours
    from dither.queries.plan import Options
    from dither.queries.registry import entry_of
    from dither.session.reading import PublicCount
    from dither.session.statements import named
    from dither.sources.files import file_rows
    from dither.sql.statement import file_calls, parse_file_call

    # Everything that is public is checked before the file is opened; what is paid for must not be lost.
    if plot is not None:
        check_picture(plot)
    declares = any(options[name] for name in ("where", "by", "columns", "weights"))
    declares = declares or any(_bound_type(end) != "real" for pair in options["bounds"] for end in pair)
    declares = declares or bool(_spans_asked(file, question))
    if declares or is_select(question) or len(file_calls(question)) > 1:
        _ask_declared(file, question, options, plot=plot, as_json=as_json)
        return
    statement = parse_file_call(question, _fields(options, _order(question, len(options["bounds"]))))
    item = statement.items[0]
    asked = Options.asked(
        number("epsilon", options["epsilon"]),
        number("delta", options["delta"]),
        options["mechanism"],
        options["noise"],
        confidence_of(options["confidence"], simultaneous=options["simultaneous"]),
        options["interval"],
    )
    entry = entry_of(item.query)
    any_type = entry.any_type(item.query)
    if item.query.is_about_reading and options["format_"]:
        _ask_declared(file, question, options, plot=plot, as_json=as_json)
        return
    if not item.columns:
        rows = PublicCount(item.query.label, Neighbours.CHANGE_ONE)
        _show(released(rows, rows.run(file_rows(file, layout=layout_of(options)))), plot=plot, as_json=as_json)
        say_not_recorded(file)
        return
    columns = {name: _read(file, name, options, any_type=any_type) for name in item.columns}
    data: Any = columns[item.columns[0]] if entry.of == "column" else columns  # what the query takes
    _show(named(statement, [[answer(item.query, data, asked)]])[0], plot=plot, as_json=as_json)
    say_not_recorded(file)


def _read(file: Path, name: str, options: AskCommandOptions, *, any_type: bool) -> Any:  # numbers, or entries
    """One column of a file, as its layout and the format of numbers say."""
    from dither.sources.files import read_file_column, read_file_entries
    from dither.sources.formats import NumberFormat

    layout = layout_of(options)
    if any_type:
        return read_file_entries(file, name, layout=layout)
    said = _number_format(formats_of(options["format_"], {name: ""}), name)
    return read_file_column(file, name, layout=layout, written=None if said is None else NumberFormat.of(said))


def _ask_declared(file: Path, question: str, options: AskCommandOptions, *, plot: Path | None, as_json: bool) -> None:
    """Answer SQL or calls about columns that flags declare: a session of the file, whose rows are a public number."""
    from dither.ledger import MemoryLedger
    from dither.privacy import Budget
    from dither.release import Release, Releases
    from dither.session.session import Session
    from dither.sources.files import file_rows

    amounts: Any = (number("epsilon", options["epsilon"]), number("delta", options["delta"]))  # it takes decimals
    schema = _schema(
        file,
        question,
        options,
        lambda: file_rows(file, layout=layout_of(options)),
        budget=Budget(*amounts),
        boundless=bool(options["format_"]),
    )
    with Session(schema, ledger=MemoryLedger()) as session:
        answered = answered_by(session, question, options)
    releases = Releases([answered], answered.loss) if isinstance(answered, Release) else answered
    if as_json:
        click.echo(json.dumps({"dataset": schema.name, **releases.to_dict()}))
    else:
        show(releases)
    say_not_recorded(file)
    if plot is not None:
        answered.plot().figure.savefig(plot)


def quoted_schema(file: Path, question: str, options: QuoteCommandOptions) -> Schema:
    """What flags declare of a file whose records nobody reads: a text file does not say how many it has."""
    from dither.sources.files import file_rows, is_text

    given = options["rows"]
    if given is None and is_text(file):
        wanted = "is missing: pass how many records the file has, --rows 20000; to quote, none of them is read"
        raise InvalidArgument("rows", None, wanted)
    rows = (lambda: file_rows(file)) if given is None else lambda: given
    return _schema(file, question, options, rows, boundless=True)


def _schema(
    file: Path,
    question: str,
    options: AskCommandOptions | QuoteCommandOptions,
    rows: Callable[[], int],
    *,
    budget: Budget | None = None,
    boundless: bool = False,
) -> Schema:
    """The schema that flags make of a file; its columns are checked before its rows are counted."""
    from dither.sources.engines.factory import engine_of
    from dither.sources.schema import Schema

    layout = layout_of(options)
    opened = engine_of(str(file), layout=layout)
    columns = _declared(question, options, opened.stored_types(), boundless=boundless)
    opened.close()
    return Schema(str(file), columns, file.name.partition(".")[0], rows(), budget=budget, layout=layout)


def _declared(
    question: str,
    options: AskCommandOptions | QuoteCommandOptions,
    stored_types: dict[str, str],
    *,
    boundless: bool,
) -> dict[str, ColumnType]:
    """The columns that --column declares; those of a call that it does not are numbers between --bounds.

    boundless: without --bounds they are numbers of which no range is known.
    """
    from dither.interfaces.cli.register import column_type, declared_columns, usual_format
    from dither.sources.types import Real
    from dither.sql.statement import file_calls

    nulls = {} if options["nulls"] is None else dict.fromkeys(stored_types, options["nulls"])
    asked = [] if is_select(question) else [name for each in file_calls(question) for name in each]
    folded = {name.lower(): name for name in stored_types}
    others = [folded.get(name.lower(), name) for name in asked]
    columns = declared_columns(options["columns"], stored_types, nulls, options["format_"], others)
    if is_select(question) and not columns:
        raise InvalidArgument(
            "column", None, "is missing: declare the columns that SQL names, such as --column pay=real:0:600000"
        )
    for name in options["by"]:
        if name in stored_types and name not in (*columns, *others):
            wanted = f"must be a declared column: pass its values too, such as --column '{name}=category:a:b'"
            raise InvalidArgument("by", name, wanted)
    written = formats_of(options["format_"], stored_types)
    left = [name for name in others if name not in columns]
    if boundless and not options["bounds"]:
        missing = next((name for name in left if name not in stored_types), None)
        if missing is None:
            return columns | {
                name: Real(None, None, nulls=_nulls(options), format=_number_format(written, name)) for name in left
            }
        wanted = f"must be a column of the file: {', '.join(stored_types)}{suggested(missing, stored_types)}"
        raise InvalidArgument("column", missing, wanted)
    if not options["bounds"] and left:
        wanted = f"is not declared: pass --column {left[0]}=real:LOWER:UPPER, or --bounds"
        raise InvalidArgument("column", left[0], wanted)
    for place, name in enumerate(dict.fromkeys(left)):
        lower, upper = options["bounds"][min(place, len(options["bounds"]) - 1)]
        type_name = "duration" if stored_types.get(name) == "duration" else _bound_type(lower)
        step = [] if options["step"] is None or type_name == "date" else [options["step"]]
        payload = ":".join([type_name, lower, upper, *step])
        said = written.get(name, usual_format(written, type_name))
        columns[name] = column_type(payload, f"{name}={payload}", options["nulls"], said)
    return columns


def _number_format(written: Mapping[str, str], name: str) -> str | None:
    """The format of a column of which no range is known: numbers, because dates have one."""
    said = written.get(name, written.get(""))
    dated = written.get(name, "" if "" in written else written.get("%", ""))
    if "%" in dated and "1234" not in dated:
        wanted = "is of dates, which need a range that you know: pass --bounds 1900-01-01 2100-01-01, or a narrower one"
        raise InvalidArgument("format", dated, wanted)
    return said


def _bound_type(text: str) -> str:
    """The type of column that a bound is of: a date such as 2024-01-31, a moment, or a number."""
    for type_name, read in (("date", datetime.date.fromisoformat), ("timestamp", datetime.datetime.fromisoformat)):
        with contextlib.suppress(ValueError):
            read(text)
            return type_name if "-" in text[1:] else "real"
    return "real"


def _spans_asked(file: Path, question: str) -> set[str]:
    """Which columns of a call a Parquet file stores as durations: those are read in seconds."""
    from dither.sources.parquet import parquet_durations
    from dither.sql.statement import file_calls

    if is_select(question) or file.suffix not in (".parquet", ".pq"):
        return set()
    spans = {name.lower() for name in parquet_durations(file)}
    return {name for call in file_calls(question) for name in call if name.lower() in spans}


def say_not_recorded(file: Path) -> None:
    """That no ledger knows of this answer, and how to have one."""
    click.secho(
        f"note: nothing is recorded, so that answers about {file.name} add up unseen; dither register {file.name} -o "
        f"{file.name.partition('.')[0]}.toml drafts a schema with a budget and a ledger",
        fg="yellow",
        err=True,
    )


def _show(release: Release, *, plot: Path | None, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(release.to_dict()))
    else:
        show([release])
    if plot is not None:
        release.plot().figure.savefig(plot)


def _order(question: str, pairs: int) -> Sequence[int]:
    """In which order a query takes the bounds of its columns, which are given in the order of the call."""
    from dither.sql.statement import parse_file_call

    item = parse_file_call(question, {}).items[0]
    in_call, in_query = item.columns, item.query.used
    if pairs != len(in_call) or sorted(in_query) != sorted(in_call):
        return range(pairs)
    return [in_call.index(name) for name in in_query]


def _fields(options: AskCommandOptions, order: Sequence[int]) -> dict[str, Field]:
    """The fields of the query that options give."""
    pairs = [tuple(number("bounds", end) for end in options["bounds"][place]) for place in order]
    fields: dict[str, Field] = {}
    if pairs:
        fields["bounds"] = pairs[0] if len(pairs) == 1 else pairs
    if options["step"] is not None:
        fields["step"] = number("step", options["step"])
    nulls = _nulls(options)
    if nulls is not None:
        fields["nulls"] = nulls
    return fields


def _nulls(options: FileOptions) -> Literal["lower", "upper", "drop"] | Decimal | None:
    """What --nulls says."""
    text = options["nulls"]
    named: tuple[Literal["lower", "upper", "drop"], ...] = ("lower", "upper", "drop")
    for name in named:
        if text == name:
            return name
    return None if text is None else number("nulls", text)
