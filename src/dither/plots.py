"""Pictures of releases.  Only released numbers are drawn."""

from __future__ import annotations

import datetime
import sys
import textwrap
from typing import TYPE_CHECKING, cast

from dither.errors import InvalidArgument

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    from dither.release import Release, Released

    class Drawn(Axes):
        """Axes of a whole figure, so that ``plot().figure.savefig(path)`` saves it."""

        @property
        def figure(self) -> Figure: ...


ACCENT = "#3b6fb6"
INK = "#333333"
PYPLOT = "matplotlib.pyplot"
LONG_NAME = 14
"""Categories with longer names stand beside lying bars."""
MOST_LABELS, MOST_WHISKERS = 12, 60
MANY = 10_000_000


def plot_release(release: Release, ax: Axes | None = None) -> Drawn:
    """One answer as a dot with its interval, several below each other, a histogram as bars."""
    title = f"{release.title} ({release.loss})"
    if release.value is None or isinstance(release.value, str):
        ax = _axes(ax, height=1.9)
        text = release.value or "\n".join(["refused", *textwrap.wrap(release.reason or "", 80)])
        size = 18 if release.value else 11
        ax.text(0.0, 0.5, text, ha="left", va="center", transform=ax.transAxes, color=ACCENT, fontsize=size)
        ax.set_axis_off()
    elif "histogram of" in release.query or release.query == "histogram":
        ax = _axes(ax, height=4.0)
        draw_histogram(ax, release)
    elif isinstance(release.value, tuple) and isinstance(release.value[0], tuple):
        ax = _axes(ax, height=5.0)
        draw_points(ax, release)
    elif isinstance(release.value, tuple):
        rows = release.shown_rows()
        ax = _axes(ax, height=1.2 + 0.4 * len(rows))
        draw_rows(
            ax, [value for _, value, _ in rows], [interval for *_, interval in rows], [label for label, *_ in rows]
        )
    else:
        ax = _axes(ax, height=1.9)
        draw_rows(ax, [release.value], [release.interval], [""])
        title = str(release)
    ax.set_title(_wrapped(title), fontsize=11, loc="left")
    ax.figure.tight_layout()
    return ax


def plot_releases(releases: list[Release], labels: list[str], title: str, ax: Axes | None = None) -> Drawn:
    """Several answers below each other, on one axis; answers of several numbers take a row for each."""
    names, values, intervals = _rows(releases, labels)
    ax = _axes(ax, height=_height(names))
    draw_rows(ax, values, intervals, names)
    ax.set_title(_wrapped(title), fontsize=11, loc="left")
    ax.figure.tight_layout()
    return ax


def plot_questions(questions: list[tuple[str, list[Release], list[str]]]) -> Drawn:
    """A panel for each question, with its own scale: (title, answers, labels); returns the axes of the first."""
    rows = [_rows(releases, labels) for _, releases, labels in questions]
    heights = [_height(names) for names, *_ in rows]
    panels = _figure(sum(heights)).subplots(len(questions), 1, squeeze=False, height_ratios=heights)[:, 0]
    for ax, (title, *_), (names, values, intervals) in zip(panels, questions, rows, strict=True):
        draw_rows(ax, values, intervals, names)
        ax.set_title(_wrapped(title), fontsize=11, loc="left")
    first: Drawn = panels[0]
    first.figure.tight_layout()
    return first


def _rows(releases: list[Release], labels: list[str]) -> tuple[list[str], list[Released], list[Released]]:
    names, values, intervals = [], [], []
    for release, label in zip(releases, labels, strict=True):
        for name, value, interval in release.shown_rows():
            text = f"{label}: {name}" if isinstance(release.value, tuple) else label
            names.append(f"{text}: {value}" if isinstance(value, str) else text)
            values.append(None if isinstance(value, str) else value)
            intervals.append(interval)
    return names, values, intervals


def _height(names: list[str]) -> float:
    return 1.2 + (0.45 if len(names) <= 40 else 0.22) * len(names)


def _wrapped(title: str) -> str:
    return "\n".join(textwrap.wrap(title, 85))


def draw_rows(ax: Axes, values: list[Released], intervals: list[Released], labels: list[str]) -> None:
    """A row for each answer: its interval as a line, its value as a dot."""
    for row, (value, interval) in enumerate(zip(values, intervals, strict=True)):
        if interval is not None:
            ax.plot(interval, [row, row], color=ACCENT, lw=6, alpha=0.35, solid_capstyle="round")
        if value is not None:
            ax.plot([value], [row], "o", color=ACCENT, ms=8)
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    if any(isinstance(value, datetime.date) for value in values):
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter  # noqa: PLC0415  (slow to load)

        places = AutoDateLocator(minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(places)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(places))  # type: ignore[no-untyped-call]
    else:
        ax.xaxis.set_major_locator(_few_ticks())
        ax.xaxis.set_major_formatter(lambda x, _: _tick(x))
    ax.margins(x=0.08)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", alpha=0.25)


def draw_points(ax: Axes, release: Release) -> None:
    """Points by their first two numbers, each with its intervals as a cross."""
    for label, point, interval in release.rows():
        x, y = point[0], point[1] if len(point) > 1 else 0.0
        if interval is not None:
            ax.plot([interval[0][0], interval[1][0]], [y, y], color=ACCENT, lw=3, alpha=0.35)
            if len(interval[0]) > 1:
                ax.plot([x, x], [interval[0][1], interval[1][1]], color=ACCENT, lw=3, alpha=0.35)
        ax.plot([x], [y], "o", color=ACCENT, ms=6)
        ax.annotate(label, (x, y), xytext=(6, 6), textcoords="offset points", fontsize=9)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.margins(0.2)
    ax.grid(alpha=0.25)


def draw_histogram(ax: Axes, release: Release) -> None:
    """Noisy counts as bars with their intervals: upright for bins of numbers, lying for categories with long names."""
    rows = release.shown_rows()
    labels, counts, intervals = [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]
    if any(len(label) > LONG_NAME for label in labels) and not all(" to " in label for label in labels):
        return _draw_lying(ax, labels, counts, intervals)
    places = range(len(rows))
    ax.bar(places, counts, color=ACCENT, alpha=0.8, width=0.9)
    if intervals[0] is not None and len(rows) <= MOST_WHISKERS:
        ax.errorbar(places, counts, yerr=_whiskers(counts, intervals), fmt="none", ecolor=INK, elinewidth=1, capsize=2)
    every = -(-len(rows) // MOST_LABELS)
    ax.set_xticks(list(places)[::every], labels[::every], rotation=30, ha="right", rotation_mode="anchor")
    ax.yaxis.set_major_formatter(lambda y, _: _tick(y))
    ax.set_ylabel("records")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(axis="y", alpha=0.25)
    return None


def _draw_lying(ax: Axes, labels: list[str], counts: list[float], intervals: list[tuple[float, float]]) -> None:
    places = range(len(labels))
    ax.barh(places, counts, color=ACCENT, alpha=0.8, height=0.8)
    if intervals[0] is not None and len(labels) <= MOST_WHISKERS:
        ax.errorbar(counts, places, xerr=_whiskers(counts, intervals), fmt="none", ecolor=INK, elinewidth=1, capsize=2)
    ax.set_yticks(places, ["\n".join(textwrap.wrap(label, 28)) for label in labels])
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(lambda x, _: _tick(x))
    ax.set_xlabel("records")
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", alpha=0.25)


def _whiskers(counts: list[float], intervals: list[tuple[float, float]]) -> list[list[float]]:
    pairs = list(zip(counts, intervals, strict=True))
    return [[count - interval[0] for count, interval in pairs], [interval[1] - count for count, interval in pairs]]


def _tick(x: float) -> str:
    """A number on an axis: millions and more are counted in millions."""
    return f"{x / 1e6:,.6g} M" if abs(x) >= MANY else f"{x:,.6g}"


def _few_ticks() -> MaxNLocator:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  (slow to load)

    return MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10])


def _axes(ax: Axes | None, height: float) -> Drawn:
    if ax is not None:
        if not hasattr(ax, "set_yticks"):
            raise InvalidArgument("ax", ax, "must be matplotlib axes; plot().figure.savefig(path) saves")
        return cast("Drawn", ax)
    return cast("Drawn", _figure(height).add_subplot())


def _figure(height: float) -> Figure:
    if PYPLOT in sys.modules or "ipykernel" in sys.modules:
        # Notebooks, and scripts that call plt.show() or plt.savefig(), only see figures that pyplot made.
        import matplotlib.pyplot as plt  # noqa: PLC0415  (slow to load)

        return plt.figure(figsize=(7.5, height), dpi=130)
    from matplotlib.figure import Figure  # noqa: PLC0415  (slow to load)

    return Figure(figsize=(7.5, height), dpi=130)
