"""The result of a question: the answer, its error bar and its price.  Nothing in it is private any more."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from dither.privacy import Loss, Neighbours

Number = int | float


@dataclass(frozen=True)
class Release:
    """A private answer.

    ``interval`` covers the statistic of the (clamped) records with probability ``confidence``; ``loss`` is all
    that was spent, error bar included; ``missing`` is the public value that missing records count as.
    """

    value: Number | None
    interval: tuple[Number, Number] | None
    confidence: float | None
    loss: Loss
    neighbours: Neighbours
    query: str
    calibration: str
    noise: str
    missing: Number | None = None

    @property
    def refused(self) -> bool:
        """True if the mechanism declined to answer; that is a result, and it was paid for."""
        return self.value is None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the keys are stable and documented in docs/release.md."""
        return {
            "query": self.query,
            "value": self.value,
            "refused": self.refused,
            "interval": None if self.interval is None else list(self.interval),
            "confidence": self.confidence,
            "epsilon": self.loss.epsilon,
            "delta": self.loss.delta,
            "neighbours": str(self.neighbours),
            "calibration": self.calibration,
            "noise": self.noise,
            "missing": self.missing,
        }

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.query}: refused ({self.loss})"
        bar = ""
        if self.interval is not None and self.confidence is not None:
            low, high = (shown(end) for end in self.interval)
            bar = f", {self.confidence:.0%} between {low} and {high}"
        return f"{self.query} = {shown(self.value)}{bar} ({self.loss})"

    def __repr__(self) -> str:
        note = "" if self.missing is None else f"; missing values count as {shown(self.missing)}"
        return f"<Release {self}, {self.calibration}{note}>"

    def _repr_html_(self) -> str:
        bar = ""
        if self.interval is not None and self.confidence is not None:
            low, high = (shown(end) for end in self.interval)
            bar = f"<br>{self.confidence:.0%} between {low} and {high}"
        value = "refused" if self.value is None else shown(self.value)
        return (
            f"<div><b>{html.escape(self.query)}</b> = <b>{value}</b>{bar}"
            f"<br><small>price {html.escape(str(self.loss))}; {html.escape(self.calibration)}</small></div>"
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the answer with its error bar; returns the matplotlib axes."""
        from dither.plots import plot_release  # noqa: PLC0415  (matplotlib is slow to load)

        return plot_release(self, ax)


def shown(number: Number) -> str:
    """A number with as many digits as people read."""
    if isinstance(number, int):
        return f"{number:,}"
    return f"{number:,.2f}" if abs(number) >= 1000 else f"{number:.6g}"
