"""Pictures of results: ratios with their intervals, and times against sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from dither_lab.bench.result_rows import EQUAL, OURS_LOWER, PEER_LOWER, ResultRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from dither_lab.bench.intervals import Figure

COLOURS = {OURS_LOWER: "#2e7d4f", EQUAL: "#6b7280", PEER_LOWER: "#b45309"}
WIDEST = (1e-4, 1e4)
"""Ratios beyond are drawn at the edge."""
COSTS = (
    "median of an array",
    "median of a Parquet file",
    "medians by groups",
    "ladder of generated graphs, heavy tail",
    "ladder of generated graphs, even",
    "blocks of a program",
)
"""Series of the picture of what answers cost."""


def pictures(rows: Iterable[ResultRow], folder: Path) -> dict[str, Path]:
    """``AREA.png`` (ratios) and ``AREA-growth.png`` (times against sizes) by title."""
    import matplotlib as mpl  # noqa: PLC0415  (a second to import, needed only when something is saved)

    mpl.use("Agg")
    rows, drawn = list(rows), {}
    for area in dict.fromkeys(row.area for row in rows):
        compared = [row for row in rows if row.area == area and row.ratio is not None and row.measure != "growth"]
        if compared:
            drawn[f"{area}: ratios"] = _saved(_ratios(area, compared), folder / f"{area}.png")
        sized = [row for row in rows if row.area == area and row.series is not None and row.measure == "time"]
        if len({row.size for row in sized}) >= 3:
            drawn[f"{area}: growth"] = _saved(_growth(sized), folder / f"{area}-growth.png")
    return drawn


def costs_picture(rows: Iterable[ResultRow], path: Path) -> Path:
    """Times against sizes of arrays, tables, groups, graphs and blocks; the same file for the same rows."""
    import matplotlib as mpl  # noqa: PLC0415

    listed = [row for row in rows if row.measure == "time" and row.series in COSTS]
    sizes = {series: {row.size for row in listed if row.series == series} for series in COSTS}
    listed = [row for row in listed if len(sizes[row.series or ""]) >= 3]
    with mpl.rc_context({"svg.hashsalt": "costs"}):
        figure = _growth(sorted(listed, key=lambda row: COSTS.index(row.series or "")), columns=3)
        figure.savefig(path, metadata={"Date": None})
    return path


def _saved(figure: Drawing, path: Path) -> Path:
    figure.savefig(path, dpi=110)
    return path


def _figure(width: float, height: float) -> Drawing:
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415

    return Canvas(figsize=(width, height), layout="constrained")


def _ratios(area: str, rows: list[ResultRow]) -> Drawing:
    figure = _figure(11, 1.3 + 0.24 * len(rows))
    ax = figure.subplots()
    for place, row in enumerate(rows):
        if row.ratio is None:
            continue
        value, low, high = (
            min(max(item, WIDEST[0]), WIDEST[1]) for item in (row.ratio.value, row.ratio.low, row.ratio.high)
        )
        colour = COLOURS.get(row.verdict, "#6b7280")
        ax.plot([low, high], [place, place], color=colour, linewidth=2, solid_capstyle="butt")
        ax.plot([value], [place], "o", color=colour, markersize=5)
    ax.axvline(1.0, color="#111827", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_yticks(range(len(rows)), [_label(row) for row in rows], fontsize=8)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.grid(axis="x", color="#e5e7eb", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.set_xlabel("dither / peer (left of one: dither is lower)")
    ax.set_title(f"{area}: ratios with their intervals", loc="left", fontsize=11)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    handles = [ax.plot([], [], "o-", color=colour, label=name)[0] for name, colour in COLOURS.items()]
    figure.legend(handles=handles, loc="outside lower right", ncols=3, fontsize=8, frameon=False)
    return figure


def _label(row: ResultRow) -> str:
    name = row.key.split("/", 1)[1]
    return name if len(name) < 75 else name[:72] + "..."


def _growth(rows: list[ResultRow], columns: int | None = None) -> Drawing:
    names = list(dict.fromkeys(row.series or "" for row in rows))
    columns = columns or len(names)
    lines_of_panels = -(-len(names) // columns)
    figure = _figure(5.5 * columns, 4.2 * lines_of_panels)
    panels = figure.subplots(lines_of_panels, columns, squeeze=False).ravel()
    for ax in panels[len(names) :]:
        ax.set_axis_off()
    for ax, name in zip(panels, names, strict=False):
        members = [row for row in rows if row.series == name]
        lines: dict[str, dict[int, Figure]] = {"dither": {}}
        for row in members:
            if row.size is None:
                continue
            if row.ours is not None:
                lines["dither"][row.size] = row.ours
            if row.theirs is not None:
                lines.setdefault(row.peer, {})[row.size] = row.theirs
        for label, points in lines.items():
            sizes = sorted(points)
            values = [points[size] for size in sizes]
            bars = [
                [max(0.0, value.value - value.low) for value in values],
                [max(0.0, value.high - value.value) if math.isfinite(value.high) else 0.0 for value in values],
            ]
            ax.errorbar(
                sizes, [value.value for value in values], yerr=bars, marker="o", markersize=4, capsize=2, label=label
            )
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_title(name, fontsize=10, loc="left")
        ax.set_xlabel("size")
        ax.set_ylabel("seconds (each, where a row says so)")
        ax.grid(color="#e5e7eb", linewidth=0.7)
        ax.legend(fontsize=8, frameon=False)
    return figure
