"""``dither quote``: what an answer will cost, or what an accuracy will; reads what is declared, never a record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

import click

from dither.errors import InvalidArgument
from dither.interfaces.cli.options import (
    DECLARED,
    BoundsCommand,
    QuoteArguments,
    QuoteCommandOptions,
    file_options,
    interval_option,
    mechanism_option,
    noise_option,
    refuse,
)
from dither.interfaces.cli.output import confidence_of, console_of, number, plain_table

if TYPE_CHECKING:
    from dither.privacy import Loss
    from dither.quotes.graph_priors import GraphPrior
    from dither.quotes.priors import Prior
    from dither.quotes.quote import Figure, Quotes
    from dither.sources.graph_schema import GraphSchema
    from dither.sources.schema import Schema
    from dither.sql.statement import Statement
    from dither.typing import ErrorName

_ERRORS: dict[str, ErrorName] = {"expected": "expected_error", "bound": "bound", "typical": "typical_error"}
"""What --target-error may be about."""


@click.command(cls=BoundsCommand)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("question")
@click.option("--epsilon", default=None, help="Total privacy loss, intervals included.")
@click.option("--target-error", default=None, help="Instead of an epsilon: find the least epsilon with this error.")
@click.option(
    "--of",
    default="expected",
    type=click.Choice(list(_ERRORS)),
    show_default=True,
    help="What --target-error is about: the expected error, its bound at --confidence, or the typical error.",
)
@click.option("--delta", default="0", help="Total delta.", show_default=True)
@click.option(
    "--prior",
    default=None,
    help="lognormal:MEDIAN:SIGMA, normal:MEAN:SD, uniform:LOW:HIGH, exponential:MEAN; of a graph erdos_renyi:P.",
)
@click.option(
    "--prior-sample",
    type=click.Path(path_type=Path),
    help="A file with public values (of a graph: degrees), one a line.",
)
@click.option(
    "--rows",
    type=int,
    default=None,
    help="Records you assume in the selection, or in each group; of a CSV FILE how many it has.",
)
@file_options
@click.option("--where", default=None, help="Which rows, e.g. \"year = 2014 AND job = 'nurse'\".")
@click.option("--by", multiple=True, metavar="COLUMN", help="One answer for each declared value.")
@mechanism_option
@noise_option
@click.option("--confidence", default="0.95", help='Of the interval; "none" for an answer without.', show_default=True)
@interval_option
@click.option("--simultaneous", is_flag=True, help="All intervals (of groups, bins, questions) hold at once.")
@click.option("--ledger", default=None, help="Where charges are kept; by default beside the schema.")
@click.option("--again", is_flag=True, help="Quote a new answer, also where a stored one is free.")
@click.option("--server", default=None, metavar="URL", help="Ask a server; FILE is then the name of its dataset.")
@click.option("--token", default=None, envvar="DITHER_TOKEN", help="With --server; or in DITHER_TOKEN.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def quote(file: Path, question: str, *, as_json: bool, **options: Unpack[QuoteCommandOptions]) -> None:
    """Privacy loss, mechanism and error of QUESTION for the schema FILE, before it is asked; reads and charges nothing.

    Of a CSV or Parquet FILE without a schema columns are declared as for dither ask, and no record is read: a CSV does
    not say how many it has, so pass --rows.

    QUESTION is SQL, or the list of a SELECT.  Without a prior the typical error is a range over standard shapes within
    the bounds, and the others are upper bounds for all data, usually far above what happens; with one all are estimates
    for records that are as the prior says.

    \b
    dither quote payroll.toml 'median(total_pay)' --epsilon 0.5 --prior lognormal:70000:0.8
    dither quote payroll.toml 'median(total_pay)' --by year --target-error 500 --prior lognormal:70000:0.8
    dither quote pay.csv 'median(pay)' --bounds 0 600000 --rows 20000 --epsilon 0.5
    dither quote payroll 'median(total_pay)' --epsilon 0.5 --server https://curator.example
    """
    from dither.interfaces.cli.files import quoted_schema
    from dither.interfaces.cli.tables import statement_of
    from dither.privacy import Loss
    from dither.quotes.graph_priors import GraphPrior
    from dither.quotes.quote import Quotes
    from dither.session.quoting import least_epsilon, quote_statement
    from dither.sources.schema import Schema
    from dither.sources.schema_file import load_schema

    of_data = options["server"] is None and file.suffix.lower() != ".toml"
    schema = None if options["server"] is not None or of_data else load_schema(file)
    if of_data:
        schema = quoted_schema(file, question, options)
    else:
        refuse(options, DECLARED, "is declared in the schema: leave it out")
    of_graph = schema is not None and not isinstance(schema, Schema)
    prior = _prior(options["prior"], options["prior_sample"], of_graph=of_graph)
    asked: QuoteArguments = {
        "prior": None if isinstance(prior, GraphPrior) else prior,
        "rows": None if of_data and options["by"] else options["rows"],
        "mechanism": options["mechanism"],
        "noise": options["noise"],
        "confidence": confidence_of(options["confidence"], simultaneous=options["simultaneous"]),
        "interval": options["interval"],
    }
    if (options["epsilon"] is None) == (options["target_error"] is None):
        raise InvalidArgument("epsilon", options["epsilon"], "pass either --epsilon or --target-error")
    if schema is None:
        from dither.interfaces.cli.remote import quoted_by_server

        _print(quoted_by_server(str(file), question, options, asked, prior), str(file), as_json=as_json)
        return
    statement = statement_of(question, schema, options)
    delta = number("delta", options["delta"])
    if not isinstance(schema, Schema):
        quotes = _of_graph(statement, schema, options, asked, prior)
    elif isinstance(prior, GraphPrior):
        raise InvalidArgument("prior", options["prior"], "is for graphs; of a table write lognormal:70000:0.8")
    elif options["epsilon"] is not None:
        loss = Loss.asked(number("epsilon", options["epsilon"]), delta)
        quotes = quote_statement(statement, schema, loss, **asked)
        if not (options["again"] or of_data):
            quotes = _with_stored(quotes, statement, schema, loss, file, options, asked)
    elif len(statement.items) > 1:
        raise InvalidArgument("question", question, "must be one query with --target-error")
    else:
        result = least_epsilon(
            statement.items[0].query,
            schema,
            target_error=number("target_error", options["target_error"] or ""),
            of=_ERRORS[options["of"]],
            delta=delta,
            where=statement.where,
            by=list(statement.by) or None,
            **asked,
        )
        quotes = Quotes([result])
    _print(quotes, schema.name, as_json=as_json)


def _with_stored(
    quotes: Quotes,
    statement: Statement,
    schema: Schema,
    loss: Loss,
    file: Path,
    options: QuoteCommandOptions,
    asked: QuoteArguments,
) -> Quotes:
    """Quotes with what the ledger stores, where there is one: what was answered before is free."""
    from dither.ledger import open_ledger
    from dither.quotes.quote import Quotes
    from dither.session.derived import StoredHistograms
    from dither.session.statements import plans_of
    from dither.session.stored_quotes import quotes_now

    place = options["ledger"]
    if place is None:
        if not file.with_suffix(".ledger").exists():
            return quotes
        place = str(file.with_suffix(".ledger"))
    with open_ledger(place, create=False, check=False, read_only=True) as ledger:
        plans = plans_of(statement, schema, loss, **asked)
        return Quotes(quotes_now(ledger, schema.name, plans, quotes, StoredHistograms(ledger, schema.name)))


def _print(quotes: Quotes, dataset: str, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"dataset": dataset, **quotes.to_dict()}))
    else:
        _show(quotes)


def _of_graph(
    statement: Statement,
    schema: GraphSchema,
    options: QuoteCommandOptions,
    asked: QuoteArguments,
    prior: Prior | GraphPrior | None,
) -> Quotes:
    """Quotes of a graph: what is public about it is enough, and its budget is not asked for."""
    import dataclasses

    from dither.privacy import Budget
    from dither.session.graphs import GraphSession

    refuse(options, ("rows", "target_error"), "is not used for a graph: leave it out", as_text=True, empty=True)
    session = GraphSession(dataclasses.replace(schema, budget=schema.budget or Budget(1.0)))
    return session._quote_statement(
        statement,
        epsilon=number("epsilon", options["epsilon"] or ""),
        delta=number("delta", options["delta"]),
        mechanism=asked["mechanism"],
        noise=asked["noise"],
        confidence=asked["confidence"],
        interval=asked["interval"],
        prior=cast("GraphPrior | None", prior),  # one of columns is refused
    )


def _prior(text: str | None, sample: Path | None, *, of_graph: bool = False) -> Prior | GraphPrior | None:
    from dither.quotes.priors import parse_prior, read_degrees, read_sample

    if text is not None and sample is not None:
        raise InvalidArgument("prior", text, "pass either --prior or --prior-sample")
    if sample is not None:
        return read_degrees(sample) if of_graph else read_sample(sample)
    return None if text is None else parse_prior(text)


def _show(quotes: Quotes) -> None:
    """A table of quotes, and in words what their errors are."""
    from rich.markup import escape

    from dither.quotes.quote import FLOOR, SHAPES
    from dither.wording import formatted

    levels = {item.confidence for item in quotes}
    level = f"{next(iter(levels)):.0%} within" if len(levels) == 1 else "within"
    typical = any(item.typical_error is not None for item in quotes)
    headings = ["question", "epsilon", *(["typical error"] if typical else [])]
    headings += ["worst expected" if typical else "expected error", level, "interval ±", "mechanism"]
    table = plain_table(headings, right=tuple(headings[1:-1]), wrapped="question")
    for item in quotes:
        loss = f"{item.loss.epsilon:.6g}" if not item.loss.delta else f"{item.loss.epsilon:.6g}, {item.loss.delta:.3g}"
        usual = [item.typical_text or "-"] if typical else []
        figures = (item.expected_error, item.bound, item.half_width)
        if not isinstance(item.expected_error, tuple):
            table.add_row(escape(item.query), loss, *usual, *map(_formatted, figures), item.mechanism)
            continue
        table.add_row(escape(item.query), loss, *usual, "", "", "", item.mechanism)
        several = [each if isinstance(each, tuple) else (None,) * len(item.expected_error) for each in figures]
        for label, *each in zip(item.labels or (), *several, strict=True):
            table.add_row(f"  {escape(label)}", "", *("" for _ in usual), *map(_formatted, each), "")
    console = console_of(120)
    console.print(table)
    notes = [f"{formatted(item.groups)} groups: an answer for each" for item in quotes if (item.groups or 0) > 1]
    notes += [f"typical error: {SHAPES}"] if typical else []
    notes += [note for item in quotes for note in (f"errors: {item.meaning}", *item.assumptions)]
    notes += [f"floor of {item.query}: {_formatted(item.floor)}; {FLOOR}" for item in quotes if item.floor is not None]
    for note in dict.fromkeys(notes):
        console.print(f"[dim]{escape(note)}[/dim]")


def _formatted(figure: Figure) -> str:
    """Four significant digits."""
    if figure is None or isinstance(figure, tuple):
        return "-"
    return f"{figure:,.4g}" if abs(figure) < 1000 else f"{figure:,.0f}"
