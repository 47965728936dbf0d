"""Pictures of releases.  Only released numbers are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dither.release import Release

ACCENT = "#3b6fb6"


def plot_release(release: Release, ax: Any = None) -> Any:
    """One answer as a dot with its error bar."""
    ax = _axes(ax, height=1.9)
    if release.value is None:
        ax.text(0.5, 0.5, "refused", ha="center", va="center", transform=ax.transAxes)
        return ax
    draw_bars(ax, [release], [release.query])
    ax.set_title(f"{release.query}: {_digits(release.value)}   (price: {release.loss})", fontsize=11, loc="left")
    ax.figure.tight_layout()
    return ax


def plot_releases(releases: list[Release], labels: list[str], title: str, ax: Any = None) -> Any:
    """Several answers below each other, on one axis."""
    ax = _axes(ax, height=1.2 + 0.45 * len(releases))
    draw_bars(ax, releases, labels)
    ax.set_title(title, fontsize=11, loc="left")
    ax.figure.tight_layout()
    return ax


def draw_bars(ax: Any, releases: list[Release], labels: list[str]) -> None:
    """A row for each release: its error bar as a line, its answer as a dot."""
    for row, release in enumerate(releases):
        if release.interval is not None:
            ax.plot(release.interval, [row, row], color=ACCENT, lw=6, alpha=0.35, solid_capstyle="round")
        if release.value is not None:
            ax.plot([release.value], [row], "o", color=ACCENT, ms=8)
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:,.6g}")
    ax.margins(x=0.08)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", alpha=0.25)


def _axes(ax: Any, height: float) -> Any:
    if ax is not None:
        return ax
    from matplotlib.figure import Figure  # noqa: PLC0415  (slow to load)

    figure = Figure(figsize=(7.5, height), dpi=130)
    return figure.add_subplot()


def _digits(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
