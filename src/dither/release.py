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

    value: Any
    interval: Any
    confidence: float | None
    loss: Loss
    neighbours: Neighbours
    query: str
    calibration: str
    noise: str
    missing: Any = None
    labels: tuple[str, ...] | None = None
    """Names of the values where there are several: ``value`` and ``interval`` are then tuples."""
    reason: str | None = None
    """Why there is no answer, in public terms: which test did not pass."""

    @property
    def refused(self) -> bool:
        """True if the mechanism declined to answer; that is a result, and it was paid for."""
        return self.value is None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the keys are stable and documented in docs/release.md."""
        return {
            "query": self.query,
            "value": list(self.value) if isinstance(self.value, tuple) else self.value,
            "refused": self.refused,
            "interval": _listed(self.interval),
            "confidence": self.confidence,
            "epsilon": self.loss.epsilon,
            "delta": self.loss.delta,
            "neighbours": str(self.neighbours),
            "calibration": self.calibration,
            "noise": self.noise,
            "missing": _listed(self.missing),
            "labels": _listed(self.labels),
            "reason": self.reason,
        }

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.query}: refused ({self.loss}, paid){'' if self.reason is None else f'; {self.reason}'}"
        return f"{self.query} = {self._answer()}{self._bar()} ({self.loss})"

    def _answer(self) -> str:
        if not isinstance(self.value, tuple):
            return shown(self.value)
        few = ", ".join(shown(one) for one in self.value[:6])
        return f"[{few}{', ...' if len(self.value) > 6 else ''}]"

    def _bar(self) -> str:
        if self.interval is None or self.confidence is None:
            return ""
        if isinstance(self.value, tuple):
            return f", each with a {self.confidence:.0%} bar"
        low, high = (shown(end) for end in self.interval)
        return f", {self.confidence:.0%} between {low} and {high}"

    def __repr__(self) -> str:
        note = "" if self.missing is None else f"; missing values count as {shown_all(self.missing)}"
        return f"<Release {self}, {self.calibration}{note}>"

    def rows(self) -> list[tuple[str, Any, Any]]:
        """(label, value, interval) for each value; one row for a single answer."""
        if not isinstance(self.value, tuple):
            return [(self.query, self.value, self.interval)]
        labels = self.labels or tuple(str(index + 1) for index in range(len(self.value)))
        return list(zip(labels, self.value, self.interval or (None,) * len(self.value), strict=True))

    def _repr_html_(self) -> str:
        price = f"<br><small>price {html.escape(str(self.loss))}; {html.escape(self.calibration)}</small>"
        if isinstance(self.value, tuple):
            body = "".join(
                f"<tr><td>{html.escape(label)}</td><td>{shown(value)}</td>"
                f"<td>{'' if bar is None else f'{shown(bar[0])} to {shown(bar[1])}'}</td></tr>"
                for label, value, bar in self.rows()
            )
            return f"<div><b>{html.escape(self.query)}</b><table>{body}</table>{price}</div>"
        if self.value is None:
            why = "" if self.reason is None else f"<br><small>{html.escape(self.reason)}</small>"
            return f"<div><b>{html.escape(self.query)}</b>: <b>refused</b>{why}{price}</div>"
        value = self._answer()
        return f"<div><b>{html.escape(self.query)}</b> = <b>{value}</b>{html.escape(self._bar())}{price}</div>"

    def plot(self, ax: Any = None) -> Any:
        """Draw the answer with its error bar; returns the matplotlib axes."""
        from dither.plots import plot_release  # noqa: PLC0415  (matplotlib is slow to load)

        return plot_release(self, ax)


def _listed(value: Any) -> Any:
    """Tuples as lists, all the way down."""
    return [_listed(one) for one in value] if isinstance(value, tuple) else value


def shown_all(numbers: Any) -> str:
    """One number, or several in a row."""
    return ", ".join(shown(one) for one in numbers) if isinstance(numbers, tuple) else shown(numbers)


def shown(number: Number | str) -> str:
    """A number with as many digits as people read; a category as it is."""
    if not isinstance(number, (int, float)):
        return str(number)
    if isinstance(number, int):
        return f"{number:,}"
    return f"{number:,.2f}" if abs(number) >= 1000 else f"{number:.6g}"
