"""Results as a table in the terminal, JSON, CSV, pictures and one page."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dither_lab.bench.intervals import LEVEL, Figure
from dither_lab.bench.page import page
from dither_lab.bench.pictures import pictures
from dither_lab.bench.result_rows import EQUAL, NOT_MEASURED, OURS_LOWER, PEER_LOWER, ResultRow
from dither_lab.bench.run import Results
from dither_lab.bench.texts import figure_text, footer, guarantee_text, ratio_text, subject_text, verdict_text

COLOURS = {OURS_LOWER: "green", EQUAL: "default", PEER_LOWER: "yellow", NOT_MEASURED: "red"}


def show(results: Results, console: Console) -> None:
    """The one table."""
    table = Table(title=f"Side by side; lower is better; intervals at {LEVEL:.0%}", header_style="bold")
    for heading in ("area", "what", "guarantee; neighbours", "dither", "peer", "", "ratio", "verdict"):
        table.add_column(heading, overflow="fold")
    last = ""
    for row in results.rows:
        colour = "red" if row.held == "no" else COLOURS.get(row.verdict, "default")
        if row.area != last:
            table.add_section()
            last = row.area
        table.add_row(
            row.area,
            escape(subject_text(row)),
            escape(guarantee_text(row)),
            escape(figure_text(row.ours, row.unit)),
            escape(row.peer),
            escape(figure_text(row.theirs, row.unit)),
            escape(ratio_text(row)),
            f"[{colour}]{escape(verdict_text(row))}[/{colour}]",
        )
    console.print(table)
    console.print(escape(footer(results)))


def save(results: Results, folder: Path) -> list[Path]:
    """results.json, results.csv, a picture for every area and index.html."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = pictures(results.rows, folder)
    (folder / "results.json").write_text(json.dumps(results.to_dict(), indent=1) + "\n")
    with (folder / "results.csv").open("w", newline="") as file:
        write_csv(results.rows, file)
    (folder / "index.html").write_text(page(results, drawn))
    return [folder / name for name in ("results.json", "results.csv", "index.html")] + list(drawn.values())


def write_csv(rows: Iterable[ResultRow], file: object) -> None:
    """One line for each row, figures as three columns."""
    plain = ("key", "area", "what", "measure", "unit", "guarantee", "neighbours", "data", "peer", "version")
    figures = ("ours", "theirs", "ratio")
    ends = ("verdict", "why", "asked", "held", "clock", "other_clock_ratio", "note")
    writer = csv.writer(file)  # type: ignore[arg-type]
    writer.writerow([*plain, *(f"{name}{part}" for name in figures for part in ("", "_low", "_high")), *ends])
    for row in rows:
        numbers: list[object] = []
        for name in figures:
            figure: Figure | None = getattr(row, name)
            numbers += ["", "", ""] if figure is None else [figure.value, figure.low, figure.high]
        writer.writerow([*(getattr(row, name) for name in plain), *numbers, *(getattr(row, name) for name in ends)])
