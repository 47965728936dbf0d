"""The registry of mechanisms: each enters itself, under its public name, with the sensitivity structure it needs.

Everything that lists mechanisms (what "auto" chooses from, error texts, help, the audit's coverage) reads it.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

from dither.mechanisms.mechanism import Mechanism
from dither.sensitivity.domain_histogram import HasDomainHistogram
from dither.sensitivity.global_sensitivity import HasGlobalSensitivity
from dither.sensitivity.ladder import HasLadder
from dither.sensitivity.largest_change import HasLargestChange
from dither.sensitivity.levels import HasLevels
from dither.sensitivity.limited_shares import HasLimitedShares
from dither.sensitivity.local import HasLocalSensitivity
from dither.sensitivity.middle import HasMiddleScore
from dither.sensitivity.reachable import HasReachableValues
from dither.sensitivity.sum_and_count import HasSumAndCount

STRUCTURES = (
    HasGlobalSensitivity,
    HasLadder,
    HasReachableValues,
    HasMiddleScore,
    HasLevels,
    HasLocalSensitivity,
    HasDomainHistogram,
    HasLargestChange,
    HasSumAndCount,
    HasLimitedShares,
)
"""Sensitivity structures, from what every statistic offers to what few do; mechanisms are listed in this order."""

Registered = TypeVar("Registered", bound=Mechanism)
_registered: dict[str, type[Mechanism]] = {}


def mechanism(name: str, *, needs: type | tuple[type, ...]) -> Callable[[type[Registered]], type[Registered]]:
    """Enter a mechanism under its public name.

    ``needs``: the sensitivity structure that a statistic must offer, or several of which one is enough.
    """

    def enter(mechanism_class: type[Registered]) -> type[Registered]:
        if name in _registered:
            raise ValueError(f"two mechanisms are called {name!r}")
        mechanism_class.name, mechanism_class.needs = name, needs if isinstance(needs, tuple) else (needs,)
        _registered[name] = mechanism_class
        return mechanism_class

    return enter


@functools.cache
def mechanisms() -> Mapping[str, type[Mechanism]]:
    """All mechanisms by name, those that need least first."""
    import dither.mechanisms as package  # noqa: PLC0415  (its modules import this one)

    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return MappingProxyType(dict(sorted(_registered.items(), key=_place)))


def _place(entry: tuple[str, type[Mechanism]]) -> tuple[int, str]:
    name, mechanism_class = entry
    return min(STRUCTURES.index(need) for need in mechanism_class.needs if need in STRUCTURES), name
