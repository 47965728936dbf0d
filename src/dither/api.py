"""Arrays in, one line, nothing to set up: the functions of the public face.

Data come first, everything else by keyword.  ``epsilon`` and ``delta`` are the total price, error bar
included; ``confidence=None`` spends all of it on the answer.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dither.aliases import accepts_calibration
from dither.errors import DitherError, InvalidArgument, NotApplicable
from dither.kernels.progress import Progress, reporting
from dither.mechanisms.choice import prepare
from dither.mechanisms.mechanism import Prepared
from dither.models import Regression
from dither.numbers import exact
from dither.privacy import fraction_of_unit
from dither.procedures.robust import least_records
from dither.programs import Program
from dither.queries.graphs import Edges, KCliques, KStars, KTriangles, Triangles
from dither.queries.order import Maximum, Median, Minimum, Quantile, Quantiles
from dither.queries.query import Query
from dither.queries.spread import IQR, Variance
from dither.queries.totals import Count, Mean, Sum, TrimmedMean
from dither.queries.trees import MinCut, MSTCost
from dither.queries.vectors import Covariance, Histogram, MeanVector
from dither.release import Release
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics.statistic import Statistic, VectorStatistic
from dither.unbounded import share_pair, undeclared_histogram, without_bounds

HALF = Fraction(1, 2)
MOST_TRIED = 1 << 20
"""Errors name the least number of records that is enough, up to this."""


@accepts_calibration
def median(
    data: Any,
    *,
    bounds: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    step: Any = None,
    nulls: Any = None,
) -> Release:
    """The lower median of one bounded column; neighbours change one record.

    bounds: the public range of the records, known without looking at them; values outside are clamped.  None: no
        bounds are known; answers are then drawn from all magnitudes up to 2**64, or mechanism="propose_test".
    epsilon: the whole price, error bar included; smaller is more private and noisier (0.1 to 1 is usual).
    delta: only for noise="laplace" or "gaussian" and for tests; otherwise it is left unspent.
    mechanism: "auto", "inverse", "smooth", "ladder", "worst_case", or an object such as ``Smooth(beta=0.1)``;
        "propose_test" and "stable" test the data first and may refuse, which is paid for too.
    noise: "auto", "power_law", "cauchy", "student", "laplace", "gaussian", or an object such as ``Cauchy(gamma=4)``.
    confidence: of the error bar; None gives no bar and spends all of epsilon on the answer.
    step: the public grid of records and answers; by default 1 for whole numbers, else 2**-36 of the range.
    nulls: what a missing value (NaN) counts as: "lower" (default), "upper" or a number; public.

    >>> import numpy as np
    >>> pay = np.linspace(20_000, 120_000, 10_001)
    >>> release = median(pay, bounds=(0, 600_000), epsilon=1.0)
    >>> 65_000 < release.value < 75_000
    True
    """
    if bounds is None:
        return without_bounds(
            "quantile", data, epsilon, delta, mechanism, noise, confidence, step=step, nulls=nulls, shares=HALF
        )
    query = Median(bounds=bounds, step=step, nulls=nulls)
    return answer(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def quantile(
    data: Any,
    *,
    q: Any,
    bounds: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    step: Any = None,
    nulls: Any = None,
) -> Release:
    """The smallest value that a share ``q`` of the records does not exceed; options as for ``median``.

    >>> 85 <= quantile(list(range(101)), q=0.9, bounds=(0, 100), epsilon=5.0, step=1).value <= 95
    True
    """
    if bounds is None:
        share = fraction_of_unit("q", q, closed=True)
        return without_bounds(
            "quantile", data, epsilon, delta, mechanism, noise, confidence, step=step, nulls=nulls, shares=share
        )
    query = Quantile(q=q, bounds=bounds, step=step, nulls=nulls)
    return answer(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def quantiles(
    data: Any,
    *,
    q: Any,
    bounds: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    step: Any = None,
    nulls: Any = None,
) -> Release:
    """Several quantiles at once, rising with q; options as for ``median``.

    One joint draw: every answer is about as good as if it were asked alone with all of epsilon.  The error bars are as
    wide as for an even split.

    >>> import numpy as np
    >>> answers = quantiles(np.arange(10_000), q=[0.25, 0.5, 0.75], bounds=(0, 10_000), epsilon=2.0).value
    >>> 2_000 < answers[0] < answers[1] < answers[2] < 8_000
    True
    """
    query = Quantiles(q=q, bounds=bounds, step=step, nulls=nulls)
    return answer(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def minimum(
    data: Any,
    *,
    bounds: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    step: Any = None,
    nulls: Any = None,
) -> Release:
    """The smallest record; options as for ``median``.

    >>> 0 <= minimum([30] * 500, bounds=(0, 100), epsilon=1.0).value <= 100
    True
    """
    query = Minimum(bounds=bounds, step=step, nulls=nulls)
    return answer(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def maximum(
    data: Any,
    *,
    bounds: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    step: Any = None,
    nulls: Any = None,
) -> Release:
    """The largest record; options as for ``median``.

    >>> 0 <= maximum([30] * 500, bounds=(0, 100), epsilon=1.0).value <= 100
    True
    """
    query = Maximum(bounds=bounds, step=step, nulls=nulls)
    return answer(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def trimmed_mean(
    data: Any,
    *,
    trim: Any = 0.1,
    bounds: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    step: Any = None,
    nulls: Any = None,
) -> Release:
    """The mean without the ``trim`` share of the smallest and of the largest records; options as for ``median``.

    >>> import numpy as np
    >>> 490 < trimmed_mean(np.arange(1_000), trim=0.2, bounds=(0, 100_000), epsilon=5.0).value < 510
    True
    """
    if bounds is None:
        share = exact(trim, "trim")
        return without_bounds(
            "trimmed mean", data, epsilon, delta, mechanism, noise, confidence, step=step, nulls=nulls, shares=share
        )
    query = TrimmedMean(trim=trim, bounds=bounds, step=step, nulls=nulls)
    return answer(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def iqr(
    data: Any,
    *,
    low: Any = 0.25,
    high: Any = 0.75,
    bounds: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    step: Any = None,
    nulls: Any = None,
) -> Release:
    """The distance between two quantiles, by default the quartiles; options as for ``median``.

    >>> import numpy as np
    >>> 450 < iqr(np.arange(1_000), bounds=(0, 100_000), epsilon=5.0).value < 550
    True
    """
    if bounds is None:
        shares = share_pair(low, high)
        return without_bounds(
            "range", data, epsilon, delta, mechanism, noise, confidence, step=step, nulls=nulls, shares=shares
        )
    query = IQR(low=low, high=high, bounds=bounds, step=step, nulls=nulls)
    return answer(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def count(
    mask: Any,
    *,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    nulls: Any = None,
) -> Release:
    """The number of true entries of a mask; missing entries count as false unless ``nulls="upper"``.

    A column of numbers is clamped to 0..1 and rounded first, so this does not count the entries that are present.

    >>> 20 < count([True, False] * 50, epsilon=2.0).value < 80
    True
    """
    return answer(Count(nulls=nulls), mask, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def sum(
    data: Any,
    *,
    bounds: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    step: Any = None,
    nulls: Any = None,
) -> Release:
    """The sum of one bounded column, computed exactly; options as for ``median``.

    >>> 2_000 < sum([30] * 100, bounds=(0, 100), epsilon=2.0).value < 4_000
    True
    """
    query = Sum(bounds=bounds, step=step, nulls=nulls)
    return answer(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def mean(
    data: Any,
    *,
    bounds: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    step: Any = None,
    nulls: Any = None,
) -> Release:
    """The mean of one bounded column, or of each column of a table (``bounds``: a pair for each); else as ``median``.

    >>> 25 < mean([30] * 1_000, bounds=(0, 100), epsilon=2.0).value < 35
    True
    """
    several = isinstance(data, Mapping) or getattr(data, "ndim", 1) == 2
    query: Query = (MeanVector if several else Mean)(bounds=bounds, step=step, nulls=nulls)
    return answer(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def variance(
    data: Any,
    *,
    ddof: int = 0,
    bounds: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    step: Any = None,
    nulls: Any = None,
) -> Release:
    """The variance of one bounded column, divided by n - ``ddof``; options as for ``median``.

    >>> variance([0, 100] * 500, bounds=(0, 100), epsilon=5.0).value > 2_000
    True
    """
    query = Variance(ddof=ddof, bounds=bounds, step=step, nulls=nulls)
    return answer(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def covariance(
    data: Any,
    *,
    bounds: Any = None,
    names: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    step: Any = None,
    nulls: Any = None,
) -> Release:
    """The covariance matrix (divided by n) of a table of bounded columns: its entries (j, k) with j <= k.

    data: a two-dimensional array, a frame, or a mapping of names to columns.
    bounds: one pair for all columns, a list of pairs, or a mapping of the columns' names to pairs.
    names: how the columns are called in the labels, if the data do not name them.

    >>> import numpy as np
    >>> table = np.stack([np.arange(1_000), np.arange(1_000)], axis=1)
    >>> len(covariance(table, bounds=(0, 1_000), epsilon=1.0).value)
    3
    """
    query = Covariance(bounds=bounds, step=step, nulls=nulls, names=names)
    return answer(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def histogram(
    data: Any,
    *,
    edges: Any = None,
    categories: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    nulls: Any = None,
) -> Release:
    """How many records fall between declared ``edges``, or into declared ``categories`` (any other counts as "other").

    With neither, categories are found in the data; those of few people are not shown, and delta > 0 is needed.

    Bins are closed on the left, the last one on both sides; records beyond the edges count in the outer bins.  Counts
    are not rounded up to zero: a noisy count may be negative.

    >>> release = histogram(["a", "b", "a"], categories=["a", "b"], epsilon=1.0)
    >>> release.labels
    ('a', 'b', 'other')
    """
    if edges is None and categories is None and nulls is None:
        return undeclared_histogram(
            data, epsilon=epsilon, delta=delta, mechanism=mechanism, noise=noise, confidence=confidence
        )
    query = Histogram(edges=edges, categories=categories, nulls=nulls)
    return answer(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def edges(
    graph: Any,
    *,
    max_degree: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
) -> Release:
    """The number of edges; neighbours differ in one edge.  Options as for ``triangles``.

    >>> from dither.sources.graph import Graph
    >>> -40 < edges(Graph([(0, 1), (1, 2)], n=3), epsilon=1.0).value < 40
    True
    """
    query = Edges(max_degree=max_degree)
    return answer(query, graph, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def triangles(
    graph: Any,
    *,
    max_degree: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    progress: Progress | None = None,
) -> Release:
    """The number of triangles of a ``Graph``; neighbours differ in one edge.

    max_degree: a public hypothesis: no vertex has more neighbours.  Where it is true the answer is about all triangles,
        with noise for 2 (max_degree - 1) of them; where it is false only edges within the first max_degree at both of
        their vertices count, and the answer is too small.  Privacy holds either way.
    epsilon: the whole price, error bar included.
    delta: only for noise="laplace" or "gaussian"; otherwise it is left unspent.
    mechanism: "auto", "smooth", "ladder", "worst_case", or an object such as ``Smooth(beta=0.1)``.
    noise: "auto", "power_law", "cauchy", "student", "laplace", "gaussian", or an object such as ``Cauchy(gamma=4)``.
    confidence: of the error bar; None gives no bar and spends all of epsilon on the answer.
    progress: called with the share done of each search through the graph; for the owner, since that depends on the
        edges.

    >>> from itertools import combinations
    >>> from dither.sources.graph import Graph
    >>> complete = Graph(list(combinations(range(50), 2)), n=50)
    >>> 0 <= triangles(complete, epsilon=5.0).value <= 19_600
    True
    """
    query = Triangles(max_degree=max_degree)
    with reporting(progress):
        return answer(query, graph, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def kstars(
    graph: Any,
    *,
    k: Any,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
) -> Release:
    """The number of k-stars (a centre and k of its neighbours); options as for ``triangles``.

    >>> from dither.sources.graph import Graph
    >>> kstars(Graph([(0, 1), (0, 2), (0, 3)], n=9), k=2, epsilon=1.0).query
    '2-stars'
    """
    return answer(KStars(k), graph, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def ktriangles(
    graph: Any,
    *,
    k: Any,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    progress: Progress | None = None,
) -> Release:
    """The number of k-triangles (k triangles on one edge); options as for ``triangles``.

    >>> from dither.sources.graph import Graph
    >>> ktriangles(Graph([(0, 1), (1, 2), (0, 2)], n=9), k=2, epsilon=1.0).query
    '2-triangles'
    """
    with reporting(progress):
        return answer(KTriangles(k), graph, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def kcliques(
    graph: Any,
    *,
    k: Any,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    progress: Progress | None = None,
) -> Release:
    """The number of cliques of k vertices; options as for ``triangles``.

    >>> from dither.sources.graph import Graph
    >>> kcliques(Graph([(0, 1), (1, 2), (0, 2)], n=9), k=4, epsilon=1.0).query
    '4-cliques'
    """
    with reporting(progress):
        return answer(KCliques(k), graph, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def mst_cost(
    graph: Any,
    *,
    cap: Any = None,
    step: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    progress: Progress | None = None,
) -> Release:
    """The cost of a lightest spanning tree; neighbours change the weight of one edge, and the edges are public.

    graph: a ``Graph`` with weights.  If it is in pieces, the cost of a lightest spanning forest.
    cap: the public upper bound of the weights if the graph does not declare it; the lower one is 0.  Weights outside
        are clamped; missing ones count as the cap.
    step: the public grid of the weights; by default the graph's.
    epsilon: the whole price, error bar included; smaller is more private and noisier (0.1 to 1 is usual).
    delta: only for noise="laplace" or "gaussian"; otherwise it is left unspent.
    mechanism: "auto" fits noise to the weights ("smooth") if the edges leave something to gain: if at least 8 of
        them must go before a piece falls apart; else "worst_case".  "ladder" is offered too.
    noise: "auto", "power_law", "cauchy", "student", "laplace", "gaussian", or an object such as ``Cauchy(gamma=4)``.
    confidence: of the error bar; None gives no bar and spends all of epsilon on the answer.
    progress: called with the share done of the rungs asked for, which starts again if more turn out to matter; for
        the owner, since that depends on the weights.

    >>> from itertools import combinations
    >>> from dither.sources.graph import Graph
    >>> edges = list(combinations(range(12), 2))
    >>> graph = Graph(edges, n=12, weights=[(i * j) % 7 for i, j in edges], cap=100)
    >>> 0 <= mst_cost(graph, epsilon=1.0).value <= 1_100
    True
    """
    with reporting(progress):
        return answer(MSTCost(cap, step=step), graph, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def min_cut(
    graph: Any,
    *,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
) -> Release:
    """The number of edges of a smallest cut, 0 if the graph is in pieces; neighbours differ in one edge.

    graph: a ``Graph`` without weights, of at least two vertices.  Options as for ``mst_cost``; noise for the worst
        case is all that is needed, since one edge moves the answer by at most 1.

    >>> from itertools import combinations
    >>> from dither.sources.graph import Graph
    >>> 0 <= min_cut(Graph(list(combinations(range(20), 2)), n=20), epsilon=1.0).value <= 19
    True
    """
    return answer(MinCut(), graph, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def ask(
    query: Query | Regression | Program,
    data: Any,
    *,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
) -> Release:
    """Ask a query object of an array, or of the column of a mapping or frame that it names.

    >>> from dither.queries.order import Median
    >>> 0 <= ask(Median("age", bounds=(0, 120)), {"age": [30, 40, 50]}, epsilon=1.0).value <= 120
    True
    """
    if isinstance(query, (Regression, Program)):
        if mechanism != "auto" or noise != "auto":
            kind = "a regression has methods" if isinstance(query, Regression) else "a program has aggregators"
            raise NotApplicable("mechanism", mechanism, f"{kind} instead", "an option of the query")
        return query.ask(data, epsilon=epsilon, delta=delta, confidence=confidence)
    if not isinstance(query, Query):
        raise InvalidArgument("query", query, "a query object such as Median(bounds=(0, 1)) is accepted")
    if query.column is not None and (isinstance(data, Mapping) or hasattr(data, "columns")):
        if query.column not in data:
            raise InvalidArgument("column", query.column, "the name of a column of the data is accepted")
        data = data[query.column]
    return answer(query, data, epsilon, delta, mechanism, noise, confidence)


def answer(
    query: Query,
    data: Any,
    epsilon: Any,
    delta: Any = 0.0,
    mechanism: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
) -> Release:
    """Ask a query object of an array (of several columns where the query needs them)."""
    shape = query.shape(data)
    statistic = query.resolve(shape)
    asked = (epsilon, delta, mechanism, noise, confidence)
    try:
        manner, prepared = _prepared(statistic, *asked)
    except InvalidArgument as error:
        raise _naming_the_least(error, query, shape, asked) from None
    records = query.read(data, shape)
    if isinstance(statistic, Statistic) and isinstance(records, Column) and records.grid != statistic.records_on:
        raise RuntimeError("the records are on another grid than the mechanism was built for")
    return _released(query, manner, prepared, records, confidence, query.missing(shape))


def _naming_the_least(error: InvalidArgument, query: Query, shape: Any, asked: tuple[Any, ...]) -> InvalidArgument:
    """Where there are too few records for a mechanism, the least number of them for which it works: public."""
    if error.argument != "data":
        return error

    def possible(records: int) -> bool:
        try:
            _fresh(query.resolve(replace(shape, records=records)), *asked)
        except DitherError:
            return False
        return True

    least = least_records(possible, most=MOST_TRIED)
    if least == MOST_TRIED:
        return error
    return InvalidArgument("data", error.given, f"{error.accepted}; at least {least} records are enough")


def _prepared(statistic: Statistic | VectorStatistic, *asked: Any) -> tuple[str, Prepared]:
    """The mechanism, from public facts alone; remembered where the question can be hashed."""
    try:
        hash((statistic, asked))
    except TypeError:
        return _fresh(statistic, *asked)
    return _remembered(statistic, *asked)


def _fresh(
    statistic: Statistic | VectorStatistic, epsilon: Any, delta: Any, mechanism: Any, noise: Any, confidence: Any
) -> tuple[str, Prepared]:
    return prepare(statistic, epsilon=epsilon, delta=delta, mechanism=mechanism, noise=noise, confidence=confidence)


# The key holds exact grids, not what the user wrote for them; ``typed`` because True is not the price 1.
_remembered = functools.lru_cache(maxsize=256, typed=True)(_fresh)


def _released(
    query: Query, manner: str, prepared: Prepared, data: Any, confidence: Any, missing: float | None
) -> Release:
    outcome = prepared.run(data)
    grids = prepared.statistic.answers
    value: Any = outcome.answer
    bar: Any = outcome.interval
    if isinstance(grids, Grid):
        value = None if value is None else grids.value(value)
        bar = None if bar is None else (grids.value(bar[0]), grids.value(bar[1]))
    elif value is None or all(grid.step == 1 for grid in {id(grid): grid for grid in grids}.values()):
        pass  # whole steps are the numbers themselves
    else:
        value = tuple(grid.value(one) for grid, one in zip(grids, value, strict=True))
        bar = None if bar is None else tuple(grid.all_values(pair) for grid, pair in zip(grids, bar, strict=True))
    return Release(
        value=value,
        interval=bar,
        confidence=None if confidence is None else float(exact(confidence)),
        loss=prepared.loss,
        neighbours=prepared.statistic.neighbours,
        query=query.label,
        mechanism=manner,
        noise=prepared.noise_name,
        missing=missing,
        labels=getattr(prepared.statistic, "labels", None),
        reason=getattr(prepared, "refusal", None) if outcome.refused else None,
    )
