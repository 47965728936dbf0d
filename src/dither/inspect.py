"""Diagnostics for the data owner.  NOT private: true values and scales.  Never reachable from a server."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast, overload

import numpy as np

from dither.errors import InvalidArgument
from dither.mechanisms import largest_local, noise_design
from dither.mechanisms.choice import named_noise, prepare
from dither.mechanisms.descent import Descent, descend
from dither.noise.blunt_power_law import BluntPowerLaw
from dither.noise.heavy_tails import PowerLaw
from dither.noise.laplace import Laplace
from dither.noise.law import AdmissiblePoint, Constants
from dither.noise.pair_divergence import Enclosed, Logistic
from dither.numbers import exact
from dither.privacy import Loss, Neighbours
from dither.procedures.cell_regression import MOST_COEFFICIENTS, cells_of
from dither.queries.block_diagnostics import BlockAccuracy, Separation, block_accuracy, cluster_separation
from dither.queries.custom import Custom, FiniteSpace
from dither.queries.programs import Program
from dither.queries.query import Query, StatisticQuery
from dither.queries.registry import no_query
from dither.queries.regression import Regression
from dither.sensitivity.ladder import Algorithm
from dither.sensitivity.levels import Levels
from dither.sources.graph import Graph
from dither.statistics.claims import (
    ClaimedFacts,
    GraphMoves,
    ListedSpace,
    Moves,
    Space,
    facts_of,
    key_of,
    pairs_of,
    refuted,
)
from dither.statistics.local import exact_local_sensitivity
from dither.statistics.statistic import Statistic, VectorStatistic

if TYPE_CHECKING:
    from dither.queries.query import D, F, R
    from dither.release import B, Released, V
    from dither.session.graphs import GraphSession
    from dither.session.session import Session
    from dither.typing import (
        Anything,
        Array,
        ArrowTable,
        Columns,
        Filter,
        GroupKey,
        MechanismChoice,
        Mixed,
        ModelData,
        Names,
        NoiseChoice,
        Number,
    )

Data = TypeVar("Data")
Dataset = TypeVar("Dataset", bound=Hashable)
Owned: TypeAlias = Any
"""A dataset, or a record, of a function of the owner's: only that function knows what it is."""
FAILING = (math.nan, math.inf, -math.inf)
"""Records that most functions of numbers fail on."""


@overload
def value(query: Query[V, B, D], data: D | Session | GraphSession, *, where: Filter | None = None) -> V: ...
@overload
def value(
    query: Query[V, B], data: Session, *, where: Filter | None = None, by: Names
) -> dict[tuple[GroupKey, ...], V]: ...
def value(
    query: Query[V, B, D, F, R],
    data: D | Session | GraphSession,
    *,
    where: Filter | None = None,
    by: Names | None = None,
) -> V | dict[tuple[GroupKey, ...], V]:
    """The true value on the query's grid, or the true values of a histogram or of several quantiles.

    data: an array, a graph, or an owner's session on any engine.
    where, by: in a session a filter and groups, as for ``Session.ask``; with groups the result is a mapping of keys to
        values, with one entry of a key for each column in ``by``.

    Where limits of what one person contributes are private, the value is that of all rows of everybody: what a release
    is centred on is the value within the limit that it draws.

    >>> import dither as dt
    >>> session = dt.open({"pay": [10, 20, 90], "flag": [True, False, True]},
    ...                   columns={"pay": dt.Integer(0, 100), "flag": dt.Boolean()}, budget=dt.Budget(1.0))
    >>> value(dt.Sum("pay"), session, where="pay > 10"), value(dt.Sum("pay"), session, by="flag")
    (110, {(False,): 20, (True,): 100})
    """
    if isinstance(query, Query) and not hasattr(data, "_inspected_groups"):
        query = query.settled("auto")
    statistic, groups = _groups(query, data, where, by, only_value=True)
    function = query.function_of(statistic)
    values = {key: function(_value(statistic, records)) for key, records in groups.items()}
    return values if by is not None else values[()]


def _value(statistic: Statistic[R] | VectorStatistic[R], records: R) -> Released:
    steps = statistic.numbers(records)
    return statistic.released([grid.value(step) for grid, step in zip(statistic.answer_grids, steps, strict=True)])


@overload
def ladder(
    query: Query[V, B, D], data: D | Session | GraphSession, *, rungs: int = 10, where: Filter | None = None
) -> list[float]: ...
@overload
def ladder(
    query: Query, data: Session, *, rungs: int = 10, where: Filter | None = None, by: Names
) -> dict[tuple[GroupKey, ...], list[float]]: ...
def ladder(
    query: Query[V, B, D, F, R],
    data: D | Session | GraphSession,
    *,
    rungs: int = 10,
    where: Filter | None = None,
    by: Names | None = None,
) -> list[float] | dict[tuple[GroupKey, ...], list[float]]:
    """How far one more change can move the value after 0, 1, 2, ... changes, in the data's own units.

    where, by: as for ``value``.
    """
    if not isinstance(rungs, int) or rungs < 1:
        raise InvalidArgument("rungs", rungs, "must be a whole number of at least 1")
    statistic, groups = _groups(query, data, where, by)
    single = _single(query, statistic)
    ladders = {
        key: [
            float(single.answers.step * int(sensitivity))
            for sensitivity in single.ladder(records).sensitivity_at_distance(0, rungs)
        ]
        for key, records in groups.items()
    }
    return ladders if by is not None else ladders[()]


def smooth(
    query: Query[V, B, D], data: D | Session | GraphSession, *, beta: Number, algorithm: Algorithm = "exact"
) -> float:
    """The beta-smooth sensitivity, in the data's own units."""
    if algorithm not in ("exact", "linear", "sublinear"):
        raise InvalidArgument("algorithm", algorithm, 'must be "exact", "linear" or "sublinear"')
    statistic, records = _resolved(query, data)
    bound: Fraction = statistic.ladder(records, algorithm).smooth(exact(beta, "beta"))
    return float(statistic.answers.step * bound)


def margin(query: Query[V, B, D], data: D | Session | GraphSession, *, bound: Number) -> int:
    """How many records must change before one more could move the value by more than ``bound`` (in its own units)."""
    statistic, records = _resolved(query, data)
    steps = math.floor(exact(bound, "bound") / statistic.answers.step)
    if not 0 <= steps < statistic.global_sensitivity:
        most = float(statistic.global_sensitivity * statistic.answers.step)
        raise InvalidArgument("bound", bound, f"must be a number of at least 0 and below the worst case {most:g}")
    return statistic.ladder(records).margin(steps)


@dataclass(frozen=True)
class FitCell:
    """Where the robust fit lies in one grid of cells.  NOT private."""

    lower: tuple[float, ...] | None
    """The cell's lower corner, in the units of the coefficients; None if the fit has no cell in this grid."""
    changes: int
    """How many records can change, whatever they become, with the fit staying in the cell; from three coefficients on
    at least so many."""


def cells(query: Regression, data: ModelData, *, sides: Sequence[Number]) -> list[FitCell]:
    """The cells that ``Regression(method="robust")`` tests (DL09's R_H), one in each of its 2^q shifted grids.

    sides: of the cells, one for each of the q coefficients.  A release takes them from a private spread of the fits of
    blocks and reads one of these cells off, if enough records can change; so the answer is as fine as the sides are.

    Theorem    DL09 Lemma 11 and its generalisation; docs/proofs/regression.md section 4.

    >>> import dither as dt
    >>> line = dt.Regression(method="robust", intercept=False)
    >>> cells(line, ([1.0] * 101, [0.6] * 101), sides=[1])
    [FitCell(lower=(0.0,), changes=50), FitCell(lower=(0.5,), changes=50)]
    """
    if not isinstance(query, Regression):
        raise InvalidArgument("query", query, "must be a dt.Regression")
    facts = query.shape(data)
    exacts = [exact(side, "sides") for side in sides]
    if len(exacts) != facts.model.coefficients or min(exacts, default=Fraction(0)) <= 0:
        accepted = f"must be a positive number for each coefficient: {', '.join(facts.labels)}"
        raise InvalidArgument("sides", sides, accepted)
    if len(exacts) > MOST_COEFFICIENTS:
        raise InvalidArgument("query", f"{len(exacts)} coefficients", f"must have at most {MOST_COEFFICIENTS}")
    records = query.read(data, facts)
    units = np.array([float(side) for side in exacts])
    result = cells_of(records.design(intercept=query.intercept), records.response, units)
    return [
        FitCell(None if corner is None else tuple((np.array(corner) / 2 * units).tolist()), changes)
        for corner, changes in zip(result.corners, result.margins, strict=True)
    ]


@dataclass(frozen=True)
class ErrorFloor:
    """What no private mechanism can beat on these data and one of their neighbours.  NOT private."""

    error: float
    """Half of the local sensitivity, in the data's own units."""
    probability: float
    """On the data or on that neighbour the error is smaller than ``error`` at most this often, whatever is released."""

    @property
    def expected_error(self) -> float:
        """On the data or on that neighbour the expected error is at least this; quotes name its mean under a prior."""
        return 2.0 * self.error * (1.0 - self.probability)


def floor(
    query: Query[V, B, D, F, R], data: D | Session | GraphSession, *, epsilon: Number, delta: Number = 0.0
) -> ErrorFloor:
    """The error below which no (epsilon, delta)-private answer stays reliably: half of the local sensitivity.

    Theorem    V17 Proposition 3.1, with ``(1 + delta e^-epsilon) / (1 + e^-epsilon)``; docs/proofs/quotes.md section 5.

    >>> import dither as dt
    >>> floor(dt.Median(bounds=(0, 100)), [10, 20, 90], epsilon=1.0)
    ErrorFloor(error=35.0, probability=0.7310585786300049)
    """
    loss = Loss.asked(epsilon, delta)
    statistic, records = _resolved(query, data)
    steps = exact_local_sensitivity(statistic, records)
    if steps is None:
        accepted = "must be one whose local sensitivity is known exactly, not by an upper bound alone"
        raise InvalidArgument("query", query.name, accepted)
    shrink = math.exp(-loss.epsilon)
    return ErrorFloor(float(statistic.answers.step * steps / 2), min((1 + loss.delta * shrink) / (1 + shrink), 1.0))


def rows(session: Session, columns: Sequence[str], *, where: Filter | None = None) -> ArrowTable:
    """The declared columns of the selected records as an Arrow table: what a program or a clustering computes on."""
    return session._inspected_rows(columns, where=where)


def blocks(query: Program, data: Mixed, *, sizes: Iterable[int] | None = None, draws: int = 100) -> list[BlockAccuracy]:
    """How well a program on few random people approximates itself on all of them (NRS11 Definition 4.1).

    Sample and aggregate is accurate where three quarters of the answers for n/m people are near the answer for all n;
    this says how near, for blocks of growing ``sizes`` (by default 8, 16, ... up to half of the people).  Distances are
    those of the query's space or metric, without one parts of the bounds.  The program runs in this process.

    >>> import dither as dt, numpy as np
    >>> mean = dt.Program(np.mean, bounds=(0, 1), metric="l2")
    >>> few, many = blocks(mean, np.tile([0.0, 1.0], 5_000), sizes=[10, 1_000])
    >>> few.radius > 2 * many.radius
    True
    """
    return block_accuracy(query, data, sizes, draws)


def separation(points: Columns, *, k: int, bounds: Iterable[tuple[float, float]] | None = None) -> Separation:
    """What share of the cost of k - 1 clusters the best k clusters have (NRS11 Definition 5.1): phi squared.

    bounds: a pair for each coordinate; then coordinates are measured in parts of them, as ``dither.kmeans`` does.
    Both clusterings are the best of several runs of Lloyd's algorithm: finding the best of all is NP-hard.

    >>> import numpy as np
    >>> two = np.repeat([[0.0], [9.0]], 50, axis=0) + np.tile([[0.0], [1.0]], (50, 1))
    >>> separation(two, k=2).phi_squared < 0.02 < separation(two, k=3).phi_squared
    True
    """
    return cluster_separation(points, k, bounds)


def _resolved(query: Query[V, B, D, F, R], data: D | Session | GraphSession) -> tuple[Statistic[R], R]:
    statistic, groups = _groups(query, data)
    return _single(query, statistic), groups[()]


def _single(query: Query, statistic: Statistic[R] | VectorStatistic[R]) -> Statistic[R]:
    if query.is_transformed:
        raise InvalidArgument("query", query.name, "is a function of another statistic: inspect that one")
    single = statistic.single
    if single is None:
        raise InvalidArgument("query", query.name, "must be a query for a single number")
    return single


def _groups(
    query: Query[V, B, D, F, R],
    data: D | Session | GraphSession,
    where: Filter | None = None,
    by: Names | None = None,
    *,
    only_value: bool = False,
) -> tuple[Statistic[R] | VectorStatistic[R], dict[tuple[GroupKey, ...], R]]:
    """The statistic, and the records of every group; without groups their key is empty."""
    if not isinstance(query, Query):
        raise no_query(query)
    if hasattr(data, "_inspected_groups"):
        return cast("Session", data)._inspected_groups(query, where=where, by=by, only_value=only_value)
    if where is not None or by is not None:
        raise InvalidArgument("where", where or by, "is for a session on a table: leave it out")
    if hasattr(data, "_inspected"):
        statistic, records = cast("GraphSession", data)._inspected(query)
        return statistic, {(): records}
    if not isinstance(query, StatisticQuery):
        raise InvalidArgument("query", query.name, "must be a query that is one statistic")
    shape = query.shape(data)
    return query.resolve(shape), {(): query.read(data, shape)}


def admissible(
    noise: NoiseChoice,
    *,
    epsilon: Number,
    delta: Number = 0.0,
    beta: Number | None = None,
    dimension: int = 1,
    constants: Constants = "exact",
) -> AdmissiblePoint:
    """The point (alpha, beta) in use for a noise and a privacy loss, and what its proof rests on.

    >>> admissible("blunt_power_law", epsilon=1.0).error_factor < 4
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
    loss = Loss.asked(epsilon, delta)
    try:
        return law.point(loss, beta=smoothness, dimension=dimension, constants=constants)
    except (OverflowError, ZeroDivisionError):  # of public numbers alone
        wanted = f"is too large for the numbers of {noise!r}: pass a smaller one, or noise='gaussian' with a delta"
        raise InvalidArgument("epsilon", epsilon, wanted) from None


def unfit_pairs(
    mechanism: Mapping[Dataset, tuple[Number, Number]],
    neighbours: Iterable[tuple[Dataset, Dataset]],
    *,
    epsilon: Number,
    delta: Number = 0.0,
    noise: NoiseChoice | Literal["logistic"] = "laplace",
) -> list[tuple[Dataset, Dataset]]:
    """The neighbours between which noise made by hand is not private: COQ17 Theorem 8, corrected, and Remark 9.

    mechanism: for each dataset its value and the scale of its noise.
    noise: the law of all of them: a name or an object such as ``dither.Cauchy(gamma=2)``, or "logistic".

    Pairs that are not listed are proved to be private, in closed form or in interval arithmetic.  One that is so near
    the limit that the proof does not end is listed.

    >>> unfit_pairs({"x": (3, 2.0), "y": (4, 2.1)}, [("x", "y")], epsilon=1.0, delta=1e-6)
    []
    >>> unfit_pairs({"x": (3, 2.0), "y": (4, 4.0)}, [("x", "y")], epsilon=1.0, delta=1e-6)
    [('x', 'y')]
    >>> unfit_pairs({"x": (3, 8.0), "y": (4, 9.0)}, [("x", "y")], epsilon=1.0, noise="student")
    []
    """
    law = Logistic() if noise == "logistic" else named_noise(noise)
    if not isinstance(law, Enclosed):
        raise InvalidArgument("noise", noise, 'must be the name of a noise, a noise object or "logistic"')
    if isinstance(law, PowerLaw | BluntPowerLaw) and law.p is None:
        raise InvalidArgument(
            "noise", noise, f"must be one with its exponent, such as dither.{type(law).__name__}(p=4)"
        )
    exactly: dict[Hashable, tuple[Fraction, Fraction]] = {
        key: (exact(f, "value"), exact(scale, "scale")) for key, (f, scale) in mechanism.items()
    }
    closed_form = isinstance(law, Laplace)
    result = largest_local.unfit_pairs(exactly, neighbours, Loss.asked(epsilon, delta), None if closed_form else law)
    return cast("list[tuple[Dataset, Dataset]]", result)


def largest_lambdas(
    space: FiniteSpace,
    *,
    epsilon: Number,
    delta: Number,
    alpha: Number | Callable[[Hashable], Number] = Fraction(1, 2),
    noise: NoiseChoice = "laplace",
) -> dict[Hashable, float]:
    """The largest parameters (one over the scale) of noise for each dataset: COQ17 Theorem 8, corrected.

    space: all datasets and their neighbours.
    alpha: the share of the loss for shifts, above 0 and below 1; what is left is for scales that differ.  A number or
        a function of a dataset.
    noise: the law; with "blunt_power_law", "power_law", "cauchy" and "student" delta may be 0 (Remark 9).  The
        share is one of the largest shift between neighbours whose noise has one scale, which for Laplace noise is
        epsilon.

    Infinite where no noise is needed.

    >>> import dither as dt
    >>> chain = dt.FiniteSpace(range(4), neighbours="chain", value=lambda k: [0, 1, 2, 12][k])
    >>> found = largest_lambdas(chain, epsilon=1.0, delta=1e-3)
    >>> [round(1 / found[k], 2) for k in range(4)]
    [15.04, 17.34, 20.0, 20.0]
    """
    listed = list(space.datasets)
    shares = [exact(alpha(candidate) if callable(alpha) else alpha, "alpha") for candidate in listed]
    if not all(0 < share < 1 for share in shares):
        raise InvalidArgument("alpha", alpha, "must be a share above 0 and below 1")
    loss, law = Loss.asked(epsilon, delta), named_noise(noise)
    if law is None:
        raise InvalidArgument("noise", noise, "must be the name of a noise or a noise object")
    if loss.is_pure and not law.pure:
        raise InvalidArgument("delta", delta, f"must be above 0: pure {law.name} noise has one scale for all datasets")
    # A power law whose exponent was left open has the one that serves this loss best.
    law = law.point(loss).law
    number = {candidate: place for place, candidate in enumerate(listed)}
    near: list[list[int]] = [[] for _ in listed]
    for here, there in space.pairs:
        near[number[here]].append(number[there])
    local = [float(space.local_sensitivity(candidate)) for candidate in listed]
    scales = noise_design.least_scales(local, near, shares, loss, law)
    return {candidate: 1 / scale if scale else math.inf for candidate, scale in zip(listed, scales, strict=True)}


def descent(
    levels: Levels | FiniteSpace,
    at: Hashable,
    *,
    epsilon: Number,
    delta: Number,
    step: Number = 1,
) -> Descent:
    """COQ17's Algorithm 1 step by step, as its Figure 9 shows it: levels from the highest down to that of the data.

    levels: public levels, whose sensitivities are multiples of ``step``; then ``at`` is the number of a level.  Or a
        finite space, whose levels are its local sensitivities; then ``at`` is a dataset of it.

    For comparison.  ``LargestLocal`` computes the same bound from a ladder, which is sound where the printed algorithm
    is not; ``Descent.unfit`` names related levels between which the printed one is not private.

    >>> import dither as dt
    >>> print(descent(dt.Levels([1, 2, 3, 4]), 3, epsilon=5.0, delta=1 / 2000, step=2.5))
    t = epsilon / ln(1/delta) = 0.657817
    L_4 = 10, tau_4 = 3, l_4 = 4
      lambda_4 = epsilon/(2 L_4) = 0.25
    L_3 = 7.5, tau_3 = 2, l_3 = 4
      lambda_3 = min(epsilon/(2 L_3), lambda_4 (1 + t/2)) = 0.332227
    scale of the noise 1/lambda_3 = 3.00999
    """
    loss, size = Loss.asked(epsilon, delta), exact(step, "step")
    if size <= 0:
        raise InvalidArgument("step", step, "must be a positive number")
    if isinstance(levels, FiniteSpace):
        return descend(levels.statistic.levels, levels.level(at), loss, levels.statistic.answers.step)
    if not isinstance(levels, Levels):
        raise InvalidArgument("levels", levels, "must be Levels(...) or a FiniteSpace(...)")
    if not isinstance(at, int) or isinstance(at, bool):
        raise InvalidArgument("at", at, f"must be the number of a level, from 1 to {levels.count}")
    return descend(levels, at, loss, size)


def noise_scale(
    query: Query[V, B, D],
    data: D | Session | GraphSession,
    *,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
) -> float:
    """The scale of the noise that a mechanism adds on these data, in their own units: COQ17's amplitude 1/lambda.

    For mechanisms that add noise of one scale: worst_case, smooth, largest_local.  Without an interval.

    >>> import dither as dt
    >>> round(noise_scale(dt.ChainSum([10, 20, 30], step=1), 1, epsilon=0.5, mechanism="worst_case"), 6)
    60.0
    """
    statistic, records = _resolved(query, data)
    name, prepared = prepare(statistic, epsilon=epsilon, delta=delta, mechanism=mechanism, noise=noise)
    scale = prepared.noise_scale(records)
    if scale is None:
        raise InvalidArgument("mechanism", name, "must add noise of one scale, such as worst_case or smooth")
    return float(statistic.answers.step * scale)


@dataclass(frozen=True)
class Refutation:
    """What a search for data that refute a claim has found.  NOT private where it began at private data."""

    claim: str | None
    """The claim that does not hold and by how much; None: nothing was found."""
    here: Anything
    there: Anything
    """Neighbouring datasets that refute it."""
    datasets: int
    pairs: int
    """How many were looked at."""
    is_exhaustive: bool
    """Whether these are all neighbours of the universe: then the claims hold on it, for the rungs looked at."""
    failed: int
    """On how many of the datasets the function failed, so that its value was the default."""

    def __bool__(self) -> bool:
        return self.claim is not None

    def __str__(self) -> str:
        if self.claim is not None:
            return f"refuted: {self.claim}\n  here:  {self.here}\n  there: {self.there}"
        all_of_them = f"by any of all {self.pairs:,} pairs of neighbours"
        which = all_of_them if self.is_exhaustive else f"by {self.pairs:,} pairs of neighbours that were drawn"
        failed = f"; the function failed on {self.failed:,} of {self.datasets:,} datasets" if self.failed else ""
        return f"not refuted {which}{failed}"


def refute(
    query: Query,
    data: Data | None = None,
    *,
    values: Iterable[Hashable] | None = None,
    records: int | None = None,
    vertices: int | None = None,
    datasets: Iterable[Data] | None = None,
    neighbours: Callable[[Data], Iterable[Data]] | None = None,
    build: Callable[..., Data] | None = None,
    failing: Iterable[Hashable] = FAILING,
    rungs: int = 8,
    betas: Iterable[Number] = (0.1, 1.0),
    tries: int = 5_000,
    seed: int = 0,
) -> Refutation:
    """Search for neighbouring datasets that refute what a query claims about its sensitivity.

    Looks at global sensitivities, the first ``rungs`` rungs of a ladder, smooth bounds at ``betas``, levels and bounds
    on the local sensitivity, on the grid of the answers and with all rules for failures applied.  A universe of at most
    ``tries`` datasets is looked at completely; else pairs are drawn, the same for the same ``seed``.  Nothing found in
    a search by draws is no proof.

    values, records: the universe of so many records (where they are added and removed: at most) with these values, and
        those of ``failing``, which most functions fail on.
    vertices: the universe of graphs with so many vertices, for claims about edges.
    datasets, neighbours: any other universe: datasets, and a function that lists the neighbours of one.
    data: records, or a graph, to begin at; new records come from ``values`` and from the data.
    build: what a list of records, or of edges, becomes before the query sees it; by default a numpy array, or a Graph.

    >>> import dither as dt
    >>> wrong = dt.Custom(name="maximum", value=max, ladder=lambda x, k: 0, bounds=(0, 9), step=1, default=0)
    >>> print(refute(wrong, values=[0, 5, 9], records=2, failing=()))
    refuted: ladder: one change moves the value from 0 to 5, and rung 0 is 0
      here:  [0, 0]
      there: [5, 0]
    """
    if not isinstance(query, StatisticQuery):
        raise InvalidArgument("query", query, "must be a query that is one statistic, such as Custom(...)")
    for argument, number in (("rungs", rungs), ("tries", tries)):
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise InvalidArgument(argument, number, "must be a whole number of at least 1")
    smoothness = [exact(beta, "betas") for beta in betas]
    space, built, start = _universe(query, data, values, records, vertices, datasets, neighbours, build, failing)
    exhaustive, pairs = pairs_of(space, tries, seed, start)
    known: dict[Hashable, ClaimedFacts] = {}
    statistic: Statistic | VectorStatistic | None = None
    looked = failed = count = 0

    def facts(dataset: Owned) -> ClaimedFacts:
        nonlocal statistic, looked, failed
        key = key_of(dataset)
        if key is not None and key in known:
            return known[key]
        seen = built(dataset)
        shape = query.shape(seen)
        statistic = query.resolve(shape) if statistic is None else statistic
        result = facts_of(statistic, query.read(seen, shape), rungs, smoothness)
        looked, failed = looked + 1, failed + result.failed
        if exhaustive and key is not None:
            known[key] = result
        return result

    for here, there in pairs:
        count += 1
        own, other = facts(here), facts(there)
        claim = None if statistic is None else refuted(statistic, own, other, smoothness)
        if claim is not None:
            return Refutation(
                claim, _as_listed(space, here), _as_listed(space, there), looked, count, exhaustive, failed
            )
    return Refutation(None, None, None, looked, count, exhaustive, failed)


def _as_listed(space: Space, dataset: Owned) -> Owned:
    """A dataset as the owner wrote it."""
    if isinstance(space, Moves):
        return [space.values[place] for place in dataset]
    return [space.edges[place] for place in dataset] if isinstance(space, GraphMoves) else dataset


def _universe(
    query: StatisticQuery,
    data: Data | None,
    values: Iterable[Hashable] | None,
    records: int | None,
    vertices: int | None,
    datasets: Iterable[Data] | None,
    neighbours: Callable[[Data], Iterable[Data]] | None,
    build: Callable[..., Data] | None,
    failing: Iterable[Hashable],
) -> tuple[Space, Callable[..., Owned], Owned]:
    """Where to search, how a dataset of it is made, and where to begin."""
    if isinstance(query, FiniteSpace):
        near: dict[Hashable, list[Hashable]] = {}
        for here, there in query.pairs:
            near.setdefault(here, []).append(there)
        return ListedSpace(list(query.datasets), lambda item: near.get(item, [])), lambda item: item, None
    if datasets is not None or neighbours is not None:
        if datasets is None or not callable(neighbours):
            raise InvalidArgument(
                "neighbours",
                neighbours,
                "must be a function that lists the neighbours of a dataset, passed with datasets",
            )
        listed = list(datasets)
        if not listed:
            raise InvalidArgument("datasets", "none", "must have at least one dataset")
        return ListedSpace(listed, neighbours), build or (lambda item: item), None
    if vertices is not None or isinstance(data, Graph):
        count = data.vertices if isinstance(data, Graph) else vertices
        if not isinstance(count, int) or count < 2:
            raise InvalidArgument("vertices", vertices, "must be a whole number of at least 2")
        graphs = GraphMoves(count)
        made = build or functools.partial(_graph, vertices=count)
        places = {edge: place for place, edge in enumerate(graphs.edges)}
        first = None
        if isinstance(data, Graph):
            first = tuple(sorted(places[min(a, b), max(a, b)] for a, b in data.edges.tolist()))
        return graphs, lambda item: made([graphs.edges[place] for place in item]), first
    return _records_universe(query, cast("Iterable[Hashable] | None", data), values, records, build, failing)


def _records_universe(
    query: StatisticQuery,
    data: Iterable[Hashable] | None,
    values: Iterable[Hashable] | None,
    records: int | None,
    build: Callable[..., Data] | None,
    failing: Iterable[Hashable],
) -> tuple[Space, Callable[..., Owned], Owned]:
    given = [] if values is None else list(values)
    if data is None and (not given or records is None):
        raise InvalidArgument("values", values, "pass values and records, vertices, datasets and neighbours, or data")
    if records is not None and (not isinstance(records, int) or isinstance(records, bool) or records < 1):
        raise InvalidArgument("records", records, "must be a whole number of at least 1")
    own = [] if data is None else list(data)
    pool = (*given, *failing, *own)
    relation = query.relation if isinstance(query, Custom) else Neighbours.CHANGE_ONE
    most = len(own) if own else records or 1
    moves = Moves(pool, relation, most)
    if own and moves.resizes:
        moves = Moves(pool, relation, most + 1)
    if not moves.changes and not moves.resizes:
        accepted = "pass datasets and a function neighbours that lists those of one"
        raise InvalidArgument("neighbours", str(relation), f"{accepted}: what one change does is not known here")
    made = build or _as_array
    start = None if data is None else tuple(range(len(pool) - len(own), len(pool)))
    return moves, lambda item: made([pool[place] for place in item]), start


def _graph(edges: list[tuple[int, int]], vertices: int) -> Graph:
    return Graph(np.array(edges, dtype=np.int64).reshape(-1, 2), n=vertices)


def _as_array(records: list[Hashable]) -> Array | list[Hashable]:
    """Numbers as an array, anything else as the list it is."""
    numbers = all(isinstance(record, (int, float, np.number)) for record in records)
    return np.array(records, dtype=None if records else np.float64) if numbers else list(records)
