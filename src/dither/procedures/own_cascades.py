"""Propose-test-release with functions of the owner's own: cascades, levels and parallel parts (DL09 section 5).

A *proposal* is a bound on how far one change moves a value, a margin that tests it, and the value.  A *cascade* tries
proposals in order; the first whose test passes answers.  A *level* is one cascade, or several side by side; later
levels see the numbers that earlier ones released.  docs/proofs/propose_test.md, sections 4 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import SupportsFloat, TypeAlias

from dither.accounting.cascades import CascadeComposition, Composition, Concurrent, Sequential, Step, Tested
from dither.errors import InvalidArgument
from dither.mechanisms.margin_test import MarginTest
from dither.mechanisms.propose_test import BEYOND_DOUBT
from dither.numbers import exact, float_up
from dither.procedures.unbounded import REFUSED, FoundNumber, noisy
from dither.statistics.own_code import number_of

Number: TypeAlias = int | float | Fraction
MOST_PARTS = 64
"""Proposals in all."""
WIDEST = Fraction(10**290)
"""No bound is larger."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Proposal:
    """A value of the data with a proposed bound on how far one change moves it, and the test of that bound.

    value: ``value(data, *released)``, a number; where it fails, ``default``.
    bound: a public number of at least 0, or a function ``bound(*released)`` of what earlier levels released.
    margin: ``margin(data, bound, *released)``, a number that one change moves by at most 1 and that is below 1 wherever
        one change can move the value by more than ``bound``; it is rounded down, and where it fails or is negative it
        counts as 0.  Or
    ladder: ``ladder(data, k, *released)``, a ladder of the value (NRS11 Claim 3.3); the margin is the least k at which
        it exceeds the bound, or fails.
    test, release: how much of epsilon the test and the noise get, beside those of the other proposals.
    """

    value: Callable[..., SupportsFloat]
    bound: Number | Callable[..., SupportsFloat]
    margin: Callable[..., SupportsFloat] | None = None
    ladder: Callable[..., SupportsFloat] | None = None
    default: Number = 0
    test: Number = 1
    release: Number = 1

    def __post_init__(self) -> None:
        if not callable(self.value):
            raise InvalidArgument("value", type(self.value), "must be a function of the data")
        if (self.margin is None) == (self.ladder is None):
            raise InvalidArgument("margin", self.margin, "pass either margin=, or ladder= to take the margin of")
        for argument in ("margin", "ladder"):
            given = getattr(self, argument)
            if given is not None and not callable(given):
                raise InvalidArgument(argument, type(given), "must be a function of the data")
        if not callable(self.bound) and not 0 <= exact(self.bound, "bound") <= WIDEST:
            accepted = "must be a number from 0 to 1e290, or a function of what was released"
            raise InvalidArgument("bound", self.bound, accepted)
        exact(self.default, "default")
        for argument in ("test", "release"):
            if exact(getattr(self, argument), argument) <= 0:
                raise InvalidArgument(argument, getattr(self, argument), "must be a positive share")

    @property
    def shares(self) -> Tested:
        """What it costs in units of epsilon and of delta."""
        return Tested(Step(exact(self.test), Fraction(1)), Step(exact(self.release)))

    def width(self, released: Sequence[float]) -> float | None:
        """The bound, once earlier levels have released; None if there is none."""
        result = number_of(self.bound, *released) if callable(self.bound) else exact(self.bound)
        return float_up(result) if result is not None and 0 <= result <= WIDEST else None

    # data: the owner's own
    def distance(self, data: object, width: float, released: Sequence[float], deepest: int) -> int:
        """The margin, up to a public depth: private."""
        if self.margin is not None:
            number = number_of(self.margin, data, width, *released)
            return 0 if number is None else min(max(math.floor(number), 0), deepest)
        ladder = self.ladder
        for k in range(deepest if ladder is not None else 0):
            sensitivity = number_of(ladder, data, k, *released) if ladder is not None else None
            if sensitivity is None or sensitivity > width:
                return k
        return deepest

    def true_value(self, data: object, released: Sequence[float]) -> Fraction:  # the owner's own data
        """What is released with noise: private."""
        number = number_of(self.value, data, *released)
        return exact(self.default) if number is None else number


Parts: TypeAlias = tuple[tuple[str, tuple[Proposal, ...]], ...]
"""The cascades of one level, side by side, by name."""


Level: TypeAlias = Proposal | Sequence[Proposal] | Mapping[str, Proposal | Sequence[Proposal]]
Levels: TypeAlias = Proposal | Sequence[Level]


def read_levels(levels: Levels) -> tuple[Parts, ...]:
    """Levels as they may be written: a proposal, a list of them (a cascade), or a mapping of names to either."""
    if isinstance(levels, Proposal):
        levels = [levels]
    if not isinstance(levels, (list, tuple)) or not levels:
        accepted = "must be a list of levels, each a dt.Proposal, a list of them, or a mapping of names to either"
        raise InvalidArgument("levels", levels, accepted)
    result = tuple(_parts(level, place) for place, level in enumerate(levels, 1))
    if sum(len(item) for parts in result for _, item in parts) > MOST_PARTS:
        raise InvalidArgument("levels", "more of them", f"must be at most {MOST_PARTS} proposals in all")
    return result


def _parts(level: Level, place: int) -> Parts:
    if not isinstance(level, Mapping):
        return ((f"level {place}", _cascade(level)),)
    if not level or not all(isinstance(name, str) and name.isprintable() and name for name in level):
        raise InvalidArgument("levels", list(level), "must be a mapping of names, which are texts, to proposals")
    return tuple((name, _cascade(node)) for name, node in level.items())


def _cascade(given: Proposal | Sequence[Proposal]) -> tuple[Proposal, ...]:
    listed = [given] if isinstance(given, Proposal) else given
    if (
        not isinstance(listed, (list, tuple))
        or not listed
        or not all(isinstance(candidate, Proposal) for candidate in listed)
    ):
        raise InvalidArgument("levels", given, "must be a dt.Proposal or a list of them, which is a cascade")
    return tuple(listed)


def arrangement(levels: tuple[Parts, ...], epsilon: Fraction, delta: Fraction) -> Composition:
    """What the levels cost if a share of 1 is so much epsilon, and each test so much delta."""

    def tested(proposal: Proposal) -> Tested:
        test, release = proposal.shares.test.epsilon * epsilon, proposal.shares.release.epsilon * epsilon
        return Tested(Step(test, delta), Step(release))

    return Sequential(
        tuple(
            Concurrent(
                tuple(CascadeComposition(tuple(tested(proposal) for proposal in proposals)) for _, proposals in parts)
            )
            for parts in levels
        )
    )


@dataclass(frozen=True)
class OwnCascades:
    """Levels of cascades with their public losses, ready to run."""

    levels: tuple[Parts, ...]
    unit: Fraction
    """The epsilon of a share of 1."""
    delta: Fraction
    """The delta of each test."""

    @classmethod
    def of(cls, levels: tuple[Parts, ...], epsilon: Fraction, delta: Fraction) -> OwnCascades:
        """Shares of a whole loss, as Theorems 16, 17, 20 and 22 count it."""
        shares = arrangement(levels, Fraction(1), Fraction(1, 1 << 20))
        tests = shares.delta * (1 << 20)
        return cls(levels, epsilon / shares.epsilon, min(delta / tests, Fraction(49, 100)))

    @property
    def composition(self) -> Composition:
        """What it is made of, and costs."""
        return arrangement(self.levels, self.unit, self.delta)

    def test(self, proposal: Proposal) -> MarginTest:
        """The test of a proposal."""
        return MarginTest(exact(proposal.test) * self.unit, self.delta)

    def run(self, data: object, miss: Fraction | None) -> tuple[FoundNumber, ...] | int:  # the owner's own data
        """What the last level releases, or the number of the level at which no test passed."""
        released: tuple[float, ...] = ()
        results: tuple[FoundNumber, ...] = ()
        for place, parts in enumerate(self.levels, 1):
            last = place == len(self.levels)
            results = tuple(self._first(item, data, released, miss if last else None) for _, item in parts)
            if any(result.value is None for result in results):
                return place
            released += tuple(as_float(result.value) for result in results if result.value is not None)
        return results

    def _first(
        self,
        proposals: tuple[Proposal, ...],
        data: object,  # the owner's own
        released: Sequence[float],
        miss: Fraction | None,
    ) -> FoundNumber:
        """The first proposal that passes."""
        for proposal in proposals:
            width, test = proposal.width(released), self.test(proposal)
            if width is None:
                continue  # a public fact, given what was released
            if test.passes(proposal.distance(data, width, released, test.margin_for(BEYOND_DOUBT))):
                return noisy(
                    proposal.true_value(data, released), Fraction(width) / (exact(proposal.release) * self.unit), miss
                )
        return REFUSED


def as_float(number: Fraction) -> float:
    """A released number; one beyond all floats is the largest of them."""
    if abs(number) < 10**308:
        return number.numerator / number.denominator
    return 1e308 if number > 0 else -1e308
