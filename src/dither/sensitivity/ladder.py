"""The ladder: how fast the local sensitivity of a query can grow as records change.

Rungs ``U_0 <= U_1 <= ... <= cap`` with two axioms, for all neighbours x and y:

1. ``U_0(x)`` is at least the local sensitivity at x;
2. ``U_k(x) <= U_{k+1}(y)``.

Everything that fits noise to the data follows from these (NRS11 Def. 3.1, Claims 3.2 and 3.3): the smooth
bound, the margin of propose-test-release, the rungs of the ladder mechanism.  Rungs are whole numbers of the
query's grid steps, and private.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, TypeAlias

import numpy as np

from dither.errors import InvalidArgument
from dither.kernels.elementary import Integers
from dither.kernels.order import decay
from dither.sensitivity.global_sensitivity import Data, HasGlobalSensitivity
from dither.sources.grid import Grid

Algorithm: TypeAlias = Literal["exact", "linear", "sublinear"]
"""How a smooth bound is computed: exactly, or by one of NRS11's cheaper bounds."""

Sensitivities: TypeAlias = Integers
"""Non-decreasing whole numbers."""

SLACK = Fraction(1, 1 << 35)
"""Part of beta that pays for computing the smooth bound in floats (docs/proofs/smooth.md, section 3)."""
LEAST_BETA = Fraction(1, 1 << 28)
MOST_BETA = 120
DEEPEST = 128.0
"""A smooth bound is never below cap e^-128: a constant is smooth too, and windows stay finite."""
_INFLATION = 1.0 + 2.0**-36
MOST_DISTANCES = 1 << 24
"""No search looks at more rungs: from there on they count as the cap, which makes a ladder again."""
MOST_SLOW_DISTANCES = 1 << 17
"""The same where rung k takes a time proportional to k: some ten seconds for all of them."""


class Ladder:
    """Rungs given by a function of a range of indices, up to a public cap."""

    follows_smooth_bound: ClassVar[bool] = False
    """True if rungs are read off a smooth bound, instead of the other way round."""

    def __init__(
        self,
        sensitivity_at_distance: Callable[[int, int], Sensitivities],
        global_sensitivity: int,
        *,
        top: int | None = None,
        first: int = 32,
        deepest: int = MOST_DISTANCES,
    ) -> None:
        """``rungs(start, stop)`` gives U_start .. U_{stop-1}; from index ``top`` on all rungs are the cap.

        ``first``: how many rungs to look at before asking whether more matter; few where they take long to compute.
        ``deepest``: no rung from this public index on is looked at; those count as the cap.
        """
        self._sensitivity_at_distance = sensitivity_at_distance
        self.global_sensitivity = global_sensitivity
        self.top = top
        self.first = first
        self.deepest = deepest

    def __repr__(self) -> str:
        return "Ladder(<private>)"

    def sensitivity_at_distance(self, start: int, stop: int) -> Sensitivities:
        """U_start .. U_{stop-1}."""
        if self.top is None or stop <= self.top:
            return self._sensitivity_at_distance(start, stop)
        explicit = (
            self._sensitivity_at_distance(start, max(self.top, start))
            if start < self.top
            else np.zeros(0, dtype=np.int64)
        )
        dtype = object if self.global_sensitivity >= 1 << 62 else explicit.dtype
        return np.concatenate(
            [explicit.astype(dtype), np.full(stop - start - len(explicit), self.global_sensitivity, dtype=dtype)]
        )

    def most_decayed(self, start: int, stop: int, rate: float) -> int:  # noqa: ARG002
        """At least ``max e^{-rate (k - start)} U_k`` over ``start <= k < stop``, without looking at those rungs.

        The cap; ladders whose shape is known are closer, and then fewer rungs need be looked at.
        """
        return self.global_sensitivity

    def __getitem__(self, k: int) -> int:
        return int(self.sensitivity_at_distance(k, k + 1)[0])

    def smooth(self, beta: Fraction) -> Fraction:
        """A beta-smooth upper bound on the local sensitivity: ``max_k e^{-beta k} U_k``, rounded up.

        Stops exactly: once ``cap e^{-beta k}`` is below the running maximum no later rung matters.  Ends after
        ``deepest`` rungs, from where on the ladder is truncated: at a public place, so that the bound stays smooth.
        """
        if self.top is None or self.top > self.deepest:
            return self.truncated(self.deepest).smooth(beta)
        rate = usable_rate(beta)
        most = min(math.ceil(DEEPEST / rate), self.top) + 1
        best, start, stop = least_bound(self.global_sensitivity), 0, min(self.first, most)
        while True:
            weights = decay(rate, stop + 1)
            best = max(
                best, float(np.max(self.sensitivity_at_distance(start, stop).astype(np.float64) * weights[start:stop]))
            )
            if stop >= most or reaches(best, self.global_sensitivity, float(weights[stop])):
                return rounded_up(best)
            # No rung matters from where cap e^{-beta k} falls below what was found: a little further is far enough.
            enough = math.ceil(math.log(self.global_sensitivity / best) / rate) + 1
            start, stop = stop, min(2 * stop, most, max(enough, stop + 1))

    def margin(self, bound: int, deepest: int | None = None) -> int:
        """``min {k : U_k > bound}``: how many records must change before the sensitivity can exceed ``bound``.

        1-Lipschitz between neighbours (axiom 2), also where it is cut at a public ``deepest``, by default that of the
        ladder.  ``bound`` must be below the cap.  Rungs rise, so few of them are looked at: O(log margin).
        """
        deepest = self.deepest if deepest is None else deepest
        if not bound < self.global_sensitivity:
            raise InvalidArgument("bound", bound, f"must be below the global sensitivity {self.global_sensitivity}")
        low, high = 0, self.first
        while low < deepest and self[high] <= bound:
            low, high = high + 1, min(2 * high, deepest)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self[middle] > bound else (middle + 1, high)
        return min(low, deepest)

    def truncated(self, at: int) -> Ladder:
        """The ladder with every rung from index ``at`` on replaced by the cap (NRS11 Claim 3.2)."""
        if at < 0:
            raise InvalidArgument("at", at, "must be a distance of at least 0")
        top = at if self.top is None else min(at, self.top)
        return Ladder(
            self.sensitivity_at_distance, self.global_sensitivity, top=top, first=self.first, deepest=self.deepest
        )

    def stepped(self, size: int, diameter: int | None = None) -> Ladder:
        """The ladder for neighbours that differ in up to ``size`` records: ``V_k = sum_{i<s} U_{sk+i}``.

        Each of the s steps between such neighbours moves the value by a rung, so the cap is s times the cap,
        or the diameter of the query's range if that is smaller.
        """
        if size < 1:
            raise InvalidArgument("size", size, "must be at least 1 record")
        if size == 1:
            return self
        global_sensitivity = (
            size * self.global_sensitivity if diameter is None else min(size * self.global_sensitivity, diameter)
        )

        def sensitivity_at_distance(start: int, stop: int) -> Sensitivities:
            fine = self.sensitivity_at_distance(size * start, size * stop)
            if self.global_sensitivity >= 1 << 62 // size:
                fine = fine.astype(object)
            return np.asarray(np.minimum(fine.reshape(stop - start, size).sum(axis=1), global_sensitivity))

        top = None if self.top is None else -(-self.top // size)
        return Ladder(sensitivity_at_distance, global_sensitivity, top=top, deepest=max(self.deepest // size, 1))


class HasLadder(HasGlobalSensitivity, Generic[Data]):
    """A number on a public grid with a global sensitivity and a ladder."""

    if TYPE_CHECKING:

        @property
        def answers(self) -> Grid:
            """Where released answers live: public."""

        @property
        def global_sensitivity(self) -> int:
            """The global sensitivity, in grid steps: public."""

    @property
    def global_sensitivities(self) -> tuple[int, ...]:
        """Of its one number."""
        return (self.global_sensitivity,)

    @abstractmethod
    def ladder(self, data: Data, algorithm: Algorithm = "exact") -> Ladder:
        """The ladder: private."""


def usable_rate(beta: Fraction) -> float:
    """The rate to compute with so that the inflated float result is beta-smooth."""
    if not LEAST_BETA <= beta <= MOST_BETA:
        raise InvalidArgument("beta", float(beta), f"must be a smoothness from {float(LEAST_BETA):.3g} to {MOST_BETA}")
    return math.nextafter(float(beta - SLACK), 0.0)


def least_bound(global_sensitivity: int) -> float:
    """The floor of all smooth bounds under a cap."""
    return float(global_sensitivity) * math.exp(-DEEPEST)


def reaches(best: float, global_sensitivity: int, weight: float) -> bool:
    """Whether nothing that weighs at most ``cap * weight`` can exceed ``best``, float errors included."""
    return global_sensitivity * weight * (1.0 + 2.0**-40) <= best


def rounded_up(best: float) -> Fraction:
    """A float result, inflated beyond its own error, as an exact number."""
    return Fraction(best * _INFLATION)
