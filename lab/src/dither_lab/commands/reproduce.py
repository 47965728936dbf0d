"""``dither reproduce``: the papers' figures, tables and theorems, measured again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dither_lab.reproduce.experiment import Reproduction

NAMES = ("dmns06", "nrs11", "dl09", "v17", "coq17", "errata", "all")


@click.command()
@click.argument("name", default="all", type=click.Choice(NAMES), metavar="[NAME]")
@click.option("--quick", is_flag=True, help="Smaller measurements: minutes instead of half an hour.")
@click.option(
    "--out",
    default="reproduction",
    type=click.Path(file_okay=False, path_type=Path),
    show_default=True,
    help="Folder for report.html, report.json, verdicts.csv, and a CSV and a plot of each experiment.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def reproduce(name: str, *, quick: bool, out: Path, as_json: bool) -> None:
    """Measure again what the papers claim, and say of each claim whether it holds.

    NAME: dmns06, nrs11, dl09, v17, coq17, errata, or all (the default).  With DITHER_DATA set to a folder with the
    real data (tables/sf_salaries.parquet, graphs/loc-Gowalla.npz) these are used, else generated stand-ins.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from dither_lab.reproduce import report
    from dither_lab.reproduce.experiment import Experiment, Setting
    from dither_lab.reproduce.run import experiments, run

    setting, chosen = Setting("quick" if quick else "full"), experiments(name)
    findings: list[Reproduction] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(chosen))

        def begun(experiment: Experiment) -> None:
            progress.update(task, description=f"{experiment.paper}: {experiment.title}"[:60])

        for finding in run(chosen, setting, begun=begun):
            findings.append(finding)
            progress.advance(task)
    page = report.write(findings, setting, out)
    if as_json:
        click.echo(json.dumps(report.summary(findings, setting), indent=1))
        return
    _show(findings)
    click.echo(f"report: {page}")


def _show(findings: list[Reproduction]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from dither_lab.reproduce.experiment import Verdict
    from dither_lab.reproduce.report import counts

    colours = {
        Verdict.AGREES: "green",
        Verdict.CORRECTED: "yellow",
        Verdict.DISAGREES: "red",
        Verdict.UNTESTED: "blue",
    }
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("paper", "where", "rule", "ours", "verdict"):
        table.add_column(heading, overflow="fold")
    for finding in findings:
        for row in finding.rows:
            verdict = row.judged.verdict
            coloured = f"[{colours[verdict]}]{verdict.value}[/]"
            ours = f"{row.judged.ours}. {row.judged.why}" if row.judged.why else row.judged.ours
            cells = (finding.experiment.paper, row.where, str(row.rule), ours)
            table.add_row(*(escape(cell) for cell in cells), coloured)
    console = Console(width=None if sys.stdout.isatty() else 180, highlight=False)
    console.print(table)
    payload = ", ".join(f"{count} {verdict.value}" for verdict, count in counts(findings).items())
    seconds = sum(finding.seconds for finding in findings)
    console.print(f"{payload}; {seconds:,.0f} s of processor time")
    stand_ins = sorted({source for finding in findings for source in finding.sources if "stand-in" in source})
    for source in stand_ins:
        console.print(f"[dim]{escape(source)}; set DITHER_DATA to use the real data[/dim]")
