"""Diagnostics for the data owner.  NOT private: true values and scales.  Never reachable from a server."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from dither.calibration import largest_local
from dither.errors import InvalidArgument
from dither.noise.law import Constants, Point
from dither.planner import named_noise
from dither.privacy import Loss
from dither.queries.query import Query
from dither.queries.statistic import Algorithm, Statistic
from dither.reals import exact


def value(query: Query, data: Any) -> int | float:
    """The true value on the query's grid.  ``data``: an array, a graph, or an owner's session on any engine."""
    statistic, records = _resolved(query, data)
    return statistic.answers.value(statistic.value(records))


def ladder(query: Query, data: Any, *, rungs: int = 10) -> list[float]:
    """How far one more change can move the value after 0, 1, 2, ... changes, in the data's own units."""
    if not isinstance(rungs, int) or rungs < 1:
        raise InvalidArgument("rungs", rungs, "a whole number of at least 1 is accepted")
    statistic, records = _resolved(query, data)
    climbed = statistic.ladder(records).rungs(0, rungs)
    return [float(statistic.answers.step * int(rung)) for rung in climbed]


def smooth(query: Query, data: Any, *, beta: Any, algorithm: Algorithm = "exact") -> float:
    """The beta-smooth sensitivity, in the data's own units."""
    if algorithm not in ("exact", "linear", "sublinear"):
        raise InvalidArgument("algorithm", algorithm, '"exact", "linear" or "sublinear" is accepted')
    statistic, records = _resolved(query, data)
    bound: Fraction = statistic.ladder(records, algorithm).smooth(exact(beta, "beta"))
    return float(statistic.answers.step * bound)


def margin(query: Query, data: Any, *, bound: Any) -> int:
    """How many records must change before one more could move the value by more than ``bound`` (in its own units)."""
    statistic, records = _resolved(query, data)
    steps = math.floor(exact(bound, "bound") / statistic.answers.step)
    if not 0 <= steps < statistic.cap:
        most = float(statistic.cap * statistic.answers.step)
        raise InvalidArgument("bound", bound, f"a number of at least 0 and below the worst case {most:g} is accepted")
    return statistic.ladder(records).margin(steps)


def _resolved(query: Query, data: Any) -> tuple[Statistic, Any]:
    if not isinstance(query, Query):
        raise InvalidArgument("query", query, "a query object such as Median(bounds=(0, 1)) is accepted")
    if hasattr(data, "inspected"):
        found = data.inspected(query)
        if not isinstance(found[0], Statistic):
            raise InvalidArgument("query", query.kind, "a query for a single number is accepted")
        return found[0], found[1]
    shape = query.shape(data)
    statistic = query.resolve(shape)
    if not isinstance(statistic, Statistic):
        raise InvalidArgument("query", query.kind, "a query for a single number is accepted")
    return statistic, query.read(data, shape)


def admissible(
    noise: Any,
    *,
    epsilon: Any,
    delta: Any = 0.0,
    beta: Any = None,
    dimension: int = 1,
    constants: Constants = "exact",
) -> Point:
    """The point (alpha, beta) in use for a noise and a price, and what its proof rests on.

    >>> admissible("power_law", epsilon=1.0).error_factor < 6.3
    True
    """
    law = named_noise(noise)
    if law is None:
        raise InvalidArgument("noise", noise, "the name of a noise or a noise object is accepted")
    if constants not in ("exact", "paper"):
        raise InvalidArgument("constants", constants, '"exact" or "paper" is accepted')
    if not isinstance(dimension, int) or dimension < 1:
        raise InvalidArgument("dimension", dimension, "a whole number of at least 1 is accepted")
    smoothness = None if beta is None else exact(beta, "beta")
    return law.point(Loss.asked(epsilon, delta), beta=smoothness, dimension=dimension, constants=constants)


def unfit_pairs(
    mechanism: Mapping[Hashable, tuple[Any, Any]],
    neighbours: Iterable[tuple[Hashable, Hashable]],
    *,
    epsilon: Any,
    delta: Any = 0.0,
) -> list[tuple[Hashable, Hashable]]:
    """The neighbours between which Laplace noise made by hand is not private: COQ17 Theorem 8, corrected.

    mechanism: for each dataset its value and the scale of its noise.

    >>> unfit_pairs({"x": (3, 2.0), "y": (4, 2.1)}, [("x", "y")], epsilon=1.0, delta=1e-6)
    []
    >>> unfit_pairs({"x": (3, 2.0), "y": (4, 4.0)}, [("x", "y")], epsilon=1.0, delta=1e-6)
    [('x', 'y')]
    """
    exactly = {one: (exact(f, "value"), exact(scale, "scale")) for one, (f, scale) in mechanism.items()}
    return largest_local.unfit_pairs(exactly, neighbours, Loss.asked(epsilon, delta))
