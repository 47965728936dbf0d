"""Mutants' common parts: the claim and the public parameters of an honest mechanism, and draws from another law.

A law in ``laws/`` that wants ways of its own to break its mechanism writes broken laws, and gives each of them to
``BrokenDraw``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from dither.mechanisms.mechanism import Outcome, Prepared
from dither.noise.entropy import uniform_integer
from dither_lab.audit.laws.facts import Facts
from dither_lab.audit.laws.outputs import Distribution

PRECISION = 53
"""Bits of the uniform number that decides a draw."""


class BrokenLaw(Protocol):
    """What a mutant really releases."""

    def distribution(self, prepared: Any, facts: Facts, data: Any) -> Distribution:
        """The law of its one number."""


@dataclass(frozen=True)
class StatedError:
    """The error that a mutant states: that of its own law."""

    law: Distribution
    value: int

    def beyond(self, distance: float) -> float:
        """How likely a greater error is."""
        return self.law.beyond(self.value, math.floor(distance))


@dataclass(frozen=True)
class Imitation(Prepared):
    """Makes the claim of an honest mechanism: loss, statistic, noise and all public parameters are its own."""

    honest: Any

    @property
    def mechanism(self) -> str:  # type: ignore[override]
        """The name of the honest mechanism."""
        return str(self.honest.mechanism)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "honest":  # (asked for while it is being copied)
            raise AttributeError(name)
        return getattr(self.honest, name)


@dataclass(frozen=True)
class BrokenDraw(Imitation):
    """Draws one number from a broken law and states its error, under the honest claim."""

    law: BrokenLaw
    facts: Facts

    def run(self, data: Any) -> Outcome:
        law = self.law.distribution(self, self.facts, data)
        low, high = self.facts.statistic.answers.ends
        place = uniform_integer(1 << PRECISION) / (1 << PRECISION)
        return Outcome(next((z for z in range(low, high) if law.below(z + 1) > place), high))

    def error_laws(self, records: Any) -> list[Any]:
        return [StatedError(self.law.distribution(self, self.facts, records), self.facts.value(records))]
