"""Upper bounds on the error that hold for all data: all that can be said without a prior.

Proofs: docs/proofs/quotes.md.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dither.errors import NotApplicable
from dither.mechanisms.base_measure import Measure
from dither.mechanisms.exponential import ExponentialDraw
from dither.mechanisms.ladder import LadderDraw
from dither.mechanisms.mechanism import Prepared
from dither.mechanisms.propose_test import TestedNoise
from dither.mechanisms.smooth import SmoothNoise
from dither.mechanisms.worst_case import Scaled, ScaledVector, public_half_width
from dither.noise.laplace import Laplace
from dither.noise.law import Law
from dither.numbers import exact
from dither.quotes.error_distribution import cut_mean
from dither.statistics.statistic import Statistic
from dither.statistics.unknown_size import FilteredMean, OfPeople

Pairs = list[tuple[float, float]]
"""For each released number: a bound on the expected error, and one that holds with the stated confidence."""


class _OnlyCounted:
    """So many records, and nothing else known about them."""

    def __init__(self, records: int) -> None:
        self.records = records


def bounds_for_all_data(prepared: Prepared, confidence: float, rows: int | None) -> Pairs:
    """In grid steps.  ``rows``: how many records there are at least, where that is assumed."""
    if isinstance(prepared, ScaledVector):
        return _of_vector(prepared, confidence)
    grids = prepared.statistic.answers
    if not isinstance(prepared.statistic, Statistic):
        # Nothing better is proved for numbers that are drawn together.
        return [(span, span) for span in _bounded(_spans(grids))]
    span = _spans((grids,))[0]
    if isinstance(prepared, (Scaled, TestedNoise)):
        law = prepared.point.law if isinstance(prepared, Scaled) else Laplace()
        half_width = float(public_half_width(law, prepared.scale, exact(confidence)))
        return [(_noise(law, float(prepared.scale), span, whole=law.name == "laplace"), min(half_width, span))]
    if isinstance(prepared, SmoothNoise):
        scale = _most_smooth(prepared, rows)
        half_width = scale * prepared.point.law.quantile(1.0 - confidence) + 1.0
        return [(_noise(prepared.point.law, scale, span), min(half_width, span))]
    _bounded([span])
    if isinstance(prepared, ExponentialDraw):
        return [_of_draws(prepared.measure, span, confidence)]
    return [(span / 2.0 if isinstance(prepared, LadderDraw) else span, span)]


def _of_vector(prepared: ScaledVector, confidence: float) -> Pairs:
    whole = prepared.law.name == "laplace"

    @functools.cache
    def pair(global_sensitivity: int, span: float) -> tuple[float, float]:
        scale = global_sensitivity * prepared.unit
        half_width = float(public_half_width(prepared.law, scale, exact(confidence)))
        return _noise(prepared.law, float(scale), span, whole=whole), min(half_width, span)

    return [
        pair(*one)
        for one in zip(prepared.statistic.global_sensitivities, _spans(prepared.statistic.answers), strict=True)
    ]


def needs_rows(statistic: Any) -> bool:
    """True if the bound for all data is better where the number of records is known."""
    return isinstance(statistic.base if isinstance(statistic, OfPeople) else statistic, FilteredMean)


def _most_smooth(prepared: SmoothNoise, rows: int | None) -> float:
    """The greatest scale of the noise: the cap, or the smooth bound where it depends on the number of records only."""
    statistic = prepared.statistic
    bound = Fraction(statistic.global_sensitivity)
    if rows is not None and needs_rows(statistic):
        bound = statistic.ladder(_OnlyCounted(rows), prepared.algorithm).smooth(prepared.point.beta)
    # Smooth bounds are computed a little above their true value, the cap included.
    return float(bound / prepared.point.alpha) * (1.0 + 1e-9)


def _noise(law: Law, scale: float, span: float, *, whole: bool = False) -> float:
    """The expected error of cut noise is greatest for a value in the middle of the range."""
    halves = (span, span) if math.isinf(span) else (float(span // 2), float(-(-span // 2)))
    return sum(cut_mean(law, scale, half, whole=whole) for half in halves) / 2.0


def _of_draws(measure: Measure, span: float, confidence: float) -> tuple[float, float]:
    """Points with weights that fall on either side of the value are a mixture of the measure on intervals around it.

    An even measure is at most half the range away; a leaning one as far as its mean is from the lighter end.
    """
    if len(measure.weights) == 1:
        return span / 2.0, float(math.ceil(span - (1.0 - confidence) * (span + 1.0)))
    low = float(measure.edges[0])
    total = math.fsum(
        weight * (last - first) * ((first + last - 1) / 2.0 - low)
        for weight, (first, last) in zip(measure.weights, pairwise(measure.edges), strict=True)
    )
    mean = total / float(measure.total)
    return max(mean, span - mean), span


def _spans(grids: Any) -> list[float]:
    return [math.inf if grid.low is None or grid.high is None else float(grid.high - grid.low) for grid in grids]


def _bounded(spans: list[float]) -> list[float]:
    if any(math.isinf(span) for span in spans):
        raise NotApplicable("prior", None, "answers without bounds have no error that holds for all data", "a prior")
    return spans
