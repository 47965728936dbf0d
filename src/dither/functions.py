"""Arrays in, one line, nothing to set up: the functions of the public face.

Data come first, everything else by keyword.  ``epsilon`` and ``delta`` are the total price, error bar
included; ``confidence=None`` spends all of it on the answer.
"""

from __future__ import annotations

from typing import Any

from dither.calibration.mechanism import Mechanism
from dither.data.column import shape_of
from dither.planner import prepare
from dither.queries.order import Maximum, Median, Minimum, Quantile
from dither.queries.query import Query
from dither.reals import exact
from dither.release import Release


def median(
    data: Any,
    *,
    bounds: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    calibration: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    step: Any = None,
    nulls: Any = None,
) -> Release:
    """The lower median of one bounded column; neighbours change one record.

    bounds: the public range of the records; values outside are clamped, infinities with them.
    step: the public grid of records and answers; by default 1 for whole numbers, else 2**-36 of the range.
    nulls: what a missing value (NaN) counts as: "lower" (default), "upper" or a number; public.

    >>> import numpy as np
    >>> pay = np.linspace(20_000, 120_000, 10_001)
    >>> release = median(pay, bounds=(0, 600_000), epsilon=1.0)
    >>> 65_000 < release.value < 75_000
    True
    """
    query = Median(bounds=bounds, step=step, nulls=nulls)
    return answer(query, data, epsilon, delta, calibration, noise, confidence)


def quantile(
    data: Any,
    *,
    q: Any,
    bounds: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    calibration: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
    step: Any = None,
    nulls: Any = None,
) -> Release:
    """The smallest value that a share ``q`` of the records does not exceed; options as for ``median``.

    >>> 85 <= quantile(list(range(101)), q=0.9, bounds=(0, 100), epsilon=5.0, step=1).value <= 95
    True
    """
    query = Quantile(q=q, bounds=bounds, step=step, nulls=nulls)
    return answer(query, data, epsilon, delta, calibration, noise, confidence)


def minimum(
    data: Any,
    *,
    bounds: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    calibration: Any = "auto",
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
    return answer(query, data, epsilon, delta, calibration, noise, confidence)


def maximum(
    data: Any,
    *,
    bounds: Any = None,
    epsilon: Any,
    delta: Any = 0.0,
    calibration: Any = "auto",
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
    return answer(query, data, epsilon, delta, calibration, noise, confidence)


def answer(
    query: Query,
    data: Any,
    epsilon: Any,
    delta: Any = 0.0,
    calibration: Any = "auto",
    noise: Any = "auto",
    confidence: Any = 0.95,
) -> Release:
    """Ask a query object of an array."""
    shape = shape_of(data)
    statistic = query.resolve(shape)
    manner, mechanism = prepare(
        statistic, epsilon=epsilon, delta=delta, calibration=calibration, noise=noise, confidence=confidence
    )
    return _released(query, manner, mechanism, query.read(data, shape), confidence, query.missing(shape))


def _released(
    query: Query, manner: str, mechanism: Mechanism, data: Any, confidence: Any, missing: float | None
) -> Release:
    outcome = mechanism.run(data)
    grid = mechanism.statistic.answers
    bar = outcome.interval
    return Release(
        value=None if outcome.answer is None else grid.value(outcome.answer),
        interval=None if bar is None else (grid.value(bar[0]), grid.value(bar[1])),
        confidence=None if confidence is None else float(exact(confidence)),
        loss=mechanism.loss,
        neighbours=mechanism.statistic.neighbours,
        query=query.label,
        calibration=manner,
        noise=mechanism.noise_name,
        missing=missing,
    )
