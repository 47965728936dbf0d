"""The owner's own function as a statistic: its value on a public grid, and its author's claims rounded outward.

What the author claims about sensitivity is taken as true; docs/proofs/custom.md proves what follows from it on the grid
and states which claims are meant, failures included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Generic, Literal

import numpy as np

from dither.numbers import Number
from dither.privacy import Neighbours
from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.ladder import Algorithm, Ladder, Sensitivities, usable_rate
from dither.sensitivity.levels import HasLevels, LevelFunction
from dither.sensitivity.local import HasLocalSensitivity
from dither.sensitivity.norms import HasNormLadder
from dither.sources.grid import Grid
from dither.statistics.levels import OwnLevel
from dither.statistics.own_code import number_of, numbers_of
from dither.statistics.statistic import FITTED_FIRST, WORST_CASE_FIRST, Statistic, VectorStatistic

INFLATION = 1 + Fraction(1, 1 << 36)
"""Covers floats in which an author computes a smooth bound (docs/proofs/custom.md, section 3)."""
GROWTHS = tuple(1 + Fraction(1, 1 << power) for power in range(9))
"""The factors by which rungs grow that are read off a smooth bound."""


@dataclass(frozen=True)
class AnswerGrid:
    """The public grid of the answers, and how real numbers are put on it."""

    grid: Grid
    spare: int
    """Steps that every sensitivity is raised by: 0 where the author declares the step, else 1 for floats."""

    def place(self, number: Fraction) -> int:
        """The nearest point; halves go up, so that shifting a number by whole steps shifts its place as far."""
        return self.grid.clamp(math.floor(number / self.grid.step + Fraction(1, 2)))

    def outward(self, sensitivity: Fraction) -> int:
        """How many steps places can be apart where numbers are at most this far apart."""
        return math.ceil(sensitivity / self.grid.step) + self.spare


@dataclass(frozen=True, eq=False)
class OwnStatistic(Statistic[Data]):
    """A function with a global sensitivity that its author claims; everything else about it is the worst case.

    Guarantee  As good as its author's claim, for values on the grid and failures that count as ``default``.
    Theorem    docs/proofs/custom.md, section 2.
    Cost       One call of the function.
    """

    function: Callable[[Data], Number]
    on: AnswerGrid
    default: int
    """What a failure counts as, in steps: public."""
    global_sensitivity: int
    neighbours: Neighbours
    sensitivity_is_constant = True
    mechanism_preference = WORST_CASE_FIRST
    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # nobody keeps the owner's functions

    @property
    def answers(self) -> Grid:
        return self.on.grid

    def value(self, data: Data) -> int:
        number = number_of(self.function, data)
        return self.default if number is None else self.on.place(number)

    def fails(self, data: Data) -> bool:
        return number_of(self.function, data) is None

    def ladder(self, data: Data, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        most = self.global_sensitivity
        return Ladder(lambda start, stop: self._capped([most] * (stop - start)), most, top=0)

    def max_margin(self, bound: int) -> int | None:
        """0 where rounding alone can move an answer by more: then no data could pass a test."""
        return 0 if bound < self._least_rung else None

    @property
    def _least_rung(self) -> int:
        """No rung is below this on any data: public."""
        return min(self.on.outward(Fraction(0)), self.global_sensitivity)

    def _capped(self, steps: Sequence[int]) -> Sensitivities:
        """Whole numbers as rungs; none exceeds the global sensitivity."""
        most = self.global_sensitivity
        return np.array([min(step, most) for step in steps], dtype=np.int64 if most < 1 << 62 else object)

    def _claimed(self, fraction: Fraction | None) -> int:
        """A claimed sensitivity in steps; where its function fails or is negative the global one."""
        if fraction is None or fraction < 0:
            return self.global_sensitivity
        return min(self.on.outward(fraction), self.global_sensitivity)


@dataclass(frozen=True, eq=False)
class OwnLadder(OwnStatistic[Data]):
    """A function with a ladder of its author's: ``claimed_ladder(data, k)`` bounds what one more change does after k.

    Guarantee  The running maximum of ``ceil(U_k / step)``, at most the global sensitivity, is a ladder if U is one.
    Theorem    NRS11 Claims 3.2 and 3.3; docs/proofs/custom.md, section 2.
    Cost       One call for each rung that is looked at, up to the public number ``most_rungs``.
    """

    claimed_ladder: Callable[[Data, int], Number]
    most_rungs: int
    """From this rung on the ladder is the global sensitivity: public."""
    sensitivity_is_constant = False
    mechanism_preference = FITTED_FIRST

    def ladder(self, data: Data, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        known: list[int] = []

        def rungs(start: int, stop: int) -> Sensitivities:
            while len(known) < stop:
                if known and known[-1] == self.global_sensitivity:
                    known.extend(known[-1:] * (stop - len(known)))
                    break
                sensitivity = self._claimed(number_of(self.claimed_ladder, data, len(known)))
                known.append(max([sensitivity, *known[-1:]]))
            return self._capped(known[start:stop])

        return Ladder(rungs, self.global_sensitivity, top=self.most_rungs)


@dataclass(frozen=True, eq=False)
class OwnSmoothBound(OwnStatistic[Data]):
    """A function with a smooth bound of its author's: ``claimed_bound(data, beta)``.

    Guarantee  ``S / step + 1`` is a smooth bound on the grid if S is one; rungs are the least ``E^k S_b`` with
               ``E >= e^b`` over the public growths E.
    Theorem    NRS11 Definition 2.1 and Lemma 2.6; docs/proofs/custom.md, section 3.
    Cost       One call for smooth noise, nine for anything that looks at rungs.
    """

    claimed_bound: Callable[[Data, float], Number]
    sensitivity_is_constant = False
    mechanism_preference = FITTED_FIRST

    def ladder(self, data: Data, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return _Bounded(self, data)

    @property
    def _least_rung(self) -> int:
        return min(1 + self.on.spare, self.global_sensitivity)

    def bound(self, data: Data, beta: Fraction) -> Fraction:
        """The claimed bound in steps, for a slightly smaller beta and raised by what floats may have lost."""
        number = number_of(self.claimed_bound, data, usable_rate(beta))
        most = Fraction(self.global_sensitivity)
        if number is None or number < 0:
            return most
        return min(number * INFLATION / self.on.grid.step + 1 + self.on.spare, most)


class _Bounded(Ladder, Generic[Data]):
    """The ladder of a smooth bound; its smooth bounds are the claimed ones."""

    follows_smooth_bound = True

    def __init__(self, statistic: OwnSmoothBound[Data], data: Data) -> None:
        super().__init__(self._grown, statistic.global_sensitivity)
        self._statistic, self._data = statistic, data
        self._columns: list[list[int]] | None = None

    def _grown(self, start: int, stop: int) -> Sensitivities:
        if self._columns is None:
            self._columns = [[math.ceil(self._statistic.bound(self._data, rate_of(growth)))] for growth in GROWTHS]
        most = self.global_sensitivity
        for growth, known in zip(GROWTHS, self._columns, strict=True):
            while len(known) < stop:
                if known[-1] >= most:
                    known.extend([most] * (stop - len(known)))
                else:
                    known.append(min(math.ceil(known[-1] * growth), most))
        least = [min(known[k] for known in self._columns) for k in range(start, stop)]
        return np.array(least, dtype=np.int64 if most < 1 << 62 else object)

    def smooth(self, beta: Fraction) -> Fraction:
        return self._statistic.bound(self._data, beta)


def rate_of(growth: Fraction) -> Fraction:
    """A beta with ``e^beta <= growth``."""
    return Fraction(math.log(growth) * (1.0 - 2.0**-40))


@dataclass(frozen=True, eq=False)
class OwnLevels(OwnStatistic[Data], HasLevels[Data]):
    """A function with levels of its author's; data whose level fails or is none stand on the highest.

    Guarantee  As good as the level function; its sensitivities are steps of the answers' grid.
    Theorem    COQ17 Proposition 11; docs/proofs/largest_local.md, section 1, and docs/proofs/custom.md, section 4.
    Cost       One call of the level function.
    """

    claimed_levels: LevelFunction[Data]
    sensitivity_is_constant = False
    mechanism_preference = ("largest_local", *FITTED_FIRST)

    def ladder(self, data: Data, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        return self.claimed_levels.levels.ladder(OwnLevel(self.claimed_levels)(data))

    @property
    def _least_rung(self) -> int:
        return self.claimed_levels.levels.sensitivity(1)

    def level_function(self) -> LevelFunction[Data]:
        return LevelFunction(self.claimed_levels.levels, OwnLevel(self.claimed_levels))


@dataclass(frozen=True, eq=False)
class OwnLocal(OwnStatistic[Data], HasLocalSensitivity[Data]):
    """A function with a bound on its local sensitivity that one change moves by at most a public number.

    Guarantee  ``U_k = local + k change`` is a ladder.
    Theorem    docs/proofs/custom.md, section 5; noise by the noisy bound: docs/proofs/noisy_local.md.
    Cost       One call of the bound.
    """

    claimed_local: Callable[[Data], Number]
    change: int
    """The most that one change moves the bound, in steps: public."""
    most_lipschitz_proxy = 0
    local_is_exact = False
    sensitivity_is_constant = False
    mechanism_preference = FITTED_FIRST

    def ladder(self, data: Data, algorithm: Algorithm = "exact") -> Ladder:  # noqa: ARG002
        first = self.local(data)
        return Ladder(
            lambda start, stop: self._capped([first + k * self.change for k in range(start, stop)]),
            self.global_sensitivity,
        )

    def lipschitz_proxy(self, data: Data) -> int:  # noqa: ARG002
        return 0

    def local(self, data: Data) -> int:
        return self._claimed(number_of(self.claimed_local, data))

    def local_sensitivity_change(self, lipschitz_proxy: int) -> int:  # noqa: ARG002
        return self.change


@dataclass(frozen=True, eq=False)
class OwnVector(VectorStatistic[Data]):
    """A function with several numbers, and how far one change moves them in the l1 or l2 norm.

    Guarantee  As good as its author's claim; rounding d numbers adds at most d steps in l1 and sqrt(d) in l2.
    Theorem    docs/proofs/custom.md, section 6.
    Cost       One call of the function.
    """

    function: Callable[[Data], Sequence[Number]]
    on: tuple[AnswerGrid, ...]
    default: tuple[int, ...]
    norm_sensitivity: int
    """The global sensitivity in the norm, in steps: public."""
    norm: Literal["l1", "l2"]
    neighbours: Neighbours
    labels: tuple[str, ...]
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    @property
    def answers(self) -> tuple[Grid, ...]:
        return tuple(column.grid for column in self.on)

    @property
    def global_sensitivities(self) -> tuple[int, ...]:
        return (self.norm_sensitivity,) * len(self.on)

    @property
    def l1(self) -> int:
        return 1 if self.norm == "l1" else math.isqrt(len(self.on) - 1) + 1

    @property
    def l2_squared(self) -> int:
        return 1

    def values(self, data: Data) -> Sequence[int]:
        numbers = numbers_of(self.function, len(self.on), data)
        return (
            self.default if numbers is None else [on.place(result) for on, result in zip(self.on, numbers, strict=True)]
        )

    def fails(self, data: Data) -> bool:
        return numbers_of(self.function, len(self.on), data) is None


@dataclass(frozen=True, eq=False)
class OwnNormLadder(OwnVector[Data], HasNormLadder[Data]):
    """The same with an author's ladder, smooth bound, levels or local sensitivity of the norm."""

    claims: OwnStatistic[Data]
    """A stand-in of one number, whose ladder is that of the norm."""
    mechanism_preference = FITTED_FIRST

    def norm_ladder(self, data: Data) -> Ladder:
        return self.claims.ladder(data)
