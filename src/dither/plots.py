"""Pictures of releases.  Only released numbers are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dither.release import Release

ACCENT = "#3b6fb6"


def plot_release(release: Release, ax: Any = None) -> Any:
    """One answer as a dot with its error bar, several below each other, a histogram as bars."""
    given, ax = ax, _axes(ax, height=1.9)
    if release.value is None or isinstance(release.value, str):
        ax.text(0.5, 0.5, release.value or "refused", ha="center", va="center", transform=ax.transAxes)
        ax.set_title(f"{release.query}   (price: {release.loss})", fontsize=11, loc="left")
        ax.set_axis_off()
        return ax
    if release.query.startswith("histogram"):
        ax = _axes(given, height=4.0)
        draw_histogram(ax, release)
        ax.set_title(f"{release.query}   (price: {release.loss})", fontsize=11, loc="left")
    elif isinstance(release.value, tuple) and isinstance(release.value[0], tuple):
        ax = _axes(given, height=5.0)
        draw_points(ax, release)
        ax.set_title(f"{release.query}   (price: {release.loss})", fontsize=11, loc="left")
    elif isinstance(release.value, tuple):
        rows = release.rows()
        ax = _axes(given, height=1.2 + 0.4 * len(rows))
        draw_rows(ax, [value for _, value, _ in rows], [bar for *_, bar in rows], [label for label, *_ in rows])
        ax.set_title(f"{release.query}   (price: {release.loss})", fontsize=11, loc="left")
    else:
        draw_rows(ax, [release.value], [release.interval], [""])
        ax.set_title(f"{release.query}: {_digits(release.value)}   (price: {release.loss})", fontsize=11, loc="left")
    ax.figure.tight_layout()
    return ax


def plot_releases(releases: list[Release], labels: list[str], title: str, ax: Any = None) -> Any:
    """Several answers below each other, on one axis."""
    ax = _axes(ax, height=1.2 + 0.45 * len(releases))
    draw_rows(ax, [r.value for r in releases], [r.interval for r in releases], labels)
    ax.set_title(title, fontsize=11, loc="left")
    ax.figure.tight_layout()
    return ax


def draw_rows(ax: Any, values: list[Any], bars: list[Any], labels: list[str]) -> None:
    """A row for each answer: its error bar as a line, its value as a dot."""
    for row, (value, bar) in enumerate(zip(values, bars, strict=True)):
        if bar is not None:
            ax.plot(bar, [row, row], color=ACCENT, lw=6, alpha=0.35, solid_capstyle="round")
        if value is not None:
            ax.plot([value], [row], "o", color=ACCENT, ms=8)
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
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
        return ax
    from matplotlib.figure import Figure  # noqa: PLC0415  (slow to load)

    figure = Figure(figsize=(7.5, height), dpi=130)
    return figure.add_subplot()


def _digits(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
