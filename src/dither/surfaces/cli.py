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
from dither.surfaces.ledger_commands import ledger

_QUESTION = re.compile(
    r"^\s*(?P<name>[a-z_]+)\s*\(\s*(?P<column>\"[^\"]+\"|[^,()\"]+?)\s*(?P<rest>(?:,[^,()]+)*)\)\s*$"
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


main.add_command(ledger)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("question")
@click.option(
    "--bounds", nargs=2, type=str, metavar="LOWER UPPER", help="Public range of the column; never read off the data."
)
@click.option("--epsilon", required=True, type=str, help="Total price, error bar included.")
@click.option("--delta", default="0", help="Total delta.", show_default=True)
@click.option("--calibration", default="auto", help="auto, inverse, smooth, ladder or worst_case.", show_default=True)
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

    QUESTION is one of median(c), quantile(c, 0.9), quantiles(c, 0.25, 0.5, 0.75), minimum(c), maximum(c), mean(c),
    sum(c), count(c), variance(c), trimmed_mean(c, 0.1), iqr(c), histogram(c, 0, 50, 100), where c is a column (in
    double quotes if its name has commas or brackets).  In a CSV true and false count as 1 and 0, and whatever is not a
    number as missing; the first line names the columns.  Categories and several columns: see the Python functions.

    \b
    dither ask pay.parquet 'median(total_pay)' --bounds 0 600000 --epsilon 0.5
    """
    from dither.data.files import read_file_column
    from dither.functions import answer
    from dither.privacy import Loss

    # Everything that is public is checked before the file is opened; what is paid for must not be lost.
    if plot is not None:
        _check_picture(plot)
    query = _query(question, options)
    confidence = None if options["confidence"].lower() == "none" else _number("confidence", options["confidence"])
    Loss.asked(_number("epsilon", options["epsilon"]), _number("delta", options["delta"]))
    release = answer(
        query,
        read_file_column(file, query.column or ""),
        _number("epsilon", options["epsilon"]),
        _number("delta", options["delta"]),
        options["calibration"],
        options["noise"],
        confidence,
    )
    if as_json:
        click.echo(json.dumps(release.to_dict()))
    else:
        _show([release])
    if plot is not None:
        release.plot().figure.savefig(plot)


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
    click.echo(f"Next: .venv/bin/dither ask {out}/payroll.csv 'median(total_pay)' --bounds 0 600000 --epsilon 0.5")
    click.echo("      .venv/bin/dither ask YOUR.csv 'median(COLUMN)' --bounds LOWER UPPER --epsilon 0.5")


def _check_picture(path: Path) -> None:
    if path.suffix.lower() not in (".png", ".svg", ".pdf") or not path.absolute().parent.is_dir():
        raise InvalidArgument(
            "plot", str(path), "a path ending in .png, .svg or .pdf in an existing folder is accepted"
        )


def _query(question: str, options: dict[str, Any]) -> Any:
    import dither as dt

    # How many numbers may follow the column: none, one, or a list.
    plain: dict[str, Callable[..., Any]] = {
        "median": dt.Median, "minimum": dt.Minimum, "maximum": dt.Maximum, "mean": dt.Mean, "sum": dt.Sum,
        "variance": dt.Variance, "iqr": dt.IQR,
    }  # fmt: skip
    accepted = (
        f"one of {', '.join(f'{name}(column)' for name in plain)}, count(column), quantile(column, q), "
        "quantiles(column, q, q, ...), trimmed_mean(column, trim), histogram(column, edge, edge, ...) is accepted"
    )
    match = _QUESTION.match(question)
    if match is None:
        raise InvalidArgument("question", question, accepted)
    name, column = match["name"], match["column"].strip().strip('"')
    try:
        numbers = [_number("question", text.strip()) for text in match["rest"].split(",")[1:]]
    except InvalidArgument:
        raise InvalidArgument("question", question, accepted) from None
    nulls = options["nulls"] if options["nulls"] in (None, "lower", "upper") else _number("nulls", options["nulls"])
    if name == "count" and not numbers:
        return dt.Count(column, nulls=nulls)
    if name == "histogram" and len(numbers) > 1:
        return dt.Histogram(column, edges=numbers, nulls=nulls)
    fields = {
        "bounds": None if options["bounds"] is None else tuple(_number("bounds", end) for end in options["bounds"]),
        "step": None if options["step"] is None else _number("step", options["step"]),
        "nulls": nulls,
    }
    if name in plain and not numbers:
        return plain[name](column, **fields)
    if name == "quantile" and len(numbers) == 1:
        return dt.Quantile(column, q=numbers[0], **fields)
    if name == "quantiles" and numbers:
        return dt.Quantiles(column, q=numbers, **fields)
    if name == "trimmed_mean" and len(numbers) <= 1:
        return dt.TrimmedMean(column, **fields, **({"trim": numbers[0]} if numbers else {}))
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

    from dither.release import shown, shown_all

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
        rows = release.rows()
        if len(rows) > 1:
            table.add_row(label, "", "", str(release.loss), release.calibration)
        for name, value, bar in rows:
            shown_bar = "-" if bar is None else f"{shown(bar[0])} .. {shown(bar[1])} ({release.confidence:.0%})"
            answer = "refused" if value is None else shown(value)
            if len(rows) > 1:
                table.add_row(f"  {name}", answer, shown_bar, "", "")
            else:
                table.add_row(label, answer, shown_bar, str(release.loss), release.calibration)
    console = Console(width=None if sys.stdout.isatty() else 110)
    console.print(table)
    missing = [r.missing for r in releases if r.missing is not None]
    if missing:
        note = ", ".join(sorted({shown_all(one) for one in missing}))
        console.print(f"[dim]missing values (in a CSV also what is not a number) count as {note}[/dim]")
