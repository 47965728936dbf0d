"""The laws of counting queries: sums over one noisy histogram, and the cube's noise (``k_norm``)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dither.mechanisms.mechanism import Prepared
from dither.sensitivity.domain_histogram import HasDomainHistogram
from dither_lab.audit.laws.facts import D, Facts
from dither_lab.audit.laws.outputs import Distribution, ListedDistribution, Noisy, Outputs
from dither_lab.audit.laws.registry import IndependentLaw, Pair, WorstPair, output_law
from dither_lab.audit.laws.tails import Floats

OUTSIDE = 80.0
"""A geometric tail is followed until e^-80 of it is left."""


@output_law("noisy_histogram")
@output_law("noisy_histogram/vector")
class HistogramLaw(IndependentLaw):
    """Every count is a sum of bins, each with integer Laplace noise of scale l1 / eps (V17 Theorem 2.9)."""

    proof = "counting_queries"
    vector = True

    def outputs(self, prepared: Any, facts: Facts[D], data: D) -> Outputs:
        statistic: Any = facts.statistic
        values = tuple(int(value) for value in statistic.values(data))
        numbers = tuple(
            _clamped(value, _sum_of(float(prepared.scale), terms), grid.low, grid.high)
            for value, terms, grid in zip(values, _terms(statistic), statistic.answers, strict=True)
        )
        return Outputs(values, numbers)

    def worst_pair(self, prepared: Any, facts: Facts[D], pairs: list[Pair[D]]) -> WorstPair[D]:
        statistic: Any = facts.statistic

        def loss(pair: Pair[D]) -> Fraction:
            # The histogram is all that is released of the data; counts are functions of it.
            moved = zip(statistic.histogram(pair[0]), statistic.histogram(pair[1]), strict=True)
            return sum(abs(int(a) - int(b)) for a, b in moved) / Fraction(prepared.scale)

        return _worst(loss, pairs)

    def weakened(self, prepared: Any, factor: Fraction) -> Prepared:
        return replace(prepared, scale=prepared.scale * factor)  # type: ignore[no-any-return]

    def applies(self, statistic: Any) -> bool:
        return isinstance(statistic, HasDomainHistogram)


def _worst(loss: Callable[[Pair[D]], Fraction], pairs: list[Pair[D]]) -> WorstPair[D]:
    """The pair with the largest loss, which is attained far out; rounded down and up."""
    worst = max(pairs, key=loss)
    near = float(loss(worst))
    low = near if near <= loss(worst) else math.nextafter(near, 0.0)
    return low, near if near >= loss(worst) else math.nextafter(near, math.inf), worst


def _terms(statistic: Any) -> list[int]:
    """How many bins the noise of each count comes from, by asking the family about every bin."""
    size = int(statistic.domain_size)
    counted = np.sum([statistic.from_histogram(np.eye(size, dtype=np.int64)[place]) for place in range(size)], axis=0)
    fewer = [min(int(count), size - int(count)) for count in counted]
    return fewer if statistic.public_records is not None else [int(count) for count in counted]


def _sum_of(scale: float, terms: int) -> dict[int, float]:
    """The law of a sum of independent integer Laplace variables, one after the other."""
    reach = math.ceil(OUTSIDE * scale)
    ratio = math.exp(-1.0 / scale)
    single = np.array([ratio ** abs(k) for k in range(-reach, reach + 1)]) * (1.0 - ratio) / (1.0 + ratio)
    law = np.ones(1)
    for _ in range(terms):
        law = np.convolve(law, single)
    middle = len(law) // 2
    return {place - middle: float(chance) for place, chance in enumerate(law)}


def _clamped(value: int, noise: dict[int, float], low: int | None, high: int | None) -> Distribution:
    results: dict[int, float] = {}
    for moved, chance in noise.items():
        place = value + moved
        place = place if low is None else max(place, low)
        place = place if high is None else min(place, high)
        results[place] = results.get(place, 0.0) + chance
    return ListedDistribution(results)


@output_law("k_norm")
@output_law("k_norm/vector")
class CubeLaw(IndependentLaw):
    """All numbers plus noise of density proportional to ``exp(-max |z_j| / scale)``, rounded (Hardt-Talwar)."""

    proof = "counting_queries"
    vector = True

    def outputs(self, prepared: Any, facts: Facts[D], data: D) -> Outputs:
        statistic: Any = facts.statistic
        values = tuple(int(value) for value in statistic.values(data))
        tail = _cube_tail(len(values))
        numbers = tuple(
            Noisy(value, float(prepared.scale), grid.low, grid.high, tail)
            for value, grid in zip(values, statistic.answers, strict=True)
        )
        return Outputs(values, numbers)

    def worst_pair(self, prepared: Any, facts: Facts[D], pairs: list[Pair[D]]) -> WorstPair[D]:
        statistic: Any = facts.statistic

        def loss(pair: Pair[D]) -> Fraction:
            moved = zip(statistic.values(pair[0]), statistic.values(pair[1]), strict=True)
            # Far out along the coordinate that moves most the ratio of densities is this everywhere in a cell.
            return max(abs(int(a) - int(b)) for a, b in moved) / Fraction(prepared.scale)

        return _worst(loss, pairs)

    def weakened(self, prepared: Any, factor: Fraction) -> Prepared:
        return replace(prepared, scale=prepared.scale * factor)  # type: ignore[no-any-return]


def _cube_tail(dimension: int) -> Callable[[Floats], Floats]:
    """One coordinate of R V, R a Gamma(d + 1) length and V uniform in the cube: an integral over lengths."""
    import scipy.integrate  # noqa: PLC0415  (slow to load)

    def tail(places: Floats) -> Floats:
        def beyond(t: float) -> float:
            # P(R |V_1| > t) = integral over r > t of (1 - t / r) r^d e^-r / d!; e^-t is taken out of it.
            def part(s: float) -> float:
                return s * math.exp((dimension - 1) * math.log(t + s) - s) if t + s > 0 else 0.0

            area: float = scipy.integrate.quad(part, 0.0, math.inf, epsabs=0.0, epsrel=1e-10, limit=200)[0]
            return math.exp(-t - math.lgamma(dimension + 1)) * area

        flat = np.atleast_1d(np.asarray(places, dtype=np.float64))
        return np.array([beyond(float(t)) for t in flat.ravel()]).reshape(np.shape(places))

    return tail
