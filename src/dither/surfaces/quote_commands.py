"""``dither quote``: what an answer will cost, or what an accuracy will; reads a schema, never the data."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from dither.errors import InvalidArgument
from dither.surfaces.output import number


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("question")
@click.option("--epsilon", default=None, help="Total price, error bars included.")
@click.option("--target-error", default=None, help="Instead of a price: find the least epsilon with this error.")
@click.option(
    "--of", default="expected", type=click.Choice(["expected", "bound"]), show_default=True,
    help="What --target-error is about: the expected error, or its bound at --confidence.",
)  # fmt: skip
@click.option("--delta", default="0", help="Total delta.", show_default=True)
@click.option(
    "--prior", default=None, help="lognormal:MEDIAN:SIGMA, normal:MEAN:SD, uniform:LOW:HIGH, exponential:MEAN."
)
@click.option("--prior-sample", type=click.Path(path_type=Path), help="A file with public values, one a line.")
@click.option("--rows", type=int, default=None, help="Records you assume in the selection, or in each group.")
@click.option("--where", default=None, help="Which rows, e.g. \"year = 2014 AND job = 'nurse'\".")
@click.option("--by", multiple=True, metavar="COLUMN", help="One answer for each declared value.")
@click.option("--calibration", default="auto", help="auto, inverse, smooth, ladder or worst_case.", show_default=True)
@click.option(
    "--noise", default="auto", help="auto, power_law, cauchy, laplace, gaussian or student.", show_default=True
)
@click.option("--confidence", default="0.95", help='Of the error bar; "none" for an answer without.', show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def quote(file: Path, question: str, *, as_json: bool, **options: Any) -> None:
    """Price, calibration and error of QUESTION for the schema FILE, before it is asked: nothing is read or charged.

    QUESTION is SQL, or the list of a SELECT.  Without a prior errors are upper bounds for all data, usually far above
    what happens; with one they are estimates for records that are as the prior says.

    \b
    dither quote payroll.toml 'median(total_pay)' --epsilon 0.5 --prior lognormal:70000:0.8
    dither quote payroll.toml 'median(total_pay)' --by year --target-error 500 --prior lognormal:70000:0.8
    """
    from dither.data.schema import Schema
    from dither.data.schema_file import load_schema
    from dither.privacy import Loss
    from dither.quotes.quote import Quotes
    from dither.session.quoting import least_epsilon, quote_statement
    from dither.surfaces.tables import statement_of

    asked = {
        "prior": _prior(options["prior"], options["prior_sample"]),
        "rows": options["rows"],
        "calibration": options["calibration"],
        "noise": options["noise"],
        "confidence": None if options["confidence"].lower() == "none" else number("confidence", options["confidence"]),
    }
    if (options["epsilon"] is None) == (options["target_error"] is None):
        raise InvalidArgument("epsilon", options["epsilon"], "either --epsilon or --target-error is accepted")
    schema = load_schema(file)
    if not isinstance(schema, Schema):
        raise InvalidArgument("file", str(file), "the schema of a table is accepted: errors of graphs are not quoted")
    statement = statement_of(question, schema, options)
    delta = number("delta", options["delta"])
    if options["epsilon"] is not None:
        price = Loss.asked(number("epsilon", options["epsilon"]), delta)
        quotes = quote_statement(statement, schema, price, **asked)
    elif len(statement.items) > 1:
        raise InvalidArgument("question", question, "one query is accepted with --target-error")
    else:
        found = least_epsilon(
            statement.items[0].query, schema, target_error=number("target_error", options["target_error"]),
            of="bound" if options["of"] == "bound" else "expected_error", delta=delta, where=statement.where,
            by=list(statement.by) or None, **asked,
        )  # fmt: skip
        quotes = Quotes([found])
    if as_json:
        click.echo(json.dumps({"dataset": schema.name, **quotes.to_dict()}))
    else:
        _show(quotes)


def _prior(text: str | None, sample: Path | None) -> Any:
    from dither.quotes.priors import parse_prior, read_sample

    if text is not None and sample is not None:
        raise InvalidArgument("prior", text, "either --prior or --prior-sample is accepted")
    if sample is not None:
        return read_sample(sample)
    return None if text is None else parse_prior(text)


def _show(quotes: Any) -> None:
    """A table of quotes, and in words what their errors are."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from dither.release import shown

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("question", "price", "expected error", "bound", "calibration", "what the error is"):
        table.add_column(heading, justify="right" if heading in ("expected error", "bound") else "left")
    for one in quotes:
        several = isinstance(one.expected_error, tuple)
        rows = zip(one.labels, one.expected_error, one.bound, strict=True) if several else ()
        single = ("", "") if several else (shown(one.expected_error), f"{shown(one.bound)} ({one.confidence:.0%})")
        table.add_row(escape(one.query), str(one.loss), *single, one.calibration, one.kind)
        for label, expected, bound in rows:
            table.add_row(f"  {escape(label)}", "", shown(expected), f"{shown(bound)} ({one.confidence:.0%})", "", "")
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    console.print(table)
    for note in dict.fromkeys(note for one in quotes for note in (f"{one.kind}: {one.meaning}", *one.assumptions)):
        console.print(f"[dim]{escape(note)}[/dim]")
