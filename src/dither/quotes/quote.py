"""A quote: price, mechanism and error of an answer, before anything is read or charged."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dither.aliases import older_name
from dither.mechanisms.exponential import ExponentialDraw
from dither.mechanisms.mechanism import Prepared
from dither.mechanisms.propose_test import TestedNoise
from dither.mechanisms.smooth import SmoothNoise
from dither.mechanisms.worst_case import Scaled, ScaledVector
from dither.plain import plain, unchanged
from dither.privacy import Loss
from dither.quotes.error_distribution import ErrorLaw, Mixture, error_laws
from dither.quotes.interval_width import public_half_widths, typical_half_widths
from dither.quotes.prior_sample import ImaginedColumn
from dither.quotes.priors import Prior
from dither.quotes.worst_case_error import bounds_for_all_data
from dither.sources.grid import Grid
from dither.statistics.statistic import Statistic

ESTIMATE, UPPER_BOUND, EXACT, UNKNOWN = "estimate", "upper bound", "exact", "unknown"
ATTAINED = "attained"
MEANINGS = {
    ESTIMATE: "an estimate, if the records are as the prior says",
    UPPER_BOUND: "an upper bound for all data; the error is usually far smaller",
    ATTAINED: "an upper bound for all data, met where no answer is cut to its range",
    EXACT: "exact, for all data",
    UNKNOWN: "its error depends on the data in ways that are not worked out beforehand",
}
FEWEST_SAMPLES, MOST_SAMPLES = 4, 64
ENOUGH_GAPS = 400
"""So many gaps between records are looked at in all, where an answer depends on few of them."""


@dataclass(frozen=True)
class Quote:
    """What a question costs and how far its answer will be from the statistic of the clamped records on the grid.

    ``expected_error`` and ``bound`` (which the error stays within with probability ``confidence``) are tuples where
    several numbers are released.  ``kind`` is "estimate" (under ``prior``), "upper bound" (for all data) or "exact"
    (for all data); or "unknown", and both are None.  Dates count in days.
    """

    query: str
    loss: Loss
    expected_error: Any
    bound: Any
    confidence: float
    mechanism: str
    noise: str
    kind: str
    attained: bool = False
    """Of an upper bound: whether it is the error itself unless answers are cut to their range."""
    prior: str | None = None
    rows: int | None = None
    """The number of records in each selection that the figures are for."""
    assumptions: tuple[str, ...] = ()
    groups: int | None = 1
    """How many answers there will be; None where the groups have to be found."""
    labels: tuple[str, ...] | None = None
    bar: Any = None
    """How far the error bar will typically reach to either side; None without a bar, or where nothing is known."""
    alternatives: dict[str, Any] = field(default_factory=dict)
    """The expected errors of the mechanisms that were compared, the best first."""

    @property
    def meaning(self) -> str:
        """In words, what the error is."""
        return MEANINGS[ATTAINED if self.attained else self.kind]

    @property
    def worst_expected(self) -> float:
        """The greatest expected error of the numbers that are released."""
        return max(_each(self.expected_error))

    @property
    def worst_bound(self) -> float:
        """The greatest bound of the numbers that are released."""
        return max(_each(self.bound))

    calibration = older_name("mechanism")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "query": self.query,
            "epsilon": self.loss.epsilon,
            "delta": self.loss.delta,
            "expected_error": plain(self.expected_error, unchanged),
            "bound": plain(self.bound, unchanged),
            "confidence": self.confidence,
            "kind": self.kind,
            "attained": self.attained,
            "meaning": self.meaning,
            "mechanism": self.mechanism,
            "calibration": self.mechanism,
            "noise": self.noise,
            "prior": self.prior,
            "rows": self.rows,
            "assumptions": list(self.assumptions),
            "groups": self.groups,
            "labels": plain(self.labels, unchanged),
            "bar": plain(self.bar, unchanged),
            "alternatives": plain(self.alternatives, unchanged),
        }

    def __str__(self) -> str:
        many = (
            " in each group" if self.groups is None else f" in each of {self.groups} groups" if self.groups > 1 else ""
        )
        if self.kind == UNKNOWN:
            return f"{self.query}{many} for {self.loss} ({self.meaning}; {self.mechanism})"
        error, bound = (_shown(_each(one)) for one in (self.expected_error, self.bound))
        assumed = "".join(f"; {one}" for one in self.assumptions)
        bar = "" if self.bar is None else f", error bar about ± {_shown(_each(self.bar))}"
        return (
            f"{self.query}{many} for {self.loss}: expected error {error}, {self.confidence:.0%} within {bound}{bar} "
            f"({self.meaning}{assumed}; {self.mechanism})"
        )

    def __repr__(self) -> str:
        return f"<Quote {self}>"

    def _repr_html_(self) -> str:
        return f"<div>{html.escape(str(self))}</div>"


class Quotes(list[Quote]):
    """Quotes for several queries; ``loss`` is the price of all of them together."""

    def __init__(self, quotes: Iterable[Quote]) -> None:
        super().__init__(quotes)
        self.loss = sum((one.loss for one in self), Loss(0.0))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"epsilon": self.loss.epsilon, "delta": self.loss.delta, "quotes": [one.to_dict() for one in self]}

    def __repr__(self) -> str:
        listed = "\n".join(f"  {one!r}" for one in self)
        return f"<Quotes, {self.loss} for all {len(self)}:\n{listed}\n>"


@dataclass(frozen=True)
class Figures:
    """Errors in the units of the column, and what they are."""

    expected: Any
    bound: Any
    kind: str
    attained: bool = False
    bar: Any = None


def for_all_data(prepared: Prepared, confidence: float, rows: int | None = None) -> Figures:
    """Upper bounds that hold whatever the records are."""
    pairs = bounds_for_all_data(prepared, confidence, rows)
    grids = _grids(prepared)
    # Only noise that is never cut to a range has the same error for all data.
    endless = isinstance(prepared, ScaledVector) and all(grid.low is None and grid.high is None for grid in grids)
    bars = public_half_widths(prepared)
    if endless:
        return _figures(prepared, pairs, EXACT, bars)
    known = isinstance(prepared, SmoothNoise) and rows is not None
    public = known or isinstance(prepared, (Scaled, ScaledVector, TestedNoise))
    return dataclasses.replace(_figures(prepared, pairs, UPPER_BOUND, bars), attained=public)


def under_prior(prepared: Prepared, prior: Prior, records_on: Grid, rows: int, confidence: float) -> Figures:
    """Averages over samples of the prior, with the mechanism's own weights."""
    samples = [ImaginedColumn(prior, records_on, rows, number) for number in range(_samples(prepared))]
    laws: list[list[ErrorLaw]] = [error_laws(prepared, one) for one in samples]
    mixtures = [Mixture(each) for each in zip(*laws, strict=True)]
    pairs = [(one.mean, one.quantile(1.0 - confidence)) for one in mixtures]
    bars = [typical_half_widths(prepared, one) for one in samples[:FEWEST_SAMPLES]]
    known = [one for one in bars if one is not None]
    typical = tuple(math.fsum(each) / len(known) for each in zip(*known, strict=True)) if known else None
    return _figures(prepared, pairs, ESTIMATE, typical)


def _samples(prepared: Prepared) -> int:
    """How many samples to imagine: many, where an answer hangs on the few gaps next to it."""
    rate = getattr(prepared, "rate", None)
    if rate is None:
        return FEWEST_SAMPLES
    if isinstance(prepared, ExponentialDraw) and getattr(prepared.statistic, "one_sided", False):
        return MOST_SAMPLES
    return min(max(math.ceil(ENOUGH_GAPS * float(rate) / 2.0), FEWEST_SAMPLES), MOST_SAMPLES)


def _grids(prepared: Prepared) -> tuple[Grid, ...]:
    grids = prepared.statistic.answers
    return (grids,) if isinstance(grids, Grid) else tuple(grids)


def _figures(
    prepared: Prepared, pairs: list[tuple[float, float]], kind: str, bars: tuple[float, ...] | None = None
) -> Figures:
    steps = [float(grid.step) for grid in _grids(prepared)]
    expected = tuple(step * one for step, (one, _) in zip(steps, pairs, strict=True))
    bound = tuple(step * one for step, (_, one) in zip(steps, pairs, strict=True))
    single = isinstance(prepared.statistic, Statistic)
    wide = None if bars is None else tuple(step * one for step, one in zip(steps, bars, strict=True))
    bar = wide[0] if wide is not None and single else wide
    return Figures(expected[0] if single else expected, bound[0] if single else bound, kind, bar=bar)


def _each(value: Any) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (math.inf if value is None else value,)


def _shown(values: tuple[float, ...]) -> str:
    few = ", ".join(f"{one:,.4g}" if abs(one) < 1000 else f"{one:,.0f}" for one in values[:4])
    return few if len(values) == 1 else f"[{few}{', ...' if len(values) > 4 else ''}]"
