"""Questions to a server at the shell: ``dither ask payroll 'median(total_pay)' --server URL --token TOKEN``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from dither.errors import InvalidArgument
from dither.interfaces.cli.options import OF_FILES, AskCommandOptions, QuoteArguments, QuoteCommandOptions, refuse
from dither.interfaces.cli.output import check_picture, number, show
from dither.interfaces.cli.tables import asked_of, budget_of, only_whole
from dither.sql.select import is_select, selecting

if TYPE_CHECKING:
    from dither.interfaces.client import RemoteSession
    from dither.quotes.graph_priors import GraphPrior
    from dither.quotes.priors import Prior
    from dither.quotes.quote import Quotes


def ask_server(
    url: str,
    token: str | None,
    dataset: str,
    question: str,
    *,
    plot: Path | None,
    as_json: bool,
    **options: Unpack[AskCommandOptions],
) -> None:
    """Answer a question in SQL (or the list of a SELECT, with --where and --by) from a server."""
    from dither.release import Release, Releases

    if plot is not None:
        check_picture(plot)
    declared = ("bounds", "step", "nulls", "ledger", *OF_FILES)
    refuse(options, declared, "is declared in the server's schema: leave it out")
    asked = asked_of(options)
    session = _session_for(url, token, dataset, question, options)
    answered = session.sql(_statement(question, dataset, options), **asked)
    account = session.budget
    releases = Releases([answered], answered.loss) if isinstance(answered, Release) else answered
    if as_json:
        click.echo(json.dumps({"dataset": dataset, **releases.to_dict(), "budget": budget_of(account)}))
    else:
        show(releases)
        click.echo(str(account))
    if plot is not None:
        releases.plot().figure.savefig(plot)


def quoted_by_server(
    dataset: str, question: str, options: QuoteCommandOptions, asked: QuoteArguments, prior: Prior | GraphPrior | None
) -> Quotes:
    """The quotes of a server for a question in SQL, or for the list of a SELECT, with --where and --by."""
    if options["target_error"] is not None:
        raise InvalidArgument("target_error", options["target_error"], "servers quote an --epsilon: try some")
    if options["prior_sample"] is not None:
        raise InvalidArgument("prior_sample", str(options["prior_sample"]), "servers take --prior: lognormal:70000:0.8")
    session = _session_for(options["server"] or "", options["token"], dataset, question, options)
    return session.quote(
        _statement(question, dataset, options),
        epsilon=number("epsilon", options["epsilon"] or ""),
        delta=number("delta", options["delta"]),
        again=options["again"],
        prior=prior,
        rows=asked["rows"],
        mechanism=asked["mechanism"],
        noise=asked["noise"],
        confidence=asked["confidence"],
        interval=asked["interval"],
    )


def _session_for(
    url: str, token: str | None, dataset: str, question: str, options: AskCommandOptions | QuoteCommandOptions
) -> RemoteSession:
    """A session with the server; of a graph the question is looked at here, which sends nothing."""
    from dither.interfaces.client import connect
    from dither.sql.statement import parse_graph_items

    session = connect(url, token=token or "", dataset=dataset)
    if session.schema["kind"] == "graph":
        only_whole(options)
        if not is_select(question):
            parse_graph_items(question)
    return session


def _statement(question: str, dataset: str, options: AskCommandOptions | QuoteCommandOptions) -> str:
    """SQL as it is, or a list of functions made into a SELECT."""
    if is_select(question):
        refuse(options, ("where",), "write it into the SQL: WHERE ...", as_text=True)
        refuse(options, ("by",), "write it into the SQL: BY ...", as_text=True)
        return question
    return selecting(question, dataset, options["where"], options["by"])
