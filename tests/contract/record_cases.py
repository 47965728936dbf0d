"""Odd records, and the questions about them: what ``test_records`` asks of every source."""

import functools
import math
import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

import dither as dt
from contract import record_oracle as oracle
from contract.record_oracle import FINE, Asked, Declared
from dither.queries.registry import entries
from dither.sources.column import Column, Shape
from registered import needed_fields

LONG = os.environ.get("DITHER_LONG", "") not in {"", "0"}
Item = TypeVar("Item")

NAN, INF = math.nan, math.inf
LOWER, UPPER, STEP = -2, 10, 0.5
ODD: tuple[Any, ...] = (
    None,
    NAN,
    INF,
    -INF,
    1e308,
    -1e308,
    5e-324,
    -5e-324,
    1e-200,
    -0.0,
    float(LOWER),
    float(UPPER),
    0.25,
    0.75,
    -0.25,
    UPPER + 1e-9,
    LOWER - 1e-9,
    UPPER + STEP / 2,
    LOWER - STEP / 2,
    3.0,
)
"""Missing, no number, infinite, huge, tiny, minus zero, both bounds, half steps, just beyond, and an ordinary one."""
TABLES: dict[str, list[Any]] = {
    "everything odd": [*ODD, 1.0, 2.0, 7.0],
    "one number among NaN": [NAN, NAN, NAN, NAN, 1.0],
    "one missing among NaN": [NAN, NAN, None, NAN, NAN],
    "one infinity among missing": [None, None, INF, None, None, None],
    "missing and both infinities": [None, None, None, -INF, 4.0, 9.0, INF, INF, 2.0, 2.0, 1.0, None],
    "no number at all": [None, NAN, None, NAN],
}
POLICIES: tuple[Any, ...] = (None, "lower", "upper", 3.0, "drop")


def chosen(items: Iterable[Item], short: int, key: object, long: int | None = None) -> list[Item]:
    """A slice of the items that depends on nothing but the key; ``long`` or all of them if DITHER_LONG is set."""
    listed = list(items)
    size = short if not LONG else len(listed) if long is None else long
    return listed if size >= len(listed) else random.Random(str(key)).sample(listed, size)


def pick(items: Iterable[Item], key: object) -> Item:
    """One of the items, by the key."""
    return random.Random(str(key)).choice(list(items))


def real(nulls: Any = None) -> tuple[Any, Declared]:
    """The same column for the schema and for the oracle."""
    exact_nulls = Fraction(nulls) if isinstance(nulls, float) else nulls
    return dt.Real(LOWER, UPPER, step=STEP, nulls="lower" if nulls is None else nulls), Declared(
        Fraction(LOWER), Fraction(UPPER), Fraction(STEP), exact_nulls
    )


def _several(*shares: Fraction) -> Callable[[list[int], Declared, bool], Any]:
    return lambda steps, declared, private: tuple(oracle.quantile(one)(steps, declared, private) for one in shares)


_FIFTH, _QUARTER, _HALF = Fraction(1, 5), Fraction(1, 4), Fraction(1, 2)
BY_HAND: tuple[Asked, ...] = (
    Asked("Sum", dt.Sum, oracle.total, dates=False),
    Asked("Mean", dt.Mean, oracle.mean, tolerance=2 * FINE),
    Asked("Median", dt.Median, oracle.quantile(_HALF)),
    Asked("Quantile", lambda name: dt.Quantile(name, q=Fraction(7, 10)), oracle.quantile(Fraction(7, 10))),
    Asked("Minimum", dt.Minimum, oracle.quantile(Fraction(0))),
    Asked("Maximum", dt.Maximum, oracle.quantile(Fraction(1))),
    Asked("IQR", dt.IQR, oracle.iqr, least=2),
    Asked("TrimmedMean", lambda name: dt.TrimmedMean(name, trim=_FIFTH), oracle.trimmed_mean(_FIFTH), private=False),
    Asked("Variance", dt.Variance, oracle.variance(0), tolerance=2 * FINE, dates=False),
    Asked(
        "Variance",
        lambda name: dt.Variance(name, ddof=1),
        oracle.variance(1),
        tolerance=2 * FINE,
        dates=False,
        least=2,
    ),
    Asked(
        "OrderStatistic",
        lambda name: dt.OrderStatistic(name, rank=2),
        lambda steps, declared, private: declared.step * oracle.at(steps, 2, declared),
        least=2,
    ),
    Asked(
        "Quantiles",
        lambda name: dt.Quantiles(name, q=[_QUARTER, _HALF, 1]),
        _several(_QUARTER, _HALF, Fraction(1)),
        private=False,
        has_ladder=False,
    ),
    Asked("SmallestSum", lambda name: dt.SmallestSum(name, k=2), oracle.smallest(2), dates=False, least=2),
)
ELSEWHERE = {
    "Count": "counted by filters, groups and flags below",
    "CountPresent": "which entries are present: test_readings",
    "Quality": "which entries read as declared: test_readings",
    "Histogram": "of numbers and of categories below",
    "Program": "its rows below",
    "KMeans": "its rows below",
    "KMeansCost": "the rows of KMeans (tests/queries/test_cluster_cost.py)",
    "GaussianMixture": "its rows below",
    "Regression": "its rows below",
    "Scale": "its rows below",
    "Mode": "its rows below",
    **dict.fromkeys(("Correlation", "LeastSquares", "PairCovariance"), "two columns: tests/queries/test_moments.py"),
    "BallMean": "several columns: tests/queries/test_ball_means.py",
    "Custom": "the declared rows, as for programs (tests/queries/test_custom.py)",
    "CountingQueries": "thresholds with the histograms below, flags with those that are counted below",
    "DistanceToProperty": "functions of the rows that programs get below; tests/queries/test_own_functions.py",
    "MetricRelease": "the same",
    "NormRelease": "the same",
    "LowSampleRelease": "the same",
    "Cascade": "the same; tests/queries/test_cascades.py",
}
"""Public questions of tables that are tested in a way of their own."""
REFUSED: dict[str, Callable[[], Any]] = {
    "MeanVector": lambda: dt.MeanVector("v", bounds=[(LOWER, UPPER)]),
    "Covariance": lambda: dt.Covariance("v", bounds=[(LOWER, UPPER)]),
    "ChainSum": lambda: dt.ChainSum([1, 2]),
    "FiniteSpace": lambda: dt.FiniteSpace([1, 2], neighbours="chain", value=lambda k: k),
    "MSTCost": dt.MSTCost,
    "MinCut": dt.MinCut,
    "WeightedMinCut": dt.WeightedMinCut,
    "Edges": dt.Edges,
    "Triangles": dt.Triangles,
    "KStars": lambda: dt.KStars(k=2),
    "KTriangles": lambda: dt.KTriangles(k=2),
    "KCliques": lambda: dt.KCliques(k=3),
}
"""Public questions about arrays, numbers and graphs, which a session over a table refuses."""


def _of_the_same_steps(query: Callable[..., Any]) -> Callable[[list[int], Declared, bool], Any]:
    """The statistic's own value of the steps that the oracle reads: its formula has a test beside its proof."""

    def truth(steps: list[int], declared: Declared, private: bool) -> Fraction:
        low, high = declared.ends
        asked = query(bounds=(low * declared.step, high * declared.step), step=declared.step)
        statistic = asked.resolve(Shape(len(steps), whole=False, nullable=True, private=private))
        column = Column(np.array(steps, dtype=np.int64), asked.grid(whole=False))
        return statistic.answers.step * statistic.value(column)

    return truth


def _is_proved(query: Callable[..., Any]) -> bool:
    """Whether it is answered where the number of records is private."""
    try:
        query(bounds=(0, 1)).resolve(Shape(1, whole=False, nullable=True, private=True))
    except dt.NotProved:
        return False
    return True


def _registered() -> Iterator[Asked]:
    """Statistics of one column that nobody has listed: what must be known of them follows from the registry."""
    listed = {one.name for one in BY_HAND} | set(ELSEWHERE) | set(REFUSED)
    for entry in entries().values():
        name = entry.query.__name__
        if name not in listed and entry.of == "column" and not entry.query.is_transformed:
            query = functools.partial(entry.query, **needed_fields(entry))
            truth, dates = _of_the_same_steps(query), entry.query.dates != "refused"
            yield Asked(name, query, truth, private=_is_proved(query), dates=dates)


QUESTIONS: tuple[Asked, ...] = (*BY_HAND, *_registered())
ELSEWHERE |= {
    one.query.__name__: "a function of a statistic above"
    for one in entries().values()
    if one.of == "column" and one.query.is_transformed
}

Condition = Callable[[float | None], bool]
FILTERS: dict[str, Condition] = {
    "v > 5": lambda v: v is not None and v > 5,
    "v <= 5": lambda v: v is not None and v <= 5,
    "v = 3": lambda v: v == 3,
    "v <> 3": lambda v: v is not None and v != 3,
    "v IS NULL": lambda v: v is None,
    "v IS NOT NULL": lambda v: v is not None,
    "NOT v > 5": lambda v: v is not None and not v > 5,
    "v BETWEEN 0 AND 7.5": lambda v: v is not None and 0 <= v <= 7.5,
    "v IN (0, 3, 5)": lambda v: v in (0, 3, 5),
    "v NOT IN (3, 5)": lambda v: v is not None and v not in (3, 5),
    "v = 0": lambda v: v == 0,
    "v < 0": lambda v: v is not None and v < 0,
    "v > 0": lambda v: v is not None and v > 0,
    "v >= 1e300": lambda v: v is not None and v >= 1e300,
    "v > 1e300": lambda v: v is not None and v > 1e300,
    "v <= 1e300": lambda v: v is not None and v <= 1e300,
    "v < -1e300": lambda v: v is not None and v < -1e300,
    "v > 5 OR v IS NULL": lambda v: v is None or v > 5,
    "NOT (v > 5 OR v IS NULL)": lambda v: v is not None and v <= 5,
    "NOT v IS NULL AND v <> 0": lambda v: v is not None and v != 0,
}
"""Filters compare the record itself, neither clamped nor rounded; a comparison with a missing one is never true."""


def kept(records: Sequence[Any], condition: Condition | None) -> list[Any]:
    """The records that satisfy a filter."""
    return [one for one in records if condition is None or condition(oracle.number(one))]


def close(found: Any, truth: Any, tolerance: float = 0.0) -> bool:
    """Whether two values, or two lists of values, are equal up to a tolerance."""
    if isinstance(truth, tuple):
        pairs = zip(found, truth, strict=True)
        return len(found) == len(truth) and all(close(one, other, tolerance) for one, other in pairs)
    return abs(found - truth) <= tolerance
