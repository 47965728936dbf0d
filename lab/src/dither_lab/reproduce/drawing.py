"""How plots look: light, few colours that colour-blind readers can tell apart, intervals drawn, words beside lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from dither_lab.reproduce.experiment import MeasuredPoints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#3b6fb6", "#d1632a", "#3a8f5c", "#8a5aa8", "#b8893b", "#5b6770", "#c2476f", "#2f9aa8", "#7a4b2b", "#9fb23a")
MARKERS = "osD^vPX*hp"
PAPER = {"linestyle": (0, (4, 2)), "linewidth": 1.4}
"""What a paper says is dashed."""


def figure() -> Figure:
    """An empty figure."""
    from matplotlib.figure import Figure  # noqa: PLC0415  (slow to load)

    return Figure(figsize=(7.2, 4.4), dpi=140, layout="constrained")


def picture(figure: Figure) -> bytes:
    """As PNG."""
    stream = BytesIO()
    figure.savefig(stream, format="png", facecolor="white")
    return stream.getvalue()


def panels(figure: Figure, titles: Sequence[str], *, height: float = 3.7, columns: int = 2) -> list[Any]:
    """Axes side by side, with titles."""
    columns = min(columns, len(titles))
    rows = -(-len(titles) // columns)
    figure.set_size_inches(7.2 if columns == 1 else 4.6 * columns, height * rows + 0.2)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, title in zip(grid, titles, strict=False):
        ax.set_title(title, fontsize=10.5, loc="left")
    for ax in grid[len(titles) :]:
        ax.set_axis_off()
    return list(grid[: len(titles)])


def lines(
    ax: Any,
    points: MeasuredPoints,
    quantity: str,
    *,
    dashed: Iterable[str] = (),
    order: Sequence[str] = (),
    wide: Iterable[str] = (),
) -> None:
    """A line with error bars for each series of a quantity; those of ``dashed`` are a paper's words, not measured.

    ``order``: names by whose place colours and markers are chosen, so that several panels can share a legend.
    ``wide``: series that others lie on, drawn broad and with open markers.
    """
    for place, name in enumerate(points.series(quantity)):
        index = order.index(name) if name in order else place
        chosen = points.of(quantity, name)
        ys = chosen.ys
        bars = np.array([[max(p.y.value - p.y.low, 0), max(p.y.high - p.y.value, 0)] for p in chosen]).T
        # Lines drawn earlier are thicker, so that those that lie on each other are all seen.
        style: dict[str, Any] = {"linewidth": max(1.3, 2.6 - 0.25 * index), "markersize": max(4.0, 6.4 - 0.5 * index)}
        style["marker"] = MARKERS[index % len(MARKERS)]
        if name in dashed:
            style.update(PAPER, marker="")
        if name in wide:
            style.update(linewidth=6.0, alpha=0.45, markersize=11.0, markerfacecolor="none", zorder=1)
        colour = COLOURS[index % len(COLOURS)]
        ax.errorbar(chosen.xs, ys, yerr=bars, color=colour, label=name, capsize=2, elinewidth=0.9, **style)


def finish(ax: Any, x: str, y: str, *, log: str = "", legend: bool = True, most: int = 8) -> None:
    """Axes labelled, scales set, spines light."""
    for name in log:
        _logarithmic(ax, name)
    ax.set_xlabel(x, fontsize=9.5)
    ax.set_ylabel(y, fontsize=9.5)
    ax.tick_params(labelsize=8.5)
    ax.grid(visible=True, which="major", color="#e4e7ea", linewidth=0.7)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if legend and ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=8 if len(ax.get_legend_handles_labels()[0]) <= most else 7, frameon=False)


def _logarithmic(ax: Any, name: str) -> None:
    """A logarithmic axis with plain numbers where they are short."""
    from matplotlib.ticker import FuncFormatter, LogFormatterSciNotation, NullFormatter  # noqa: PLC0415

    (ax.set_xscale if name == "x" else ax.set_yscale)("log")
    axis, (low, high) = (ax.xaxis, ax.get_xlim()) if name == "x" else (ax.yaxis, ax.get_ylim())
    plain = FuncFormatter(lambda value, _: _plain(value))
    short = low > 5e-4 and high < 2e6
    axis.set_major_formatter(plain if short else LogFormatterSciNotation())
    axis.set_minor_formatter(
        FuncFormatter(lambda value, _: _plain(value) if str(f"{value:e}")[0] in "25" else "")
        if short and high / low < 30
        else NullFormatter()
    )
    axis.set_tick_params(which="minor", labelsize=7.5)


def whole(ax: Any) -> None:
    """Ticks at whole numbers of x only."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _plain(value: float) -> str:
    """Without a power of ten."""
    return f"{value:,.0f}" if value >= 1 and math.isclose(value, round(value)) else f"{value:g}"


def shared_legend(figure: Figure, ax: Any, *, columns: int = 3) -> None:
    """One legend below all panels."""
    figure.legend(
        *ax.get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize=8.5, frameon=False
    )


def joint_legend(figure: Figure, axes: Iterable[Any], *, columns: int = 3) -> None:
    """One legend below all panels for series that are not in every one of them."""
    named: dict[str, Any] = {}
    for ax in axes:
        named.update({label: handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)})
    handles: Any = list(named.values())
    figure.legend(handles, list(named), loc="outside lower center", ncols=columns, fontsize=8.5, frameon=False)


def bars(ax: Any, points: MeasuredPoints, quantity: str, *, x: str, log: bool = False) -> None:
    """One bar for each series of a quantity, with its value beside it."""
    from dither_lab.reproduce.intervals import short  # noqa: PLC0415

    chosen = [points.of(quantity, name)[0] for name in points.series(quantity)]
    places = np.arange(len(chosen))[::-1]
    ax.barh(places, [p.y.value for p in chosen], color=COLOURS[0], height=0.6)
    for place, point in zip(places, chosen, strict=True):
        ax.annotate(
            f" {short(point.y.value)}", (point.y.value, place), va="center", fontsize=8.5, annotation_clip=False
        )
    ax.set_yticks(places, [p.series for p in chosen], fontsize=8.5)
    ax.margins(x=0.15)
    positive = all(p.y.value > 0 for p in chosen)
    finish(ax, x, "", log="x" if log and positive else "", legend=False)
