"""The command line.  Commands import what they need, so that --help is quick."""

from __future__ import annotations

import json
import shutil
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Unpack

import click

from dither.errors import DitherError, NotInstalled
from dither.interfaces.cli.access_tokens import tokens
from dither.interfaces.cli.check import check
from dither.interfaces.cli.describe import describe
from dither.interfaces.cli.ledger import ledger
from dither.interfaces.cli.options import (
    AskCommandOptions,
    BoundsCommand,
    file_options,
    interval_option,
    mechanism_option,
    noise_option,
)
from dither.interfaces.cli.output import show
from dither.interfaces.cli.quote import quote
from dither.interfaces.cli.register import register
from dither.interfaces.cli.run import clusters, run
from dither.interfaces.cli.serve import serve

LABORATORY = {
    "audit": "Try to refute the privacy of everything that ships.",
    "bench": "Measure speed and errors beside other libraries.",
    "reproduce": "Measure again what the papers claim.",
}
"""Commands of the distribution dither-lab, which enters them under ``dither.commands``."""


class _Commands(click.Group):
    """Turns errors raised on purpose into one line (or one JSON object) and exit code 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *LABORATORY])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or (_of_laboratory(cmd_name) if cmd_name in LABORATORY else None)

    def invoke(self, ctx: click.Context) -> Any:  # whatever a command returns, as click has it
        as_json = "--json" in ctx.args
        try:
            return super().invoke(ctx)
        except DitherError as error:
            message = "; ".join([str(error), *getattr(error, "__notes__", [])])
            if as_json:
                click.echo(json.dumps({"error": {"code": error.code, "message": message}}))
            else:
                click.secho(f"error: {message}", fg="red", err=True)
            ctx.exit(2)


def _of_laboratory(name: str) -> click.Command:
    """A command of the laboratory, or one that says how to get it."""
    for point in entry_points(group="dither.commands", name=name):
        command: click.Command = point.load()
        command.short_help = LABORATORY[name]
        return command

    def absent(rest: tuple[str, ...]) -> None:  # noqa: ARG001
        raise NotInstalled(f"dither {name}", "the laboratory", "dither-lab")

    anything = click.Argument(["rest"], nargs=-1, type=click.UNPROCESSED)
    return click.Command(
        name,
        callback=absent,
        params=[anything],
        short_help=f"{LABORATORY[name]} (pip install dither-lab)",
        add_help_option=False,
        context_settings={"ignore_unknown_options": True},
    )


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dither")
def main() -> None:
    """Private answers to statistical questions, with noise fitted to the data at hand."""


main.add_command(check)
main.add_command(describe)
main.add_command(ledger)
main.add_command(register)
main.add_command(serve)
main.add_command(tokens)
main.add_command(quote)
main.add_command(run)
main.add_command(clusters)


@main.command(cls=BoundsCommand)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("question")
@click.option("--epsilon", required=True, type=str, help="Total privacy loss, interval included.")
@click.option("--delta", default="0", help="Total delta.", show_default=True)
@mechanism_option
@noise_option
@click.option(
    "--confidence", default="0.95", help='Of the interval; "none" spends all on the answer.', show_default=True
)
@interval_option
@click.option("--simultaneous", is_flag=True, help="All intervals (of groups, bins, questions) hold at once.")
@file_options
@click.option("--where", default=None, help="Which rows, by declared columns, e.g. \"year = 2014 AND job = 'nurse'\".")
@click.option("--by", multiple=True, metavar="COLUMN", help="One answer for each value of a declared column.")
@click.option("--weights", default=None, help="Shares of several queries, e.g. 2,1 or name=2.")
@click.option("--ledger", default=None, help="With a schema: where charges are kept; by default beside the schema.")
@click.option("--again", is_flag=True, help="With a schema: pay for a new answer to a question answered before.")
@click.option("--server", default=None, metavar="URL", help="Ask a server; FILE is then the name of its dataset.")
@click.option("--token", default=None, envvar="DITHER_TOKEN", help="With --server; or in DITHER_TOKEN.")
@click.option("--plot", type=click.Path(path_type=Path), help="Save a picture of the answer.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def ask(
    file: Path,
    question: str,
    *,
    plot: Path | None,
    as_json: bool,
    server: str | None,
    token: str | None,
    **options: Unpack[AskCommandOptions],
) -> None:
    """Ask QUESTION of a CSV or Parquet FILE, or of a registered dataset (a schema FILE, .toml).

    QUESTION is a call: the columns, then numbers, then fields by name, such as median(c), quantile(c, 0.9),
    quantiles(c, 0.25, 0.5, 0.75), trimmed_mean(c, 0.1), histogram(c, 0, 50, 100), iqr(c, low => 0.1, high => 0.9),
    covariance(a, b), regression(y, x1, x2), kmeans(a, b, k => 3), where a column stands in double quotes if its name
    has commas or brackets; of a graph triangles(), kstars(2), mst_cost(). docs/sql.md lists all. In a CSV true and
    false count as 1 and 0, and whatever is not a number as missing; the first line names the columns.

    Filters, groups, SQL and several calls need the columns declared: by --column, or in a schema (see dither register),
    whose budget then pays for the answers.

    \b
    dither ask pay.parquet 'median(total_pay)' --bounds 0 600000 --epsilon 0.5
    dither ask pay.csv 'covariance(age, pay)' --bounds 0 120 --bounds 0 600000 --epsilon 1
    dither ask pay.csv 'median(pay)' --bounds 0 600000 --by job --column job=category:clerk:nurse --epsilon 1
    dither ask payroll.toml 'median(total_pay)' --where 'year = 2014' --by job --epsilon 0.5
    dither ask payroll.toml 'SELECT job, avg(total_pay), count(*) FROM payroll GROUP BY job' --epsilon 0.5
    dither ask payroll 'SELECT median(total_pay) FROM payroll' --epsilon 0.5 --server https://curator.example
    """
    if server is not None:
        from dither.interfaces.cli.remote import ask_server

        ask_server(server, token, str(file), question, plot=plot, as_json=as_json, **options)
        return
    if file.suffix.lower() == ".toml":
        from dither.interfaces.cli.tables import ask_dataset

        ask_dataset(file, question, plot=plot, as_json=as_json, **options)
        return
    from dither.interfaces.cli.files import ask_file

    ask_file(file, question, plot=plot, as_json=as_json, **options)


@main.command()
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("demo-output"), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def demo(out: Path, *, as_json: bool) -> None:
    """Ask real questions of generated data, and save a picture of the answers."""
    from dither.demo.tour import tour

    payload = tour(out, tell=None if as_json else click.echo)
    if as_json:
        click.echo(json.dumps(payload.to_dict()))
        return
    show(payload.releases, payload.labels)
    click.echo(f"budget: {payload.budget}; spent {payload.spent}; left {payload.left}")
    click.echo(f"picture: {payload.picture}")
    question = "SELECT median(age) FROM payroll GROUP BY job"
    command = "dither" if shutil.which("dither") else ".venv/bin/dither"
    click.echo(f"Next: {command} ask {out}/payroll.toml '{question}' --epsilon 0.1")
    click.echo(f"      {command} ledger show {out}/payroll.ledger")
    click.echo(f"      {command} ask YOUR.csv 'median(COLUMN)' --bounds LOWER UPPER --epsilon 0.5")
    click.echo(f"      {command} register YOUR.csv -o your.toml")
    click.echo(f"      {command} serve --demo    # the curator: open the page that it prints, and sign in with a token")


_IN_SHORT = {
    "ask": "Answer a question about a CSV, Parquet or schema file.",
    "check": "How columns are read, exactly: for the owner, not private.",
    "clusters": "The centres of clusters of a registered dataset.",
    "demo": "Ask real questions of generated data; start here.",
    "describe": "All columns of a file that nobody may look at, at one loss.",
    "ledger": "Look into a ledger: show, verify, export, backup.",
    "quote": "Privacy loss and error of a question, before it is asked.",
    "register": "Draft a schema file for data: what is public, what may be spent.",
    "run": "Run a program of your own on blocks of people.",
    "serve": "Serve datasets over HTTP, with a page.",
    "tokens": "A new owner token for a curator whose owners lost theirs.",
}
for _name, _text in _IN_SHORT.items():
    main.commands[_name].short_help = _text
