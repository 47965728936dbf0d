"""Diagnostics for the data owner.  NOT private: true values and scales.  Never reachable from a server."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dither.errors import InvalidArgument
from dither.mechanisms import largest_local
from dither.mechanisms.choice import named_noise
from dither.noise.law import AdmissiblePoint, Constants
from dither.numbers import exact
from dither.privacy import Loss
from dither.queries.query import Query, StatisticQuery
from dither.sensitivity.ladder import Algorithm
from dither.statistics.statistic import Statistic, VectorStatistic


def value(query: Query, data: Any, *, where: Any = None, by: Any = None) -> Any:
    """The true value on the query's grid, or the true values of a histogram or of several quantiles.

    data: an array, a graph, or an owner's session on any engine.
    where, by: in a session a filter and groups, as for ``Session.ask``; with groups the result is a mapping of keys to
        values, with one entry of a key for each column in ``by``.

    >>> import dither as dt
    >>> session = dt.open({"pay": [10, 20, 90], "flag": [True, False, True]},
    ...                   columns={"pay": dt.Integer(0, 100), "flag": dt.Boolean()}, budget=dt.Budget(1.0))
    >>> value(dt.Sum("pay"), session, where="pay > 10"), value(dt.Sum("pay"), session, by="flag")
    (110, {(False,): 20, (True,): 100})
    """
    statistic, groups = _groups(query, data, where, by)
    values = {key: query.transformed(_value(statistic, records)) for key, records in groups.items()}
    return values if by is not None else values[()]


def _value(statistic: Statistic | VectorStatistic, records: Any) -> Any:
    steps = statistic.numbers(records)
    return statistic.released([grid.value(one) for grid, one in zip(statistic.answer_grids, steps, strict=True)])


def ladder(query: Query, data: Any, *, rungs: int = 10, where: Any = None, by: Any = None) -> Any:
    """How far one more change can move the value after 0, 1, 2, ... changes, in the data's own units.

    where, by: as for ``value``.
    """
    if not isinstance(rungs, int) or rungs < 1:
        raise InvalidArgument("rungs", rungs, "must be a whole number of at least 1")
    statistic, groups = _groups(query, data, where, by)
    one = _single(query, statistic)
    ladders = {
        key: [float(one.answers.step * int(rung)) for rung in one.ladder(records).sensitivity_at_distance(0, rungs)]
        for key, records in groups.items()
    }
    return ladders if by is not None else ladders[()]


def smooth(query: Query, data: Any, *, beta: Any, algorithm: Algorithm = "exact") -> float:
    """The beta-smooth sensitivity, in the data's own units."""
    if algorithm not in ("exact", "linear", "sublinear"):
        raise InvalidArgument("algorithm", algorithm, 'must be "exact", "linear" or "sublinear"')
    statistic, records = _resolved(query, data)
    bound: Fraction = statistic.ladder(records, algorithm).smooth(exact(beta, "beta"))
    return float(statistic.answers.step * bound)


def margin(query: Query, data: Any, *, bound: Any) -> int:
    """How many records must change before one more could move the value by more than ``bound`` (in its own units)."""
    statistic, records = _resolved(query, data)
    steps = math.floor(exact(bound, "bound") / statistic.answers.step)
    if not 0 <= steps < statistic.global_sensitivity:
        most = float(statistic.global_sensitivity * statistic.answers.step)
        raise InvalidArgument("bound", bound, f"must be a number of at least 0 and below the worst case {most:g}")
    return statistic.ladder(records).margin(steps)


def rows(session: Any, columns: Sequence[str], *, where: Any = None) -> Any:
    """The declared columns of the selected records as an Arrow table: what a program or a clustering computes on."""
    return session.inspected_rows(columns, where=where)


def _resolved(query: Query, data: Any) -> tuple[Statistic, Any]:
    statistic, groups = _groups(query, data)
    return _single(query, statistic), groups[()]


def _single(query: Query, statistic: Statistic | VectorStatistic) -> Statistic:
    if query.is_transformed:
        raise InvalidArgument("query", query.name, "is a function of another statistic: inspect that one")
    single = statistic.single
    if single is None:
        raise InvalidArgument("query", query.name, "must be a query for a single number")
    return single


def _groups(
    query: Query, data: Any, where: Any = None, by: Any = None
) -> tuple[Statistic | VectorStatistic, dict[tuple[Any, ...], Any]]:
    """The statistic, and the records of every group; without groups their key is empty."""
    if not isinstance(query, Query):
        raise InvalidArgument("query", query, "must be a query object such as Median(bounds=(0, 1))")
    if hasattr(data, "inspected_groups"):
        found: tuple[Statistic | VectorStatistic, dict[tuple[Any, ...], Any]] = data.inspected_groups(
            query, where=where, by=by
        )
        return found
    if where is not None or by is not None:
        raise InvalidArgument("where", where or by, "is for a session on a table: leave it out")
    if hasattr(data, "inspected"):
        statistic, records = data.inspected(query)
        return statistic, {(): records}
    if not isinstance(query, StatisticQuery):
        raise InvalidArgument("query", query.name, "must be a query that is one statistic")
    shape = query.shape(data)
    return query.resolve(shape), {(): query.read(data, shape)}


def admissible(
    noise: Any,
    *,
    epsilon: Any,
    delta: Any = 0.0,
    beta: Any = None,
    dimension: int = 1,
    constants: Constants = "exact",
) -> AdmissiblePoint:
    """The point (alpha, beta) in use for a noise and a privacy loss, and what its proof rests on.

    >>> admissible("power_law", epsilon=1.0).error_factor < 6.3
    True
    """
    law = named_noise(noise)
    if law is None:
        raise InvalidArgument("noise", noise, "must be the name of a noise or a noise object")
    if constants not in ("exact", "paper"):
        raise InvalidArgument("constants", constants, 'must be "exact" or "paper"')
    if not isinstance(dimension, int) or dimension < 1:
        raise InvalidArgument("dimension", dimension, "must be a whole number of at least 1")
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
