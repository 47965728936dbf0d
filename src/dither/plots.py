"""Pictures of releases.  Only released numbers are drawn."""

from __future__ import annotations

import datetime
import sys
import textwrap
from typing import TYPE_CHECKING, Any

from dither.errors import InvalidArgument

if TYPE_CHECKING:
    from dither.release import Release

ACCENT = "#3b6fb6"
PYPLOT = "matplotlib.pyplot"


def plot_release(release: Release, ax: Any = None) -> Any:
    """One answer as a dot with its error bar, several below each other, a histogram as bars."""
    title = f"{release.title} ({release.loss})"
    if release.value is None or isinstance(release.value, str):
        ax = _axes(ax, height=1.9)
        ax.text(0.5, 0.5, release.value or "refused", ha="center", va="center", transform=ax.transAxes)
        ax.set_axis_off()
    elif "histogram of" in release.query or release.query == "histogram":
        ax = _axes(ax, height=4.0)
        draw_histogram(ax, release)
    elif isinstance(release.value, tuple) and isinstance(release.value[0], tuple):
        ax = _axes(ax, height=5.0)
        draw_points(ax, release)
    elif isinstance(release.value, tuple):
        rows = release.rows()
        ax = _axes(ax, height=1.2 + 0.4 * len(rows))
        draw_rows(ax, [value for _, value, _ in rows], [bar for *_, bar in rows], [label for label, *_ in rows])
    else:
        ax = _axes(ax, height=1.9)
        draw_rows(ax, [release.value], [release.interval], [""])
        title = str(release)
    ax.set_title(_wrapped(title), fontsize=11, loc="left")
    ax.figure.tight_layout()
    return ax


def plot_releases(releases: list[Release], labels: list[str], title: str, ax: Any = None) -> Any:
    """Several answers below each other, on one axis; answers of several numbers take a row for each."""
    names, values, bars = _rows(releases, labels)
    ax = _axes(ax, height=_height(names))
    draw_rows(ax, values, bars, names)
    ax.set_title(_wrapped(title), fontsize=11, loc="left")
    ax.figure.tight_layout()
    return ax


def plot_questions(questions: list[tuple[str, list[Release], list[str]]]) -> Any:
    """A panel for each question, with its own scale: (title, answers, labels); returns the axes of the first."""
    rows = [_rows(releases, labels) for _, releases, labels in questions]
    heights = [_height(names) for names, *_ in rows]
    panels = _figure(sum(heights)).subplots(len(questions), 1, squeeze=False, height_ratios=heights)[:, 0]
    for ax, (title, *_), (names, values, bars) in zip(panels, questions, rows, strict=True):
        draw_rows(ax, values, bars, names)
        ax.set_title(_wrapped(title), fontsize=11, loc="left")
    panels[0].figure.tight_layout()
    return panels[0]


def _rows(releases: list[Release], labels: list[str]) -> tuple[list[str], list[Any], list[Any]]:
    names, values, bars = [], [], []
    for release, label in zip(releases, labels, strict=True):
        for name, value, bar in release.rows():
            text = f"{label}: {name}" if isinstance(release.value, tuple) else label
            names.append(f"{text}: {value}" if isinstance(value, str) else text)
            values.append(None if isinstance(value, str) else value)
            bars.append(bar)
    return names, values, bars


def _height(names: list[str]) -> float:
    return 1.2 + (0.45 if len(names) <= 40 else 0.22) * len(names)


def _wrapped(title: str) -> str:
    return "\n".join(textwrap.wrap(title, 85))


def draw_rows(ax: Any, values: list[Any], bars: list[Any], labels: list[str]) -> None:
    """A row for each answer: its error bar as a line, its value as a dot."""
    for row, (value, bar) in enumerate(zip(values, bars, strict=True)):
        if bar is not None:
            ax.plot(bar, [row, row], color=ACCENT, lw=6, alpha=0.35, solid_capstyle="round")
        if value is not None:
            ax.plot([value], [row], "o", color=ACCENT, ms=8)
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    if not any(isinstance(value, datetime.date) for value in values):
        ax.xaxis.set_major_formatter(lambda x, _: f"{x:,.6g}")
    ax.margins(x=0.08)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", alpha=0.25)


def draw_points(ax: Any, release: Release) -> None:
    """Points by their first two numbers, each with its error bars as a cross."""
    for label, point, bar in release.rows():
        x, y = point[0], point[1] if len(point) > 1 else 0.0
        if bar is not None:
            ax.plot([bar[0][0], bar[1][0]], [y, y], color=ACCENT, lw=3, alpha=0.35)
            if len(bar[0]) > 1:
                ax.plot([x, x], [bar[0][1], bar[1][1]], color=ACCENT, lw=3, alpha=0.35)
        ax.plot([x], [y], "o", color=ACCENT, ms=6)
        ax.annotate(label, (x, y), xytext=(6, 6), textcoords="offset points", fontsize=9)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.margins(0.15)
    ax.grid(alpha=0.25)


def draw_histogram(ax: Any, release: Release) -> None:
    """Noisy counts as bars with their error bars; long label lists are thinned."""
    rows = release.rows()
    places = range(len(rows))
    counts = [value for _, value, _ in rows]
    ax.bar(places, counts, color=ACCENT, alpha=0.8, width=0.9)
    if rows[0][2] is not None and len(rows) <= 60:
        low = [value - bar[0] for _, value, bar in rows]
        high = [bar[1] - value for _, value, bar in rows]
        ax.errorbar(places, counts, yerr=[low, high], fmt="none", ecolor="#333333", elinewidth=1, capsize=2)
    every = max(1, len(rows) // 12)
    ax.set_xticks(list(places)[::every], [label for label, *_ in rows][::every], rotation=30, ha="right")
    ax.yaxis.set_major_formatter(lambda y, _: f"{y:,.6g}")
    ax.set_ylabel("records")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(axis="y", alpha=0.25)


def _axes(ax: Any, height: float) -> Any:
    if ax is not None:
        if not hasattr(ax, "set_yticks"):
            raise InvalidArgument("ax", ax, "matplotlib axes are accepted; plot().figure.savefig(path) saves")
        return ax
    return _figure(height).add_subplot()


def _figure(height: float) -> Any:
    if PYPLOT in sys.modules or "ipykernel" in sys.modules:
        # Notebooks, and scripts that call plt.show() or plt.savefig(), only see figures that pyplot made.
        import matplotlib.pyplot as plt  # noqa: PLC0415  (slow to load)

        return plt.figure(figsize=(7.5, height), dpi=130)
    from matplotlib.figure import Figure  # noqa: PLC0415  (slow to load)

    return Figure(figsize=(7.5, height), dpi=130)
