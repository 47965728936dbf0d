"""Low sensitivity for free: functions that a small sample nearly decides, and distances to a property."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from dither.errors import InvalidArgument, InvalidData
from dither.mechanisms.noise_intervals import laplace_half_width, missed_share
from dither.mechanisms.norms import VectorAnswer, norm_release
from dither.noise.laplace import integer_laplace
from dither.numbers import exact
from dither.privacy import Loss, Neighbours, fraction_of_unit
from dither.sources.domain import declared, whole

Records = tuple[Any, ...]
Outcomes = Iterable[tuple[Any, Iterable[int], Any]]
"""All runs of a randomised algorithm on one input: (probability, indices of the records it reads, output)."""


def sample_sensitivity(*, reads: Any, within: Any, chance: Any) -> Fraction:
    """A bound ``2 within`` on the sensitivity of a function that a sampling algorithm approximates.

    reads: no record is read with a probability above this.  within: the algorithm's error, in the norm of the answer.
    chance: the probability, for *every* input, that the error is at most ``within``; more than ``(1 + reads) / 2``.

    Theorem    DMNS06 Lemma 1; docs/proofs/metric_spaces.md section 5.
    Constants  Paper: a chance of at least (1 + reads) / 2.  At equality the lemma is false (a coin guesses one bit), so
               the inequality must be strict.

    >>> sample_sensitivity(reads=0.1, within=3, chance=0.6)
    Fraction(6, 1)
    """
    read, error = fraction_of_unit("reads", reads, closed=True), exact(within, "within")
    success = fraction_of_unit("chance", chance, closed=True)
    if error < 0:
        raise InvalidArgument("within", within, "a number of at least 0 is accepted")
    if not success > (1 + read) / 2:
        raise InvalidArgument("chance", chance, f"a chance above (1 + reads)/2 = {float((1 + read) / 2):g} is accepted")
    return 2 * error


def low_sample_release(
    value: Any,
    *,
    reads: Any,
    within: Any,
    chance: Any,
    epsilon: Any,
    step: Any = None,
    confidence: Any = 0.95,
) -> VectorAnswer:
    """Release a vector f(x) with Laplace noise for the sensitivity that ``sample_sensitivity`` gives (l1 norm).

    Guarantee  eps-DP, neighbours change one record, if the premises on the sampling algorithm hold.
    Theorem    DMNS06 Lemma 1 and Proposition 1.
    Constants  Scale 2 within / eps.
    Cost       One exact draw for each coordinate; the algorithm itself is not run.

    >>> low_sample_release([0.5], reads=0.1, within=0.01, chance=0.9, epsilon=1.0).loss
    Loss(epsilon=1.0, delta=0.0)
    """
    bound = sample_sensitivity(reads=reads, within=within, chance=chance)
    if bound == 0:
        raise InvalidArgument("within", within, "a positive error is accepted: no function of people is known exactly")
    return norm_release(value, epsilon=epsilon, sensitivity=bound, norm="l1", step=step, confidence=confidence)


@dataclass(frozen=True)
class Premises:
    """What brute force finds about a sampling algorithm on a whole universe."""

    reads: Fraction
    chance: Fraction
    honest: bool
    """True if the output never depends on a record that was not read."""


def check_premises(
    algorithm: Callable[[Records], Outcomes],
    function: Callable[[Records], Any],
    *,
    domain: Any,
    records: Any,
    within: Any,
) -> Premises:
    """The premises of Lemma 1 by enumeration of all datasets and all runs; scalar functions, small universes.

    Cost: |domain|**records times the number of runs.
    """
    values, n, error = declared(domain, "domain"), whole("records", records, least=1, most=12), exact(within, "within")
    runs = {x: [(exact(p), frozenset(read), out) for p, read, out in algorithm(x)] for x in product(values, repeat=n)}
    reads = max(
        sum((p for p, read, _ in listed if i in read), Fraction(0)) for listed in runs.values() for i in range(n)
    )
    chance = min(
        sum((p for p, _, out in listed if abs(exact(out) - exact(function(x))) <= error), Fraction(0))
        for x, listed in runs.items()
    )
    honest = all(_unread(runs[x], i) == _unread(runs[y], i) for x in runs for i, y in _neighbours(x, values))
    return Premises(reads, chance, honest)


def _unread(listed: list[tuple[Fraction, frozenset[int], Any]], i: int) -> dict[tuple[frozenset[int], Any], Fraction]:
    """The law of reads and outputs where record i is not read."""
    law: dict[tuple[frozenset[int], Any], Fraction] = {}
    for p, read, out in listed:
        if i not in read and p:
            law[read, out] = law.get((read, out), Fraction(0)) + p
    return law


@dataclass(frozen=True)
class DistanceAnswer:
    """How many records would have to change; the interval covers the true distance with probability ``confidence``."""

    value: int
    interval: tuple[int, int] | None
    confidence: float | None
    loss: Loss
    neighbours: Neighbours


def distance_to_property(
    data: Any,
    *,
    distance: Callable[[Any], Any],
    epsilon: Any,
    most: Any = None,
    neighbours: Neighbours = Neighbours.CHANGE_ONE,
    confidence: Any = 0.95,
) -> DistanceAnswer:
    """The least number of changes that give the data a property, plus integer Laplace noise of scale 1 / eps.

    distance: computes it; any function that changes by at most 1 between neighbours will do (``lipschitz_violation``
    searches for a counterexample, ``brute_distance`` makes one from a predicate).  It is clamped to [0, most].
    most: the public greatest distance; by default the number of records.

    Guarantee  eps-DP for the stated neighbours.
    Theorem    DMNS06 section 3.2: the distance to any set has sensitivity 1; docs/proofs/metric_spaces.md section 6.
    Constants  Integer noise: standard deviation sqrt(2 r) / (1 - r), r = e^-eps, below the sqrt(2) / eps of real noise.
    Cost       That of ``distance``, whose running time may depend on the data: pad it.

    >>> zeros_left = lambda bits: sum(1 for bit in bits if not bit)     # changes until all bits are ones
    >>> 10 <= distance_to_property([0] * 40 + [1] * 60, distance=zeros_left, epsilon=1.0).value <= 70
    True
    """
    loss, missed = Loss.asked(epsilon), missed_share(confidence)
    if not callable(distance):
        raise InvalidArgument("distance", type(distance), "a function of the data is accepted")
    if most is None:
        if not hasattr(data, "__len__"):
            raise InvalidArgument("most", most, "the greatest distance is accepted where the data have no length")
        top = len(data)
    else:
        top = whole("most", most, least=1, most=1 << 60)
    found = distance(data)
    try:
        # Rounding down keeps a function that moves by at most 1 within steps of 1; infinity is the top.
        true = top if found == math.inf else min(max(math.floor(exact(found)), 0), top)
    except InvalidArgument:
        raise InvalidData("distance: did not return a number; nothing was charged") from None
    scale = 1 / loss.exact_epsilon
    noisy = integer_laplace(true, scale)
    half = None if missed is None else laplace_half_width(scale, missed)
    return DistanceAnswer(
        value=min(max(noisy, 0), top),
        interval=None if half is None else (min(max(noisy - half, 0), top), min(max(noisy + half, 0), top)),
        confidence=None if missed is None else float(1 - missed),
        loss=loss,
        neighbours=neighbours,
    )


def brute_distance(holds: Callable[[Records], bool], *, domain: Any) -> Callable[[Sequence[Any]], int | float]:
    """The exact distance to ``{x : holds(x)}``, by trying every set of changes; infinite for an empty property.

    Cost: exponential in the number of changes, and depends on the data; for small data and for tests.

    >>> brute_distance(lambda x: len(set(x)) == 1, domain="ab")("aabab")
    2
    """
    values = declared(tuple(domain) if isinstance(domain, str) else domain, "domain")

    def distance(data: Sequence[Any]) -> int | float:
        here = tuple(data)
        for changes in range(len(here) + 1):
            for places in combinations(range(len(here)), changes):
                for replaced in product(values, repeat=changes):
                    there = list(here)
                    for place, value in zip(places, replaced, strict=True):
                        there[place] = value
                    if holds(tuple(there)):
                        return changes
        return math.inf

    return distance


def lipschitz_violation(
    function: Callable[[Any], Any], *, domain: Any, records: Any, most: Any = 1
) -> tuple[Records, Records] | None:
    """Two neighbours on which ``function`` differs by more than ``most``; None if there are none in this universe.

    Cost: |domain|**records evaluations.

    >>> lipschitz_violation(sum, domain=(0, 1), records=4) is None
    True
    """
    values, n, bound = declared(domain, "domain"), whole("records", records, least=1, most=12), exact(most, "most")
    value = {x: function(x) for x in product(values, repeat=n)}
    for x, here in value.items():
        for _, y in _neighbours(x, values):
            # Two infinities are equal, and their difference is no number.
            if here != value[y] and not abs(here - value[y]) <= bound:
                return x, y
    return None


def _neighbours(x: Records, values: tuple[Hashable, ...]) -> Iterable[tuple[int, Records]]:
    return ((i, (*x[:i], value, *x[i + 1 :])) for i in range(len(x)) for value in values if value != x[i])
