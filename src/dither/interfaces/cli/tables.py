"""Questions to a registered dataset: ``dither ask payroll.toml ...``."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from dither.errors import InvalidArgument
from dither.interfaces.cli.options import DECLARED, AskCommandOptions, QuoteCommandOptions, StatementArguments, refuse
from dither.interfaces.cli.output import check_picture, confidence_of, number, show
from dither.sql.select import is_select

if TYPE_CHECKING:
    from decimal import Decimal

    from dither.release import Answered
    from dither.session.account import Account
    from dither.session.session import Session
    from dither.sources.graph_schema import GraphSchema
    from dither.sources.schema import Schema
    from dither.sql.statement import Statement


def ask_dataset(
    file: Path, question: str, *, plot: Path | None, as_json: bool, **options: Unpack[AskCommandOptions]
) -> None:
    """Answer a question in SQL, or the list of a SELECT with --where and --by, out of the dataset's budget."""
    import dither as dt
    from dither.release import Release, Releases

    if plot is not None:
        check_picture(plot)
    refuse(options, DECLARED, "is declared in the schema file: leave it out")
    if options["by"] and len(set(options["by"])) != len(options["by"]):
        raise InvalidArgument("by", list(options["by"]), "must name different columns")
    with dt.open(file, ledger=options["ledger"]) as session:
        answered = answered_by(session, question, options)
        account = session.budget
    releases = Releases([answered], answered.loss) if isinstance(answered, Release) else answered
    if as_json:
        click.echo(json.dumps({"dataset": session.schema.name, **releases.to_dict(), "budget": budget_of(account)}))
    else:
        show(releases)
        click.echo(str(account))
    if plot is not None:
        answered.plot().figure.savefig(plot)


def answered_by(session: Session, question: str, options: AskCommandOptions) -> Answered:
    """The answers of a session to SQL, or to a list of calls."""
    from dither.privacy import Loss

    asked = asked_of(options)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always", UserWarning)
        statement = statement_of(question, session.schema, options)
        plans = session._plans_of(
            statement,
            Loss.asked(asked["epsilon"], asked["delta"]),
            asked["weights"],
            mechanism=asked["mechanism"],
            noise=asked["noise"],
            confidence=asked["confidence"],
            interval=asked["interval"],
        )
        answered = session._answer_statement(statement, plans, again=asked["again"])
    for item in noted:
        click.secho(f"note: {item.message}", fg="yellow", err=True)
    return answered


def statement_of(
    question: str, schema: Schema | GraphSchema, options: AskCommandOptions | QuoteCommandOptions
) -> Statement:
    """SQL, or the list of a SELECT with --where and --by."""
    from dither.sources.graph_schema import GraphSchema
    from dither.sources.predicates import parse_filter
    from dither.sql.statement import parse_items, parse_sql, with_filter

    if isinstance(schema, GraphSchema):
        only_whole(options)
        return (parse_sql if is_select(question) else parse_items)(question, schema, "question")
    if is_select(question):
        refuse(options, ("where",), "write it into the SQL: WHERE ...")
        refuse(options, ("by",), "write it into the SQL: BY ...")
        return parse_sql(question, schema, "question")
    where = None if options["where"] is None else parse_filter(options["where"], schema)
    for name in options["by"]:
        schema.column(name, "by")
    return with_filter(parse_items(question, schema), where, tuple(options["by"]))


def only_whole(options: AskCommandOptions | QuoteCommandOptions) -> None:
    """Refuse a filter and groups of a graph."""
    refuse(options, ("where", "by"), "a graph is asked as a whole: leave it out", as_text=True)


def asked_of(options: AskCommandOptions) -> StatementArguments:
    """What the options of a command say about privacy loss, noise and interval."""
    return {
        "epsilon": number("epsilon", options["epsilon"]),
        "delta": number("delta", options["delta"]),
        "weights": weights_of(options["weights"]),
        "mechanism": options["mechanism"],
        "noise": options["noise"],
        "confidence": confidence_of(options["confidence"], simultaneous=options["simultaneous"]),
        "interval": options["interval"],
        "again": options["again"],
    }


def budget_of(account: Account) -> dict[str, dict[str, float]]:
    """An account in plain values for JSON."""
    parts = (("total", account.total), ("spent", account.spent), ("left", account.left))
    return {name: {"epsilon": item.epsilon, "delta": item.delta} for name, item in parts}


def weights_of(text: str | None) -> dict[str, Decimal] | list[Decimal] | None:
    """``2,1`` is a list, ``middle=2,rows=1`` a mapping."""
    if text is None:
        return None
    parts = text.split(",")
    if all("=" in part for part in parts):
        pairs = (part.rsplit("=", 1) for part in parts)
        return {name.strip(): number("weights", value.strip()) for name, value in pairs}
    return [number("weights", part.strip()) for part in parts]
