"""Arrays in, one line, nothing to set up: the functions of the public face.

Data come first, everything else by keyword.  ``epsilon`` and ``delta`` are the total privacy loss, interval
included; ``confidence=None`` spends all of it on the answer.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast, overload

from dither.aliases import accepts_calibration, newer
from dither.answer import answer, released
from dither.errors import InvalidArgument, check_callable
from dither.kernels.progress import Progress, reporting
from dither.mechanisms.metric_space import MetricSpace
from dither.procedures.answer_spaces import AnswerSpace
from dither.queries.ball_means import BallMean
from dither.queries.cluster_cost import KMeansCost
from dither.queries.clusters import GaussianMixture, KMeans
from dither.queries.free_counts import free_count
from dither.queries.graphs import Edges, KCliques, KStars, KTriangles, Triangles
from dither.queries.moments import LeastSquares, Part
from dither.queries.order import Maximum, Median, Minimum, OrderStatistic, Quantile, Quantiles
from dither.queries.plan import Options
from dither.queries.programs import Program
from dither.queries.query import D, Query
from dither.queries.registry import dataclass_fields, entries
from dither.queries.regression import Method, Regression, line_table
from dither.queries.smallest import SmallestSum
from dither.queries.spread import IQR, Variance
from dither.queries.totals import Count, Mean, Sum, TrimmedMean
from dither.queries.trees import MinCut, MSTCost
from dither.queries.unbounded import Mode, Scale
from dither.queries.vectors import Covariance, Histogram, MeanVector
from dither.queries.weighted_cuts import WeightedMinCut
from dither.release import B, Release, Released, V
from dither.sources.column import count_of, only_columns
from dither.sources.frames import collected, named_columns
from dither.sources.graph import Graph
from dither.typing import (
    AggregatorChoice,
    Array,
    BinChoice,
    Bounds,
    Categories,
    CategoryValue,
    Centres,
    Column,
    Columns,
    Confidence,
    ConstantsName,
    Corners,
    CountInterval,
    CountIntervals,
    Counts,
    EachBounds,
    Entries,
    ExecutorChoice,
    Frame,
    Interval,
    IntervalName,
    Intervals,
    Listed,
    MechanismChoice,
    MetricChoice,
    Mixed,
    Names,
    NoiseChoice,
    Nulls,
    Number,
    NumberList,
    Numbers,
    PointAggregatorName,
    Points,
    ProgramChoice,
    SamplingName,
    SandboxSettings,
    SeveralBounds,
    Whole,
)

if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Unpack

    from dither.mechanisms.metric_space import MetricSpace
    from dither.privacy import Neighbours
    from dither.procedures.own_cascades import Levels
    from dither.queries.workloads import FamilyChoice
    from dither.typing import Anything, NormName, OwnFunction, OwnPoint, OwnVector

E = TypeVar("E")
Given: TypeAlias = Any
"""What a function made of a query is given: its signature says what is taken."""


@accepts_calibration
def median(
    data: Column,
    *,
    bounds: Bounds | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
    step: Number | None = None,
    nulls: Nulls | None = None,
) -> Release[float, Interval]:
    """The lower median of one bounded column; neighbours change one record.

    bounds: the public range of the records, known without looking at them; values outside are clamped.  Two dates or
        datetimes for a column of them: answers are dates, or datetimes to the second.  None: no
        bounds are known; answers are then drawn from all magnitudes up to 2**64, or mechanism="propose_test".
    epsilon: the whole privacy loss, interval included; smaller is more private and noisier (0.1 to 1 is usual).
    delta: only for noise="laplace" or "gaussian" and for tests; otherwise it is left unspent.
    mechanism: "auto", "inverse", "smooth", "ladder", "worst_case", or an object such as ``Smooth(beta=0.1)``;
        "propose_test" and "stable" test the data first and may refuse, which is paid for too.
    noise: "auto", "blunt_power_law", "power_law", "cauchy", "student", "laplace", "gaussian", or an object such as
        ``Cauchy(gamma=4)``.
    confidence: of the interval; None gives no interval and spends all of epsilon on the answer.
    interval: "sample" covers the median of these records, "population" that of the population that they are an
        independent sample of (docs/release.md).
    step: the public grid of records and answers; by default 1 for whole numbers, else 2**-36 of the range.
    nulls: what a missing value (NaN) counts as: "lower", "upper" or a number; public.  "drop" leaves its record out;
        how many are left is then private.  None: "drop" where that is proved and costs little, else "lower"; the
        release says which.  A type that can't hold missing values has nothing to leave out.

    >>> import numpy as np
    >>> pay = np.linspace(20_000, 120_000, 10_001)
    >>> release = median(pay, bounds=(0, 600_000), epsilon=1.0)
    >>> 65_000 < release.value < 75_000
    True
    """
    query = Median(bounds=bounds, step=step, nulls=nulls)
    return _ask(query, data, epsilon, delta, mechanism, noise, confidence, interval)


@accepts_calibration
def quantile(
    data: Column,
    *,
    q: Number,
    bounds: Bounds | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
    step: Number | None = None,
    nulls: Nulls | None = None,
) -> Release[float, Interval]:
    """The smallest value that a share ``q`` of the records does not exceed; options as for ``median``.

    >>> 85 <= quantile(list(range(101)), q=0.9, bounds=(0, 100), epsilon=5.0, step=1).value <= 95
    True
    """
    query = Quantile(q=q, bounds=bounds, step=step, nulls=nulls)
    return _ask(query, data, epsilon, delta, mechanism, noise, confidence, interval)


@accepts_calibration
def quantiles(
    data: Column,
    *,
    q: NumberList,
    bounds: Bounds | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
    step: Number | None = None,
    nulls: Nulls | None = None,
) -> Release[Numbers, Intervals]:
    """Several quantiles at once, rising with q; options as for ``median``; 2 to 20 of them without bounds.

    One joint draw: every answer is about as good as if it were asked alone with all of epsilon.  The intervals are as
    wide as for an even split.

    >>> import numpy as np
    >>> answers = quantiles(np.arange(10_000), q=[0.25, 0.5, 0.75], bounds=(0, 10_000), epsilon=2.0).value
    >>> 2_000 < answers[0] < answers[1] < answers[2] < 8_000
    True
    """
    query = Quantiles(q=q, bounds=bounds, step=step, nulls=nulls)
    return _ask(query, data, epsilon, delta, mechanism, noise, confidence, interval)


@accepts_calibration
def minimum(
    data: Column,
    *,
    bounds: Bounds | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    step: Number | None = None,
    nulls: Nulls | None = None,
) -> Release[float, Interval]:
    """The smallest record; options as for ``median``.

    >>> 0 <= minimum([30] * 500, bounds=(0, 100), epsilon=1.0).value <= 100
    True
    """
    query = Minimum(bounds=bounds, step=step, nulls=nulls)
    return _ask(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def maximum(
    data: Column,
    *,
    bounds: Bounds | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    step: Number | None = None,
    nulls: Nulls | None = None,
) -> Release[float, Interval]:
    """The largest record; options as for ``median``.

    >>> 0 <= maximum([30] * 500, bounds=(0, 100), epsilon=1.0).value <= 100
    True
    """
    query = Maximum(bounds=bounds, step=step, nulls=nulls)
    return _ask(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def order_statistic(
    data: Column,
    *,
    rank: int = 1,
    bounds: Bounds,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    step: Number | None = None,
    nulls: Nulls | None = None,
) -> Release[float, Interval]:
    """The record at ``rank`` (1 is the smallest); options as for ``median``.

    >>> 0 <= order_statistic([30] * 500, rank=2, bounds=(0, 100), epsilon=1.0).value <= 100
    True
    """
    query = OrderStatistic(rank=rank, bounds=bounds, step=step, nulls=nulls)
    return _ask(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def smallest_sum(
    data: Column,
    *,
    k: int,
    bounds: Bounds,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    step: Number | None = None,
    nulls: Nulls | None = None,
) -> Release[float, Interval]:
    """The sum of the ``k`` smallest records; options as for ``median``.

    >>> 0 <= smallest_sum([30] * 500, k=10, bounds=(0, 100), epsilon=1.0).value <= 1000
    True
    """
    query = SmallestSum(k=k, bounds=bounds, step=step, nulls=nulls)
    return _ask(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def trimmed_mean(
    data: Column,
    *,
    trim: Number = 0.1,
    bounds: Bounds | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
    step: Number | None = None,
    nulls: Nulls | None = None,
) -> Release[float, Interval]:
    """The mean without the ``trim`` share of the smallest and of the largest records; options as for ``median``.

    >>> import numpy as np
    >>> 490 < trimmed_mean(np.arange(1_000), trim=0.2, bounds=(0, 100_000), epsilon=5.0).value < 510
    True
    """
    query = TrimmedMean(trim=trim, bounds=bounds, step=step, nulls=nulls)
    return _ask(query, data, epsilon, delta, mechanism, noise, confidence, interval)


@accepts_calibration
def iqr(
    data: Column,
    *,
    low: Number = 0.25,
    high: Number = 0.75,
    bounds: Bounds | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    step: Number | None = None,
    nulls: Nulls | None = None,
) -> Release[float, Interval]:
    """The distance between two quantiles, by default the quartiles; options as for ``median``.

    >>> import numpy as np
    >>> 450 < iqr(np.arange(1_000), bounds=(0, 100_000), epsilon=5.0).value < 550
    True
    """
    query = IQR(low=low, high=high, bounds=bounds, step=step, nulls=nulls)
    return _ask(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def count(
    mask: Column,
    *,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    nulls: Nulls | None = None,
) -> Release[int, CountInterval]:
    """The number of true entries of a mask; missing entries count as false unless ``nulls="upper"``.

    Numbers other than 0 are true, and so are texts such as "yes", so this does not count the entries that are present:
    ``count_present`` does.

    >>> release = count([True, False] * 50, epsilon=2.0)
    >>> release.query, 20 < release.value < 80
    ('count of true entries', True)
    """
    release = _ask(Count(nulls=nulls), mask, epsilon, delta, mechanism, noise, confidence)
    return dataclasses.replace(release, query="count of true entries")


@accepts_calibration
def sum(
    data: Column,
    *,
    bounds: Bounds | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    step: Number | None = None,
    nulls: Nulls | None = None,
    non_negative: bool = False,
    count_beyond: bool = False,
) -> Release[float, Interval]:
    """The sum of one column, computed exactly; options as for ``median``, without bounds as for ``mean``.

    >>> 2_000 < sum([30] * 100, bounds=(0, 100), epsilon=2.0).value < 4_000
    True
    """
    query = Sum(bounds=bounds, step=step, nulls=nulls, non_negative=non_negative, count_beyond=count_beyond)
    return _ask(query, data, epsilon, delta, mechanism, noise, confidence)


@overload
def mean(
    data: Frame | Mapping[str, Column],
    *,
    bounds: SeveralBounds | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
    step: Number | None = None,
    nulls: Nulls | None = None,
) -> Release[Numbers, Intervals]: ...
@overload
def mean(
    data: Array,
    *,
    bounds: Sequence[Bounds],
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
    step: Number | None = None,
    nulls: Nulls | None = None,
) -> Release[Numbers, Intervals]: ...
@overload
def mean(
    data: Column,
    *,
    bounds: Bounds | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
    step: Number | None = None,
    nulls: Nulls | None = None,
    non_negative: bool = False,
    count_beyond: bool = False,
) -> Release[float, Interval]: ...
@accepts_calibration
def mean(
    data: Column | Frame | Mapping[str, Column],
    *,
    bounds: SeveralBounds | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
    step: Number | None = None,
    nulls: Nulls | None = None,
    non_negative: bool = False,
    count_beyond: bool = False,
) -> Release[float, Interval] | Release[Numbers, Intervals]:
    """The mean of one column, or of each column of a table (``bounds``: a pair for each); else as ``median``.

    bounds: None: no bounds are known.  They are drawn first, with a part of epsilon, and are part of the release
        (``clamped_to``): the answer and its interval are about the records clamped to them.
    step: without bounds, the unit of the records: no bound is closer to zero; by default 1 for whole numbers, else
        2**-20.
    non_negative: only without bounds: all records count as at least 0, so that only an upper bound is drawn.
    count_beyond: only without bounds: a tenth of epsilon says how many records lie beyond the bounds that were drawn.

    >>> mean([40.0, 60.0] * 5_000, epsilon=1.0).clamped_to is not None
    True
    >>> 25 < mean([30] * 1_000, bounds=(0, 100), epsilon=2.0).value < 35
    True
    """
    data = collected(data)
    several = named_columns(data) is not None or getattr(data, "ndim", 1) == 2 or count_of(bounds) is not None
    asked = (epsilon, delta, mechanism, noise, confidence, interval)
    if several:
        for name, given in (("non_negative", non_negative), ("count_beyond", count_beyond)):
            if given:
                raise InvalidArgument(name, given, "is for one column without bounds")
        return _ask(MeanVector(bounds=bounds, step=step, nulls=nulls), cast("Columns", data), *asked)
    ends = cast("Bounds | None", bounds)
    query = Mean(bounds=ends, step=step, nulls=nulls, non_negative=non_negative, count_beyond=count_beyond)
    return _ask(query, data, *asked)


@accepts_calibration
def variance(
    data: Column,
    *,
    ddof: Literal[0, 1] = 0,
    bounds: Bounds | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    step: Number | None = None,
    nulls: Nulls | None = None,
    non_negative: bool = False,
    count_beyond: bool = False,
) -> Release[float, Interval]:
    """The variance of one column, divided by n - ``ddof``; options as for ``median``, without bounds as for ``mean``.

    >>> variance([0, 100] * 500, bounds=(0, 100), epsilon=5.0).value > 2_000
    True
    """
    query = Variance(
        ddof=ddof, bounds=bounds, step=step, nulls=nulls, non_negative=non_negative, count_beyond=count_beyond
    )
    return _ask(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def covariance(
    data: Columns,
    *,
    bounds: SeveralBounds | None = None,
    names: Sequence[str] | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    step: Number | None = None,
    nulls: Nulls | None = None,
) -> Release[Numbers, Intervals]:
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
    return _ask(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def histogram(
    data: Entries,
    *,
    edges: NumberList | None = None,
    bins: int | None = None,
    bounds: Bounds | None = None,
    categories: Categories | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    nulls: Nulls | None = None,
) -> Release[Counts, CountIntervals]:
    """How many records fall between declared ``edges``, or into declared ``categories`` (any other counts as "other").

    ``bins=10, bounds=(0, 100)`` are ten bins of equal width.  With none of them categories are found in the
    data: those of few people are not shown, and delta > 0 is needed.

    Bins are closed on the left, the last one on both sides; records beyond the edges count in the outer bins.  Counts
    are not rounded up to zero: a noisy count may be negative.

    >>> release = histogram(["a", "b", "a"], categories=["a", "b"], epsilon=1.0)
    >>> release.labels
    ('a', 'b', 'other')
    """
    query = Histogram(edges=edges, bins=bins, bounds=bounds, categories=categories, nulls=nulls)
    return _ask(query, data, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def scale(
    data: Column,
    *,
    low: Number = 0.25,
    high: Number = 0.75,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    nulls: Nulls | None = None,
) -> Release[float, Interval]:
    """The interquartile range (or that of other quantiles) of one column without bounds, to a factor.

    A test makes sure that no few records decide the order of magnitude; if it does not pass, the release is refused,
    and paid for.  Records that are mostly tied have a scale of exactly 0.

    epsilon, delta: the whole privacy loss; a test needs delta > 0 (less than one over the number of records is usual).
    mechanism: "auto" or "propose_test"; ``ProposeTest(constants="paper")`` is DL09's algorithm S as printed.
    confidence: of the interval, which costs nothing; None gives no interval.
    nulls: the number that a missing value (NaN) counts as, 0 by default; public.

    >>> import numpy as np
    >>> release = scale(np.linspace(20_000, 120_000, 20_001), epsilon=1.0, delta=1e-6)
    >>> 30_000 < release.value < 80_000
    True
    """
    query = Scale(low=low, high=high, nulls=nulls)
    return _ask(query, data, epsilon, delta, mechanism, noise, confidence)


@overload
def mode(
    data: Listed[E], *, epsilon: Number, delta: Number = 0.0, confidence: Confidence = 0.95, rows_per_person: int = 1
) -> Release[E, None]: ...
@overload
def mode(
    data: Entries, *, epsilon: Number, delta: Number = 0.0, confidence: Confidence = 0.95, rows_per_person: int = 1
) -> Release[CategoryValue, None]: ...
def mode(
    data: Entries, *, epsilon: Number, delta: Number = 0.0, confidence: Confidence = 0.95, rows_per_person: int = 1
) -> Release[CategoryValue, None]:
    """The most common entry of a column of any type, released exactly if it leads by enough, else refused.

    Categories need not be declared.  delta > 0 is needed.

    >>> mode(["bus"] * 700 + ["car"] * 300, epsilon=1.0, delta=1e-6).value
    'bus'
    """
    return _ask(Mode(rows_per_person=rows_per_person), data, epsilon, delta, "auto", "auto", confidence)


@accepts_calibration
def edges(
    graph: Graph,
    *,
    max_degree: Whole | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
) -> Release[int, CountInterval]:
    """The number of edges; neighbours differ in one edge.  Options as for ``triangles``.

    >>> from dither.sources.graph import Graph
    >>> -40 < edges(Graph([(0, 1), (1, 2)], n=3), epsilon=1.0).value < 40
    True
    """
    query = Edges(max_degree=max_degree)
    return _ask(query, graph, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def triangles(
    graph: Graph,
    *,
    max_degree: Whole | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    progress: Progress | None = None,
) -> Release[int, CountInterval]:
    """The number of triangles of a ``Graph``; neighbours differ in one edge.

    max_degree: a public hypothesis: no vertex has more neighbours.  Where it is true the answer is about all triangles,
        with noise for 2 (max_degree - 1) of them; where it is false only edges within the first max_degree at both of
        their vertices count, and the answer is too small.  Privacy holds either way.  A limit that would need more
        noise than none is not applied.
    epsilon: the whole privacy loss, interval included.
    delta: only for noise="laplace" or "gaussian"; otherwise it is left unspent.
    mechanism: "auto", "smooth", "ladder", "worst_case", or an object such as ``Smooth(beta=0.1)``.
    noise: "auto", "blunt_power_law", "power_law", "cauchy", "student", "laplace", "gaussian", or an object such as
        ``Cauchy(gamma=4)``.
    confidence: of the interval; None gives no interval and spends all of epsilon on the answer.
    progress: called with the share done of each search through the graph; for the owner, since that depends on the
        edges.

    >>> from itertools import combinations
    >>> from dither.sources.graph import Graph
    >>> complete = Graph(list(combinations(range(50), 2)), n=50)
    >>> 0 <= triangles(complete, epsilon=5.0).value <= 19_600
    True
    """
    query = Triangles(max_degree=max_degree)
    check_callable("progress", progress)
    with reporting(progress):
        return _ask(query, graph, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def kstars(
    graph: Graph,
    *,
    k: Whole,
    max_degree: Whole | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
) -> Release[int, CountInterval]:
    """The number of k-stars (a centre and k of its neighbours); options as for ``triangles``.

    >>> from dither.sources.graph import Graph
    >>> kstars(Graph([(0, 1), (0, 2), (0, 3)], n=9), k=2, epsilon=1.0).query
    '2-stars'
    """
    return _ask(KStars(k, max_degree=max_degree), graph, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def ktriangles(
    graph: Graph,
    *,
    k: Whole,
    max_degree: Whole | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    progress: Progress | None = None,
) -> Release[int, CountInterval]:
    """The number of k-triangles (k triangles on one edge); options as for ``triangles``.

    >>> from dither.sources.graph import Graph
    >>> ktriangles(Graph([(0, 1), (1, 2), (0, 2)], n=9), k=2, epsilon=1.0).query
    '2-triangles'
    """
    check_callable("progress", progress)
    with reporting(progress):
        return _ask(KTriangles(k, max_degree=max_degree), graph, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def kcliques(
    graph: Graph,
    *,
    k: Whole,
    max_degree: Whole | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    progress: Progress | None = None,
) -> Release[int, CountInterval]:
    """The number of cliques of k vertices; options as for ``triangles``.

    >>> from dither.sources.graph import Graph
    >>> kcliques(Graph([(0, 1), (1, 2), (0, 2)], n=9), k=4, epsilon=1.0).query
    '4-cliques'
    """
    check_callable("progress", progress)
    with reporting(progress):
        return _ask(KCliques(k, max_degree=max_degree), graph, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def mst_cost(
    graph: Graph,
    *,
    cap: Number | None = None,
    step: Number | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    progress: Progress | None = None,
) -> Release[float, Interval]:
    """The cost of a lightest spanning tree; neighbours change the weight of one edge, and the edges are public.

    graph: a ``Graph`` with weights.  If it is in pieces, the cost of a lightest spanning forest.
    cap: the public upper bound of the weights if the graph does not declare it; the lower one is 0.  Weights outside
        are clamped; missing ones count as the cap.
    step: the public grid of the weights; by default the graph's.
    epsilon: the whole privacy loss, interval included; smaller is more private and noisier (0.1 to 1 is usual).
    delta: only for noise="laplace" or "gaussian"; otherwise it is left unspent.
    mechanism: "auto" fits noise to the weights ("smooth") if the edges leave something to gain: if at least 8 of
        them must go before a piece falls apart; else "worst_case".  "ladder" is offered too.
    noise: "auto", "blunt_power_law", "power_law", "cauchy", "student", "laplace", "gaussian", or an object such as
        ``Cauchy(gamma=4)``.
    confidence: of the interval; None gives no interval and spends all of epsilon on the answer.
    progress: called with the share done of the rungs asked for, which starts again if more turn out to matter; for
        the owner, since that depends on the weights.

    >>> from itertools import combinations
    >>> from dither.sources.graph import Graph
    >>> edges = list(combinations(range(12), 2))
    >>> graph = Graph(edges, n=12, weights=[(i * j) % 7 for i, j in edges], cap=100)
    >>> 0 <= mst_cost(graph, epsilon=1.0).value <= 1_100
    True
    """
    check_callable("progress", progress)
    with reporting(progress):
        return _ask(MSTCost(cap, step=step), graph, epsilon, delta, mechanism, noise, confidence)


@accepts_calibration
def min_cut(
    graph: Graph,
    *,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
) -> Release[int, CountInterval]:
    """The number of edges of a smallest cut, 0 if the graph is in pieces; neighbours differ in one edge.

    graph: a ``Graph`` without weights, of at least two vertices.  Options as for ``mst_cost``; noise for the worst
        case is all that is needed, since one edge moves the answer by at most 1.

    >>> from itertools import combinations
    >>> from dither.sources.graph import Graph
    >>> 0 <= min_cut(Graph(list(combinations(range(20), 2)), n=20), epsilon=1.0).value <= 19
    True
    """
    return _ask(MinCut(), graph, epsilon, delta, mechanism, noise, confidence)


def ball_mean(
    data: Columns,
    *,
    radius: Number,
    norm: Literal["l1", "l2"] = "l2",
    centre: NumberList | None = None,
    columns: Sequence[str] | None = None,
    bounds: SeveralBounds | None = None,
    step: Number | None = None,
    nulls: Nulls | None = None,
    names: Sequence[str] | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
) -> Release[Numbers, Intervals]:
    """The mean of vectors in a public ball, with noise for the ball instead of bounds for each column.

    Neighbours change one record.

    data: rows of numbers, or named columns.
    radius, norm, centre: the ball, around 0 unless a centre is given; records outside are scaled onto it.
    bounds: also of each column, if there are some; missing values count as the centre.
    delta: with more than 0 Gaussian noise is used where it is smaller, as for "l2" from a few columns on.

    >>> import numpy as np
    >>> rows = np.tile([0.3, -0.2, 0.1, 0.0], (20_000, 1))
    >>> release = ball_mean(rows, radius=1, norm="l1", epsilon=1.0)
    >>> bool(np.abs(np.array(release.value) - rows[0]).max() < 0.01)
    True
    """
    query = BallMean(
        columns, bounds=bounds, radius=radius, norm=norm, centre=centre, step=step, nulls=nulls, names=names
    )
    return _ask(query, data, epsilon, delta, mechanism, noise, confidence)


def weighted_min_cut(
    graph: Graph,
    *,
    cap: Number | None = None,
    step: Number | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
) -> Release[float, Interval]:
    """The least total weight of edges whose removal leaves the graph in pieces; neighbours change one weight.

    graph: a ``Graph`` with weights, whose public edges hang together, of at most 1,500 vertices.  cap, step and the
        other options as for ``mst_cost``; noise for the worst case is all that is needed: one weight moves every cut by
        at most the cap.

    >>> from dither import Graph
    >>> from itertools import combinations
    >>> edges = list(combinations(range(20), 2))
    >>> 0 <= weighted_min_cut(Graph(edges, n=20, weights=[3] * len(edges), cap=5), epsilon=1.0).value <= 95
    True
    """
    return _ask(WeightedMinCut(cap, step=step), graph, epsilon, delta, mechanism, noise, confidence)


def regression(
    X: Column | Columns,
    y: Column | None = None,
    *,
    target: str | None = None,
    features: Names | None = None,
    method: Method = "auto",
    intercept: bool = True,
    block_size: int | None = None,
    constants: ConstantsName = "exact",
    bounds: SeveralBounds | None = None,
    y_bounds: Bounds | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
) -> Release[Numbers, Intervals]:
    """The coefficients of a linear regression of ``y`` on the columns of ``X``; neighbours change one record.

    X: one column, a two-dimensional array, a frame, or a mapping of names to columns.  Records with a missing entry
        are left out, in a session too; so are infinite ones, which "ols" clamps instead.
    y: the response.  Instead, ``target`` names the column of ``X`` that is explained.
    features: the columns of ``X`` that explain the target; by default all others.
    method: "auto" is "ols" where bounds are given, else "medians".  "ols" is least squares of the records clamped to
        ``bounds``, a function of one private vector of moments (pure with delta = 0).  "medians" takes the middle of
        robust fits of random blocks, all coefficients by one draw (pure: delta is left unspent; gross outliers in a
        minority of the records do little harm); where errors are skewed or grow with the features it is not what least
        squares is.  "shortcut" is DL09's R_S and "robust" its R_H (for at most six coefficients); both need delta > 0
        and may refuse, which is paid for.  Subtract a public number in the middle of its range from each feature for
        "robust": of 10 runs on 20,000 ages from 18 to 80 at epsilon 1 it refused 7, on ages minus 48 none.
    intercept: whether there is a constant term; it comes first in the answer.
    block_size: records per block, by default from a public rule; at least the number of coefficients.
    constants: "paper" gives DL09's own algorithms for "shortcut" and "robust"; epsilon is still the whole loss.
    bounds, y_bounds: the public ranges of the features (one pair for all, one for each, or by name) and of the target.
        Without ``y_bounds``, ``bounds`` has a pair for each feature and then for the target, or one pair for all.
    confidence: of the intervals, for which "medians" spends a part of epsilon.  Its intervals cover the centre of the
        law of a block's fit, sampling error included; those of the other methods cover the answer without noise (of
        "ols" all coefficients together).
    interval: "population" insists on the former.

    Columns that are constant or collinear in most blocks give a refusal: that they are is no public fact.

    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 20_000)
    >>> release = regression(x, 2 * x + 1 + 0.1 * np.sin(1e5 * x), bounds=(-1, 1), y_bounds=(-4, 4), epsilon=2.0)
    >>> release.labels
    ('intercept', 'x1')
    >>> abs(release.value[1] - 2) < 0.1
    True
    """
    query = Regression(
        target,
        features,
        method=method,
        intercept=intercept,
        block_size=block_size,
        constants=constants,
        bounds=bounds,
        y_bounds=y_bounds,
    )
    data = query.model_data(X, y)
    return _ask(query, data, epsilon, delta, "auto", "auto", confidence, interval)


@overload
def least_squares(
    X: Column | Columns,
    y: Column | None = None,
    *,
    target: str | None = None,
    features: Names | None = None,
    bounds: SeveralBounds | None = None,
    y_bounds: Bounds | None = None,
    step: Number | None = None,
    nulls: Nulls | None = None,
    names: Sequence[str] | None = None,
    part: Literal["both"] = "both",
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
) -> Release[Numbers, Intervals]: ...
@overload
def least_squares(
    X: Column | Columns,
    y: Column | None = None,
    *,
    target: str | None = None,
    features: Names | None = None,
    bounds: SeveralBounds | None = None,
    y_bounds: Bounds | None = None,
    step: Number | None = None,
    nulls: Nulls | None = None,
    names: Sequence[str] | None = None,
    part: Literal["slope", "intercept"],
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
) -> Release[float, Interval]: ...
@accepts_calibration
def least_squares(
    X: Column | Columns,
    y: Column | None = None,
    *,
    target: str | None = None,
    features: Names | None = None,
    bounds: SeveralBounds | None = None,
    y_bounds: Bounds | None = None,
    step: Number | None = None,
    nulls: Nulls | None = None,
    names: Sequence[str] | None = None,
    part: Part = "both",
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
) -> Release[Numbers, Intervals] | Release[float, Interval]:
    """Intercept and slope of the line of least squares that explains ``y`` by the one column ``X``.

    X, y, target, features, bounds, y_bounds: as in ``regression``, with one feature.  A table of two columns without
        ``y`` and ``target`` has the response first: bounds in order are then those of the response and of the feature.
    part: "both", "slope" or "intercept"; all of them are functions of the same four private moments.

    Where the (noisy) variance of the feature is not positive the line is flat, at the mean of the response.  The
    interval of each is conservative: it holds for all moments within intervals that cover all of them at once.

    >>> x = [0.0, 50.0] * 5_000
    >>> y = [2 * number for number in x]
    >>> intercept, slope = least_squares(x, y, bounds=(0, 50), y_bounds=(0, 100), epsilon=5.0).value
    >>> -10 < intercept < 10 and 1.8 < slope < 2.2
    True
    """
    table, pairs = line_table(X, y, target, features, bounds, y_bounds)
    query = LeastSquares(bounds=pairs, step=step, nulls=nulls, names=names, part=part)
    return _ask(query, table, epsilon, delta, mechanism, noise, confidence, interval)


def kmeans(
    points: Columns,
    *,
    k: Whole,
    bounds: EachBounds,
    blocks: int | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    confidence: Confidence = 0.95,
) -> Release[Points, Corners]:
    """The centres of k clusters; neighbours change one point.

    Random blocks of points are clustered one by one.  Where most blocks agree, an average of their centres is certified
    and released with little noise; where they do not, a noisy histogram takes its place.  Private passes of Lloyd's
    algorithm over all points follow.  Distances are measured in parts of each coordinate's bounds, so that pay up to
    200,000 does not outweigh age up to 120; bounds of equal widths keep the coordinates' own unit.

    points: a two-dimensional array, a frame, or a mapping of names to columns; missing entries count as the middle of
        their bounds, as ``missing`` of the release says; in a session as what its schema declares.
    bounds: a pair (lower, upper) for all coordinates, or one pair for each; points outside are moved to the boundary.
    blocks: how many blocks, by default from a public rule; 0 goes without them.
    epsilon, delta: the whole privacy loss; delta > 0 is needed.
    confidence: of the intervals, which cost nothing.  Each is a lower and an upper corner; it covers each coordinate
        of the last pass without its noise: the mean of the points nearest to the centre before.  None: no intervals.

    The value is a tuple of the centres that were found, sorted by their first coordinate; ``mechanism`` says how they
    were begun.  A centre counts as found if its released number of people exceeds four standard deviations of the
    noise; if some are not, ``reason`` says how many, and if none is, the release is refused.

    >>> import numpy as np
    >>> corners = np.array([[0.2, 0.2], [0.8, 0.8]])
    >>> points = corners[np.arange(20_000) % 2] + 0.05 * np.sin(np.arange(40_000) ** 2).reshape(-1, 2)
    >>> release = kmeans(points, k=2, bounds=(0, 1), epsilon=2.0, delta=1e-6)
    >>> bool(np.abs(np.array(release.value) - corners).max() < 0.1)
    True
    """
    return _ask(KMeans(k=k, bounds=bounds, blocks=blocks), points, epsilon, delta, "auto", "auto", confidence)


def kmeans_cost(
    points: Columns,
    *,
    centres: Centres,
    bounds: EachBounds,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
) -> Release[float, Interval]:
    """The mean squared distance of the points to the nearest of public centres; neighbours change one point.

    Distances are measured as in ``kmeans``, and given in the unit of the widest coordinate: with bounds of equal widths
    this is the usual cost of k-means.  One point changes it by at most the largest cost that a point within the bounds
    can have, divided by the number of points.

    centres: points within the bounds that were chosen without looking at the data, or that are released already.

    >>> points = [[0.2, 0.2], [0.8, 0.8]] * 5_000
    >>> abs(kmeans_cost(points, centres=[[0.5, 0.5]], bounds=(0, 1), epsilon=2.0).value - 0.18) < 0.01
    True
    """
    return _ask(KMeansCost(centres=centres, bounds=bounds), points, epsilon, delta, mechanism, noise, confidence)


def gaussian_mixture(
    points: Columns,
    *,
    k: Whole,
    bounds: EachBounds,
    blocks: int | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    confidence: Confidence = 0.95,
) -> Release[Points, Corners]:
    """Centres, shares and standard deviations of k spherical Gaussians; neighbours change one point.

    As ``kmeans``, with expectation-maximisation in place of Lloyd's algorithm.  The value is a tuple of the components
    that were found, sorted by their first coordinate; each is a tuple of the centre's coordinates, its share of the
    points and the standard deviation of each coordinate.  Components are spherical in parts of the bounds: where these
    have different widths, the deviation is that of the widest coordinate, and another's is less by the ratio of the
    widths.  Intervals are for the centres.

    >>> import numpy as np
    >>> corners = np.array([[0.2, 0.2], [0.8, 0.8]])
    >>> points = corners[np.arange(20_000) % 2] + 0.05 * np.sin(np.arange(40_000) ** 2).reshape(-1, 2)
    >>> release = gaussian_mixture(points, k=2, bounds=(0, 1), epsilon=2.0, delta=1e-6)
    >>> [round(share, 1) for *centre, share, deviation in release.value]
    [0.5, 0.5]
    """
    query = GaussianMixture(k=k, bounds=bounds, blocks=blocks)
    return _ask(query, points, epsilon, delta, "auto", "auto", confidence)


@overload
def sample_and_aggregate(  # type: ignore[overload-overlap]
    rows: Mixed,
    program: ProgramChoice,
    *,
    output: Literal[1] = 1,
    bounds: Bounds | None = None,
    step: Number | None = None,
    blocks: int | None = None,
    metric: MetricChoice | None = None,
    aggregator: AggregatorChoice = "auto",
    sampling: SamplingName = "partition",
    executor: ExecutorChoice = "sandbox",
    default: Number | None = None,
    progress: Callable[[int, int], None] | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
    **settings: Unpack[SandboxSettings],
) -> Release[float, Interval]: ...
@overload
def sample_and_aggregate(
    rows: Mixed,
    program: ProgramChoice,
    *,
    space: AnswerSpace | MetricSpace | str,
    blocks: int | None = None,
    aggregator: PointAggregatorName = "auto",
    sampling: SamplingName = "partition",
    executor: ExecutorChoice = "sandbox",
    default: Hashable = None,
    progress: Callable[[int, int], None] | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
    **settings: Unpack[SandboxSettings],
) -> Release[Released, None]: ...
@overload
def sample_and_aggregate(
    rows: Mixed,
    program: ProgramChoice,
    *,
    output: int,
    bounds: EachBounds | None = None,
    step: Number | NumberList | None = None,
    blocks: int | None = None,
    metric: MetricChoice | None = None,
    aggregator: AggregatorChoice = "auto",
    sampling: SamplingName = "partition",
    executor: ExecutorChoice = "sandbox",
    default: Number | NumberList | None = None,
    progress: Callable[[int, int], None] | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
    **settings: Unpack[SandboxSettings],
) -> Release[Numbers, Intervals]: ...
def sample_and_aggregate(
    rows: Mixed,
    program: ProgramChoice,
    *,
    output: int = 1,
    bounds: EachBounds | None = None,
    step: Number | NumberList | None = None,
    blocks: int | None = None,
    metric: MetricChoice | None = None,
    aggregator: AggregatorChoice | PointAggregatorName = "auto",
    sampling: SamplingName = "partition",
    executor: ExecutorChoice = "sandbox",
    default: Number | NumberList | Hashable = None,
    space: AnswerSpace | MetricSpace | str | None = None,
    progress: Callable[[int, int], None] | None = None,
    epsilon: Number,
    delta: Number = 0.0,
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
    **settings: Unpack[SandboxSettings],
) -> Release[float, Interval] | Release[Numbers, Intervals] | Release[Released, None]:
    """Run any program on random blocks of people and release a private aggregate of its answers.

    Neighbours change one row.

    rows: an array, a frame, a mapping of names to columns, or a list of rows.  A program gets a block as an array where
        an array or list was given, and as an Arrow table where columns have names.
    program: a function of one block, ``"file.py:function"``, or an executable (``dither.sandbox.Executable``).
    output: how many numbers it returns.  bounds: their public range, one pair or a pair for each; answers outside are
        clamped.  default: what a block counts as that fails, is late or answers with something else.
    step: the public grid of the answers, one number or one for each: 1 for whole numbers.  By default it is fine, and
        blocks that agree need ``log(values on the grid) / epsilon`` of them to tell their answer from all others.
    space: where answers are no numbers but points: ``dither.Rankings(items)``, ``dither.Subsets(items)``, or any
        ``dither.MetricSpace.of(points, distance)``; then there are no bounds, and a point is released.
    blocks: how many; by default a public rule.  Few blocks are large and answer well; many make the noise small.
    aggregator: "auto", "median", "smooth_median", "centre" (the centre of attention), ...; in a space "medoid" (the
        least sum of distances, which for rankings is Kemeny's consensus) or "centre".
    metric: for the centre: "l1", "l2", ``dither.Matching(points)``, or a function of two answers.
    sampling: "partition", or "overlapping" for NRS11's independent samples.
    executor: "sandbox" isolates the program; "ray://host:port" on many machines.  "trusted" runs it in this process:
        only for functions that the owner of the data wrote or has read.  An open ``Sandbox`` serves several releases.
    progress: called with how much is done and how much there is to do; for the owner alone.
    settings: for the sandbox: ``slot=`` seconds for each block on a core (1 unless given, at least 0.2), ``lead=``
        seconds for drawing the blocks (2 unless given), ``preload=``, ``example=``, ...
        A program is tried on made-up rows of the data's types before anything is read (not of lists, which declare
        none), and refused if it fails there: ``example=`` gives other public rows, None leaves the trial out.
    confidence: of the intervals, which are about the aggregate of the blocks' answers.
    interval: "population": about what the program says of the population that the rows are an independent sample of;
        for medians of numbers.  The program then runs on each block and on both of its halves (docs/release.md).

    >>> import numpy as np
    >>> pay = np.linspace(20_000, 120_000, 10_001)
    >>> release = sample_and_aggregate(pay, np.mean, bounds=(0, 600_000), epsilon=1.0, executor="trusted")
    >>> 60_000 < release.value < 80_000
    True
    """
    query = Program(
        program,
        output=output,
        bounds=bounds,
        step=step,
        blocks=blocks,
        metric=metric,
        aggregator=aggregator,
        sampling=sampling,
        executor=executor,
        default=default,
        space=space,
        progress=progress,
        settings=settings,
    )
    return _ask(query, rows, epsilon, delta, "auto", "auto", confidence, interval)


@accepts_calibration
def ask(
    query: Query[V, B, D],
    data: D,
    *,
    epsilon: Number,
    delta: Number = 0.0,
    mechanism: MechanismChoice = "auto",
    noise: NoiseChoice = "auto",
    confidence: Confidence = 0.95,
    interval: IntervalName = "sample",
) -> Release[V, B]:
    """Ask a query object of an array, a graph, or the columns of a mapping or frame that it names.

    interval: "sample" covers the statistic of the records, "population" that of the population that they are an
        independent sample of; only some queries have the second (docs/release.md).

    >>> from dither.queries.order import Median
    >>> 0 <= ask(Median("age", bounds=(0, 120)), {"age": [30, 40, 50]}, epsilon=1.0).value <= 120
    True
    """
    data = collected(data)
    if isinstance(query, Query) and query.column is not None and named_columns(data) is not None:
        data = cast("D", only_columns(data, (query.column,), "column")[query.column])
    return answer(query, data, Options.asked(epsilon, delta, mechanism, noise, confidence, interval))


def count_from(
    release: Release[Counts, CountIntervals],
    of: BinChoice,
    *,
    records: int | None = None,
    confidence: Confidence = 0.95,
) -> Release[int, CountInterval]:
    """How many records lie in some bins of a histogram that was released before: post-processing, for free.

    of: the labels of the bins, or a function of a label.
    records: the number of records, where that is public: a count of more than half of the bins is then that number
        minus the sum of the others.
    confidence: of the interval, which needs a histogram with intervals.

    Guarantee  No further privacy loss, however many counts are made of one histogram.
    Theorem    V17 Theorem 2.9; docs/proofs/counting_queries.md section 4.
    Constants  The interval is the quantile of a sum of c integer Laplace variables, c the number of bins, of the
               largest scale that the histogram's own intervals allow.

    >>> ages = histogram([30, 31, 31, 45] * 100, edges=[0, 20, 40, 60, 80], epsilon=2.0)
    >>> found = count_from(ages, ["20 to 40", "40 to 60"])
    >>> found.loss, 350 < found.value < 450
    (Loss(epsilon=0.0, delta=0.0), True)
    """
    plan = free_count(release, of, records, confidence)
    return released(plan, plan.run(release.value))


def _ask(
    query: Query[V, B, D],
    data: D,
    epsilon: Number,
    delta: Number,
    mechanism: MechanismChoice,
    noise: NoiseChoice,
    confidence: Confidence,
    interval: IntervalName = "sample",
) -> Release[V, B]:
    data = collected(data)
    return answer(query, data, Options.asked(epsilon, delta, mechanism, noise, confidence, interval))


if TYPE_CHECKING:
    # The functions that are made of their queries: `make api` declares them, and by hand are those that need overloads
    # or types of data of their own; tests/core/test_typed_face.py compares both with what is made.
    from dither.made import *  # noqa: F403

    def cascade(  # noqa: D103
        data: Anything,
        *,
        neighbours: Neighbours = Neighbours.CHANGE_ONE,
        levels: Levels,
        epsilon: Number,
        delta: Number = 0.0,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        interval: IntervalName = "sample",
    ) -> Release[Released, Released]: ...

    def count_present(  # noqa: D103
        data: Entries,
        *,
        epsilon: Number,
        delta: Number = 0.0,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        interval: IntervalName = "sample",
    ) -> Release[int, CountInterval]: ...

    def quality(  # noqa: D103
        data: Entries,
        *,
        bounds: Bounds | None = None,
        limit: int | None = None,
        epsilon: Number,
        delta: Number = 0.0,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        interval: IntervalName = "sample",
    ) -> Release[Numbers, Intervals]: ...

    def counting_queries(  # noqa: D103
        data: Columns | Entries,
        *,
        family: FamilyChoice = "attribute_means",
        width: int | None = None,
        edges: NumberList | None = None,
        categories: Categories | None = None,
        nulls: Nulls | None = None,
        joint: bool = False,
        epsilon: Number,
        delta: Number = 0.0,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        interval: IntervalName = "sample",
    ) -> Release[Counts, CountIntervals]: ...

    def distance_to_property(  # noqa: D103
        data: Anything,
        *,
        neighbours: Neighbours = Neighbours.CHANGE_ONE,
        distance: OwnFunction,
        most: int | None = None,
        epsilon: Number,
        delta: Number = 0.0,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        interval: IntervalName = "sample",
    ) -> Release[int, CountInterval]: ...

    def low_sample_release(  # noqa: D103
        data: Anything,
        *,
        neighbours: Neighbours = Neighbours.CHANGE_ONE,
        function: OwnVector | None = None,
        dimension: int | None = None,
        step: Number | None = None,
        default: NumberList | None = None,
        reads: Number,
        within: Number,
        chance: Number,
        epsilon: Number,
        delta: Number = 0.0,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        interval: IntervalName = "sample",
    ) -> Release[Numbers, Intervals]: ...

    def metric_release(  # noqa: D103
        data: Anything,
        *,
        neighbours: Neighbours = Neighbours.CHANGE_ONE,
        function: OwnPoint | None = None,
        space: MetricSpace,
        sensitivity: Number,
        default: Hashable = None,
        constants: ConstantsName = "exact",
        epsilon: Number,
        delta: Number = 0.0,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        interval: IntervalName = "sample",
    ) -> Release[Released, None]: ...

    def norm_release(  # noqa: D103
        data: Anything,
        *,
        neighbours: Neighbours = Neighbours.CHANGE_ONE,
        function: OwnVector | None = None,
        dimension: int | None = None,
        step: Number | None = None,
        default: NumberList | None = None,
        sensitivity: Number,
        norm: NormName = "l2",
        epsilon: Number,
        delta: Number = 0.0,
        mechanism: MechanismChoice = "auto",
        noise: NoiseChoice = "auto",
        confidence: Confidence = 0.95,
        interval: IntervalName = "sample",
    ) -> Release[Numbers, Intervals]: ...

else:

    def __getattr__(name: str) -> Callable[..., Release]:
        """The one-line function of a query that has no function here: of its fields and the usual options."""
        if name.startswith("_"):
            raise AttributeError(name)
        matches = [entry for entry in entries().values() if entry.function == name and entry.has("function")]
        if not matches:
            raise AttributeError(f"module 'dither.api' has no attribute {name!r}")
        return _function(matches[0].name)


@functools.cache
def _function(name: str) -> Callable[..., Release]:
    """A function of the data and, by keyword, of the fields of a query and the usual options."""
    entry = entries()[name]
    fields = [
        field for field in dataclass_fields(entry.query) if field.init and field.name not in ("column", "columns")
    ]
    options = list(inspect.signature(ask).parameters.values())[2:]
    taken = {field.name for field in fields} | {option.name for option in options}

    def function(data: Given, **given: Given) -> Release:
        given = newer(given)
        unknown = [name for name in given if name not in taken]
        if unknown:
            raise TypeError(f"{entry.function}() got an unexpected keyword argument {unknown[0]!r}")
        own = {field.name: given.pop(field.name) for field in fields if field.name in given}
        return ask(entry.query(**own), data, **given)

    asked = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=field.type,
            default=inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default,
        )
        for field in fields
    ]
    data = inspect.Parameter("data", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Any")
    function.__name__ = function.__qualname__ = entry.function
    function.__module__, function.__doc__ = __name__, entry.query.__doc__
    function.__signature__ = inspect.Signature([data, *asked, *options], return_annotation="Release")  # type: ignore[attr-defined]
    return function
