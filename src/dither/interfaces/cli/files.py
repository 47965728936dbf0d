"""Questions about a file without a schema: ``dither ask pay.parquet 'median(total_pay)' --bounds 0 600000``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from dither.errors import InvalidArgument
from dither.interfaces.cli.options import AskCommandOptions, refuse
from dither.interfaces.cli.output import check_picture, confidence_of, number, show
from dither.interfaces.cli.tables import is_select

if TYPE_CHECKING:
    from dither.release import Release
    from dither.sql.calls import Field


def ask_file(
    file: Path, question: str, *, plot: Path | None, as_json: bool, **options: Unpack[AskCommandOptions]
) -> None:
    """Answer one call about columns of a CSV or Parquet file; nothing keeps account of what is spent."""
    why = "is for a schema file, which dither register drafts: leave it out"
    refuse(options, ("where", "by", "weights", "ledger", "again"), why)
    from dither.answer import answer, released
    from dither.privacy import Neighbours
    from dither.queries.plan import Options
    from dither.queries.registry import entry_of
    from dither.session.reading import PublicCount
    from dither.session.statements import named
    from dither.sources.files import file_rows, read_file_column, read_file_entries
    from dither.sql.statement import parse_file_call

    # Everything that is public is checked before the file is opened; what is paid for must not be lost.
    if plot is not None:
        check_picture(plot)
    if is_select(question):
        raise InvalidArgument(
            "question",
            question,
            "SQL needs a schema file, which dither register drafts; without one, ask one call such as median(column)",
        )
    statement = parse_file_call(question, _fields(options))
    item = statement.items[0]
    asked = Options.asked(
        number("epsilon", options["epsilon"]),
        number("delta", options["delta"]),
        options["mechanism"],
        options["noise"],
        confidence_of(options["confidence"]),
    )
    entry = entry_of(item.query)
    if not item.columns:
        rows = PublicCount(item.query.label, Neighbours.CHANGE_ONE)
        _show(released(rows, rows.run(file_rows(file))), plot=plot, as_json=as_json)
        return
    read = read_file_entries if entry.any_type(item.query) else read_file_column
    columns = {name: read(file, name) for name in item.columns}
    data: Any = columns[item.columns[0]] if entry.of == "column" else columns  # what the query takes
    _show(named(statement, [[answer(item.query, data, asked)]])[0], plot=plot, as_json=as_json)


def _show(release: Release, *, plot: Path | None, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(release.to_dict()))
    else:
        show([release])
    if plot is not None:
        release.plot().figure.savefig(plot)


def _fields(options: AskCommandOptions) -> dict[str, Field]:
    """The fields of the query that options give."""
    pairs = [tuple(number("bounds", end) for end in pair) for pair in options["bounds"]]
    fields: dict[str, Field] = {}
    if pairs:
        fields["bounds"] = pairs[0] if len(pairs) == 1 else pairs
    if options["step"] is not None:
        fields["step"] = number("step", options["step"])
    if options["nulls"] is not None:
        texts = ("lower", "upper", "drop")
        fields["nulls"] = options["nulls"] if options["nulls"] in texts else number("nulls", options["nulls"])
    return fields
