"""Draws the curves of docs/pictures/curves.json as small SVG files that suit light and dark pages."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import matplotlib as mpl
from coverage_page import spaced
from curves import PICTURES, kept
from matplotlib.figure import Figure

COLOURS = ("#3b82c4", "#e08a1e", "#5aa469", "#b56576", "#8a7bc8", "#2a9d8f")
INK = "#808080"
"""Readable on white and on black."""


def main() -> None:
    """Draw all of them."""
    # The same bytes every time, and texts as texts.
    mpl.rcParams.update(
        {"svg.hashsalt": "dither", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 11}
    )
    for name, curve in kept().items():
        figure = Figure(figsize=(6.4, 3.4))
        _curves(figure.add_subplot(), curve)
        _save(figure, name)
    figure = Figure(figsize=(6.4, 3.4))
    _suspicion(figure.add_subplot())
    _save(figure, "suspicion")
    figure = Figure(figsize=(7.4, 5.6))
    _structures(figure.add_axes((0, 0, 1, 1)))
    figure.savefig(PICTURES / "structures.svg", transparent=True, metadata={"Date": None, "Creator": None})


def _save(figure: Figure, name: str) -> None:
    figure.tight_layout()
    figure.savefig(PICTURES / f"{name}.svg", transparent=True, metadata={"Date": None, "Creator": None})


def _curves(ax: Any, curve: dict[str, Any]) -> None:
    mark = "o" if len(curve["x"]) < 20 else ""
    lines = curve["lines"]
    for colour, (label, errors) in zip(COLOURS[: len(lines)], lines.items(), strict=True):
        points = [(x, y) for x, y in zip(curve["x"], errors, strict=True) if y is not None]
        # What is no way to answer, but a measure: noise for the worst data, and noise that is not private.
        dashed = label.startswith("worst") or label.endswith("not private")
        style, shade = (f"{mark}--", INK) if dashed else (f"{mark}-", colour)
        ax.plot(*zip(*points, strict=True), style, color=shade, ms=4, label=label)
    across, up = curve.get("scales", "log log").split()
    ax.set_xscale(across)
    ax.set_yscale(up)
    ax.set_xlabel(curve["xlabel"])
    ax.set_ylabel(curve["ylabel"])
    _plain(ax)


def _suspicion(ax: Any) -> None:
    """What somebody may believe after an answer, against what they believed before (DMNS06, Appendix A)."""
    before = [k / 50 for k in range(51)]
    for colour, epsilon in zip(COLOURS, (0.1, 0.5, 1.0, 3.0), strict=False):
        most = [b * math.exp(epsilon) / (1 - b + b * math.exp(epsilon)) for b in before]
        least = [b / (b + (1 - b) * math.exp(epsilon)) for b in before]
        ax.fill_between(before, least, most, color=colour, alpha=0.18, lw=0)
        ax.plot(before, most, color=colour, label=f"epsilon {epsilon:g}")
        ax.plot(before, least, color=colour)
    ax.plot([0, 1], [0, 1], color=INK, ls="--", lw=1)
    ax.set_xlabel("belief about a person before the answer")
    ax.set_ylabel("after it, at most and at least")
    _plain(ax)
    ax.legend(frameon=False, labelcolor=INK, fontsize=10, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _structures(ax: Any) -> None:
    """Which structure of a statistic serves which mechanism, from the registry."""
    from dither.mechanisms.choice import MECHANISMS

    needs = {name: made.needs for name, made in MECHANISMS.items()}
    structures = list(dict.fromkeys(need for listed in needs.values() for need in listed))
    left = {need: 1 - (k + 0.5) / len(structures) for k, need in enumerate(structures)}
    right = {name: 1 - (k + 0.5) / len(needs) for k, name in enumerate(needs)}
    ax.set_axis_off()
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    for k, (need, height) in enumerate(left.items()):
        colour = COLOURS[k % len(COLOURS)]
        ax.text(0.33, height, spaced(need.__name__), ha="right", va="center", color=INK, fontsize=12)
        for name, listed in needs.items():
            if need in listed:
                ax.plot([0.35, 0.65], [height, right[name]], color=colour, lw=1.6, solid_capstyle="round")
        ax.plot([0.35], [height], "o", color=colour, ms=6)
    for name, height in right.items():
        ax.plot([0.65], [height], "o", color=INK, ms=4)
        ax.text(0.67, height, name, ha="left", va="center", color=INK, fontsize=12, family="monospace")


def _plain(ax: Any) -> None:
    ax.minorticks_off()
    ax.grid(alpha=0.3, color=INK)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("bottom", "left"):
        ax.spines[side].set_color(INK)
    ax.tick_params(colors=INK, which="both")
    ax.xaxis.label.set_color(INK)
    ax.yaxis.label.set_color(INK)
    ax.legend(frameon=False, labelcolor=INK, fontsize=10)


if __name__ == "__main__":
    main()
