"""Draws the curves of docs/pictures/curves.json as small SVG files that suit light and dark pages."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import matplotlib as mpl
from curves import PICTURES, kept
from matplotlib.figure import Figure

COLOURS = ("#3b82c4", "#e08a1e", "#5aa469", "#b56576")
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


def _save(figure: Figure, name: str) -> None:
    figure.tight_layout()
    figure.savefig(PICTURES / f"{name}.svg", transparent=True, metadata={"Date": None, "Creator": None})


def _curves(ax: Any, curve: dict[str, Any]) -> None:
    for colour, (label, errors) in zip(COLOURS, curve["lines"].items(), strict=False):
        points = [(x, y) for x, y in zip(curve["x"], errors, strict=True) if y is not None]
        worst = label.startswith("worst")
        ax.plot(*zip(*points, strict=True), "o--" if worst else "o-", color=INK if worst else colour, ms=4, label=label)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(curve["xlabel"])
    ax.set_ylabel(curve["ylabel"])
    _plain(ax)


def _suspicion(ax: Any) -> None:
    """What somebody may believe after an answer, against what they believed before (DMNS06, Appendix A)."""
    before = [k / 50 for k in range(51)]
    for colour, epsilon in zip(COLOURS, (0.1, 0.5, 1.0, 3.0), strict=True):
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
