"""The command line: a thin door.  Commands import what they need, so that --help is quick."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dither.errors import DitherError, InvalidArgument

_QUESTION = re.compile(
    r"^\s*(?P<name>[a-z_]+)\s*\(\s*(?P<column>\"[^\"]+\"|[^,()\"]+?)\s*(?:,\s*(?P<extra>[^,()]+?)\s*)?\)\s*$"
)


class _Door(click.Group):
    """Turns errors raised on purpose into one line (or one JSON object) and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DitherError as error:
            if "--json" in sys.argv:
                click.echo(json.dumps({"error": {"code": error.code, "message": str(error)}}))
            else:
                click.secho(f"error: {error}", fg="red", err=True)
            ctx.exit(2)


@click.group(cls=_Door, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dither")
def main() -> None:
    """Private answers to statistical questions, with noise fitted to the data at hand."""


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("question")
@click.option(
    "--bounds", nargs=2, type=str, metavar="LOWER UPPER", help="Public range of the column; never read off the data."
)
@click.option("--epsilon", required=True, type=str, help="Total price, error bar included.")
@click.option("--delta", default="0", help="Total delta.", show_default=True)
@click.option("--calibration", default="auto", help="auto, inverse, smooth or worst_case.", show_default=True)
@click.option(
    "--noise", default="auto", help="auto, power_law, cauchy, laplace, gaussian or student.", show_default=True
)
@click.option(
    "--confidence", default="0.95", help='Of the error bar; "none" spends all on the answer.', show_default=True
)
@click.option("--step", default=None, help="Public grid step of the column, e.g. 0.01; 1 gives whole answers.")
@click.option("--nulls", default=None, help='What missing values count as: "lower", "upper" or a number.')
@click.option("--plot", type=click.Path(path_type=Path), help="Save a picture of the answer.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def ask(file: Path, question: str, *, plot: Path | None, as_json: bool, **options: Any) -> None:
    """Ask QUESTION of one column of a CSV or Parquet FILE.

    QUESTION is median(column), quantile(column, 0.9), minimum(column) or maximum(column).

    \b
    dither ask pay.parquet 'median(total_pay)' --bounds 0 600000 --epsilon 0.5
    """
    from dither.data.files import read_file_column
    from dither.functions import answer

    query = _query(question, options)
    confidence = None if options["confidence"].lower() == "none" else _number("confidence", options["confidence"])
    release = answer(
        query,
        read_file_column(file, query.column or ""),
        _number("epsilon", options["epsilon"]),
        _number("delta", options["delta"]),
        options["calibration"],
        options["noise"],
        confidence,
    )
    if plot is not None:
        release.plot().figure.savefig(plot)
    if as_json:
        click.echo(json.dumps(release.to_dict()))
    else:
        _show([release])


@main.command()
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("demo-output"), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def demo(out: Path, *, as_json: bool) -> None:
    """Ask real questions of generated data, and save a picture of the answers."""
    from dither.demo.tour import tour

    told = tour(out, tell=None if as_json else click.echo)
    if as_json:
        click.echo(json.dumps(told.to_dict()))
        return
    _show(told.releases, told.labels)
    click.echo(f"budget: {told.budget}; spent {told.spent}; left {told.left}")
    click.echo(f"picture: {told.picture}")
    click.echo("Next: dither ask YOUR.csv 'median(COLUMN)' --bounds LOWER UPPER --epsilon 0.5")


def _query(question: str, options: dict[str, Any]) -> Any:
    from dither.queries.order import Maximum, Median, Minimum, Quantile

    plain: dict[str, Callable[..., Any]] = {"median": Median, "minimum": Minimum, "maximum": Maximum}
    accepted = "median(column), quantile(column, q), minimum(column) or maximum(column) is accepted"
    match = _QUESTION.match(question)
    if match is None:
        raise InvalidArgument("question", question, accepted)
    name, column, extra = match["name"], match["column"].strip().strip('"'), match["extra"]
    fields = {
        "bounds": None if options["bounds"] is None else tuple(_number("bounds", end) for end in options["bounds"]),
        "step": None if options["step"] is None else _number("step", options["step"]),
        "nulls": options["nulls"]
        if options["nulls"] in (None, "lower", "upper")
        else _number("nulls", options["nulls"]),
    }
    if name in plain and extra is None:
        return plain[name](column, **fields)
    if name == "quantile" and extra is not None:
        return Quantile(column, q=_number("q", extra), **fields)
    raise InvalidArgument("question", question, accepted)


def _number(argument: str, text: str) -> Any:
    """A decimal that a person typed, exactly."""
    from decimal import Decimal, InvalidOperation

    try:
        number = Decimal(text)
    except InvalidOperation:
        raise InvalidArgument(argument, text, "a number is accepted") from None
    if not number.is_finite():
        raise InvalidArgument(argument, text, "a finite number is accepted")
    return number


def _show(releases: list[Any], labels: list[str] | None = None) -> None:
    from rich.console import Console
    from rich.table import Table

    from dither.release import shown

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, justify in (
        ("question", "left"),
        ("answer", "right"),
        ("error bar", "left"),
        ("price", "left"),
        ("calibration", "left"),
    ):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for label, release in zip(labels or [r.query for r in releases], releases, strict=True):
        bar = (
            "-"
            if release.interval is None
            else f"{shown(release.interval[0])} .. {shown(release.interval[1])} ({release.confidence:.0%})"
        )
        table.add_row(
            label,
            "refused" if release.value is None else shown(release.value),
            bar,
            str(release.loss),
            release.calibration,
        )
    console = Console()
    console.print(table)
    missing = [r.missing for r in releases if r.missing is not None]
    if missing:
        console.print(f"[dim]missing values count as {shown(missing[0])}; one changed record is protected[/dim]")
