"""``dither audit``: checks every privacy claim of this version."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import click

from dither.errors import InvalidArgument


@click.command()
@click.argument("query", required=False)
@click.option(
    "--mechanism", "--calibration", "mechanisms", multiple=True, metavar="NAME", help="Only these mechanisms."
)
@click.option("--quick", is_flag=True, help="Under two minutes on two cores: smaller universes, fewer runs.")
@click.option("--mutants", is_flag=True, help="Audit mechanisms broken on purpose instead: each must be found.")
@click.option("--sabotage", is_flag=True, hidden=True, help="The older name of --mutants.")
@click.option("--list", "only_list", is_flag=True, help="Name the checks and run none.")
@click.option("--workers", type=click.IntRange(1), default=None, help="Processes; one for each core unless given.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Save audit.json, .png and .html there.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def audit(
    query: str | None,
    *,
    mechanisms: tuple[str, ...],
    quick: bool,
    mutants: bool,
    sabotage: bool,
    only_list: bool,
    workers: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Try to refute the privacy of everything that ships, or of QUERY (a query, procedure or noise).

    Exact checks compute divergences in rational and interval arithmetic, exhaustive ones look at all neighbours of
    small universes, black-box ones attack answers, traces watch the order of events and public decisions.  Nothing is
    read but made-up data.  The exit code is 1 if anything is found (with --mutants: if any
    mutant is missed).

    \b
    dither audit --quick
    dither audit median --mechanism smooth
    dither audit --out audit-report
    dither audit --mutants
    """
    from dither_lab.audit.catalogue import accepted_names, selected
    from dither_lab.audit.mutants import mutants as all_mutants
    from dither_lab.audit.pictures import save
    from dither_lab.audit.running import run_checks

    if sabotage:
        click.echo("--sabotage is now called --mutants; the older name goes with version 0.3", err=True)
    mutants = mutants or sabotage
    checks = list(all_mutants()) if mutants else selected(query, mechanisms, quick=quick)
    if mutants and query is not None:
        about = [check for check in checks if query in check.subject or query == check.detail]
        if not about:
            names = {name for check in checks for name in (check.subject, check.detail) if name}
            raise InvalidArgument("query", query, accepted_names(query, names))
        checks = about
    if only_list:
        show_progress = [{"key": check.key, "kind": check.method, "proof": check.proof} for check in checks]
        click.echo(json.dumps(show_progress) if as_json else "\n".join(check.key for check in checks))
        return
    if as_json or not sys.stderr.isatty():
        report = run_checks(checks, quick=quick, workers=workers, mutants=mutants)
    else:
        report = _with_progress(checks, quick=quick, workers=workers, mutants=mutants)
    saved = {} if out is None else save(report, out)
    if as_json:
        click.echo(json.dumps(report.to_dict() | ({"saved": saved} if saved else {})))
    else:
        _show(report, saved)
    if not report.passed:
        sys.exit(1)


def _with_progress(checks: list[Any], **options: Any) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from dither_lab.audit.running import run_checks

    columns = (
        TextColumn("auditing"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[key]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("audit", total=len(checks), key="")

        def show_progress(key: str, done: int, _: int) -> None:
            bar.update(task, completed=done, key=key[:48])

        return run_checks(checks, progress=show_progress, **options)


def _show(report: Any, saved: dict[str, str]) -> None:
    """A line for each subject and method (for each mutant), then the findings."""
    from rich.console import Console
    from rich.markup import escape

    from dither_lab.audit.pictures import headline

    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    console.print(_mutant_table(report) if report.mutants else _table(report))
    wrong = [check for check in report.ran if check.result.holds is report.mutants]
    for item in wrong:
        word = "missed" if report.mutants else "finding"
        console.print(f"[bold red]{word}[/bold red] {escape(item.check.key)}: {escape(_said(item))}")
    methods = ", ".join(f"{count:,} {method}" for method, count in report.counts.items())
    console.print(f"[bold]{headline(report)}[/bold] ({methods}; {report.seconds:.0f} s)")
    if not report.mutants:
        console.print(
            f"[dim]if all is sound, a finding is reported with probability at most {report.false_alarm:g}[/dim]"
        )
    for path in saved.values():
        console.print(f"saved {escape(path)}")


def _said(item: Any) -> str:
    result = item.result
    claimed = f"claimed {result.claimed}" if result.claimed else ""
    label = f"epsilon is at least {result.lower:#.4g}" if result.claimed and result.lower is not None else ""
    return "; ".join(filter(None, (claimed, label, result.note)))


def _table(report: Any) -> Any:
    from rich.markup import escape
    from rich.table import Table

    from dither_lab.audit.checks import METHODS
    from dither_lab.audit.pictures import number

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("subject", "method", "checks", "cases", "shown / claimed", "closest to its claim", "findings"):
        table.add_column(
            heading, justify="right" if heading in ("checks", "cases", "shown / claimed", "findings") else "left"
        )
    groups: dict[tuple[str, Any], list[Any]] = {}
    for check in report.ran:
        groups.setdefault((check.check.subject, check.check.method), []).append(check)
    before = ""
    for (subject, method), ran in sorted(
        groups.items(), key=lambda item: (item[0][0].lower(), METHODS.index(item[0][1]))
    ):
        rated = [check for check in ran if check.result.claimed and check.result.lower is not None]
        closest = max(rated, key=lambda entry: entry.result.lower / entry.result.claimed.epsilon, default=None)
        share = "" if closest is None else number(closest.result.lower / closest.result.claimed.epsilon)
        show_progress = (
            ""
            if closest is None
            else " ".join(filter(None, (closest.check.mechanism, closest.check.noise, closest.check.detail)))
        )
        result = sum(not check.result.holds for check in ran)
        cases = sum(check.result.cases for check in ran)
        label = "" if subject == before else escape(subject)
        marked = f"[bold red]{result}[/bold red]" if result else "-"
        table.add_row(label, method, f"{len(ran)}", f"{cases:,}", share, escape(show_progress), marked)
        before = subject
    return table


def _mutant_table(report: Any) -> Any:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("broken on purpose", "in", "auditor", "outcome", "what was seen"):
        table.add_column(heading)
    for check in report.ran:
        outcome = "[bold red]missed[/bold red]" if check.result.holds else "found"
        table.add_row(
            escape(check.check.subject),
            escape(check.check.detail),
            check.check.method,
            outcome,
            escape(textwrap.shorten(_said(check), 90, placeholder=" …")),
        )
    return table
