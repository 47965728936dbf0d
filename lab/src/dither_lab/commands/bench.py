"""``dither bench``: dither beside other libraries, in one run."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import click


@click.command()
@click.argument("area", default="all")
@click.option("--quick", is_flag=True, help="Small data and few rounds: all areas in a few minutes.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Save JSON, CSV, pictures and a page here."
)
@click.option(
    "--peers",
    "home",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="Folder of the peers' environments; by default the user's cache.",
)
@click.option("--only", default=None, metavar="TEXT", help="Only comparisons whose names contain this.")
@click.option(
    "--clock",
    type=click.Choice(["wall", "processor"]),
    default="wall",
    show_default=True,
    help="What times are taken by; on a busy machine processor time is steadier.",
)
@click.option(
    "--compare",
    "record",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    is_flag=False,
    flag_value=Path("docs/benchmarks.json"),
    default=None,
    help="Fail where a ratio is worse than in this record (docs/benchmarks.json) twice in a row.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def bench(
    area: str,
    *,
    quick: bool,
    out: Path | None,
    home: Path | None,
    only: str | None,
    clock: str,
    record: Path | None,
    as_json: bool,
) -> None:
    """Measure AREA (noise, quantiles, arrays, tables, people, graphs, models, composition, server, all).

    Other libraries are measured beside dither.  They are installed into environments of their own; one that cannot be
    installed is reported in its rows.  Every row has ours, the peer's and their ratio with an interval.  DITHER_DATA
    names the folder of the real data; without it generated data stand in and rows say so.

    \b
    dither bench quantiles --quick
    dither bench all --out results
    dither bench all --quick --clock processor --compare
    """
    from rich.console import Console

    from dither_lab.bench.areas import AREAS
    from dither_lab.bench.compare import compare, comparison_of
    from dither_lab.bench.peers import default_home
    from dither_lab.bench.report import save, show
    from dither_lab.bench.result_rows import ResultRow
    from dither_lab.bench.run import Results, run

    progress = Console(stderr=True)
    names = AREAS if area == "all" else (area,)
    compared = None
    with progress.status("starting") as status:
        measured = partial(
            run,
            quick=quick,
            home=(home or default_home()).absolute(),
            clock=clock,
            tell=status.update if progress.is_terminal else _line,
        )
        results = measured(names, only=only, keep=_nowhere if out is None else partial(save, folder=out))
        if record is not None:
            recorded = Results.from_dict(json.loads(record.read_text()))

            def again(row: ResultRow) -> ResultRow | None:
                rows = measured((row.area,), only=comparison_of(row)).rows
                return next((item for item in rows if item.key == row.key), None)

            compared = compare(results.rows, recorded.rows, again)
    if as_json:
        payload = results.to_dict()
        if compared is not None:
            payload["worse"] = [str(item) for item in compared.worse]
        click.echo(json.dumps(payload, indent=1))
    else:
        show(results, Console(width=None if sys.stdout.isatty() else 200, highlight=False))
        if out is not None:
            click.echo(f"saved {out}/index.html, results.json, results.csv and pictures")
        if compared is not None:
            click.echo(str(compared))
    if compared is not None and compared.worse:
        raise SystemExit(1)


def _nowhere(results: object) -> None:
    """Nothing was asked to be saved."""


def _line(text: str) -> None:
    """Progress where the output is no terminal."""
    click.echo(text, err=True)
