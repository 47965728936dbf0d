"""The registry of independent laws: one entry for each mechanism, under its public name.

An entry computes what the mechanism should release from its public parameters (shares of epsilon, rates, admissible
points, thresholds), the facts of ``facts.py`` and the paper's formula.  It never calls the mechanism's own code.  A
mechanism without an entry is a finding of the audit.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

from dither.errors import DitherError
from dither.mechanisms.mechanism import Mechanism, Prepared
from dither.privacy import Loss
from dither_lab.audit.laws.facts import D, Facts, Published
from dither_lab.audit.laws.outputs import Outputs

if TYPE_CHECKING:
    from dither_lab.audit.universes import Universe

ADDED = ("blunt_power_law", "power_law", "cauchy", "student", "laplace", "gaussian")
NEEDS_DELTA = frozenset({"laplace", "gaussian"})
DELTA = 1e-4
TESTED = Loss(4.0, 0.01)
"""Few records leave little room for a test: only a large loss passes on so small a universe."""

Pair: TypeAlias = tuple[D, D]
WorstPair: TypeAlias = tuple[float, float | None, tuple[D, D]]
"""The least epsilon that the worst pair shows, the epsilon that no pair exceeds (None if not known), and that pair."""
Answer = tuple[int | None, ...]
"""(value,) or (value, lower, upper), in grid steps, and longer for several numbers; None is a refusal."""


class NoIndependentLaw(DitherError):
    """The audit has nothing to compare a mechanism with."""

    status, code = 500, "no-independent-law"

    def __init__(self, name: str) -> None:
        remedy = "write one in dither_lab/audit/laws" if name else "its Prepared says its public name in ``mechanism``"
        super().__init__(f"no independent law is registered for mechanism {name!r}; {remedy}")


@dataclass(frozen=True)
class Mutant:
    """A mechanism broken in one way: what it releases, and states, differs from what it claims."""

    name: str
    universe: Universe
    prepared: Prepared
    """Draws from the broken law, and states its error."""
    law: IndependentLaw
    """Of what is really released: for seeing how much it shows."""


class IndependentLaw(ABC):
    """A mechanism as the laboratory sees it."""

    proof: ClassVar[str]
    """The page of docs/proofs that states what is checked."""
    noises: ClassVar[tuple[str, ...]] = ("",)
    """The noises that the mechanism uses; "" where it draws without one."""
    every_point: ClassVar[bool] = False
    """Whether answers are listed one by one: only on grids of few points."""
    vector: ClassVar[bool] = False
    """Whether several numbers are released."""
    reusable: ClassVar[bool] = True
    """Whether value, ladder and reachable values are all that a run computes from the data: they may be kept."""

    smooth_ladder: ClassVar[bool] = False
    """Whether noise is scaled to the smooth bound of the statistic's ladder."""
    estimated: ClassVar[str] = ""
    """Why the error that the mechanism states for itself is an estimate, which is not compared; empty: it is exact."""

    @abstractmethod
    def outputs(self, prepared: Any, facts: Facts[D], data: D) -> Outputs:
        """What should be released about a dataset, intervals aside."""

    @abstractmethod
    def worst_pair(self, prepared: Any, facts: Facts[D], pairs: list[Pair[D]]) -> WorstPair[D]:
        """The pair of neighbours that shows most, with bounds on its epsilon at the claimed delta."""

    def answers(self, prepared: Any, facts: Facts[D], data: D) -> dict[Answer, float] | None:  # noqa: ARG002
        """The probability of every answer, interval included; None where that has no closed form."""
        return None

    def weakened(self, prepared: Any, factor: Fraction) -> Prepared | None:  # noqa: ARG002
        """The same claim with noise ``factor`` times as large: for seeing that checks can fail."""
        return None

    def interval_for_free(self, prepared: Any, factor: Fraction) -> Prepared | None:  # noqa: ARG002
        """The same claim with an interval that is ``factor`` times as precise as what it spends."""
        return None

    def mutants(self, prepare: Callable[[Universe], Any]) -> Iterator[Mutant]:  # noqa: ARG002
        """Ways of its own to break the mechanism, which the audit must find.

        ``prepare`` makes the honest mechanism for a small universe.
        """
        return iter(())

    def loss(self, noise: str, epsilon: float) -> Loss:
        """What to ask for in an audit."""
        return Loss(epsilon, DELTA if noise == "gaussian" else 0.0)

    def on_few_records(self, mechanism: Mechanism, statistic: Any) -> Mechanism:  # noqa: ARG002
        """The mechanism with public parameters that suit a small universe."""
        return mechanism

    def applies(self, statistic: Any) -> bool:  # noqa: ARG002
        """Whether there is anything to audit on a small universe of this statistic."""
        return True


_LAWS: dict[str, IndependentLaw] = {}
LawClass = TypeVar("LawClass", bound=type[IndependentLaw])


def output_law(name: str) -> Callable[[LawClass], LawClass]:
    """Register the independent law of a mechanism under its public name.

    Where a mechanism also releases several numbers at once, that law is named after a slash: ``"inverse/vector"``.
    """

    def register(law_class: LawClass) -> LawClass:
        if name in _LAWS:
            raise ValueError(f"two laws are registered for {name!r}: {_LAWS[name]!r} and {law_class!r}; rename one")
        _LAWS[name] = law_class()
        return law_class

    return register


@functools.cache
def registered() -> dict[str, IndependentLaw]:
    """All laws by name: every module of this folder enters its own."""
    import dither_lab.audit.laws as package  # noqa: PLC0415  (its modules import this one)

    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return _LAWS


def law_named(name: str, *, vector: bool = False) -> IndependentLaw:
    """The law of a mechanism by its public name, for one number or for several at once."""
    result = registered().get(full_name(name, vector=vector))
    if result is None:
        raise NoIndependentLaw(full_name(name, vector=vector))
    return result


def full_name(name: str, *, vector: bool) -> str:
    """Under which name a law is registered."""
    return f"{name}/vector" if vector else name


def law_of(prepared: Prepared) -> IndependentLaw:
    """The law of a prepared mechanism."""
    return law_named(prepared.mechanism)


def published(prepared: Prepared[D]) -> Facts[D]:
    """The facts that a prepared mechanism's statistic publishes."""
    return Published(prepared.statistic)
