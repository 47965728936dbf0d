"""Low sensitivity for free: functions that a small sample nearly decides (DMNS06 Lemma 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TypeAlias

from dither.errors import InvalidArgument
from dither.numbers import Number, exact
from dither.privacy import fraction_of_unit
from dither.sources.domain import Value, declared, whole

Outcomes: TypeAlias = Iterable[tuple[Number, Iterable[int], Number]]
"""All runs of a randomised algorithm on one input: (probability, indices of the records it reads, output)."""


def sample_sensitivity(*, reads: Number, within: Number, chance: Number) -> Fraction:
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
        raise InvalidArgument("within", within, "must be a number of at least 0")
    if not success > (1 + read) / 2:
        raise InvalidArgument("chance", chance, f"must be a chance above (1 + reads)/2 = {float((1 + read) / 2):g}")
    return 2 * error


@dataclass(frozen=True)
class Premises:
    """What brute force finds about a sampling algorithm on a whole universe."""

    reads: Fraction
    chance: Fraction
    honest: bool
    """True if the output never depends on a record that was not read."""


def check_premises(
    algorithm: Callable[[tuple[Value, ...]], Outcomes],
    function: Callable[[tuple[Value, ...]], Number],
    *,
    domain: Iterable[Value],
    records: int,
    within: Number,
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
    honest = all(_unread(runs[x], i) == _unread(runs[y], i) for x in runs for i, y in changed_once(x, values))
    return Premises(reads, chance, honest)


def _unread(
    listed: list[tuple[Fraction, frozenset[int], Number]], i: int
) -> dict[tuple[frozenset[int], Number], Fraction]:
    """The law of reads and outputs where record i is not read."""
    law: dict[tuple[frozenset[int], Number], Fraction] = {}
    for p, read, out in listed:
        if i not in read and p:
            law[read, out] = law.get((read, out), Fraction(0)) + p
    return law


def changed_once(x: tuple[Value, ...], values: tuple[Value, ...]) -> Iterable[tuple[int, tuple[Value, ...]]]:
    """All datasets that differ in one record, each with the place of that record."""
    return ((i, (*x[:i], value, *x[i + 1 :])) for i in range(len(x)) for value in values if value != x[i])
