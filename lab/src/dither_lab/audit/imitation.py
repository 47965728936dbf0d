"""Mutants' common parts: the claim and the public parameters of an honest mechanism, and draws from another law.

A law in ``laws/`` that wants ways of its own to break its mechanism writes broken laws, and gives each of them to
``broken_draw``.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dither.mechanisms.mechanism import Outcome, Prepared
from dither.noise.entropy import uniform_integer
from dither_lab.audit.laws.facts import D, Facts
from dither_lab.audit.laws.outputs import Distribution

if TYPE_CHECKING:
    from dither_lab.audit.laws.registry import IndependentLaw

PRECISION = 53
"""Bits of the uniform number that decides a draw."""


@dataclass(frozen=True)
class StatedError:
    """The error that a mutant states: that of its own law."""

    law: Distribution
    value: int

    def beyond(self, distance: float) -> float:
        """How likely a greater error is."""
        return self.law.beyond(self.value, math.floor(distance))


def imitation(
    honest: Prepared, run: Callable[[Any], Outcome], error_laws: Callable[[Any], list[Any]] | None = None
) -> Prepared:
    """The claim and all public parameters of an honest mechanism, with other draws and another stated error."""
    broken = copy.copy(honest)
    # Frozen: what is set on the instance stands before the methods of its class.
    object.__setattr__(broken, "run", run)
    if error_laws is not None:
        object.__setattr__(broken, "error_laws", error_laws)
    return broken


def broken_draw(honest: Prepared, law: IndependentLaw, facts: Facts[D]) -> Prepared:
    """Draws one number from a broken law's ``outputs`` and states its error, under the honest claim."""
    low, high = facts.statistic.answers.ends

    def released(data: D) -> Distribution:
        return law.outputs(honest, facts, data).numbers[0]

    def run(data: D) -> Outcome:
        chances = released(data)
        place = uniform_integer(1 << PRECISION) / (1 << PRECISION)
        return Outcome(next((z for z in range(low, high) if chances.below(z + 1) > place), high))

    def error_laws(records: Any) -> list[Any]:
        return [StatedError(released(records), facts.value(records))]

    return imitation(honest, run, error_laws)
